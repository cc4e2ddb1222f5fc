"""A ledger as a stream of bytes, and back.

A part of the stream is a section, a position and a record. Nothing is compressed, so what is made
of a stream is not much larger than the stream; what it says is checked by whoever reads it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from projbandits.ledger.codec import Record, encode
from projbandits.ledger.events import Described, Event, Learnt, Offered, Told, Withdrawn
from projbandits.ledger.in_memory import MemoryLedger
from projbandits.ledger.protocol import Ledger

SNAPSHOT, EARLY, EVENT, REMEMBERED = range(4)
"""The sections: snapshots, what is kept of dropped events, events, old outcomes."""

EVENT_HEAD = struct.Struct("<BQBHI")
NO_ID = 0xFFFF


class Part(NamedTuple):
    """A part of the stream."""

    section: int
    position: int
    record: Record

    def packed(self) -> bytes:
        """Return it as bytes."""
        kind, id, body = self.record
        name = b"" if id is None else id.encode()
        length = NO_ID if id is None else len(name)
        head = EVENT_HEAD.pack(self.section, self.position, kind, length, len(body))
        return b"".join((head, name, body))


def parts(ledger: Ledger, upto: int) -> Iterator[Part]:
    """Yield a ledger in parts, up to a position: another process may be adding to it."""
    if isinstance(ledger, MemoryLedger):
        yield from _early(ledger)
    for chunk in ledger.read(ledger.base, upto):
        for entry in chunk:
            yield Part(EVENT, entry.position, encode(entry.event))
    if isinstance(ledger, MemoryLedger):
        yield from _remembered(ledger)


def _early(ledger: MemoryLedger) -> Iterator[Part]:
    """Yield what a ledger in memory has beside its events."""
    for position, body in ledger.snapshots():
        yield Part(SNAPSHOT, position, Record(0, None, body))
    if not ledger.base:
        return
    index = ledger.index()
    first: list[Event] = []
    rows, later = _later(ledger)
    if index.catalogue is not None:
        first.append(index.catalogue.offered(rows))
    first += [Described(key, arms) for key, arms in index.sets.items() if key not in later]
    for event in first:
        yield Part(EARLY, 0, encode(event))
    for held in index.kept():
        yield Part(EARLY, held.position, encode(held.decision))


def _remembered(ledger: MemoryLedger) -> Iterator[Part]:
    """Yield the outcomes of decisions that are gone."""
    for id, fate in ledger.index().recent.items():
        if fate.outcome is None:
            event: Event = Withdrawn(id, fate.time or 0.0, fate.why or "withdrawn")
        else:
            event = Told(id, fate.time or 0.0, fate.outcome, fate.why)
        yield Part(REMEMBERED, fate.place or 0, encode(event))


def _later(ledger: MemoryLedger) -> tuple[int | None, set[str]]:
    """Return from which row on arms are in events that are kept, and what else these have."""
    rows: int | None = None
    keys = set[str]()
    for chunk in ledger.read(ledger.base):
        for _, event, *_ in chunk:
            if isinstance(event, Offered):
                rows = event.first if rows is None else rows
            elif isinstance(event, Described | Learnt):
                keys.add(event.key)
    return rows, keys


def history(ledger: Ledger) -> dict[str, str]:
    """Return digests of the history that was learnt in events that were dropped."""
    if not isinstance(ledger, MemoryLedger):
        return {}
    _, later = _later(ledger)
    return {key: digest for key, digest in ledger.index().history.items() if key not in later}


def unpacked(content: memoryview) -> Iterator[Part]:
    """Yield the parts of a stream; raise ValueError where it is none."""
    at = 0
    while at < len(content):
        try:
            section, position, kind, name, length = EVENT_HEAD.unpack_from(content, at)
        except struct.error as error:
            raise ValueError("it ends too early") from error
        at += EVENT_HEAD.size
        id = None
        if name != NO_ID:
            id = bytes(content[at : at + name]).decode()
            at += name
        if at + length > len(content):
            raise ValueError("it ends too early")
        yield Part(section, position, Record(kind, id, bytes(content[at : at + length])))
        at += length
