"""Count what one ask passes through: `python -m benchmarks.calls`.

A profiler notes each function of the library that runs during one ask, after fifty asks and tells
have warmed everything up. A carrier is a class of the library of which a new instance passes
through one of these functions. Over HTTP, the mathematics is left out (strategies, arms, ridge,
subspace, features): the functions are those of the service process, whatever thread they run in.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import httpx
import numpy as np

import projbandits as pb

PACKAGE = Path(pb.__file__).parent
MATHEMATICS = ("strategies", "arms", "ridge", "subspace", "features", "_linalg", "_blas")
WARM = 50
COLUMNS = [f"x{j}" for j in range(10)]


class Profile:
    """The functions and carriers of the library that were seen while `on` was set."""

    def __init__(self) -> None:
        self.on = False
        self._codes = set[CodeType]()
        self._carriers = set[str]()
        self._before = set[int]()

    def install(self) -> None:
        """Watch this thread and all that start from now on."""
        threading.setprofile(self._watch)
        sys.setprofile(self._watch)

    def start(self) -> None:
        """Count from here on."""
        self._before = {id(each) for each in gc.get_objects()}
        self.on = True

    def found(self) -> tuple[dict[str, list[str]], list[str]]:
        """Return the functions by module, and the carriers."""
        modules = dict[str, list[str]]()
        for code in self._codes:
            module = ".".join(Path(code.co_filename).relative_to(PACKAGE).with_suffix("").parts)
            modules.setdefault(module, []).append(code.co_qualname)
        return {name: sorted(those) for name, those in sorted(modules.items())}, sorted(
            self._carriers
        )

    def _watch(self, frame: FrameType, event: str, value: Any) -> None:
        code = frame.f_code
        if not self.on or not code.co_filename.startswith(str(PACKAGE)):
            return
        if event == "call" and code.co_name not in ("<lambda>", "<genexpr>", "<listcomp>"):
            self._codes.add(code)
        if event == "return":
            self._carry([*frame.f_locals.values(), value])

    def _carry(self, values: list[Any]) -> None:
        for each in values:
            kind = type(each)
            if kind.__module__.startswith("projbandits.") and id(each) not in self._before:
                self._carriers.add(f"{kind.__module__}.{kind.__qualname__}")


def of_decider(store: str | None) -> Profile:
    """Return the profile of an ask by a decider, among items that it has seen."""
    items = np.random.default_rng(0).normal(size=(20, 10)).round(6)
    where: dict[str, Any] = {} if store is None else {"store": store, "name": "films"}
    decider = pb.Decider(subspace=pb.Subspace.coordinates(range(7), d=10), seed=0, **where)
    for _ in range(WARM):
        decider.tell(decider.ask(items).id, 1.0)
    profile = Profile()
    profile.install()
    profile.start()
    decider.ask(items)
    profile.on = False
    threading.setprofile(None)
    sys.setprofile(None)
    return profile


def of_service(folder: Path) -> Profile:
    """Return the profile of an ask over HTTP, made in the process that serves."""
    from tests.service.processes import free_port

    port, kept, printed = free_port(), folder / "profile.json", folder / "printed"
    url = f"sqlite:///{folder}/served.db"
    command = [sys.executable, "-m", "benchmarks.calls", "--serve", str(kept), "--"]
    command += ["serve", "--store", url, "--port", str(port)]
    with open(printed, "wb") as said:
        service = subprocess.Popen(command, stdout=said, stderr=said)
    try:
        _asked_once(port, printed, service)
        until = time.monotonic() + 60
        while not kept.exists():
            if time.monotonic() > until:
                raise RuntimeError(f"the service wrote no profile: {printed.read_text()}")
            time.sleep(0.05)
    finally:
        service.terminate()
        service.wait(30)
    profile = Profile()
    modules, carriers = json.loads(kept.read_text())
    profile.found = lambda: (modules, carriers)  # type: ignore[method-assign]
    return profile


def _asked_once(port: int, printed: Path, service: subprocess.Popen[bytes]) -> None:
    """Make a decider, warm it up, and have one ask counted."""
    address, until = f"http://127.0.0.1:{port}", time.monotonic() + 120
    while True:
        try:
            httpx.get(f"{address}/healthz", timeout=5)
            break
        except httpx.TransportError:
            if time.monotonic() > until or service.poll() is not None:
                raise RuntimeError(f"the service did not start: {printed.read_text()}") from None
            time.sleep(0.1)
    lines = printed.read_text().splitlines()
    token = next(line[7:] for line in lines if line.startswith("token: "))
    rows = np.random.default_rng(0).normal(size=(20, 10)).round(6).tolist()
    items = [
        {"label": f"item{i}", **dict(zip(COLUMNS, x, strict=True))} for i, x in enumerate(rows)
    ]
    path = "/v1/deciders/films"
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
        client.put(path, json={"columns": COLUMNS, "protected": COLUMNS[7:]}).raise_for_status()
        client.put(f"{path}/items", json=items).raise_for_status()
        for _ in range(WARM):
            made = client.post(f"{path}/ask", json={"filter": {}}).raise_for_status().json()
            told = {"id": made["id"], "outcome": 1.0}
            client.post(f"{path}/tell", json=told).raise_for_status()
        os.kill(service.pid, signal.SIGUSR1)
        time.sleep(0.5)
        client.post(f"{path}/ask", json={"filter": {}}).raise_for_status()
        time.sleep(0.5)
        os.kill(service.pid, signal.SIGUSR1)


def serve(kept: Path, arguments: list[str]) -> None:
    """Run the command line under the profiler; a signal starts it, the next writes it down."""
    from projbandits.cli import main

    profile = Profile()

    def toggle(number: int, frame: FrameType | None) -> None:
        if not profile.on:
            profile.start()
            return
        profile.on = False
        partial = kept.with_suffix(".part")
        partial.write_text(json.dumps(profile.found()))
        partial.rename(kept)

    signal.signal(signal.SIGUSR1, toggle)
    profile.install()
    sys.argv = ["projbandits", *arguments]
    main()


def report(title: str, profile: Profile, without: tuple[str, ...] = ()) -> None:
    """Print the counts, and the functions by module."""
    modules, carriers = profile.found()
    modules = {name: it for name, it in modules.items() if name.split(".")[0] not in without}
    functions = sum(map(len, modules.values()))
    print(f"{title}: {functions} functions in {len(modules)} modules, {len(carriers)} carriers")
    if "-v" in sys.argv:
        for name, those in modules.items():
            print(f"    {name}: {', '.join(those)}")
        print(f"    carriers: {', '.join(carriers)}")


def run() -> None:
    """Print the counts of an ask in memory, on SQLite and over HTTP."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report("in memory", of_decider(None))
        report("on SQLite", of_decider(f"sqlite:///{folder}/films.db"))
        report("over HTTP, mathematics left out", of_service(folder), MATHEMATICS)


if __name__ == "__main__":
    if "--serve" in sys.argv:
        given = sys.argv[sys.argv.index("--serve") + 1 :]
        serve(Path(given[0]), given[2:])
    else:
        run()
