"""Spike (c): deciding inside the transaction: `python -m benchmarks.spikes.transaction`.

Four processes of sixteen threads ask and tell on one store, SQLite and PostgreSQL: deciders of this
tree, and a prototype whose one batcher locks, folds what is new, decides and appends. They run in
turns, on databases of their own.
"""

from __future__ import annotations

import argparse
import fcntl
import multiprocessing
import os
import queue
import sqlite3
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np

import projbandits as pb
from benchmarks.spikes.temporary_sqlite import (
    ENCODE,
    FIND,
    HEAD,
    INSERT,
    MOVE,
    SCHEMA,
    SINCE,
    TYPES,
    Mind,
    Told,
    chained,
    sets,
)
from projbandits.ledger.randomness import new_session

STRATEGY = pb.EIIDS()
U = pb.Subspace.coordinates(range(5), d=10)
END = 2**40
MOST, PAUSE = 1024, 0.0005


class Sqlite:
    """A connection to a file, and how writers of several processes take turns."""

    def __init__(self, url: str, turns: str) -> None:
        self.path, self.turns = url.removeprefix("sqlite:///"), turns
        self.connection = sqlite3.connect(
            self.path, isolation_level=None, check_same_thread=False, timeout=30
        )
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            self.connection.execute(f"PRAGMA {pragma}")
        if turns == "flock":
            self.lock = os.open(self.path + "-turn", os.O_CREAT | os.O_RDWR, 0o600)
        if turns == "poll":
            self.connection.execute("PRAGMA busy_timeout=0")
        self.cursor = self.connection.cursor()

    def begin(self, mind: Mind) -> tuple[int, bytes, list[Any]]:
        """Lock, and return the head and what stands after what is known."""
        if self.turns == "flock":
            fcntl.flock(self.lock, fcntl.LOCK_EX)
        while True:
            try:
                self.cursor.execute("BEGIN IMMEDIATE")
                break
            except sqlite3.OperationalError as error:
                if self.turns != "poll" or "locked" not in str(error):
                    raise
                time.sleep(PAUSE)
        last, head = self.cursor.execute(HEAD, (1,)).fetchone()
        after = mind.position
        new = self.cursor.execute(SINCE, (after, END)).fetchall() if last > after else []
        return last, head, new

    def commit(self, rows: list[Any]) -> None:
        """Append and commit; nothing to append unlocks."""
        if rows:
            self.cursor.executemany(INSERT, rows)
            self.cursor.execute(MOVE, (rows[-1][0], rows[-1][3], 1))
        self.cursor.execute("COMMIT")
        if self.turns == "flock":
            fcntl.flock(self.lock, fcntl.LOCK_UN)

    def find(self, id: str) -> list[Any]:
        """Return what has an id."""
        return self.cursor.execute(FIND, (id,)).fetchall()


class Postgresql:
    """The same statements, in two round trips."""

    def __init__(self, url: str, turns: str) -> None:
        import psycopg

        self.connection = psycopg.connect(url, autocommit=True, cursor_factory=psycopg.RawCursor)
        for setting in ("lock_timeout=30000", "plan_cache_mode=force_generic_plan", "jit=off",
                        "enable_seqscan=off"):  # fmt: skip
            self.connection.execute(f"SET {setting}")

    def _send(self, text: str, values: Any = None) -> Any:
        cursor = self.connection.cursor(binary=True)
        return cursor.execute(text, values)

    def begin(self, mind: Mind) -> tuple[int, bytes, list[Any]]:
        """Lock, and return the head and what stands after what is known."""
        with self.connection.pipeline():
            self._send("BEGIN")
            head = self._send(HEAD.replace("?", "$1") + " FOR UPDATE", (1,))
            new = self._send(SINCE.replace("?", "$1", 1).replace("?", "$2"), (mind.position, END))
            last, digest = head.fetchone()
            return last, digest, new.fetchall()

    def commit(self, rows: list[Any]) -> None:
        """Append and commit; nothing to append unlocks."""
        with self.connection.pipeline():
            if rows:
                places, ids, bodies, hashes = (list(column) for column in zip(*rows, strict=True))
                self._send(
                    "INSERT INTO projbandits_events (place, id, body, hash) SELECT * FROM "
                    "unnest($1::bigint[], $2::text[], $3::bytea[], $4::bytea[])",
                    (places, ids, bodies, hashes),
                )
                self._send("UPDATE projbandits_ledgers SET last = $1, head = $2 WHERE number = $3",
                           (rows[-1][0], rows[-1][3], 1))  # fmt: skip
            self._send("COMMIT")

    def find(self, id: str) -> list[Any]:
        """Return what has an id."""
        return [*self._send(FIND.replace("?", "$1"), (id,)).fetchall()]


