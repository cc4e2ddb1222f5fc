"""Questions to the tables of a store, and their answers as events.

Every row that is believed is checked first: its digest must follow from its content and from the
digest of the row before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from projbandits._checks import Array
from projbandits.ledger import columns
from projbandits.ledger.columns import AMENDED, CONTENT, DECIDED, TOLD
from projbandits.ledger.connecting import damaged
from projbandits.ledger.happened import Decided, Event, Offered, Outcome, Rows
from projbandits.ledger.packing import unpack_at, unpack_many
from projbandits.ledger.protocol import Entry, Held, settled
from projbandits.ledger.schema import MOST_EVENTS, events, hashed, is_offered, ledgers, place
from projbandits.ledger.statements import Statement

Arms = Callable[[int], Array]
"""Returns the features of a row of the catalogue."""

SOME = 1000
"""How many ids are looked up by one statement."""

SIZE = len(CONTENT)
ABOUT, KIND, OFFER = (CONTENT.index(name) for name in ("about", "kind", "offer"))
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
_digest = sa.select(events.c.digest).where(events.c.place == sa.bindparam("place"))
_range = (
    sa.select(
        *_content,
        events.c.digest,
        _asked.c.id.label("whose"),
        _asked.c.offer.label("among"),
        _asked.c.chosen.label("which"),
        _asked.c.arm.label("itself"),
        _asked.c.label.label("called"),
    )
    .select_from(events.outerjoin(_asked, _asked.c.place == events.c.about))
    .where(_between)
    .order_by(events.c.place)
)
_ids = _checked.where(events.c.hash.in_(sa.bindparam("some", expanding=True)))
_outcomes = _checked.where(events.c.about.in_(sa.bindparam("some", expanding=True)))
_outcomes_between = _checked.where(
    events.c.about.between(sa.bindparam("first"), sa.bindparam("last"))
)
_offers = _checked.where(_between, is_offered)
_places = (
    sa.select(events.c.about, sa.func.min(events.c.place).label("first"))
    .where(
        events.c.about.in_(sa.bindparam("some", expanding=True)),
        events.c.kind.in_([TOLD, AMENDED]),
    )
    .group_by(events.c.about)
)
_everything = _checked.where(_between)
_open = _everything.where(
    events.c.kind == DECIDED, ~sa.exists().where(_later.c.about == events.c.place)
).limit(sa.bindparam("most"))

_one_id = _checked.where(events.c.hash == sa.bindparam("one"))
_one_about = _checked.where(events.c.about == sa.bindparam("one"))
HEAD, DIGEST, RANGE, BETWEEN, OFFERS, EVERYTHING, OPEN, ONE_ID, ONE_ABOUT = map(
    Statement,
    (
        *(_head, _digest, _range, _outcomes_between, _offers, _everything, _open),
        *(_one_id, _one_about),
    ),
)


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

    def digest(self, position: int) -> int:
        """Return the digest of an event; 0 before the first."""
        if position == 0:
            return 0
        row = self._rows(DIGEST, place=self.start + position)
        if not row:
            raise self._gap(position)
        return int(row[0][0])

    def entries(self, first: int, last: int) -> list[Entry]:
        """Return the events from one position to another."""
        digest = self.digest(first - 1)
        rows = self._rows(RANGE, first=self.start + first, last=self.start + last)
        contents = [list(row[:SIZE]) for row in rows]
        for position, (row, content) in enumerate(zip(rows, contents, strict=True), first):
            if content[0] != self.start + position:
                raise self._gap(position)
            digest = columns.digest(content, digest)
            if digest != row[SIZE]:
                raise self._wrong(position)
        if len(rows) != last - first + 1:
            raise self._gap(first + len(rows))
        offers, places = _offers_of(contents), self._places(contents)
        entries = list[Entry]()
        for position, (row, content) in enumerate(zip(rows, contents, strict=True), first):
            about, whose, arm = content[ABOUT], row[SIZE + 1], None
            if about is not None:
                if whose is None:
                    raise self._gap(about - self.start)
                arm = self._arm(*row[SIZE + 2 : SIZE + 5])
            event = columns.decode(content, whose, offers.get(position - first))
            told = places.get(about, position)
            first_told = told if told < position else None
            entries.append(Entry(position, event, arm, first_told, row[SIZE + 5]))
        return entries

    def held(self, ids: Collection[str]) -> dict[str, Held]:
        """Return the decisions of these ids, and what became of them."""
        asked = [row for row in self._named(ids) if row.kind == DECIDED]
        about = [row.place for row in asked]
        told = self._among(ONE_ABOUT, _outcomes, about)
        return {held.decision.id: held for held in self._settled(asked, told)}

    def decisions(self, first: int, last: int) -> list[Held]:
        """Return the decisions from one position to another, and what became of them."""
        ends = {"first": self.start + first, "last": self.start + last}
        # All events, as a damaged one may not say any more that it is a decision.
        rows = self._sure(EVERYTHING, **ends)
        if len(rows) != last - first + 1:
            raise self._gap(first)
        asked = [row for row in rows if row.kind == DECIDED]
        return self._settled(asked, self._sure(BETWEEN, **ends) if asked else [])

    def pending(self, after: int, most: int) -> list[Held]:
        """Return the next decisions after a position that have no outcome."""
        ends = {"first": self.start + after + 1, "last": self.start + MOST_EVENTS - 1}
        return self._settled(self._sure(OPEN, **ends, most=most), [])

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

    def _rows(self, statement: Any, **values: Any) -> Sequence[Any]:
        if isinstance(statement, Statement):
            return statement.rows(self.connection, values)
        return self.connection.execute(statement, values).all()

    def _among(self, one: Statement, several: Any, values: Sequence[int]) -> Sequence[Any]:
        """Return the rows that have one of these values."""
        if len(values) == 1:
            return self._sure(one, one=values[0])
        return [row for some in _some(values) for row in self._sure(several, some=some)]

    def _named(self, ids: Collection[str]) -> list[Any]:
        """Return the rows of this ledger that have one of these ids."""
        hashes = sorted(map(hashed, ids))
        rows = self._among(ONE_ID, _ids, hashes)
        return [row for row in rows if row.place // MOST_EVENTS == self.ledger and row.id in ids]

    def _sure(self, statement: Any, **values: Any) -> Sequence[Any]:
        rows = self._rows(statement, **values)
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
        pairs = [row for some in _some(sorted(about)) for row in self._rows(_places, some=some)]
        return {row.about: row.first - self.start for row in pairs}

    def _settled(self, asked: Sequence[Any], told: Iterable[Any]) -> list[Held]:
        found: dict[int, Held] = {}
        offers = _offers_of(asked)
        for i, row in enumerate(asked):
            decision = columns.decode(row[:SIZE], rows=offers.get(i))
            assert isinstance(decision, Decided)
            arm = self._arm(row.offer, row.chosen, row.arm)
            found[row.place] = Held(row.place - self.start, decision, arm)
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


def _some(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    for start in range(0, len(values), SOME):
        yield values[start : start + SOME]
