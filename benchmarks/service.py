"""Measure the service on this machine's loopback: `python -m benchmarks.service`.

64 connections ask among 100 of 1,000 items, by filter, and tell. Each answer is durable. Optuna's
ask and tell on the same kind of store is measured in the same run. The callers are a process
of its own, which shares the machine's cores with the service.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import numpy as np
from tests.service.conftest import bearer
from tests.service.processes import Process

from benchmarks import calling
from benchmarks.calling import GROUPS, PATH

D, ITEMS = 10, 1000
CONNECTIONS = 64
COLUMNS = [f"x{j}" for j in range(D)]


def prepare(address: str, token: str) -> None:
    """Make the decider and its catalogue."""
    X = np.random.default_rng(0).normal(size=(ITEMS, D)).round(6)
    rows = [
        {"label": f"item{i}", "group": i % GROUPS, **dict(zip(COLUMNS, x, strict=True))}
        for i, x in enumerate(X.tolist())
    ]
    make = {"columns": COLUMNS, "protected": COLUMNS[D // 2 :], "strategy": "EIIDS()"}
    with httpx.Client(base_url=address, headers=bearer(token), timeout=60) as client:
        client.put(PATH, json=make).raise_for_status()
        client.put(f"{PATH}/items", json=rows).raise_for_status()
        for group in range(GROUPS):
            client.post(f"{PATH}/ask", json={"filter": {"group": group}}).raise_for_status()


def load(
    port: int, token: str, seconds: float, *, tells: bool, rate: float = 0.0
) -> tuple[float, float, float]:
    """Return requests per second, and the 50th and 99th percentile of latency in ms.

    Each HTTP request counts as one: an ask that is told counts as two.

    Parameters
    ----------
    port, token : int, str
        Where the service is, and what lets one in.
    seconds : float
        For how long.
    tells : bool
        Whether each ask is followed by its tell.
    rate : float
        How many requests per second to send; as many as are answered by default.
    """
    said = {
        "port": port,
        "token": token,
        "connections": CONNECTIONS,
        "seconds": seconds,
        "tells": tells,
        "pace": 0.0 if rate == 0 else CONNECTIONS * (2 if tells else 1) / rate,
    }
    command = [sys.executable, calling.__file__, json.dumps(said)]
    printed = subprocess.run(command, check=True, capture_output=True, timeout=seconds + 120)
    taken = np.array(json.loads(printed.stdout))
    fifty, ninety_nine = np.percentile(taken, [50, 99])
    return len(taken) / seconds, 1e3 * float(fifty), 1e3 * float(ninety_nine)


def optuna_rate(url: str, seconds: float) -> float:
    """Return how many asks and tells Optuna makes per second on a store."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(storage=url, sampler=optuna.samplers.RandomSampler(seed=0))
    began, made = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        trial = study.ask()
        study.tell(trial, trial.suggest_float("x", 0.0, 1.0))
        made += 2
    return made / (time.perf_counter() - began)


def _started(stack: ExitStack, folder: Path, kind: str, processes: int) -> tuple[Process, str]:
    """Start a service on a new store, with its decider; return it and a store for Optuna."""
    from tests.databases import Server

    url, other = f"sqlite:///{folder}/films.db", f"sqlite:///{folder}/optuna.db"
    if kind == "postgresql":
        server = Server(folder / "postgresql")
        stack.callback(server.stop)
        url = server.database()
        other = server.database().replace("postgresql:", "postgresql+psycopg:")
    service = Process(url, processes=processes)
    stack.callback(service.kill)
    service.wait()
    prepare(service.address, str(service.token))
    return service, other


def measure(kind: str, processes: int, seconds: float) -> None:
    """Print what one or more processes do on a store of a kind."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="service")))
        service, other = _started(stack, folder, kind, processes)
        token = str(service.token)
        load(service.port, token, 1.0, tells=True)
        asks = load(service.port, token, seconds, tells=False)
        both = load(service.port, token, seconds, tells=True)
        half = load(service.port, token, seconds, tells=True, rate=both[0] / 2)
        theirs = optuna_rate(other, min(seconds, 3.0))
        rate = "{:,.0f} per second, median {:.1f} ms, 99th percentile {:.1f} ms"
        print(f"{kind}, {processes} process{'es' if processes > 1 else ''}")
        print(f"  asks:            {rate.format(*asks)}")
        print(f"  asks and tells:  {rate.format(*both)}")
        print(f"  at half of that: {rate.format(*half)}")
        print(f"  Optuna:          {theirs:,.0f} per second, {both[0] / theirs:.0f} times fewer")


def soak(kind: str, seconds: float) -> None:
    """Print how a service does at half of its peak rate for long, and how much memory it takes."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="service")))
        service = _started(stack, folder, kind, 1)[0]
        token = str(service.token)
        peak = load(service.port, token, 10.0, tells=True)[0]
        print(f"{kind}, peak {peak:,.0f} requests per second; half of that for {seconds:,.0f} s:")
        until, sent, sizes = time.monotonic() + seconds, 0.0, [service.memory()]
        while (left := until - time.monotonic()) > 1:
            piece = min(left, 60.0)
            rate, fifty, ninety_nine = load(service.port, token, piece, tells=True, rate=peak / 2)
            sent += rate * piece
            sizes.append(service.memory())
            print(
                f"  {sent:>9,.0f} answered, none failed; {rate:,.0f} per second, median "
                f"{fifty:.1f} ms, 99th percentile {ninety_nine:.1f} ms; {sizes[-1]:.0f} MB",
                flush=True,
            )
        print(
            f"  memory: {sizes[0]:.0f} MB before, then from {min(sizes[1:]):.0f} to "
            f"{max(sizes[1:]):.0f} MB"
        )


def main() -> None:
    """Run the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--soak", type=float, help="instead: for so many seconds at half load")
    options = parser.parse_args()
    kinds = ["sqlite", "postgresql"] if options.store == "both" else [options.store]
    for kind in kinds:
        if options.soak:
            soak(kind, options.soak)
            continue
        for processes in options.processes:
            measure(kind, processes, options.seconds)


if __name__ == "__main__":
    main()
