"""The decisions of a ledger, each with its outcome, its offer and its belief, read lazily.

Whoever wants to know what happened to a decider reads it here: log, explanation, audit, replay and
check are functions of a `History`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.arms import DecisionSet
from projbandits.exceptions import UnknownDecisionError
from projbandits.ledger.catalogue import Catalogue
from projbandits.ledger.choose import Mate, chosen, state_at
from projbandits.ledger.decision import Decision, Grounds
from projbandits.ledger.describing import set_of, strategy_of
from projbandits.ledger.events import Changed, Decided, Event, Opened
from projbandits.ledger.fold import Known, advanced
from projbandits.ledger.offer import Offer
from projbandits.ledger.protocol import EVENTS_AT_ONCE, Held, Ledger
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
    arm : ndarray of shape (d,)
        The features of the chosen arm.
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
    arm: Array
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
            held.arm,
            held.outcome if held.outcome is not None else np.nan,
            np.nan if held.time is None else held.time,
            held.place if settled and held.place is not None else -1,
            held.why,
        )

    @property
    def told(self) -> bool:
        """Whether its outcome is known."""
        return not np.isnan(self.outcome)

    @property
    def known(self) -> int:
        """The position of the last event behind its belief."""
        return self.event.known

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
        event, known = self.event, self.history.belief(self.event.known)
        arms = self.offer
        if isinstance(arms, Offer) and event.taken:
            arms = arms.without(event.taken)[0]
        mates = self.history.mates(self)
        state = state_at(known, arms, event.step, event.time, mates)
        return Grounds(known.strategy, state, arms, event.taken, known.columns)

    @property
    def decision(self) -> Decision:
        """The decision as its caller had it, with its grounds."""
        return Decision.made(self.event, self.arm, self.grounds)

    def stream(self) -> np.random.Generator:
        """Return the random numbers with which it was made, from the first on."""
        seed = self.history.belief(self.event.known).seed
        return Streams(seed).at(max(self.event.session, 0), self.event.draw)

    def decide_again(self) -> Choice:
        """Return what is chosen when the same is decided again.

        The arm and its probability are those of the decision, to the bit.
        """
        event, known = self.event, self.history.belief(self.event.known)
        arms = self.offer
        if arms is None:
            raise ValueError(
                f"decision {event.id!r} cannot be decided again: what was on offer was not kept"
            )
        at = event.session, event.draw, event.step, event.time
        mates = self.history.mates(self)
        return chosen(known, arms, event.taken, Streams(known.seed), *at, mates)[0]


class History:
    """The decisions of a ledger up to a position.

    Beliefs are folded forward, so records are best looked at in their order. Going back costs a
    snapshot and the events since.

    Parameters
    ----------
    ledger : Ledger
        What to read.
    given : iterable of LinearStrategy
        Strategies that a ledger can only name.
    upto : int, optional
        The last position that is read; by default that of the last event now.

    Examples
    --------
    >>> import projbandits as pb
    >>> U = pb.Subspace.coordinates([0], d=2)
    >>> decider = pb.Decider(pb.GENTRY(), subspace=U, log=True, seed=0)
    >>> decider.tell(decider.ask([[1.0, 0.0], [0.5, 1.0]]).id, 1.0)
    >>> for record in decider.history():
    ...     print(record.position, record.place, record.outcome)
    3 1 1.0
    """

    def __init__(
        self, ledger: Ledger, given: Iterable[LinearStrategy] = (), upto: int | None = None
    ) -> None:
        self._ledger = ledger
        self._given = [*given]
        self._beliefs: OrderedDict[int, Known] = OrderedDict()
        self._offers: OrderedDict[bytes | str, DecisionSet] = OrderedDict()
        self._size = 0
        self.position = ledger.last() if upto is None else upto
        """The last position that is read."""

    @property
    def name(self) -> str:
        """What the ledger is called."""
        return self._ledger.name

    @property
    def head(self) -> str:
        """The last position, and what tells this history from any other of that length."""
        return f"{self.position}:"

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
        for some in self._ledger.decisions(after, size):
            some = [held for held in some if held.position <= self.position]
            if some:
                yield [Record.of(self, held) for held in some]

    def find(self, id: str) -> Record:
        """Return a decision by its id."""
        held = self._ledger.held(id)
        if held is None or held.position > self.position:
            raise UnknownDecisionError(f"decision must be in the log, got {id!r}")
        return Record.of(self, held)

    def pending(self, before: float | None = None) -> Iterator[Record]:
        """Yield the decisions whose outcome is to come, in order; those asked before a time."""
        return (Record.of(self, held) for held in self._ledger.pending(before))

    def events(self, after: int = 0) -> Iterator[tuple[int, Event]]:
        """Yield all that happened after a position, each with its own."""
        for chunk in self._ledger.read(after, self.position):
            for entry in chunk:
                yield entry.position, entry.event

    def belief(self, position: int | None = None) -> Known:
        """Return what was believed at a position, by default the last."""
        upto = self.position if position is None else position
        found = self._beliefs.get(upto)
        if found is not None:
            return found
        base = self._ledger.base
        start = max((at for at in self._beliefs if base <= at <= upto), default=None)
        known = advanced(
            self._ledger, None if start is None else self._beliefs[start], upto, self._given
        )
        self._beliefs[upto] = known
        while len(self._beliefs) > BELIEFS:
            self._beliefs.popitem(last=False)
        return known

    def arms(self) -> Catalogue:
        """Return all arms that were ever on offer."""
        catalogue = self._ledger.catalogue()
        assert catalogue is not None
        return catalogue

    def strategies(self) -> list[LinearStrategy]:
        """Return all strategies that decided."""
        return [strategy_of(*each, self._given) for each in self._counts[2]]

    def decisions_before(self, position: int) -> int:
        """Return how many decisions had been made before an event."""
        at, counts, _ = self._counts
        return int(counts[np.searchsorted(at, position, side="right")])

    @cached_property
    def _counts(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], list[tuple[dict[str, Any] | None, str]]]:
        """The positions of other events, the decisions before each, and strategies."""
        at, counts = list[int](), list[int]()
        strategies = list[tuple[dict[str, Any] | None, str]]()
        base = self._ledger.base
        now = first = self.belief(base).state.step - 1 if base else 0
        for position, event in self.events(base):
            if isinstance(event, Decided):
                now += 1
                continue
            if isinstance(event, Opened | Changed) and event.label is not None:
                strategies.append((event.strategy, event.label))
            at.append(position)
            counts.append(now)
        return np.array(at, dtype=np.int64), np.array([first, *counts], dtype=np.int64), strategies

    def offer(self, decision: Decided) -> DecisionSet | None:
        """Return all that was on offer to a call, None if it was not kept."""
        rows = decision.rows
        if rows is None and decision.arms is None:
            return None
        key = str(decision.arms) if rows is None else rows.dtype.char.encode() + rows.tobytes()
        found = self._offers.get(key)
        if found is not None:
            self._offers.move_to_end(key)
            return found
        if rows is None:
            text = self._ledger.described(str(key))
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

    def mates(self, record: Record) -> list[Mate]:
        """Return the decisions of its batch that a decision counted as open, in order."""
        event, found = record.event, list[Mate]()
        if not event.counted:
            return found
        first = event.draw - event.counted
        for entries in self._ledger.read(event.known, record.position - 1):
            for entry in entries:
                other = entry.event
                if isinstance(other, Decided) and other.session == event.session:
                    assert entry.arm is not None
                    if first <= other.draw < event.draw:
                        found.append((entry.arm, other.label))
        if len(found) != event.counted:
            raise ValueError(
                f"decision {event.id!r} cannot be made again: of {event.counted} decisions that it "
                f"counted, {len(found)} are kept"
            )
        return found


def _numbers(arms: DecisionSet) -> int:
    return int(arms.vectors.size) if isinstance(arms, Offer) else 1000
