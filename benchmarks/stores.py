"""Measure deciders on databases, as ratios in one run: `python -m benchmarks.stores`.

Every ask and every tell is durable when it returns. Optuna's ask and tell on SQLite is measured
beside them, ten calls of each in turn, so that both meet the same disk and the same neighbours.
What is on offer is drawn beforehand: only ask and tell are measured. Processor time, which other
work on the machine disturbs less, is printed beside.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import sqlite3
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import projbandits as pb
from projbandits._validation import Array

D, ITEMS, OFFERED = 20, 1000, 100
U = pb.Subspace.coordinates(range(D // 2), d=D)
_rng = np.random.default_rng(0)
CATALOGUE = _rng.normal(size=(ITEMS, D))
OFFERS = [CATALOGUE[_rng.permutation(ITEMS)[:OFFERED]] for _ in range(1000)]
"""Far more than a decider remembers, so that to it each of them is new."""


def _decider(url: str, name: str = "films") -> pb.Decider:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0, store=url, name=name)
        decider.ask(CATALOGUE)  # the catalogue is stored, once
    return decider


def _pair(decider: pb.Decider, offers: Iterator[Array]) -> None:
    """Ask among 100 of 1,000 items, and tell."""
    decision = decider.ask(next(offers))
    decider.tell(decision.id, float(decision.arm[0]))


def _offers(start: int) -> Iterator[Array]:
    """Return what one of several callers offers, without end."""
    return cycle(OFFERS[start:] + OFFERS[:start])


def _callers(decider: pb.Decider, callers: int, seconds: float) -> tuple[float, float]:
    """Return the time per ask and tell when threads do nothing else, and the processor time."""
    until, counts = time.perf_counter() + seconds, [0] * callers

    def run(i: int) -> None:
        offers = _offers(i * len(OFFERS) // callers)
        while time.perf_counter() < until:
            _pair(decider, offers)
            counts[i] += 1

    threads = [threading.Thread(target=run, args=(i,)) for i in range(callers)]
    start, busy = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took, busy = time.perf_counter() - start, time.process_time() - busy
    return took / sum(counts), busy / sum(counts)


def _optuna(folder: Path) -> Callable[[], None]:
    """Return one ask and tell of Optuna, on SQLite, with one parameter."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        storage=f"sqlite:///{folder}/optuna.db", sampler=optuna.samplers.RandomSampler(seed=0)
    )

    def pair() -> None:
        trial = study.ask()
        study.tell(trial, trial.suggest_float("x", 0.0, 1.0))

    return pair