class Batcher:
    """One thread that does together what callers wait for; a lone caller does it itself.

    `run` is given a function that returns all who wait: it is called once the lock is held, so that
    whoever came meanwhile is served too. Before that the thread waits a little for those whom it
    has just served, as long as they keep coming: who asks in a loop is about to ask again.
    """

    def __init__(self, run: Callable[[Callable[[], list[Any]]], int], gather: int) -> None:
        self._run, self._pauses = run, gather
        self._waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._busy = threading.Lock()
        self._alone = True
        threading.Thread(target=self._serve, daemon=True).start()

    def submit(self, work: Callable[[int], Any]) -> Any:
        """Return what the work returns once it is durable, or raise its error."""
        future: Future[Any] = Future()
        if self._alone and self._busy.acquire(blocking=False):
            try:
                self._run(lambda: [(work, future)])
            finally:
                self._busy.release()
            return future.result()
        self._waiting.put((work, future))
        return future.result()

    def _serve(self) -> None:
        expected = 0
        while True:
            first = self._waiting.get()
            before = -1
            for _ in range(self._pauses):
                there = self._waiting.qsize()
                if there == before or there + 1 >= expected:
                    break
                before = there
                time.sleep(PAUSE)

            def taken(first: Any = first) -> list[Any]:
                some = [first]
                while len(some) < MOST:
                    try:
                        some.append(self._waiting.get_nowait())
                    except queue.Empty:
                        break
                return some

            with self._busy:
                served = self._run(taken)
            expected = served + self._waiting.qsize()
            self._alone = expected <= 1


class Prototype:
    """A decider on a store: everything happens in `transact`."""

    def __init__(self, url: str, turns: str = "busy", gather: int = 4) -> None:
        kind = Sqlite if url.startswith("sqlite") else Postgresql
        self.store: Any = kind(url, turns)
        self.mind = Mind(STRATEGY, U, new_session())
        self.batcher = Batcher(self._transact, gather)
        self.batches = self.works = 0

    def _transact(self, taken: Callable[[], list[Any]]) -> int:
        """Lock, fold what is new, run each work, append what they say, commit, answer."""
        mind, done, bodies, ids = self.mind, list[Any](), [], []
        some: list[Any] = []
        try:
            last, head, new = self.store.begin(mind)
            for place, body, _ in new:
                mind.fold_read(place, body, self.store.find)
            mind.position, mind.head = last, head or bytes(32)
            some = taken()
            known, draws = mind.known, mind.draws
            at = last
            for work, future in some:
                try:
                    event, answer, folded = work(at + 1)
                    folded(at + 1)  # later ones know of it
                except BaseException as error:  # nothing of it was written
                    done.append((future, None, error))
                    continue
                at += 1
                ids.append(event.id)
                bodies.append(ENCODE(event))
                done.append((future, answer, None))
            hashes = chained(mind.head, bodies)
            rows = list(zip(range(last + 1, at + 1), ids, bodies, hashes, strict=True))
            try:
                self.store.commit(rows)
            except BaseException:
                mind.known, mind.draws = known, draws
                raise
            if rows:
                mind.position, mind.head = at, hashes[-1]
        except BaseException as error:
            for _, future in some or taken():
                future.set_exception(error)
            return 1
        self.batches += 1
        self.works += len(some)
        for future, answer, failed in done:
            if failed is None:
                future.set_result(answer)
            else:
                future.set_exception(failed)
        return len(some)

    def ask(self, arms: Any) -> Any:
        """Decide and record."""
        mind = self.mind
        ready = mind.ready(arms)

        def decide(at: int) -> Any:
            event, (made, decision) = mind.decide(ready, arms, at, [])
            folded = lambda at: mind.fold_decided(at, event.id, made, decision.arm)  # noqa: E731
            return event, decision, folded

        return self.batcher.submit(decide)

    def tell(self, id: str, outcome: float) -> None:
        """Record an outcome and learn it."""
        mind = self.mind

        def report(at: int) -> Any:
            decided, arm = mind.arm(id, self.store.find)
            event = Told(id, time.time(), outcome, decided)
            return event, None, lambda at: mind.fold_told(at, event, arm)

        self.batcher.submit(report)


