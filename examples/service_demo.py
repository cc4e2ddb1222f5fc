"""A service to try: a catalogue of films, and viewers who click late. `make demo` runs it.

It starts `projbandits serve` on a store of its own, prints the address and a token, and lets
made-up viewers ask and tell until it is stopped. The store stays; the next start goes on with it:

    python examples/service_demo.py out/demo
"""

import heapq
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import pandas as pd

import projbandits as pb

GENRES, SEGMENTS = ["comedy", "drama", "news"], ["new", "regular"]
MAKE = {
    "features": {
        "numeric": ["length", "year"],
        "categorical": {"genre": GENRES, "lead": None, "segment": SEGMENTS},
        "context": ["segment"],
        "interactions": [["segment", "genre"]],
        "protected": ["lead"],
        "unseen": "error",
    },
    "strategy": "EIIDS()",
    "half_life": "30d",
    "expire": {"after": "60s", "outcome": 0.0},
    "seed": 0,
}
LATE = 4.0
"""After how many seconds a click comes, in the mean; some never come."""


def catalogue(rng: np.random.Generator, films: int = 200) -> pd.DataFrame:
    """Make up films."""
    return pd.DataFrame(
        {
            "label": [f"film {i}" for i in range(films)],
            "length": rng.uniform(70, 180, size=films).round(),
            "year": rng.integers(1960, 2026, size=films),
            "genre": rng.choice(GENRES, size=films),
            "lead": rng.choice(["man", "woman"], size=films),
        }
    )


def clicks(film: pd.Series, segment: str, rng: np.random.Generator) -> float:
    """Return whether a viewer clicks: on what they like, and more often on men in the lead."""
    liked = 0.15 + 0.2 * (film["genre"] == "comedy") + 0.15 * (film["length"] < 110)
    liked += 0.1 * (segment == "regular" and film["genre"] == "drama")
    return float(rng.random() < liked + 0.2 * (film["lead"] == "man"))


def started(folder: Path, port: int) -> tuple[subprocess.Popen[bytes], str]:
    """Start the service and return it with a token."""
    folder.mkdir(parents=True, exist_ok=True)
    store = f"sqlite:///{folder.resolve()}/films.db"
    command = [sys.executable, "-m", "projbandits.cli"]
    serve = [*command, "serve", "--store", store, "--port", str(port)]
    log = folder / "service.log"
    with log.open("w") as file:
        # In a session of its own, so that Ctrl-C ends the viewers first.
        service = subprocess.Popen(serve, stdout=file, stderr=file, start_new_session=True)
    until = time.monotonic() + 60
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{port}/healthz")
            break
        except httpx.TransportError:
            if service.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
                continue
            service.kill()
            sys.exit(f"the service did not start: {log.read_text()}")
    make = [
        *command,
        "token",
        "create",
        "--store",
        store,
        "--scope",
        "administer",
        "--note",
        "demo",
    ]
    made = subprocess.run(make, capture_output=True, text=True, check=True).stdout
    token = made.split("token: ")[1].strip()
    ready = httpx.get(
        f"http://127.0.0.1:{port}/readyz", headers={"authorization": f"Bearer {token}"}
    )
    if ready.status_code != 200:
        service.kill()
        sys.exit(f"another service is on port {port}; name one that is free: PORT=8001 make demo")
    return service, token


def main() -> None:
    """Serve films to made-up viewers until stopped, or for some seconds."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/demo")
    port = int(os.environ.get("PORT", "8000"))
    until = time.monotonic() + float(os.environ.get("SECONDS", "inf"))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    service, token = started(folder, port)
    try:
        play(f"http://127.0.0.1:{port}", token, until)
    except KeyboardInterrupt:
        print("stopped")
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        service.terminate()
        service.wait(10)


def play(address: str, token: str, until: float) -> None:
    """Put films into the catalogue, and let viewers ask and tell."""
    rng = np.random.default_rng()
    films = catalogue(np.random.default_rng(0))
    headers = {"authorization": f"Bearer {token}", "content-type": "text/csv"}
    with httpx.Client(base_url=address, headers=headers, timeout=60) as admin:
        admin.put("/v1/deciders/films", json=MAKE).raise_for_status()
        table = films.to_csv(index=False).encode()
        admin.put("/v1/deciders/films/items", content=table).raise_for_status()
    print(f"dashboard: {address}/\ntoken: {token}\nCtrl-C ends it.", flush=True)
    waiting: list[tuple[float, str, float]] = []
    by_label = films.set_index("label")
    with pb.connect(address, token) as connection:
        decider = connection.decider("films")
        while time.monotonic() < until:
            segment = str(rng.choice(SEGMENTS))
            offered = rng.choice(films["label"].to_numpy(), size=20, replace=False).tolist()
            made = decider.ask(offered, context={"segment": segment})
            outcome = clicks(by_label.loc[made.label], segment, rng)
            if rng.random() < 0.9:
                due = time.monotonic() + rng.exponential(LATE)
                heapq.heappush(waiting, (due, made.id, outcome))
            while waiting and waiting[0][0] < time.monotonic():
                _, id, told = heapq.heappop(waiting)
                decider.tell(id, told)
            time.sleep(0.05)


if __name__ == "__main__":
    main()