def against_optuna(rounds: int = 100, seconds: float = 4.0) -> None:
    """Print ask + tell on SQLite for one caller and for 64, beside Optuna's."""
    with _folder() as folder:
        theirs, decider = _optuna(folder), _decider(f"sqlite:///{folder}/films.db")
        offers = _offers(0)
        times: dict[str, list[float]] = {"theirs": [], "ours": []}
        busy = list[float]()
        calls: dict[str, Callable[[], None]] = {
            "theirs": theirs,
            "ours": lambda: _pair(decider, offers),
        }
        for name in [name for _ in range(rounds // 10) for name in calls for _ in range(10)]:
            start, spent = time.perf_counter(), time.process_time()
            calls[name]()
            times[name].append(time.perf_counter() - start)
            if name == "ours":
                busy.append(time.process_time() - spent)
        many = [_callers(decider, 64, seconds / 2) for _ in range(2)]
        for _ in range(rounds // 2):
            start = time.perf_counter()
            theirs()
            times["theirs"].append(time.perf_counter() - start)
        optuna, ours = median(times["theirs"]), median(times["ours"])
        print(
            f"a flush to disk: {1e3 * _flush(folder):.2f} ms; ask + tell needs two, Optuna's twelve"
        )
        print(
            f"ask + tell on SQLite, one caller: {1e3 * ours:.1f} ms, Optuna {1e3 * optuna:.0f} ms: "
            f"{optuna / ours:.1f} times (to reach: 10); {1e6 * median(busy):.0f} us of processor"
        )
        took, spent = min(many)
        print(
            f"ask + tell on SQLite, 64 callers: {1e3 * took:.2f} ms each, "
            f"{optuna / took:.0f} times (to reach: 40); {1e6 * spent:.0f} us of processor"
        )
        decider.close()


def _flush(folder: Path, times: int = 30) -> float:
    """Return the median time in seconds that the disk takes to make 8 KB durable."""
    took = []
    with open(folder / "flushed", "wb", buffering=0) as file:
        for _ in range(times):
            file.write(b"x" * 8192)
            start = time.perf_counter()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - start)
    return median(took)


def _run(url: str, callers: int, seconds: float, begin: Any, rates: Any) -> None:
    decider = _decider(url)
    _callers(decider, callers, 0.2)
    begin.wait()
    rates.put(1.0 / _callers(decider, callers, seconds)[0])


def two_processes(callers: int = 16, seconds: float = 4.0) -> None:
    """Print how many decisions two processes on one PostgreSQL make, beside one."""
    from tests.databases import Server

    context = multiprocessing.get_context("spawn")
    with _folder() as folder:
        server = Server(folder / "postgresql")
        rates = dict[int, list[float]]({1: [], 2: []})
        for _ in range(2):
            for processes in (1, 2):
                url, begin, queue = server.database(), context.Barrier(processes), context.Queue()
                _decider(url).close()
                running = [
                    context.Process(target=_run, args=(url, callers, seconds, begin, queue))
                    for _ in range(processes)
                ]
                for process in running:
                    process.start()
                rates[processes].append(sum(queue.get() for _ in running))
                for process in running:
                    process.join()
        one, two = max(rates[1]), max(rates[2])
        print(
            f"ask + tell on PostgreSQL, {callers} callers per process: one process {one:,.0f} per "
            f"second, two {two:,.0f}: {two / one:.2f} times (to reach: 1.3)"
        )
        server.stop()


def sizes(decisions: int = 5000) -> None:
    """Print how many bytes a decision and its outcome take, the catalogue aside."""
    from tests.databases import Server

    with _folder() as folder:
        path = folder / "films.db"
        decider = _decider(f"sqlite:///{path}")
        before = _sqlite_size(path)
        _fill(decider, decisions)
        print(
            "log, 100 of 1,000 items on offer, d = 20: "
            f"{(_sqlite_size(path) - before) / decisions:.0f} "
            "bytes per decision in SQLite (to reach: 500)"
        )
        decider.close()
        server = Server(folder / "postgresql")
        url = server.database()
        decider = _decider(url)
        before = _postgresql_size(url)
        _fill(decider, decisions)
        print(
            f"the same in PostgreSQL: {(_postgresql_size(url) - before) / decisions:.0f} bytes "
            "(to reach: 500)"
        )
        server.stop()


def _fill(decider: pb.Decider, decisions: int) -> None:
    """Make decisions from many threads, so that they share flushes."""

    def run(i: int) -> None:
        offers = _offers(i * len(OFFERS) // 50)
        for _ in range(decisions // 50):
            _pair(decider, offers)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _sqlite_size(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        used = "SELECT sum(pgsize) FROM dbstat WHERE name LIKE '%projbandits_events%' OR name IN "
        indexes = "('projbandits_ids', 'projbandits_offers')"
        return int(connection.execute(used + indexes).fetchone()[0])


def _postgresql_size(url: str) -> int:
    import psycopg

    with psycopg.connect(url) as connection:
        size = "SELECT pg_table_size('projbandits_events') + pg_indexes_size('projbandits_events')"
        row = connection.execute(size).fetchone()
    return int(row[0]) if row else 0


def opening(events: int = 1_000_000, audited: int = 10_000) -> None:
    """Print how long it takes to open a ledger of a million events, and to audit it."""
    with _folder() as folder:
        url = f"sqlite:///{folder}/films.db"
        decider = _decider(url)
        start = time.perf_counter()
        _grow(decider, audited)
        _audit(url, audited)
        _grow(decider, (events - decider.belief().position) // 2)
        last = decider.belief().position
        decider.close()
        print(f"made a ledger of {last:,} events in {time.perf_counter() - start:.0f} s")
        for label, aim in (("with a snapshot", 2), ("without any", 60)):
            start = time.perf_counter()
            opened = pb.Decider.open(url, "films")
            took = time.perf_counter() - start
            print(f"opening it {label}: {took:.2f} s (to reach: {aim} s), {opened.ridge.n:,} told")
            opened.close()
            with contextlib.closing(sqlite3.connect(folder / "films.db")) as connection:
                connection.execute("DELETE FROM projbandits_snapshots")
                connection.commit()
        print(f"{os.path.getsize(folder / 'films.db') / 1e6:,.0f} MB")


def _audit(url: str, decisions: int) -> None:
    decider = pb.Decider.open(url, "films")
    start = time.perf_counter()
    decider.audit()
    took = time.perf_counter() - start
    print(f"audit of {decisions:,} decisions: {took:.1f} s (to reach: 5 s)")
    decider.close()


def _grow(decider: pb.Decider, decisions: int) -> None:
    """Add decisions and outcomes by the thousand, each as `ask` and `tell` record them."""
    from projbandits.ledger.events import Decided, Told
    from projbandits.ledger.ledger import Transaction

    ledger, rng = decider.history().ledger, np.random.default_rng(1)

    def add(tx: Transaction, first: int, count: int) -> None:
        step, now = tx.known.state.step, time.time()
        for i in range(count):
            rows = rng.permutation(ITEMS)[:OFFERED].astype(np.uint16)
            arm, id = CATALOGUE[rows[3]], f"{step + i:032x}"
            at = 1, first + i  # the session and the draw
            tx.append(Decided(id, now, step + i, *at, 3, 0.5, 0.1, 0.2, arm, rows), new=True)
            tx.append(Told(id, now, float(rng.normal())))

    for first in range(0, decisions, 2000):
        count = min(decisions - first, 2000)
        ledger.transact(partial(add, first=first, count=count))


def temporary(pairs: int = 2000, fresh: int = 50_000) -> None:
    """Print what ask + tell takes without a store, and the memory of many fresh offers."""
    rng, U10 = np.random.default_rng(0), pb.Subspace.coordinates(range(7), d=10)
    decider, X = pb.Decider(pb.GENTRY(), subspace=U10, seed=0), rng.normal(size=(100, 10))
    times = list[float]()
    for _ in range(pairs):
        start = time.perf_counter()
        decider.tell(decider.ask(X).id, 0.5)
        times.append(time.perf_counter() - start)
    print(f"ask + tell in memory, 100 items: {1e6 * median(times):.0f} us (to reach: 130)")
    decider = pb.Decider(pb.GENTRY(), subspace=U10, seed=0)
    sizes = [_peak()]
    for i in range(1, fresh + 1):
        decider.tell(decider.ask(rng.normal(size=(20, 10))).id, 0.5)
        if i == fresh // 2 or i == fresh:
            sizes.append(_peak())
    shown = ", ".join(f"{size:.0f}" for size in sizes)
    print(
        f"memory before, after {fresh // 2:,} and after {fresh:,} decisions among 20 fresh items: "
        f"{shown} MB (to reach, after a million: 300)"
    )


def _peak() -> float:
    """Return the largest memory that this process had, in MB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="stores", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


FIGURES: dict[str, Callable[[], None]] = {
    "optuna": against_optuna,
    "processes": two_processes,
    "sizes": sizes,
    "opening": opening,
    "temporary": temporary,
}


def main() -> None:
    """Run every measurement, or the one asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=FIGURES, help="run only this measurement")
    only = parser.parse_args().only
    for name, measure in FIGURES.items():
        if only in (None, name):
            measure()


if __name__ == "__main__":
    main()
