"""One transaction: what is to be added is checked against the ledger, and gets its positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa

from projbandits._checks import Array
from projbandits.ledger import columns
from projbandits.ledger.codec import EVENT_KINDS
from projbandits.ledger.connecting import damaged
from projbandits.ledger.happened import Decided, Described, Event, Learnt, Offered, Outcome
from projbandits.ledger.protocol import Behind, Entry, Exists, Held, admits, same_history, settled
from projbandits.ledger.reading import Reader
from projbandits.ledger.schema import events as table
from projbandits.ledger.schema import ledgers, place
from projbandits.ledger.statements import Statement


class Head(NamedTuple):
    """Where a ledger stands: its last event, that event's digest, the rows of its catalogue."""

    last: int
    digest: int
    rows: int


@dataclass(frozen=True, slots=True)
class Written:
    """What a transaction adds to a ledger, and what it has for each caller."""

    head: Head
    rows: list[columns.Row]
    entries: list[Entry]
    outcomes: list[int | Exception]
    held: dict[str, Held]


_head = (
    sa.select(ledgers.c.last, ledgers.c.digest, ledgers.c.rows)
    .where(ledgers.c.number == sa.bindparam("number"))
    .with_for_update()
)
_insert = table.insert()
_move = (
    ledgers.update()
    .where(ledgers.c.number == sa.bindparam("which"))
    .values(last=sa.bindparam("to"), digest=sa.bindparam("now"), rows=sa.bindparam("size"))
)
_written = sa.select(table.c.digest, table.c.time).where(table.c.place == sa.bindparam("place"))

HEAD, WRITTEN, INSERT, MOVE = map(Statement, (_head, _written, _insert, _move))


def lock(connection: sa.Connection, number: int, known: Head | None, shown: str) -> Head:
    """Keep other processes from adding to a ledger until the transaction ends.

    Parameters
    ----------
    connection : Connection
        In a transaction.
    number : int
        Which ledger.
    known : Head or None
        Where this process left it; if it still stands there, its last event needs no look.
    shown : str
        What the database is called in messages.
    """
    rows = HEAD.rows(connection, {"number": number})
    if not rows:
        raise damaged(shown, f"ledger {number} is not there any more")
    head = Head(*rows[0])
    if head == known:
        return head
    # A statement of its own: while the first one waited, other events may have been added.
    found = WRITTEN.rows(connection, {"place": place(number, head.last)})
    if not found or found[0].digest != head.digest:
        raise damaged(shown, f"event {head.last} of ledger {number} is not the one written last")
    return head


def write(connection: sa.Connection, number: int, written: Written) -> None:
    """Add the rows, and say where the ledger stands now."""
    if written.rows:
        INSERT.run(connection, written.rows)
        move(connection, number, written.head)


def move(connection: sa.Connection, number: int, head: Head) -> None:
    """Say where a ledger stands now."""
    last, digest, rows = head
    MOVE.run(connection, [{"which": number, "to": last, "now": digest, "size": rows}])


def is_there(connection: sa.Connection, number: int, written: Written) -> bool:
    """Tell whether a transaction was committed whose connection was lost.

    The ledger must be locked: a server that has not noticed yet may still be committing it.
    """
    if not written.rows:
        return False
    rows = WRITTEN.rows(connection, {"place": place(number, written.head.last)})
    return [tuple(row) for row in rows] == [(written.head.digest, written.rows[-1]["time"])]


class Preparation:
    """Checks each caller's events against the ledger and what the callers before add to it.

    Parameters
    ----------
    reader : Reader
        Reads the ledger in the transaction that keeps it.
    head : Head
        Where it stands.
    events : sequence of Event
        All that any caller wants to add.
    known : mapping
        Decisions and what became of them, by id, as far as they need not be looked up.
    """

    def __init__(
        self, reader: Reader, head: Head, events: Sequence[Event], known: Mapping[str, Held]
    ) -> None:
        self.reader, self.head = reader, head
        ids = {event.id for event in events if isinstance(event, Decided | Outcome)}
        keys = {event.key for event in events if isinstance(event, Learnt | Described)}
        self.held: dict[str, Held] = {id: known[id] for id in ids if id in known}
        self.held |= reader.held(ids - self.held.keys())
        self.keyed = reader.keyed(keys)
        self.rows = list[columns.Row]()
        self.entries = list[Entry]()
        self.new: dict[int, Array] = {}

    def written(self, works: Iterable[Sequence[Event]]) -> Written:
        """Return what is added of the events of each caller."""
        outcomes = list[int | Exception]()
        for events in works:
            before = self.head, len(self.rows), dict(self.held), dict(self.keyed), dict(self.new)
            try:
                for event in events:
                    self._add(event)
                outcomes.append(self.head.last)
            except (ValueError, KeyError, TypeError, Behind, Exists) as error:
                # Only this caller's: the others do not notice.
                self.head, size, self.held, self.keyed, self.new = before
                del self.rows[size:], self.entries[size:]
                outcomes.append(error)
        return Written(self.head, self.rows, self.entries, outcomes, self.held)

    def _add(self, event: Event) -> None:
        about = arm = first = label = None
        last, digest, size = self.head
        if isinstance(event, Decided | Outcome):
            held = self.held.get(event.id)
            if not admits(event, held):
                return
            if held is not None and isinstance(event, Outcome):
                about, arm, first = self.reader.start + held.position, held.arm, held.place
                label = held.decision.label
                self.held[event.id] = settled(held, last + 1, event)
            elif isinstance(event, Decided):
                self.held[event.id] = Held(last + 1, event, self._arm(event))
        elif isinstance(event, Learnt | Described):
            found = self.keyed.setdefault((EVENT_KINDS[type(event)], event.key), event)
            if isinstance(event, Learnt) and isinstance(found, Learnt) and found is not event:
                same_history(event, found)
            if found is not event:
                return
        elif isinstance(event, Offered):
            if event.first != size:
                raise Behind
            if not len(event.vectors):
                return
            self.new |= dict(enumerate(event.vectors, size))
            size += len(event.vectors)
        row = columns.encode(event, about)
        row["place"] = self.reader.start + last + 1
        row["digest"] = digest = columns.digest(list(row.values()), digest)
        self.rows.append(row)
        self.entries.append(Entry(last + 1, event, arm, first, label))
        self.head = Head(last + 1, digest, size)

    def _arm(self, event: Decided) -> Array:
        if event.arm is not None:
            return event.arm
        if event.rows is None or event.index is None:
            raise ValueError(f"decision {event.id!r} has neither an arm nor rows to find it in")
        row = int(event.rows[event.index])
        if row in self.new:
            return self.new[row]
        if not row < self.head.rows:
            raise ValueError(f"decision {event.id!r} chose row {row} of {self.head.rows}")
        return self.reader.arms(row)
