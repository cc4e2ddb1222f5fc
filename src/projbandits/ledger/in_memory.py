"""Ledgers in the memory of one process.

The append is one operation on a list, which nothing can interrupt half-way: it is the commit.

Without a log only the newest events are kept, with a snapshot of what follows from the others, the
decisions that wait for their outcome, and the last outcomes.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from projbandits.exceptions import ConflictError
from projbandits.ledger.catalogue import Catalogue
from projbandits.ledger.codec import EVENT_KINDS, Record, decode, encode
from projbandits.ledger.events import (
    OUTCOMES,
    Decided,
    Described,
    Event,
    Learnt,
    Offered,
    Opened,
    Outcome,
)
from projbandits.ledger.forking import renewed
from projbandits.ledger.index import GONE, Index
from projbandits.ledger.protocol import (
    EVENTS_AT_ONCE,
    Behind,
    Entry,
    Exists,
    Held,
    Snapshot,
    admits,
    settled,
)

Packed = tuple[str, bytes]
"""A decision as its id and its bytes, which take a third of the memory."""


class MemoryLedger:
    """A ledger in memory.

    Parameters
    ----------
    opened : Opened
        Its first event.
    whole : bool
        Whether every event is kept.
    name : str
        What it is called.
    """

    waits = False

    def __init__(self, opened: Opened, *, whole: bool = True, name: str = "memory") -> None:
        self._begin(len(opened.subspace), whole, name, (0, [Entry(1, opened)]))

    def _begin(
        self, d: int, whole: bool, name: str, kept: tuple[int, list[Entry | Event | Packed]]
    ) -> None:
        self.name = name
        self.whole = whole
        # The position before the first event that is kept, and the events: changed together.
        self._kept = kept
        self._indexed = kept[0] + len(kept[1])
        self._packed = 0
        self._index = Index(d, whole, self._decided, lambda: self._kept[0])
        self._snapshots: list[Snapshot] = []
        self._lock = threading.RLock()
        renewed(self)

    @classmethod
    def from_snapshot(cls, d: int, whole: bool, snapshots: Sequence[Snapshot]) -> MemoryLedger:
        """Return a ledger of d features whose events up to the last snapshot are gone."""
        ledger = cls.__new__(cls)
        ledger._begin(d, whole, "memory", (snapshots[-1].position, []))
        ledger._snapshots = [*snapshots]
        return ledger

    def after_fork(self) -> None:
        """Take a new lock: another thread may have held it."""
        self._lock = threading.RLock()

    @property
    def base(self) -> int:
        """The position up to which events were dropped."""
        return self._kept[0]

    def last(self) -> int:
        """Return the position of the last event."""
        base, events = self._kept
        return base + len(events)

    def append(self, events: Sequence[Event], rows: int = 0) -> int:
        """Add events, all or none; see `Ledger.append`."""
        with self._lock:
            index = self._up_to_date()
            entries: list[Entry | Event | Packed] = []
            fresh: dict[str, Held] = {}
            at, many = self.last() + 1, len(events) > 1
            for event in events:
                if isinstance(event, Decided):
                    held = fresh.get(event.id) or index.about(event.id)
                    if held is not None:
                        raise _exists(held)
                    arm = index.arm(event, events)
                    if many:
                        fresh[event.id] = Held(at, event, arm)
                    entries.append(Entry(at, event, arm, None, event.label))
                elif isinstance(event, OUTCOMES):
                    held = fresh.get(event.id) or index.about(event.id)
                    if not admits(event, held):
                        continue
                    assert held is not None
                    self._check_kept(event, held)
                    entries.append(
                        Entry(at, event, held.arm, held.place, held.decision.label, held.position)
                    )
                    if many:
                        fresh[event.id] = settled(held, at, event)
                elif self._is_new(event, rows):
                    entries.append(Entry(at, event))
                else:
                    continue
                at += 1
            if entries:
                self._kept[1].extend(entries)  # the commit
            return self.last()

    def _is_new(self, event: Event, rows: int) -> bool:
        index = self._index
        if isinstance(event, Offered):
            if index.catalogue is None or not rows == event.first == len(index.catalogue):
                raise Behind
            return len(event.vectors) > 0
        if isinstance(event, Described):
            return event.key not in index.sets
        return index.is_new(event) if isinstance(event, Learnt) else True

    def _check_kept(self, event: Outcome, held: Held) -> None:
        """Raise if an outcome is to be changed of which too little is left."""
        gone = not self.whole or held.arm is GONE
        if held.place is None and held.arm is GONE:
            raise ConflictError(
                f"id {event.id!r} was withdrawn ({held.why}), and what was chosen is not kept: "
                "make the decider with log=True or store=, to amend what was withdrawn"
            )
        if held.place is not None and (gone or held.place <= self._kept[0]):
            raise ConflictError(
                f"id {event.id!r} was learnt, and cannot be unlearnt, as what came before is not "
                "kept: make the decider with log=True or store=, and do not spill it, to amend and "
                "withdraw outcomes"
            )

    def _up_to_date(self) -> Index:
        """Return the index with all events in it."""
        base, events = self._kept
        while self._indexed < base + len(events):
            entry = events[self._indexed - base]
            assert isinstance(entry, Entry)  # only those that a snapshot follows are packed
            self._index.add(entry.position, entry.event)
            self._indexed = entry.position
        return self._index

    def _decided(self, position: int) -> Decided:
        base, events = self._kept
        stored = events[position - base - 1]
        event = stored.event if isinstance(stored, Entry) else stored
        if isinstance(event, tuple):
            event = decode(Record(EVENT_KINDS[Decided], *event))
        assert isinstance(event, Decided)
        return event

    def _entry(self, position: int, stored: Entry | Event | Packed) -> Entry:
        if isinstance(stored, Entry):
            return stored
        if isinstance(stored, tuple):
            event = decode(Record(EVENT_KINDS[Decided], *stored))
            assert isinstance(event, Decided)
            return Entry(position, event, self._index.arm(event), None, event.label)
        if not isinstance(stored, OUTCOMES):
            return Entry(position, stored)
        arm, place, label, decided = self._index.outcome_arm(stored.id)
        place = place if place is None or place < position else None
        return Entry(position, stored, arm, place, label, decided)

    def read(
        self, after: int = 0, upto: int | None = None, chunk: int = EVENTS_AT_ONCE
    ) -> Iterator[list[Entry]]:
        """Yield the events after a position, in order."""
        end = self.last() if upto is None else min(upto, self.last())
        while after < end:
            with self._lock:
                self._up_to_date()
                base, events = self._kept
                if after < base:
                    raise ConflictError(
                        f"events up to {base} are not kept: make the decider with log=True or "
                        "store="
                    )
                some = events[after - base : min(after + chunk, end) - base]
                entries = [self._entry(after + i, e) for i, e in enumerate(some, 1)]
            yield entries
            after += len(entries)

    def catalogue(self) -> Catalogue | None:
        """Return the distinct arms offered so far, None without a log."""
        with self._lock:
            return self._up_to_date().catalogue

    def described(self, key: str) -> str | None:
        """Return the infinite set of arms with this key, as JSON."""
        with self._lock:
            return self._up_to_date().sets.get(key)

    def held(self, id: str) -> Held | None:
        """Return a decision and what became of it, if it is kept."""
        with self._lock:
            held = self._up_to_date().about(id)
        return None if held is None or held.arm is GONE else held

    def decisions(self, after: int = 0, chunk: int = EVENTS_AT_ONCE) -> Iterator[list[Held]]:
        """Yield the decisions that are kept after a position, in order."""
        base, _ = self._kept
        with self._lock:
            early = [held for held in self._up_to_date().kept() if held.position > after]
        if early:
            yield early
        for entries in self.read(max(after, base), None, chunk):
            with self._lock:
                made = [
                    self._index.became(position, event)
                    for position, event, *_ in entries
                    if isinstance(event, Decided)
                ]
            yield made

    def pending(self, before: float | None = None) -> Iterator[Held]:
        """Yield the decisions whose outcome is to come, in order."""
        with self._lock:
            waiting = [*self._up_to_date().waiting.values()]
        return (held for held in waiting if before is None or held.decision.time < before)

    def snapshot(self, upto: int | None = None) -> Snapshot | None:
        """Return the last snapshot at or before a position."""
        end = self.last() if upto is None else upto
        i = bisect_right(self._snapshots, end, key=lambda kept: kept.position)
        return self._snapshots[i - 1] if i else None

    def keep(self, snapshot: Snapshot) -> None:
        """Keep a snapshot; without a log, forget the events before it."""
        with self._lock:
            if self._snapshots and snapshot.position <= self._snapshots[-1].position:
                return
            if not self.whole:
                self.forget(snapshot)
                return
            index = self._up_to_date()
            self._snapshots.append(snapshot)
            base, events = self._kept
            for i in range(max(self._packed - base, 0), snapshot.position - base):
                stored = events[i]
                if isinstance(stored, Entry):
                    event = stored.event
                    if isinstance(event, Decided):
                        events[i] = event.id, encode(event).body
                    elif not isinstance(event, OUTCOMES) or event.id in index.fates:
                        events[i] = event
            self._packed = snapshot.position

    def forget(self, snapshot: Snapshot, others: Sequence[Snapshot] = ()) -> None:
        """Drop the events up to a snapshot.

        Decisions that wait for their outcome stay, and `others`, snapshots of what they rest on.
        """
        with self._lock:
            index = self._up_to_date()
            self._snapshots = sorted({*others, snapshot})
            base, events = self._kept
            self._kept = snapshot.position, events[snapshot.position - base :]
            index.drop()

    def snapshots(self) -> list[Snapshot]:
        """Return all snapshots, in order."""
        return [*self._snapshots]

    def index(self) -> Index:
        """Return what follows from the events, by id."""
        with self._lock:
            return self._up_to_date()

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""


def _exists(held: Held) -> Exception:
    if held.arm is GONE:
        return ConflictError(
            f"id {held.decision.id!r} was decided and told before, and what was decided is not "
            "kept: use another id, or keep a log (log=True or store=)"
        )
    return Exists(held)