def prepared(url: str) -> None:
    """Make the tables, and one ledger in them."""
    if url.startswith("sqlite"):
        connection: Any = Sqlite(url, "busy").connection
    else:
        connection = Postgresql(url, "").connection
    for statement in SCHEMA.format(**TYPES[url.partition(":")[0]]).split(";"):
        connection.execute(statement)
    connection.execute("INSERT INTO projbandits_ledgers VALUES (1, 'films', 1, NULL)")
    connection.close()


def _decider(url: str, kind: str) -> Any:
    if kind == "before":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pb.Decider(STRATEGY, subspace=U, seed=0, store=url, name="films")
    turns, _, gather = kind.partition("-")
    return Prototype(url, turns, int(gather or 4))


def _run(url: str, kind: str, threads: int, seconds: float, begin: Any, results: Any) -> None:
    decider, offers = _decider(url, kind), sets(8, K=20, d=10)
    until, taken = 0.0, list[float]()

    def call(i: int) -> None:
        n = i
        while time.perf_counter() < until:
            n += 1
            start = time.perf_counter()
            decision = decider.ask(offers[n % 8])
            middle = time.perf_counter()
            decider.tell(decision.id, float(decision.arm[0]))
            taken.extend((middle - start, time.perf_counter() - middle))

    for length in (0.5, seconds):
        taken.clear()
        begin.wait()
        until = time.perf_counter() + length
        busy = time.process_time()
        running = [threading.Thread(target=call, args=(i,)) for i in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    busy = time.process_time() - busy
    together = decider.works / max(decider.batches, 1) if kind != "before" else 0.0
    results.put((taken, busy, together))


def measured(url: str, kind: str, processes: int, threads: int, seconds: float) -> str:
    """Return a line about a load on a fresh database."""
    context = multiprocessing.get_context("spawn")
    begin, results = context.Barrier(processes), context.Queue()
    if kind == "before":
        _decider(url, kind).close()
    else:
        prepared(url)
    running = [
        context.Process(target=_run, args=(url, kind, threads, seconds, begin, results))
        for _ in range(processes)
    ]
    for process in running:
        process.start()
    said = [results.get() for _ in running]
    for process in running:
        process.join()
    taken = np.concatenate([took for took, _, _ in said])
    busy = sum(spent for _, spent, _ in said) / len(taken)
    shares = [len(took) for took, _, _ in said]
    fifty, ninety_nine = 1e3 * np.percentile(taken, [50, 99])
    share, together = min(shares) / max(shares), np.mean([each for _, _, each in said])
    return (
        f"{kind}: {len(taken) / seconds:,.0f} calls/s, median {fifty:.1f} ms, 99 % "
        f"{ninety_nine:.1f} ms, {1e6 * busy:.0f} us of processor each; least process has "
        f"{share:.2f} of the most; {together:.1f} together"
    )


def flush(folder: Path) -> float:
    """Return the median time in ms that the disk takes to make 8 KB durable."""
    took = []
    with open(folder / "flushed", "wb", buffering=0) as file:
        for _ in range(50):
            file.write(b"x" * 8192)
            start = time.perf_counter()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - start)
    return 1e3 * float(np.median(took))


def main() -> None:
    """Run the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgresql"], nargs="*",
                        default=["sqlite", "postgresql"])  # fmt: skip
    parser.add_argument("--kinds", nargs="*", default=["before", "busy", "poll", "flock"])
    parser.add_argument("--loads", nargs="*", default=["4x16", "1x64", "1x1"])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    from tests.databases import Server

    with tempfile.TemporaryDirectory(prefix="spike", ignore_cleanup_errors=True) as folder:
        server, made = None, 0
        print(f"a flush to disk: {flush(Path(folder)):.2f} ms")
        for store in options.store:
            if store == "postgresql":
                server = Server(Path(folder) / "postgresql")
            for load in options.loads:
                processes, threads = map(int, load.split("x"))
                for _ in range(options.rounds):
                    for kind in options.kinds:
                        if server is not None and kind.startswith(("poll", "flock")):
                            continue
                        made += 1
                        url = server.database() if server else f"sqlite:///{folder}/{made}.db"
                        line = measured(url, kind, processes, threads, options.seconds)
                        print(f"{store}, {load}: {line}", flush=True)
        if server is not None:
            server.stop()


if __name__ == "__main__":
    main()
