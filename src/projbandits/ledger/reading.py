"""Questions to the tables of a store, and their answers as events.

Every row that is believed is checked first: its digest must follow from its content and from the
digest of the row before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from projbandits._validation import Array
from projbandits.ledger import columns
from projbandits.ledger.columns import AMENDED, CONTENT, DECIDED, TOLD
from projbandits.ledger.connecting import damaged
from projbandits.ledger.events import Decided, Event, Offered, Outcome, Rows
from projbandits.ledger.packing import unpack_at, unpack_many
from projbandits.ledger.protocol import Entry, Held, settled
from projbandits.ledger.schema import MOST_EVENTS, events, hashed, is_offered, ledgers, place
from projbandits.ledger.sql import Among, Fetch, Statement

Arms = Callable[[int], Array]
"""Returns the features of a row of the catalogue."""

FEW = 256
"""Up to this many events are looked up one by one, wherever they are; more are read in a row."""

SIZE = len(CONTENT)
ABOUT, KIND, OFFER = (CONTENT.index(name) for name in ("about", "kind", "offer"))
CHOSEN = [CONTENT.index(name) for name in ("offer", "chosen", "arm")]
_before, _asked, _later = (events.alias(name) for name in ("before", "asked", "later"))
# As the driver returns them: what a damaged file holds in their place must reach the digest.
_content = [sa.type_coerce(events.c[name], sa.types.NullType()).label(name) for name in CONTENT]
_checked = (
    sa.select(*_content, events.c.digest, _before.c.digest.label("before"))
    .select_from(events.outerjoin(_before, _before.c.place == events.c.place - 1))
    .order_by(events.c.place)
)
_between = events.c.place.between(sa.bindparam("first"), sa.bindparam("last"))
_head = sa.select(ledgers.c.last, ledgers.c.digest, ledgers.c.rows).where(
    ledgers.c.number == sa.bindparam("number")
)
_whole = [
    *_content,
    events.c.digest,
    _asked.c.id.label("whose"),
    _asked.c.offer.label("among"),
    _asked.c.chosen.label("which"),
    _asked.c.arm.label("itself"),
    _asked.c.label.label("called"),
]
_with_asked = events.outerjoin(_asked, _asked.c.place == events.c.about)
_range = sa.select(*_whole).select_from(_with_asked).where(_between).order_by(events.c.place)
_single = (
    sa.select(*_whole, _before.c.digest.label("before"))
    .select_from(_with_asked.outerjoin(_before, _before.c.place == events.c.place - 1))
    .order_by(events.c.place)
)
_outcomes_between = _checked.where(
    events.c.about.between(sa.bindparam("first"), sa.bindparam("last"))
)
_offers = _checked.where(_between, is_offered)
_places = (
    sa.select(events.c.about, sa.func.min(events.c.place).label("first"))
    .where((events.c.kind == TOLD) | (events.c.kind == AMENDED))
    .group_by(events.c.about)
)
_everything = _checked.where(_between)
_open = _everything.where(
    events.c.kind == DECIDED, ~sa.exists().where(_later.c.about == events.c.place)
).limit(sa.bindparam("most"))

HEAD, RANGE, BETWEEN, OFFERS, EVERYTHING, OPEN = map(
    Statement, (_head, _range, _outcomes_between, _offers, _everything, _open)
)
SINGLE, IDS = Among(_single, events.c.place), Among(_checked, events.c.hash)
OUTCOMES_OF, FIRST_TOLD = Among(_checked, events.c.about), Among(_places, events.c.about)


class Reader:
    """Reads one ledger through a connection.

    Parameters
    ----------
    connection : Connection
        Where to read.
    ledger : int
        The ledger's number.
    arms : callable
        Returns the features of a row of the catalogue.
    shown : str
        What the database is called in messages.
    """

    def __init__(self, connection: sa.Connection, ledger: int, arms: Arms, shown: str) -> None:
        self.connection = connection
        self.ledger = ledger
        self.start = place(ledger, 0)
        self.arms = arms
        self.shown = shown

    def head(self) -> tuple[int, int, int]:
        """Return the position of the last event, its digest, and the size of the catalogue."""
        row = self._rows(HEAD, number=self.ledger)
        if not row:
            raise damaged(self.shown, f"ledger {self.ledger} is not there any more")
        return row[0][0], row[0][1], row[0][2]

    def entries(self, first: int, last: int) -> list[Entry]:
        """Return the events from one position to another."""
        # With the one before, whose digest the first one's follows from.
        start = max(first - 1, 1)
        rows = self._rows(RANGE, first=self.start + start, last=self.start + last)
        digest = 0
        for position, row in enumerate(rows, start):
            if row[0] != self.start + position:
                raise self._gap(position)
            if position >= first:
                digest = columns.digest(list(row[:SIZE]), digest)
                if digest != row[SIZE]:
                    raise self._wrong(position)
            digest = row[SIZE]
        if len(rows) != last - start + 1:
            raise self._gap(start + len(rows))
        return self._entries(rows[first - start :])

    def single(self, positions: Sequence[int]) -> list[Entry]:
        """Return the events at these positions, in order."""
        rows = SINGLE.sent(self.connection, [self.start + position for position in positions])()
        for position, row in zip(positions, rows, strict=False):
            if row.place != self.start + position:
                raise self._gap(position)
        if len(rows) != len(positions):
            raise self._gap(positions[len(rows)])
        return self._entries(self._followed(rows))

    def _entries(self, rows: Sequence[Any]) -> list[Entry]:
        """Return rows that were checked as events."""
        contents = [row[:SIZE] for row in rows]
        offers, places = _offers_of(contents), self._places(contents)
        entries = list[Entry]()
        for i, (row, content) in enumerate(zip(rows, contents, strict=True)):
            position = content[0] - self.start
            about, whose, arm = content[ABOUT], row[SIZE + 1], None
            decided, label = None, row[SIZE + 5]
            if about is not None:
                if whose is None:
                    raise self._gap(about - self.start)
                arm, decided = self._arm(*row[SIZE + 2 : SIZE + 5]), about - self.start
            event = columns.decode(content, whose, offers.get(i))
            if isinstance(event, Decided):
                arm, label = self._arm(*(content[at] for at in CHOSEN)), event.label
            told = places.get(about, position)
            first_told = told if told < position else None
            entries.append(Entry(position, event, arm, first_told, label, decided))
        return entries

    def held(self, ids: Collection[str]) -> dict[str, Held]:
        """Return the decisions of these ids, and what became of them."""
        return self.became(self._decided([r for r in self._named(ids) if r.kind == DECIDED]))

    def became(self, decided: Sequence[Held], told: Fetch | None = None) -> dict[str, Held]:
        """Return decisions with what became of them, by id; `told` fetches what `told_of` sent."""
        rows = (told or self.told_of(decided))()
        return {held.decision.id: held for held in self._settled(decided, self._followed(rows))}

    def told_of(self, decided: Sequence[Held]) -> Fetch:
        """Ask for what became of decisions, and return what fetches it."""
        about = [self.start + held.position for held in decided]
        return OUTCOMES_OF.sent(self.connection, about)

    def decisions(self, first: int, last: int) -> list[Held]:
        """Return the decisions from one position to another, and what became of them."""
        ends = {"first": self.start + first, "last": self.start + last}
        # All events, as a damaged one may not say any more that it is a decision.
        rows = self._sure(EVERYTHING, **ends)
        if len(rows) != last - first + 1:
            raise self._gap(first)
        asked = [row for row in rows if row.kind == DECIDED]
        return self._settled(self._decided(asked), self._sure(BETWEEN, **ends) if asked else [])

    def pending(self, after: int, most: int) -> list[Held]:
        """Return the next decisions after a position that have no outcome."""
        ends = {"first": self.start + after + 1, "last": self.start + MOST_EVENTS - 1}
        return self._decided(self._sure(OPEN, **ends, most=most))

    def keyed(self, keys: Collection[str]) -> dict[tuple[int, str], Event]:
        """Return the history and the infinite sets of these keys, by kind and key."""
        rows = [row for row in self._named(keys) if row.kind != DECIDED]
        return {(row.kind, row.id): columns.decode(row[:SIZE]) for row in rows}

    def offered(self, after: int) -> list[tuple[int, Offered]]:
        """Return the rows that the catalogue got after a position."""
        found = list[tuple[int, Offered]]()
        for row in self._sure(
            OFFERS, first=self.start + after + 1, last=self.start + MOST_EVENTS - 1
        ):
            event = columns.decode(row[:SIZE])
            assert isinstance(event, Offered)
            found.append((row.place - self.start, event))
        return found

    def _rows(self, statement: Statement, **values: Any) -> Sequence[Any]:
        return statement.rows(self.connection, values)

    def _named(self, ids: Collection[str]) -> list[Any]:
        """Return the rows of this ledger that have one of these ids."""
        rows = self._followed(IDS.sent(self.connection, sorted(map(hashed, ids)))())
        return [row for row in rows if row.place // MOST_EVENTS == self.ledger and row.id in ids]

    def _sure(self, statement: Statement, **values: Any) -> Sequence[Any]:
        return self._followed(self._rows(statement, **values))

    def _followed(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Return rows whose digests follow from their content and from those before them."""
        for row in rows:
            position = row.place % MOST_EVENTS
            if row.before is None and position > 1:
                raise self._gap(position - 1)
            if columns.digest(list(row[:SIZE]), row.before if position > 1 else 0) != row.digest:
                raise self._wrong(position)
        return rows

    def _arm(self, offer: bytes | None, chosen: int | None, arm: bytes | None) -> Array:
        if arm is not None:
            return columns.array(arm)
        if offer is None or chosen is None:
            raise damaged(self.shown, f"a decision of ledger {self.ledger} has no arm")
        return self.arms(unpack_at(offer, chosen))

    def _places(self, contents: Iterable[Sequence[Any]]) -> dict[int | None, int]:
        """Return the positions at which decisions were first told, by the decisions' places."""
        about = {row[ABOUT] for row in contents if row[ABOUT] is not None and row[KIND] != TOLD}
        pairs = FIRST_TOLD.sent(self.connection, sorted(about))()
        return {row.about: row.first - self.start for row in pairs}

    def _decided(self, asked: Sequence[Any]) -> list[Held]:
        offers, found = _offers_of(asked), list[Held]()
        for i, row in enumerate(asked):
            decision = columns.decode(row[:SIZE], rows=offers.get(i))
            assert isinstance(decision, Decided)
            arm = self._arm(row.offer, row.chosen, row.arm)
            found.append(Held(row.place - self.start, decision, arm))
        return found

    def _settled(self, decided: Sequence[Held], told: Iterable[Any]) -> list[Held]:
        found = {self.start + held.position: held for held in decided}
        for row in told:
            if row.about in found:
                held = found[row.about]
                outcome = columns.decode(row[:SIZE], held.decision.id)
                assert isinstance(outcome, Outcome)
                found[row.about] = settled(held, row.place - self.start, outcome)
        return list(found.values())

    def _wrong(self, position: int) -> Exception:
        return damaged(self.shown, f"event {position} of ledger {self.ledger} has another checksum")

    def _gap(self, position: int) -> Exception:
        return damaged(self.shown, f"event {position} of ledger {self.ledger} is missing")


def _offers_of(contents: Sequence[Sequence[Any]]) -> dict[int, Rows]:
    """Return what was on offer, unpacked, by the number of the row."""
    having = [i for i, content in enumerate(contents) if content[OFFER] is not None]
    return dict(zip(having, unpack_many([contents[i][OFFER] for i in having]), strict=True))
