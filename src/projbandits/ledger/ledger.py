"""One decider's ledger: what is known of it, and the transactions that add to it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from projbandits.ledger import snapshots, statements
from projbandits.ledger.catalogue import Catalogue
from projbandits.ledger.database import Database, Row, damaged
from projbandits.ledger.events import (
    OUTCOMES,
    Decided,
    Described,
    Event,
    Learnt,
    Offered,
    Rows,
    StoredEvent,
    encode,
    kind_of,
    link,
)
from projbandits.ledger.fold import Known, advanced, forward
from projbandits.ledger.offer import Offer
from projbandits.ledger.outcomes import Held, admits, check_same_history, placed, settled
from projbandits.ledger.reading import Reader
from projbandits.strategies import LinearStrategy

if TYPE_CHECKING:
    from projbandits.ledger.store import Store

Answer = TypeVar("Answer")
Decide = Callable[["Transaction"], Answer]

EVERY, BYTES = 1024, 256
"""A snapshot is kept after this many events, or when it takes this many bytes for each of them."""

RECENT = 1024
"""How many decisions are kept at hand, so that their outcomes need no look at the database."""

WAITING = 64
"""How many events may wait to be folded, until a decision needs them."""

NUMBERED = 2**21
"""From this many numbers on, arms that nobody offers again are forgotten."""


class Place(NamedTuple):
    """How far this process has come in a ledger.

    Parameters
    ----------
    position, digest : int and bytes
        Of the last event that it has seen.
    known : Known
        What follows from the events up to one of them.
    tail : tuple of StoredEvent
        The events since then.
    """

    position: int
    digest: bytes
    known: Known
    tail: tuple[StoredEvent, ...] = ()


class Ledger:
    """One decider's events in a store; threads may share it.

    Parameters
    ----------
    store : Store
        Where they are.
    number, name : int and str
        What it is called there.
    given : list of LinearStrategy
        Strategies that the ledger can only name.

    Examples
    --------
    >>> import projbandits as pb
    >>> U = pb.Subspace.coordinates([0], d=2)
    >>> ledger = pb.Decider(pb.GENTRY(), subspace=U, seed=0).history().ledger
    >>> ledger.transact(lambda tx: tx.known.state.step)
    1
    """

    def __init__(
        self, store: Store, number: int, name: str, given: Sequence[LinearStrategy]
    ) -> None:
        self.store, self.number, self.name, self.given = store, number, name, [*given]
        self.reader = Reader(store.read, number, store.shown)
        self._place: Place | None = None
        self.kept_at = 0  # the last snapshot
        self.sure = False  # whether nothing was added that this process has not seen
        self.forget()

    def forget(self) -> None:
        """Forget what is only at hand; it is read again."""
        self.held = OrderedDict[str, Held]()
        self.sets = set[str]()
        self.catalogue: Catalogue | None = None
        self.numbering = object()  # rows that were numbered before may be missing
        self.sure = False

    def transact(self, decide: Decide[Answer]) -> Answer:
        """Lock the ledger, fold what is new, decide, append, commit; return what was decided.

        Calls of several threads share a transaction. If one raises, nothing of it is written, and
        the others go on.

        Parameters
        ----------
        decide : callable
            Gets a `Transaction`, and appends to it. It may be called again if a connection is lost,
            and must use nothing else of the ledger.
        """
        self.load()
        answer: Answer = self.store.transact(self, decide)
        return answer

    def submit(self, decide: Decide[Answer]) -> Future[Answer]:
        """Do what `transact` does in the background, and return a future of the answer."""
        self.load()
        return self.store.submit(self, decide)

    def belief(self) -> Known:
        """Return what is known now, with what other processes have added."""
        self.load()
        return self.store.look(self)

    @property
    def seen(self) -> Known:
        """What is known, not quite up to date; it takes no time."""
        return self.load().known

    @property
    def place(self) -> Place:
        """How far this process has come."""
        return self.load()

    def load(self) -> Place:
        """Read what is there when the ledger is used for the first time."""
        if self._place is None:
            position, digest = self.reader.head()
            known = advanced(self.reader, None, position, self.given)
            self._place, self.kept_at = Place(position, digest, known), position
        return self._place

    def arrived(self, place: Place) -> None:
        """Note how far this process has come."""
        self._place, self.sure = place, True

    def noted(self, held: Iterable[tuple[str, Held]]) -> None:
        """Keep decisions at hand."""
        for id, each in held:
            self.held[id] = each
            self.held.move_to_end(id)
        while len(self.held) > RECENT:
            self.held.popitem(last=False)

    def reopened(self) -> Ledger:
        """Return the same ledger for a forked child, with a connection of its own."""
        return self.store.open(self.name, self.given)

    def close(self) -> None:
        """Let go of the store's files and connections."""
        self.store.close()


