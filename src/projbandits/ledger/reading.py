"""What a ledger holds, read from its store and verified.

Each event's hash must follow from its bytes and from the hash before, and its indexed columns from
its bytes: a byte that changed in what the database returns is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from projbandits.ledger import statements
from projbandits.ledger.database import Row, damaged
from projbandits.ledger.events import (
    GENESIS,
    Decided,
    Described,
    Event,
    Learnt,
    Offered,
    StoredEvent,
    decode,
    kind_of,
    link,
)
from projbandits.ledger.fold import Known
from projbandits.ledger.outcomes import Held, settled
from projbandits.ledger.snapshots import restored, seal
from projbandits.strategies import LinearStrategy

EVENTS_AT_ONCE = 4096
"""How many events are read at a time."""

OFFERS_AT_ONCE = 64
"""How many events with new arms are read at a time: each may have many."""

LAST_POSITION = 2**62

Run = Callable[[str, Sequence[Any]], list[Row]]


class Reader:
    """Reads one ledger.

    Parameters
    ----------
    run : callable
        Executes a statement and returns its rows.
    number : int
        The ledger's number in its store.
    shown : str
        What the database is called in messages.
    """

    def __init__(self, run: Run, number: int, shown: str) -> None:
        self.run, self.number, self.shown = run, number, shown

    def head(self) -> tuple[int, bytes]:
        """Return the position of the last event and its digest."""
        rows = self.run(statements.HEAD, (self.number,))
        if not rows or not isinstance(rows[0][0], int):
            raise damaged(self.shown, f"ledger {self.number} is not there any more")
        return rows[0][0], rows[0][1]

    def digest(self, position: int) -> bytes | None:
        """Return the digest of an event, None if it is not there."""
        rows = self.run(statements.HASH, (self.number, position))
        return rows[0][0] if rows else None

    def read(
        self, after: int, upto: int, chunk: int = EVENTS_AT_ONCE
    ) -> Iterator[list[StoredEvent]]:
        """Yield the events after a position and up to another, a chunk at a time."""
        while after < upto:
            end = min(after + chunk, upto)
            # With the one before, from whose hash that of the first follows.
            found = self.run(statements.BETWEEN, (self.number, max(after, 1), end))
            some = self.followed(found, after)
            if not some or some[-1].position != end:
                raise self._missing(some[-1].position + 1 if some else after + 1)
            yield some
            after = end

    def followed(self, rows: Sequence[Row], after: int) -> list[StoredEvent]:
        """Return the events of rows in order, which begin with the one at a position, if any."""
        digest, expected = GENESIS, 1
        if after:
            if not rows or rows[0][0] != after:
                raise self._missing(after)
            digest, expected, rows = rows[0][4], after + 1, rows[1:]
        found = list[StoredEvent]()
        for row in rows:
            if row[0] != expected:
                raise self._missing(expected)
            found.append(StoredEvent(expected, self.verified(row, digest)))
            digest, expected = row[4], expected + 1
        return found

    def verified(self, row: Row, before: bytes | None) -> Event:
        """Return the event of a row, whose digest follows from the one before."""
        position, kind, id, body, digest = row[:5]
        where = f"event {position} of ledger {self.number}"
        if before is None:
            raise self._missing(position - 1)
        if not isinstance(body, bytes) or link(before, body) != digest:
            raise damaged(self.shown, f"{where} has another hash")
        try:
            event = decode(body)
        except ValueError as error:
            raise damaged(self.shown, f"{where}: {error}") from error
        if kind != kind_of(event) or id != getattr(event, "id", None):
            raise damaged(self.shown, f"{where} has other columns than its body")
        return event

    def _checked(self, rows: Iterable[Row]) -> list[StoredEvent]:
        """Return the events of rows from anywhere, each with the digest before it."""
        return [
            StoredEvent(row[0], self.verified(row, GENESIS if row[0] == 1 else row[5]))
            for row in rows
        ]

    def named(self, id: str) -> list[StoredEvent]:
        """Return the events of an id: a decision and its outcomes, history, or a set."""
        return self._checked(self.run(statements.NAMED, (self.number, id)))

    def held(self, id: str, upto: int | None = None) -> Held | None:
        """Return a decision and what had become of it at a position."""
        held: Held | None = None
        for position, event in self.named(id):
            if upto is not None and position > upto:
                break
            if isinstance(event, Decided):
                held = Held(position, event)
            elif held is not None and not isinstance(event, Learnt | Described):
                held = settled(held, position, event)  # type: ignore[arg-type]
        return held

    def described(self, id: str) -> str | None:
        """Return an infinite set of arms by its id, as JSON."""
        found = [event.arms for _, event in self.named(id) if isinstance(event, Described)]
        return found[0] if found else None

    def learnt(self, id: str) -> Learnt | None:
        """Return the history of an id."""
        found = [event for _, event in self.named(id) if isinstance(event, Learnt)]
        return found[0] if found else None

    def decisions(self, after: int, upto: int, chunk: int = EVENTS_AT_ONCE) -> Iterator[list[Held]]:
        """Yield the decisions after a position, and what had become of them at another."""
        for events in self.read(after, upto, chunk):
            found = {e.id: Held(at, e) for at, e in events if isinstance(e, Decided)}
            if found:
                ends = self.number, events[0].position, events[-1].position
                for position, event in self._checked(self.run(statements.OUTCOMES, ends)):
                    held = found.get(event.id)  # type: ignore[attr-defined]
                    if held is not None and position <= upto:
                        found[held.decision.id] = settled(held, position, event)  # type: ignore[arg-type]
                yield [*found.values()]

    def offered(self, after: int, upto: int) -> Iterator[Offered]:
        """Yield the new arms after a position and up to another, in order."""
        while True:
            some = self._checked(
                self.run(statements.OFFERS, (self.number, after, upto, OFFERS_AT_ONCE))
            )
            for at, event in some:
                after = at
                yield event  # type: ignore[misc]
            if len(some) < OFFERS_AT_ONCE:
                return

    def newest_offers(self, upto: int) -> Iterator[Offered]:
        """Yield the new arms up to a position, the newest first."""
        while True:
            some = self._checked(
                self.run(statements.NEWEST_OFFERS, (self.number, upto, OFFERS_AT_ONCE))
            )
            for at, event in some:
                upto = at - 1
                yield event  # type: ignore[misc]
            if len(some) < OFFERS_AT_ONCE:
                return

    def changes(self, upto: int) -> list[Event]:
        """Return how the ledger began, and what was changed up to a position."""
        rows = self.run(statements.CHANGES, (self.number, upto))
        return [event for _, event in self._checked(rows)]

    def made(self, upto: int) -> list[int]:
        """Return the positions of the decisions up to a position."""
        return [position for (position,) in self.run(statements.MADE, (self.number, upto))]

    def snapshot(self, upto: int, given: Iterable[LinearStrategy]) -> Known | None:
        """Return the last snapshot at or before a position; one that is damaged is none."""
        for row in self.run(statements.SNAPSHOT, (self.number, upto)):
            found = _snapshot(row, given)
            if found is not None:
                return found
        return None

    def snapshots(
        self, upto: int, given: Iterable[LinearStrategy]
    ) -> list[tuple[int, Known | None]]:
        """Return each snapshot up to a position, in order; None is one that is damaged.

        One that follows no event is damaged, wherever it stands.
        """
        rows = self.run(statements.ALL_SNAPSHOTS, (self.number, LAST_POSITION))
        return [(row[0], _snapshot(row, given)) for row in rows if row[0] <= upto or row[3] is None]

    def _missing(self, position: int) -> Exception:
        return damaged(self.shown, f"event {position} of ledger {self.number} is missing")


def _snapshot(row: Row, given: Iterable[LinearStrategy]) -> Known | None:
    position, body, digest, event = row
    try:
        if event is None or seal(event, body) != digest:
            return None
        known = restored(body, given)
    except (ValueError, TypeError, LookupError):
        return None
    return known if known.position == position else None
