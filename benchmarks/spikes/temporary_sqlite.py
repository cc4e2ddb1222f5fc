"""Spike (b): a decider on a temporary database: `python -m benchmarks.spikes.temporary_sqlite`.

The path of an ask and a tell is prototyped: lock, fold what is new, decide with the library's own
strategies, append an event in msgpack to a SHA-256 chain. It runs beside the ledger in memory of
the same tree, in turns, so that both meet the same neighbours.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import sqlite3
import threading
import time
from statistics import median
from typing import Any

import msgspec
import numpy as np

import projbandits as pb
from projbandits.decisions import offers
from projbandits.decisions.choosing import NOT_KEPT, Asked, choose
from projbandits.ledger import happened
from projbandits.ledger.describing import strategy_fields
from projbandits.ledger.fold import Known, fold, opened
from projbandits.ledger.protocol import Entry
from projbandits.ledger.randomness import Streams, new_id


class Event(msgspec.Struct, array_like=True, tag_field="kind", frozen=True, gc=False):
    """What happened; an array in msgpack, whose first entry is the kind."""


class Decided(Event, frozen=True, tag="decided"):
    """An arm was chosen. `offer` is rows as little-endian bytes, or the event that has them."""

    id: str
    time: float
    step: int
    known: int
    session: int
    draw: int
    index: int | None
    propensity: float
    estimate: float
    error: float
    offer: bytes | int
    arm: bytes
    label: str | None = None
    meta: str | None = None
    counted: int = 0
    slot: int = 0
    floor: float = 0.0


class Told(Event, frozen=True, tag="told"):
    """The outcome of a decision."""

    id: str
    time: float
    outcome: float
    decided: int
    observed: str | None = None


ENCODE = msgspec.msgpack.Encoder().encode
DECODE = msgspec.msgpack.Decoder(Decided | Told).decode
Row = tuple[int, str, bytes, bytes]

SCHEMA = """
CREATE TABLE projbandits_ledgers (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, last {big} NOT NULL, head {bytes}
);
CREATE TABLE projbandits_events (
    place {big} PRIMARY KEY, id TEXT, body {bytes} NOT NULL, hash {bytes} NOT NULL
);
CREATE INDEX projbandits_ids ON projbandits_events (id) WHERE id IS NOT NULL
"""
TYPES = {
    "sqlite": {"big": "INTEGER", "bytes": "BLOB"},
    "postgresql": {"big": "BIGINT", "bytes": "BYTEA"},
}
INSERT = "INSERT INTO projbandits_events (place, id, body, hash) VALUES (?, ?, ?, ?)"
FIND = "SELECT place, body FROM projbandits_events WHERE id = ? ORDER BY place"
SINCE = (
    "SELECT place, body, hash FROM projbandits_events WHERE place > ? AND place < ? ORDER BY place"
)
HEAD = "SELECT last, head FROM projbandits_ledgers WHERE number = ?"
MOVE = "UPDATE projbandits_ledgers SET last = ?, head = ? WHERE number = ?"
RECENT = 1024


class Mind:
    """What a process knows of a ledger: the belief at its head, and the head itself."""

    def __init__(self, strategy: Any, subspace: pb.Subspace, session: int = 0) -> None:
        first = happened.Opened(
            "k", 0.0, 0, strategy_fields(strategy), repr(strategy), subspace.basis, None, None
        )
        self.known: Known = opened(first, [strategy])._replace(subspace=subspace)
        self.streams, self.session, self.draws = Streams(0), session, 0
        self.position, self.head = 1, bytes(32)
        self.decisions: dict[str, tuple[int, Any]] = {}
        self.offers: dict[int, tuple[Any, int, Any]] = {}

    def ready(self, arms: Any) -> Any:
        """Return what is on offer, checked: before any lock."""
        kept = self.offers.get(id(arms))
        if kept is not None and kept[2].has_rows(arms):
            return kept[2]
        known = self.known
        return offers.read("arms", arms, known.subspace, None, known.state.ridge.penalty)[0]

    def decide(self, ready: Any, arms: Any, at: int, mates: list[Any]) -> tuple[Decided, Any]:
        """Return the event and the decision of one ask; `at` is where the event will stand."""
        asked = Asked(ready, True, None, [new_id()], None)
        (made,), (decision,) = choose(
            self.known, asked, NOT_KEPT, self.streams, self.session, self.draws, mates
        )
        self.draws += 1
        kept = self.offers.get(id(arms))
        if kept is not None and kept[2] is ready:
            offer: bytes | int = kept[1]
        else:
            offer = ready.vectors.astype("<f8", copy=False).tobytes()
            ready.own()
            self.offers[id(arms)] = arms, at, ready
            if len(self.offers) > 64:
                del self.offers[next(iter(self.offers))]
        event = Decided(
            made.id, made.time, made.step, made.known, made.session, made.draw, made.index,
            made.propensity, made.estimate, made.standard_error, offer, decision.arm.tobytes(),
            made.label, made.meta, made.counted,
        )  # fmt: skip
        return event, (made, decision)

    def fold_decided(self, position: int, id: str, made: happened.Decided, arm: Any) -> None:
        """Fold a decision."""
        self.known = fold(self.known, Entry(position, made, arm))
        self.decisions[id] = position, arm
        if len(self.decisions) > RECENT:
            del self.decisions[next(iter(self.decisions))]

    def fold_told(self, position: int, event: Told, arm: Any) -> None:
        """Fold an outcome."""
        told = happened.Told(event.id, event.time, event.outcome)
        self.known = fold(self.known, Entry(position, told, arm, None, None, event.decided))

    def fold_read(self, position: int, body: bytes, find: Any) -> None:
        """Fold an event that another process appended."""
        event = DECODE(body)
        if isinstance(event, Decided):
            arm = np.frombuffer(event.arm, "<f8")
            made = happened.Decided(
                event.id, event.time, event.step, event.known, event.session, event.draw,
                event.index, event.propensity, event.estimate, event.error,
            )  # fmt: skip
            self.fold_decided(position, event.id, made, arm)
        else:
            self.fold_told(position, event, self.arm(event.id, find)[1])

    def arm(self, id: str, find: Any) -> tuple[int, Any]:
        """Return where a decision stands, and its arm."""
        held = self.decisions.get(id)
        if held is None:
            place, body = find(id)[0]
            held = place, np.frombuffer(DECODE(body).arm, "<f8")
        return held


def chained(head: bytes, bodies: list[bytes]) -> list[bytes]:
    """Return the hashes of bodies that follow a head."""
    hashes = []
    for body in bodies:
        head = hashlib.sha256(head + body).digest()
        hashes.append(head)
    return hashes


PRAGMAS = {
    "none": "",
    "chosen": "journal_mode=MEMORY;synchronous=OFF;temp_store=FILE;cache_size=-8192;page_size=8192",
}


class Temporary:
    """A decider on a temporary database, one lock, no thread."""

    def __init__(
        self, strategy: Any, subspace: pb.Subspace, pragmas: str = PRAGMAS["chosen"], each: int = 1,
        rows: bool = True, insert_only: bool = False, locked: bool = False,
    ) -> None:  # fmt: skip
        self.mind = Mind(strategy, subspace)
        self.connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for pragma in filter(None, reversed(pragmas.split(";"))):
            self.connection.execute(f"PRAGMA {pragma}")
        for statement in SCHEMA.format(**TYPES["sqlite"]).split(";"):
            self.connection.execute(statement)
        self.connection.execute("INSERT INTO projbandits_ledgers VALUES (1, 'x', 1, NULL)")
        self.lock = threading.Lock()
        self.execute = self.connection.cursor().execute
        self.each, self.count, self.rows = each, 0, rows

    def _append(self, events: list[tuple[str, bytes]]) -> int:
        """Write events as one transaction; `each` > 1 leaves it open for so many."""
        mind, execute = self.mind, self.execute
        if self.count % self.each == 0 and (self.each > 1 or self.rows or len(events) > 1):
            execute("BEGIN")
        for id, body in events:
            mind.position += 1
            mind.head = hashlib.sha256(mind.head + body).digest()
            execute(INSERT, (mind.position, id, body, mind.head))
        if self.rows:
            execute(MOVE, (mind.position, mind.head, 1))
        self.count += 1
        if self.count % self.each == 0 and self.connection.in_transaction:
            execute("COMMIT")
        return mind.position

    def ask(self, arms: Any) -> Any:
        """Decide and record."""
        mind = self.mind
        ready = mind.ready(arms)
        with self.lock:
            event, (made, decision) = mind.decide(ready, arms, mind.position + 1, [])
            position = self._append([(event.id, ENCODE(event))])
            mind.fold_decided(position, event.id, made, decision.arm)
        return decision

    def tell(self, id: str, outcome: float) -> None:
        """Record an outcome and learn it."""
        mind = self.mind
        with self.lock:
            decided, arm = mind.arm(id, lambda id: self.execute(FIND, (id,)).fetchall())
            event = Told(id, time.time(), outcome, decided)
            position = self._append([(id, ENCODE(event))])
            mind.fold_told(position, event, arm)


def sets(count: int, K: int = 100, d: int = 20) -> list[Any]:
    """Return offers."""
    rng = np.random.default_rng(0)
    return [rng.normal(size=(K, d)) for _ in range(count)]


def together(deciders: dict[str, Any], some: list[Any], steps: int) -> dict[str, float]:
    """Return the median processor time in us of an ask and a tell by each, in turns of 20."""
    times: dict[str, list[float]] = {name: [] for name in deciders}
    counts = dict.fromkeys(deciders, 0)
    for _ in range(steps // 20):
        for name, decider in deciders.items():
            for _ in range(20):
                arms = some[counts[name] % len(some)]
                counts[name] += 1
                start = time.thread_time_ns()
                decision = decider.ask(arms)
                decider.tell(decision.id, float(decision.arm[0]))
                times[name].append(time.thread_time_ns() - start)
    return {name: 1e-3 * median(taken) for name, taken in times.items()}


def paths(steps: int) -> None:
    """Print ask + tell on each ledger, for two strategies, the same offer and ever new ones."""
    U = pb.Subspace.coordinates(range(10), d=20)
    for strategy in (pb.GENTRY(), pb.EIIDS()):
        for label, some in (("the same 100", sets(1)), ("100 fresh", sets(3000))):
            deciders = {
                "memory, log=False": pb.Decider(strategy, subspace=U, seed=0),
                "memory, log=True": pb.Decider(strategy, subspace=U, seed=0, log=True),
                "temporary": Temporary(strategy, U),
                "temporary, no row of the ledger": Temporary(strategy, U, rows=False),
                "temporary, no pragma": Temporary(strategy, U, PRAGMAS["none"]),
                "temporary, commit each 64": Temporary(strategy, U, each=64),
            }
            for name, us in together(deciders, some, steps).items():
                print(f"{strategy!r}, {label}: {name}: {us:.0f} us")


def inserts(count: int = 20_000) -> None:
    """Print the time of a bare insert by pragmas and by how many share a transaction."""
    small, large = bytes(250), bytes(3500)
    for each in (1, 64):
        for pragmas in (
            "", "journal_mode=OFF;synchronous=OFF", "journal_mode=MEMORY;synchronous=OFF",
            "journal_mode=TRUNCATE;synchronous=OFF", "journal_mode=PERSIST;synchronous=OFF",
            "journal_mode=MEMORY;synchronous=OFF;cache_size=-8192",
            "journal_mode=MEMORY;synchronous=OFF;cache_size=-32768",
            "journal_mode=MEMORY;synchronous=OFF;cache_size=-8192;page_size=8192",
            "journal_mode=MEMORY;synchronous=OFF;cache_size=-8192;page_size=16384",
            "journal_mode=MEMORY;synchronous=OFF;cache_size=-8192;page_size=8192;temp_store=FILE",
        ):  # fmt: skip
            decider = Temporary(pb.GENTRY(), pb.Subspace.coordinates([0], d=2), pragmas, each)
            took = {}
            for label, body in (("small", small), ("large", large)):
                start = time.thread_time()
                for i in range(count):
                    decider._append([(f"{label}{i:026x}", body)])
                took[label] = 1e6 * (time.thread_time() - start) / count
            print(
                f"{each:>3} a transaction, {pragmas or 'none'}: 250 bytes {took['small']:.1f} us, "
                f"3,500 bytes {took['large']:.1f} us"
            )


def size(kind: str, decisions: int, told: bool = True) -> None:
    """Print memory while fresh offers of 20 items come, in this process."""
    U = pb.Subspace.coordinates(range(5), d=10)
    rng = np.random.default_rng(0)
    decider: Any = (
        Temporary(pb.EIIDS(), U) if kind == "temporary"
        else pb.Decider(pb.EIIDS(), subspace=U, seed=0, log=kind == "log")
    )  # fmt: skip
    before, start = _now(), time.perf_counter()
    for i in range(1, decisions + 1):
        decision = decider.ask(rng.normal(size=(20, 10)))
        if told:
            decider.tell(decision.id, float(decision.arm[0]) + rng.normal())
        if i * 4 % decisions == 0:
            print(
                f"{kind}: {i:,} decisions: {_now():.0f} MB (before {before:.0f}, peak "
                f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}); "
                f"{1e6 * (time.perf_counter() - start) / i:.0f} us each",
                flush=True,
            )
    if kind == "temporary":
        pages = decider.connection.execute("PRAGMA page_count").fetchone()[0]
        page = decider.connection.execute("PRAGMA page_size").fetchone()[0]
        print(f"database {pages * page / 1e6:.0f} MB, {pages * page / decisions:.0f} bytes each")
        start, count, after = time.perf_counter(), 0, 0
        head = bytes(32)
        while rows := decider.execute(
            "SELECT place, body, hash FROM projbandits_events WHERE place > ? ORDER BY place "
            "LIMIT 1000", (after,),
        ).fetchall():  # fmt: skip
            for place, body, hash_ in rows:
                head = hashlib.sha256(head + body).digest()
                assert head == hash_
                DECODE(body)
                after, count = place, count + 1
        print(
            f"read, decoded and chain checked: {count / (time.perf_counter() - start):,.0f} "
            f"events/s; then {_now():.0f} MB"
        )


def _now() -> float:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def main() -> None:
    """Run the measurements, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["paths", "inserts", "size"])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--decisions", type=int, default=200_000)
    parser.add_argument("--kind", default="temporary")
    options = parser.parse_args()
    if options.only in (None, "inserts"):
        inserts()
    if options.only in (None, "paths"):
        paths(options.steps)
    if options.only in (None, "size"):
        size(options.kind, options.decisions)


if __name__ == "__main__":
    main()