class Mark(NamedTuple):
    """Where a transaction stood, so that what came after can be undone."""

    position: int
    digest: bytes
    rows: int
    known: Known
    tail: list[StoredEvent]
    waiting: int
    held: dict[str, Held]
    end: int


class Transaction:
    """A ledger while nobody else adds to it.

    Parameters
    ----------
    ledger : Ledger
        Which.
    database : Database
        The connection with the transaction.
    """

    def __init__(self, ledger: Ledger, database: Database) -> None:
        self.ledger, self._database = ledger, database
        self._reader = Reader(database.run, ledger.number, database.shown)
        self.position, self.hash, self._known, tail = ledger.place
        self._tail = [*tail]
        self._rows = list[Row]()
        self._written = 0
        self._held = dict[str, Held]()

    def caught_up(self, rows: Sequence[Row]) -> None:
        """Take in the events from the last one seen on, which other processes may have added."""
        if not rows or rows[0][0] != self.position or rows[0][4] != self.hash:
            raise damaged(
                self._database.shown,
                f"ledger {self.ledger.name!r} had {self.position} events and now has others: it "
                "was changed, or an older copy was restored under a running process, which must be "
                "started again",
            )
        for position, event in self._reader.followed(rows, self.position):
            self._tail.append(StoredEvent(position, event))
            self.position = position
            if isinstance(event, Decided):
                self._held[event.id] = Held(position, event)
            elif isinstance(event, OUTCOMES):
                held = self._held.get(event.id) or self.ledger.held.get(event.id)
                if held is not None:
                    self._held[event.id] = settled(held, position, event)
            elif isinstance(event, Offered) and self.ledger.catalogue is not None:
                self._extend(event)
        self.hash = rows[-1][4]

    @property
    def known(self) -> Known:
        """What is known, by all that was appended."""
        if self._tail:
            known = forward(self._known, self._tail)
            if known is None:  # an outcome was amended: what was learnt since is learnt again
                self._write()
                known = advanced(self._reader, self._known, self.position, self.given)
            self._known, self._tail = known, []
        return self._known

    @property
    def given(self) -> list[LinearStrategy]:
        """Strategies that the ledger can only name; a change may add some."""
        return self.ledger.given

    def held(self, id: str) -> Held | None:
        """Return a decision and what became of it."""
        found = self._held.get(id) or self.ledger.held.get(id)
        if found is None:
            found = self._reader.held(id)
            if found is not None:
                self._held[id] = found
        return found

    def numbered(self, offer: Offer) -> Rows:
        """Return the numbers of arms, after appending those that are new."""
        rows: Rows
        rows, numbering = offer.numbers
        if numbering is not self.ledger.numbering:
            rows, new = self._numbers().named(offer.vectors, offer.labels)
            if new is not None:
                self.append(new)
        return rows

    def append(self, event: Event, *, new: bool = False) -> bool:
        """Append an event; return False if the ledger says the same already.

        Parameters
        ----------
        event : Event
            What happened.
        new : bool
            Whether nobody can have used its id before.
        """
        if isinstance(event, OUTCOMES):
            held = self.held(event.id)
            if not admits(event, held):
                return False
            assert held is not None
            event = placed(event, held)
            self._held[event.id] = settled(held, self.position + 1, event)
        elif isinstance(event, Decided):
            if not new and self.held(event.id) is not None:
                raise ValueError(f"id {event.id!r} must be that of a new decision")
            self._held[event.id] = Held(self.position + 1, event)
        elif isinstance(event, Learnt) and not new:
            before = self._named(event, self._reader.learnt)
            if before is not None:
                check_same_history(event, before)
                return False
        elif isinstance(event, Described):
            if event.id in self.ledger.sets or self._named(event, self._reader.described):
                return False
        elif isinstance(event, Offered):
            if event.first != self._numbers().end:
                raise ValueError(f"the first new arm must be {self._numbers().end}")
            self._extend(event)
        body = encode(event)
        self.position, self.hash = self.position + 1, link(self.hash, body)
        about = self.ledger.number, self.position, kind_of(event), getattr(event, "id", None)
        self._rows.append((*about, body, self.hash))
        self._tail.append(StoredEvent(self.position, event))
        return True

    def _named(self, event: Learnt | Described, find: Callable[[str], Any]) -> Any:
        """Return the event of the same kind and id that is there."""
        if any(row[2:4] == (kind_of(event), event.id) for row in self._rows):
            self._write()
        return find(event.id)

    def _numbers(self) -> Catalogue:
        """Return the catalogue in which arms are looked up; it forgets old ones if it is large."""
        found = self.ledger.catalogue
        if found is None:
            self._write()
            some, size = list[Offered](), 0
            for event in self._reader.newest_offers(self.position):
                some.append(event)
                size += event.vectors.size
                if size > NUMBERED:
                    break
            d = self._known.subspace.ambient
            found = self.ledger.catalogue = Catalogue(d, some[-1].first if some else 0)
            for event in reversed(some):
                found.extend(event.vectors, event.labels)
        return found

    def _extend(self, event: Offered) -> None:
        found = self.ledger.catalogue
        if found is not None and event.first == found.end:
            found.extend(event.vectors, event.labels)

    def mark(self) -> Mark:
        """Return where it stands."""
        catalogue = self.ledger.catalogue
        end = -1 if catalogue is None else catalogue.end
        tail = self._tail
        return Mark(
            self.position, self.hash, len(self._rows), self._known, tail, len(tail),
            self._held.copy(), end,
        )  # fmt: skip

    def back(self, mark: Mark) -> None:
        """Undo what came after a mark."""
        self.position, self.hash = mark.position, mark.digest
        self._known, self._tail, self._held = mark.known, mark.tail[: mark.waiting], mark.held
        del self._rows[mark.rows :]
        if self._written > mark.rows:
            self._database.change(statements.CUT, [(self.ledger.number, mark.position)])
            self._written = mark.rows
        catalogue = self.ledger.catalogue
        if catalogue is not None and catalogue.end != mark.end:
            if mark.end < catalogue.first:
                self.ledger.catalogue = None
            else:
                catalogue.cut(mark.end - catalogue.first)

    def _write(self) -> None:
        rows, self._written = self._rows[self._written :], len(self._rows)
        if rows:
            self._database.change(statements.ADD, rows)

    def finished(self) -> tuple[list[Row], bytes | None]:
        """Return the rows that are still to be written, and a snapshot if it is time for one."""
        due = self.position - self.ledger.kept_at >= _every(self._known)
        if due or len(self._tail) >= WAITING:
            self.known  # noqa: B018
        kept = snapshots.snapshot(self._known) if due else None
        return self._rows[self._written :], kept

    @property
    def added(self) -> int:
        """How many events it adds."""
        return len(self._rows)

    def done(self) -> None:
        """Have the ledger know what is durable now."""
        ledger, catalogue = self.ledger, self.ledger.catalogue
        if self._held:
            ledger.noted(self._held.items())
        large = catalogue is not None and catalogue.size * catalogue.d > NUMBERED
        if catalogue is not None and large and catalogue.found < catalogue.size:
            # Arms that come again would be worth their room.
            ledger.catalogue = Catalogue(catalogue.d, catalogue.end)
        for row in self._rows:
            if row[2] == "described":
                ledger.sets.add(row[3])
        ledger.arrived(Place(self.position, self.hash, self._known, tuple(self._tail)))


def _every(known: Known) -> int:
    """Return after how many events a snapshot is kept."""
    numbers, items = known.open.count * (known.open.d + 2), known.state.effects
    if items is not None:
        numbers += items.size * (items.d + 2)
    return max(EVERY, 8 * (known.state.ridge.factor.size + numbers) // BYTES)
