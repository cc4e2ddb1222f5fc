"""Measure the service on this machine's loopback: `python -m benchmarks.service`.

64 connections ask among 100 of 1,000 items, by filter, and tell. Each answer is durable. Optuna's
ask and tell on the same kind of store is measured in the same run. The callers are processes of
their own, which share the machine's cores with the service.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import socket
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from tests.service.conftest import bearer
from tests.service.processes import Process

D, ITEMS, GROUPS = 10, 1000, 10
CONNECTIONS, CALLERS = 64, 2
PATH = "/v1/deciders/films"
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


class Caller:
    """A connection that costs its process as little as it can: requests as bytes on a socket."""

    def __init__(self, port: int, token: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = f"HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-length: "

    def post(self, what: str, body: Any) -> Any:
        """Send a request and return its answer."""
        content = json.dumps(body)
        head = f"POST {PATH}/{what} {self._head}{len(content)}\r\n\r\n"
        self._socket.sendall((head + content).encode())
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._received()
        top, _, rest = data.partition(b"\r\n\r\n")
        length = int(top.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(rest) < length:
            rest += self._received()
        if b" 200 " not in top[:20]:
            raise RuntimeError(rest.decode())
        return json.loads(rest)

    def _received(self) -> bytes:
        got = self._socket.recv(65536)
        if not got:
            raise ConnectionError("the service closed the connection")
        return got


def _call(
    port: int, token: str, seed: int, seconds: float, tells: bool, pace: float, out: Any
) -> None:
    """Call from one process over its share of the connections; put the latencies."""
    many = CONNECTIONS // CALLERS
    latencies: list[list[float]] = [[] for _ in range(many)]
    until = time.perf_counter() + seconds

    def run(i: int) -> None:
        rng, caller = np.random.default_rng((seed, i)), Caller(port, token)
        due = time.perf_counter() + rng.uniform(0, pace)
        while time.perf_counter() < until:
            if pace:
                time.sleep(max(due - time.perf_counter(), 0))
                due += pace
            began = time.perf_counter()
            made = caller.post("ask", {"filter": {"group": int(rng.integers(GROUPS))}})
            latencies[i].append(time.perf_counter() - began)
            if tells:
                began = time.perf_counter()
                caller.post("tell", {"id": made["id"], "reward": float(rng.normal())})
                latencies[i].append(time.perf_counter() - began)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out.put([each for some in latencies for each in some])


def load(
    port: int, token: str, seconds: float, *, tells: bool, rate: float = 0.0
) -> tuple[float, float, float]:
    """Return requests per second, and the 50th and 99th percentile of latency in ms.

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
    context = multiprocessing.get_context("spawn")
    pace = 0.0 if rate == 0 else CONNECTIONS * (2 if tells else 1) / rate
    out = context.Queue()
    callers = [
        context.Process(target=_call, args=(port, token, i, seconds, tells, pace, out))
        for i in range(CALLERS)
    ]
    for caller in callers:
        caller.start()
    taken = np.array([each for _ in callers for each in out.get()])
    for caller in callers:
        caller.join()
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


def measure(kind: str, processes: int, seconds: float) -> None:
    """Print what one or more processes do on a store of a kind."""
    from tests.databases import Server

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="service")))
        url, other = f"sqlite:///{folder}/films.db", f"sqlite:///{folder}/optuna.db"
        if kind == "postgresql":
            server = Server(folder / "postgresql")
            stack.callback(server.stop)
            url = server.database()
            other = server.database().replace("postgresql:", "postgresql+psycopg:")
        service = Process(url, processes=processes)
        stack.callback(service.kill)
        service.wait()
        token = str(service.token)
        prepare(service.address, token)
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


def main() -> None:
    """Run the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    kinds = ["sqlite", "postgresql"] if options.store == "both" else [options.store]
    for kind in kinds:
        for processes in options.processes:
            measure(kind, processes, options.seconds)


if __name__ == "__main__":
    main()
