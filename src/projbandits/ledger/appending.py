"""One transaction: what is to be added is checked against the ledger, and gets its positions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from projbandits._validation import Array
from projbandits.ledger import columns
from projbandits.ledger.codec import EVENT_KINDS
from projbandits.ledger.connecting import damaged
from projbandits.ledger.events import OUTCOMES, Decided, Described, Event, Learnt, Offered
from projbandits.ledger.protocol import Behind, Entry, Exists, Held, admits, same_history, settled
from projbandits.ledger.reading import Reader
from projbandits.ledger.schema import MOST_EVENTS, ledgers, place
from projbandits.ledger.schema import events as table
from projbandits.ledger.sql import Fetch, Insert, Statement

ABOUT_DECISIONS = (Decided, *OUTCOMES)
KEYED = (Learnt, Described)


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


_lock = (
    sa.select(ledgers.c.last, ledgers.c.digest, ledgers.c.rows)
    .where(ledgers.c.number == sa.bindparam("number"))
    .with_for_update()
)
_move = (
    ledgers.update()
    .where(ledgers.c.number == sa.bindparam("which"))
    .values(last=sa.bindparam("to"), digest=sa.bindparam("now"), rows=sa.bindparam("size"))
)
_written = sa.select(table.c.digest, table.c.time).where(table.c.place == sa.bindparam("place"))
_newest = sa.select(table.c.digest).join_from(
    ledgers,
    table,
    (ledgers.c.number == sa.bindparam("number"))
    & (table.c.place == ledgers.c.number * sa.literal_column(str(MOST_EVENTS)) + ledgers.c.last),
)

LOCK, WRITTEN, NEWEST, MOVE = map(Statement, (_lock, _written, _newest, _move))
INSERT = Insert(table)


class Locked:
    """Keeps other processes from adding to a ledger until the transaction ends.

    Parameters
    ----------
    reader : Reader
        Reads the ledger, in the transaction.
    shared : bool
        Whether others are likely to have added something. What must then be looked at is asked for
        in the same trip.
    decided : sequence of Held
        Decisions of which outcomes are to be added.
    """

    def __init__(self, reader: Reader, shared: bool, decided: Sequence[Held]) -> None:
        self._reader, self._decided = reader, decided
        self._values = {"number": reader.ledger}
        self._head = LOCK.sent(reader.connection, self._values)
        # Statements of their own: while the first one waits, other events may be added.
        far = reader.connection.dialect.name != "sqlite"
        self._asked = self._ask() if shared and far else None

    def _ask(self) -> tuple[Fetch, Fetch]:
        newest = NEWEST.sent(self._reader.connection, self._values)
        return newest, self._reader.told_of(self._decided)

    def head(self) -> Head:
        """Return where the ledger stands."""
        rows = self._head()
        if not rows:
            raise damaged(self._reader.shown, f"ledger {self._reader.ledger} is not there any more")
        return Head(*rows[0])

    def became(self, head: Head) -> dict[str, Held]:
        """Return what became of the decisions, after a look at the event written last."""
        newest, told = self._asked or self._ask()
        if [row.digest for row in newest()] != [head.digest]:
            raise damaged(
                self._reader.shown,
                f"event {head.last} of ledger {self._reader.ledger} is not the one written last",
            )
        return self._reader.became(self._decided, told)


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
    return [tuple(row) for row in rows] == [
        (written.head.digest, written.rows[-1][columns.AT_TIME])
    ]


class Preparation:
    """Checks each caller's events against the ledger and what the callers before add to it.

    Parameters
    ----------
    reader : Reader
        Reads the ledger in the transaction that keeps it.
    head : Head
        Where it stands.
    held : dict
        The decisions that the events are about and what became of them, by id; it is changed.
    keys : collection of str
        The keys of history and infinite sets among the events.
    packed : mapping
        What `columns.offers_packed` makes of the events.
    """

    def __init__(
        self,
        reader: Reader,
        head: Head,
        held: dict[str, Held],
        keys: Collection[str],
        packed: Mapping[int, bytes],
    ) -> None:
        self.reader, self.head, self.held, self.packed = reader, head, held, packed
        self.keyed = reader.keyed(keys) if keys else {}
        self.rows = list[columns.Row]()
        self.entries = list[Entry]()
        self.new: dict[int, Array] = {}
        self.drawn = set[tuple[int, int]]()

    def written(self, works: Iterable[Sequence[Event]]) -> Written:
        """Return what is added of the events of each caller."""
        outcomes = list[int | Exception]()
        for events in works:
            # One event is all or nothing by itself.
            before = self._state() if len(events) > 1 else None
            try:
                for event in events:
                    self._add(event)
                outcomes.append(self.head.last)
            except (ValueError, KeyError, TypeError, Behind, Exists) as error:
                # Only this caller's: the others do not notice.
                if before is not None:
                    self.head, size, self.held, self.keyed, self.new, self.drawn = before
                    del self.rows[size:], self.entries[size:]
                outcomes.append(error)
        return Written(self.head, self.rows, self.entries, outcomes, self.held)

    def _state(self) -> tuple[Any, ...]:
        kept = dict(self.held), dict(self.keyed), dict(self.new), set(self.drawn)
        return self.head, len(self.rows), *kept

    def _add(self, event: Event) -> None:
        about = arm = first = label = held = decided = None
        last, digest, size = self.head
        if isinstance(event, ABOUT_DECISIONS):
            held = self.held.get(event.id)
            if not admits(event, held):
                return
            if isinstance(event, Decided):
                mates = {(event.session, event.draw - i) for i in range(1, event.counted + 1)}
                if not mates <= self.drawn:
                    raise Behind  # another of its batch was refused: decide again without it
                arm, label = self._arm(event), event.label
                held = Held(last + 1, event, arm)
            elif held is not None:
                about, arm, first = self.reader.start + held.position, held.arm, held.place
                label, decided = held.decision.label, held.position
                held = settled(held, last + 1, event)
        elif isinstance(event, KEYED):
            found = self.keyed.get((EVENT_KINDS[type(event)], event.key))
            if isinstance(event, Learnt) and isinstance(found, Learnt):
                same_history(event, found)
            if found is not None:
                return
        elif isinstance(event, Offered):
            if event.first != size:
                raise Behind
            if not len(event.vectors):
                return
        row = columns.encode(event, self.reader.start + last + 1, about, self.packed)
        digest = columns.sealed(row, digest)
        # Nothing is changed before this: it may be refused until here.
        if isinstance(event, ABOUT_DECISIONS) and held is not None:
            self.held[event.id] = held
            if isinstance(event, Decided):
                self.drawn.add((event.session, event.draw))
        elif isinstance(event, KEYED):
            self.keyed[EVENT_KINDS[type(event)], event.key] = event
        elif isinstance(event, Offered):
            self.new |= dict(enumerate(event.vectors, size))
            size += len(event.vectors)
        self.rows.append(row)
        self.entries.append(Entry(last + 1, event, arm, first, label, decided))
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
