"""The decisions of a ledger, each with its outcome, its offer and its belief, read lazily.

Whoever wants to know what happened to a decider reads it here: log, explanation, audit, replay and
check are functions of a `History`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.arms import DecisionSet
from projbandits.exceptions import UnknownDecisionError
from projbandits.ledger.catalogue import Catalogue
from projbandits.ledger.choose import chosen, state_at
from projbandits.ledger.database import damaged
from projbandits.ledger.decision import Decision, Grounds
from projbandits.ledger.describing import set_of, strategy_of
from projbandits.ledger.events import (
    Changed,
    Decided,
    Event,
    Opened,
    StoredEvent,
    head_text,
    read_head,
)
from projbandits.ledger.fold import Events, Given, Known, advanced
from projbandits.ledger.ledger import Ledger
from projbandits.ledger.offer import Offer
from projbandits.ledger.outcomes import Held
from projbandits.ledger.reading import EVENTS_AT_ONCE, Reader
from projbandits.ledger.streams import Streams
from projbandits.strategies import Choice, LinearStrategy

CACHED = 2_000_000
"""How many numbers of offers are kept at hand, as the same are often made again."""

BELIEFS = 32
"""How many of the beliefs that were folded last are kept at hand."""


@dataclass(eq=False)
class Record:
    """A decision in a ledger, and what became of it.

    Parameters
    ----------
    history : History
        Where it was read.
    position : int
        Of its event.
    event : Decided
        As it was stored.
    outcome : float
        The outcome in force; nan while there is none.
    told_at : float
        When the last report of it came, in seconds since 1970; nan if none did.
    outcome_position : int
        The position from which the outcome counts; -1 if there is none.
    why : str or None
        Why it was withdrawn, or why its outcome was assumed.
    """

    history: History
    position: int
    event: Decided
    outcome: float = np.nan
    told_at: float = np.nan
    outcome_position: int = -1
    why: str | None = None

    @classmethod
    def of(cls, history: History, held: Held) -> Record:
        """Return the record of a decision that a ledger holds."""
        settled = held.outcome is not None
        return cls(
            history,
            held.position,
            held.decision,
            held.outcome if held.outcome is not None else np.nan,
            np.nan if held.time is None else held.time,
            held.first if settled and held.first is not None else -1,
            held.why,
        )

    @property
    def told(self) -> bool:
        """Whether its outcome is known."""
        return not np.isnan(self.outcome)

    @property
    def arm(self) -> Array:
        """The features of the chosen arm."""
        return self.event.arm

    @property
    def known(self) -> int:
        """The position of the last event behind its belief."""
        return self.position - 1

    @property
    def told_after(self) -> int:
        """How many decisions had been made when its outcome came; -1 if there is none."""
        position = self.outcome_position
        return -1 if position < 0 else self.history.decisions_before(position)

    @property
    def offer(self) -> DecisionSet | None:
        """All that was on offer to its call; None if that was not kept."""
        return self.history.offer(self.event)

    @property
    def rows(self) -> NDArray[np.int64] | None:
        """The rows of the arms that were left to this choice among all arms ever on offer."""
        event = self.event
        if event.rows is None or event.index is None:
            return None
        rows = event.rows.astype(np.int64)
        return np.delete(rows, event.taken) if event.taken else rows

    @property
    def place(self) -> int | None:
        """Where the chosen arm stands among those that were left to this choice."""
        index = self.event.index
        return None if index is None else index - sum(row < index for row in self.event.taken)

    @cached_property
    def grounds(self) -> Grounds:
        """What it rested on."""
        event, known = self.event, self.history.belief(self.known)
        arms = self.offer
        if isinstance(arms, Offer) and event.taken:
            arms = arms.without(event.taken)[0]
        state = state_at(known, arms, event.time)
        return Grounds(known.strategy, state, arms, event.taken, known.columns)

    @property
    def decision(self) -> Decision:
        """The decision as its caller had it, with its grounds."""
        return Decision.made(self.event, self.grounds)

    def stream(self) -> np.random.Generator:
        """Return the random numbers with which it was made, from the first on."""
        return Streams(self.history.seed).at(self.event.session, self.event.draw)

    def decide_again(self) -> Choice:
        """Return what is chosen when the same is decided again.

        The arm and its probability are those of the decision, to the bit.
        """
        event, known = self.event, self.history.belief(self.known)
        arms = self.offer
        if arms is None:
            raise ValueError(
                f"decision {event.id!r} cannot be decided again: it was made in a set of arms that "
                "the ledger cannot describe"
            )
        at = event.session, event.draw, event.time
        return chosen(known, arms, event.taken, Streams(known.seed), *at)[0]


class History:
    """The decisions of a ledger up to a position.

    Beliefs are folded forward, so records are best looked at in their order. Going back costs a
    snapshot and the events since.

    Parameters
    ----------
    ledger : Ledger
        What to read.
    upto : int, optional
        The last position that is read; by default that of the last event now.

    Examples
    --------
    >>> import projbandits as pb
    >>> U = pb.Subspace.coordinates([0], d=2)
    >>> decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0)
    >>> decider.tell(decider.ask([[1.0, 0.0], [0.5, 1.0]]).id, 1.0)
    >>> for record in decider.history():
    ...     print(record.position, record.place, record.outcome)
    3 1 1.0
    """

    def __init__(self, ledger: Ledger, upto: int | None = None) -> None:
        self.ledger = ledger
        self._reader = ledger.reader
        self._events = _ReadAhead(ledger.reader)
        self._beliefs: OrderedDict[int, Known] = OrderedDict()
        self._offers: OrderedDict[bytes | str, DecisionSet] = OrderedDict()
        self._size = 0
        self.position = ledger.reader.head()[0] if upto is None else upto
        """The last position that is read."""

    @property
    def name(self) -> str:
        """What the ledger is called."""
        return self.ledger.name

    @cached_property
    def head(self) -> str:
        """POSITION:HASH of the last event that is read: it vouches for all before it."""
        return head_text(self.position, self._reader.digest(self.position) or b"")

    def verify(self, head: str) -> int:
        """Check every event up to a head that was kept elsewhere, and return its position.

        Raise DamagedError if an event is another one, or is not there any more.
        """
        position, digest = read_head(head)
        if position > self._reader.head()[0]:
            raise damaged(self._reader.shown, f"events up to {position} are not there any more")
        for _ in self._reader.read(0, position):
            pass
        if self._reader.digest(position) != digest:
            raise damaged(self._reader.shown, f"the history up to event {position} is another one")
        return position

    @cached_property
    def seed(self) -> int:
        """Where the decider's randomness comes from."""
        return self.belief().seed

    def __iter__(self) -> Iterator[Record]:
        for records in self.chunks():
            yield from records

    def chunks(self, after: int = 0, size: int = EVENTS_AT_ONCE) -> Iterator[list[Record]]:
        """Yield the decisions after a position, in order, those of some thousand events at a time.

        Parameters
        ----------
        after : int
            The position.
        size : int
            How many events are read at a time.
        """
        for some in self._reader.decisions(after, self.position, size):
            yield [Record.of(self, held) for held in some]

    def find(self, id: str) -> Record:
        """Return a decision by its id."""
        held = self._reader.held(id, self.position)
        if held is None:
            raise UnknownDecisionError(f"decision must be in the log, got {id!r}")
        return Record.of(self, held)

    def pending(self, before: float | None = None) -> Iterator[Record]:
        """Yield the decisions whose outcome is to come, in order; those asked before a time."""
        for position, _ in self.belief().open.rows:
            event = self._events.at(position)
            if isinstance(event, Decided) and (before is None or event.time < before):
                yield Record(self, position, event)

    def events(self, after: int = 0) -> Iterator[tuple[int, Event]]:
        """Yield all that happened after a position, each with its own."""
        for chunk in self._reader.read(after, self.position):
            yield from chunk

    def belief(self, position: int | None = None) -> Known:
        """Return what was believed at a position, by default the last."""
        upto = self.position if position is None else position
        found = self._beliefs.get(upto)
        if found is not None:
            return found
        if upto == self.position and self.ledger.seen.position == upto:
            return self.ledger.seen
        start = max((at for at in self._beliefs if at <= upto), default=None)
        before = None if start is None else self._beliefs[start]
        known = advanced(self._events, before, upto, self.ledger.given)
        self._beliefs[upto] = known
        while len(self._beliefs) > BELIEFS:
            self._beliefs.popitem(last=False)
        return known

    def folded(self, start: Known | None, position: int) -> Known:
        """Return what follows from the events up to a position, by no snapshot."""
        return advanced(_Unaided(self._events), start, position, self.ledger.given)

    def snapshots(self) -> list[tuple[int, Known | None]]:
        """Return each snapshot in order, with its position; None is one that is damaged."""
        return self._reader.snapshots(self.position, self.ledger.given)

    def arms(self) -> Catalogue:
        """Return all arms that were ever on offer."""
        return self._arms

    @cached_property
    def _arms(self) -> Catalogue:
        catalogue = Catalogue(self.belief().subspace.ambient)
        for event in self._reader.offered(0, self.position):
            catalogue.extend(event.vectors, event.labels)
        return catalogue

    def strategies(self) -> list[LinearStrategy]:
        """Return all strategies that decided."""
        return [
            strategy_of(event.strategy, event.label, self.ledger.given)
            for event in self._reader.changes(self.position)
            if isinstance(event, Opened | Changed) and event.label is not None
        ]

    def decisions_before(self, position: int) -> int:
        """Return how many decisions had been made before an event."""
        return int(np.searchsorted(self._made, position))

    @cached_property
    def _made(self) -> NDArray[np.int64]:
        return np.array(self._reader.made(self.position), dtype=np.int64)

    def offer(self, decision: Decided) -> DecisionSet | None:
        """Return all that was on offer to a call, None if it could not be described."""
        rows = decision.rows
        if rows is None and decision.arms is None:
            return None
        key = str(decision.arms) if rows is None else rows.dtype.char.encode() + rows.tobytes()
        found = self._offers.get(key)
        if found is not None:
            self._offers.move_to_end(key)
            return found
        if rows is None:
            text = self._reader.described(str(key))
            found = None if text is None else set_of(text)
        else:
            catalogue = self.arms()
            found = Offer(catalogue.vectors[rows], None, catalogue.labels(rows))
        if found is None:
            return None
        self._offers[key] = found
        self._size += _numbers(found)
        while self._size > CACHED and len(self._offers) > 1:
            self._size -= _numbers(self._offers.popitem(last=False)[1])
        return found


class _ReadAhead:
    """Reads more events than were asked for: whoever goes through a ledger comes for them next."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._some: list[StoredEvent] = []

    def read(self, after: int, upto: int) -> Iterator[list[StoredEvent]]:
        """Yield the events after a position and up to another."""
        while after < upto:
            some = self._some
            if not some or not some[0].position <= after + 1 <= some[-1].position:
                last = max(upto, min(after + EVENTS_AT_ONCE, self._reader.head()[0]))
                some = self._some = next(self._reader.read(after, last))
            start = after + 1 - some[0].position
            found = some[start : start + upto - after]
            yield found
            after = found[-1].position

    def at(self, position: int) -> Event:
        """Return the event at a position."""
        return next(self.read(position - 1, position))[0].event

    def snapshot(self, upto: int, given: Given) -> Known | None:
        """Return the last snapshot at or before a position."""
        return self._reader.snapshot(upto, given)


class _Unaided:
    """Reads events, and no snapshots."""

    def __init__(self, events: Events) -> None:
        self.read = events.read

    def snapshot(self, upto: int, given: Given) -> Known | None:
        """Return None."""
        return None


def _numbers(arms: DecisionSet) -> int:
    return int(arms.vectors.size) if isinstance(arms, Offer) else 1000
