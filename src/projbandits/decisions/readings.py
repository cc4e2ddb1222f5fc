"""The decisions of a ledger with what they rested on, read in order and never all at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits.arms import DecisionSet
from projbandits.decisions.choose import Mate, chosen, state_at
from projbandits.decisions.decision import Decision, Grounds
from projbandits.decisions.offers import Offer
from projbandits.ledger.describing import set_of, strategy_of
from projbandits.ledger.events import Changed, Decided, Opened
from projbandits.ledger.fold import Known, advanced, mates_in
from projbandits.ledger.fold import Mate as FoldMate
from projbandits.ledger.protocol import EVENTS_AT_ONCE, Held, Ledger
from projbandits.ledger.streams import Streams
from projbandits.strategies import Choice, LinearStrategy

CACHED = 2_000_000
"""How many numbers of offers are kept at hand, as the same are often made again."""


class Account(NamedTuple):
    """A decision with its grounds, and its outcome.

    Parameters
    ----------
    decision : Decision
        With its grounds, as far as they are kept.
    outcome : float
        nan while there is none.
    told : float
        When it was reported, in seconds since 1970; nan if it was not.
    outcome_position : int
        How many decisions had been made by then; -1 if it was not.
    known : int
        The position of the last event behind the decision; -1 if that is unknown.
    place : int
        The position at which its outcome was learnt; -1 if it was not, or that is unknown.
    """

    decision: Decision
    outcome: float = np.nan
    told: float = np.nan
    outcome_position: int = -1
    known: int = -1
    place: int = -1


class Reader:
    """Reads a ledger's decisions, and makes what was believed at each of them again.

    Beliefs are folded forward. Going back costs a snapshot and the events since.

    Parameters
    ----------
    ledger : Ledger
        What to read.
    given : iterable of LinearStrategy
        Strategies that a ledger can only name.
    """

    def __init__(self, ledger: Ledger, given: Iterable[LinearStrategy] = ()) -> None:
        self._ledger = ledger
        self._given = [*given]
        self._known: Known | None = None
        self._offers: OrderedDict[bytes | str, DecisionSet] = OrderedDict()
        self._size = 0

    def known(self, position: int) -> Known:
        """Return what followed from the events up to a position."""
        start = self._known
        if start is not None and not self._ledger.base <= start.position <= position:
            start = None
        self._known = advanced(self._ledger, start, position, self._given)
        return self._known

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
            catalogue = self._ledger.catalogue()
            assert catalogue is not None
            found = Offer(catalogue.vectors[rows], None, catalogue.labels(rows))
        if found is None:
            return None
        self._offers[key] = found
        self._size += _numbers(found)
        while self._size > CACHED and len(self._offers) > 1:
            self._size -= _numbers(self._offers.popitem(last=False)[1])
        return found

    def grounds(self, held: Held) -> Grounds:
        """Return what a decision rested on."""
        event, known = held.decision, self.known(held.decision.known)
        arms = self.offer(event)
        if isinstance(arms, Offer) and event.taken:
            arms = arms.without(event.taken)[0]
        state = state_at(known, arms, event.step, event.time, self.mates(held))
        return Grounds(known.strategy, state, arms, event.taken, known.columns)

    def again(self, held: Held) -> Choice:
        """Return what is chosen when the same is decided again.

        The arm and its probability are those of the decision, to the bit.
        """
        event, known = held.decision, self.known(held.decision.known)
        arms = self.offer(event)
        if arms is None or event.session < 0:
            raise ValueError(
                f"decision {event.id!r} cannot be decided again: "
                + ("what was on offer" if arms is None else "its random stream")
                + " was not kept"
            )
        streams = Streams(known.seed)
        at = event.session, event.draw, event.step, event.time
        return chosen(known, arms, event.taken, streams, *at, self.mates(held))[0]

    def mates(self, held: Held) -> list[Mate]:
        """Return the decisions of its batch that a decision counted as open, in order."""
        event, found = held.decision, list[Mate]()
        if not event.counted:
            return found
        first = event.draw - event.counted
        if self._ledger.base <= event.known:
            for entries in self._ledger.read(event.known, held.position - 1):
                for entry in entries:
                    other = entry.event
                    if isinstance(other, Decided) and other.session == event.session:
                        assert entry.arm is not None
                        if first <= other.draw < event.draw:
                            found.append((entry.arm, other.label))
        else:  # its events were moved to a file, all but what it counted
            kept = self._ledger.snapshot(event.known)
            found = [
                (x, label)
                for session, draw, x, label in (mates_in(kept) if kept is not None else ())
                if session == event.session and first <= draw < event.draw
            ]
        if len(found) != event.counted:
            raise ValueError(
                f"decision {event.id!r} cannot be made again: of {event.counted} decisions that it "
                f"counted, {len(found)} are kept"
            )
        return found

    def counted_by(self, decisions: Iterable[Held]) -> dict[int, list[FoldMate]]:
        """Return what some decisions counted of their batches, by what was known then."""
        found: dict[int, dict[tuple[int, int], FoldMate]] = {}
        for held in decisions:
            event = held.decision
            mates = self.mates(held)
            for draw, (x, label) in enumerate(mates, event.draw - event.counted):
                mate = event.session, draw, x, label
                found.setdefault(event.known, {})[event.session, draw] = mate
        return {known: [mates[key] for key in sorted(mates)] for known, mates in found.items()}

    def strategies(self) -> list[LinearStrategy]:
        """Return all strategies that decided."""
        return [strategy_of(*each, self._given) for each in self._steps().strategies]

    def _steps(self) -> Steps:
        return Steps(self._ledger, self._given)

    def accounts(
        self, after: int = 0, chunk: int = EVENTS_AT_ONCE, *, outcome_position: bool = True
    ) -> Iterator[list[Account]]:
        """Yield the decisions after a position, in order.

        Whoever needs no `outcome_position` saves a look at every event.
        """
        steps = self._steps() if outcome_position else None
        for some in self._ledger.decisions(after, chunk):
            made: list[Account | None] = [None] * len(some)
            # Of several processes, each may have known something else: no belief twice.
            for i in sorted(range(len(some)), key=lambda i: some[i].decision.known):
                held = some[i]
                decision = Decision.of(held, self.grounds(held))
                if held.outcome is None or held.place is None or held.time is None:
                    made[i] = Account(decision, known=held.decision.known)
                else:
                    count = -1 if steps is None else steps.before(held.place)
                    made[i] = Account(
                        decision,
                        held.outcome,
                        held.time,
                        count,
                        held.decision.known,
                        held.place,
                    )
            yield [account for account in made if account is not None]


class Steps:
    """How many decisions had been made at each position of a ledger."""

    def __init__(self, ledger: Ledger, given: Iterable[LinearStrategy] = ()) -> None:
        at, steps = list[int](), list[int]()
        self.strategies: list[tuple[dict[str, Any] | None, str]] = []
        now = first = (
            advanced(ledger, None, ledger.base, given).state.step - 1 if ledger.base else 0
        )
        for chunk in ledger.read(ledger.base):
            for position, event, *_ in chunk:
                if isinstance(event, Decided):
                    now += 1
                else:
                    if isinstance(event, Opened | Changed) and event.label is not None:
                        self.strategies.append((event.strategy, event.label))
                    continue
                at.append(position)
                steps.append(now)
        self._at: NDArray[np.int64] = np.array(at, dtype=np.int64)
        self._steps: NDArray[np.int64] = np.array([first, *steps], dtype=np.int64)

    def before(self, position: int) -> int:
        """Return how many decisions had been made before an event."""
        return int(self._steps[np.searchsorted(self._at, position)])


def _numbers(arms: DecisionSet) -> int:
    return int(arms.vectors.size) if isinstance(arms, Offer) else 1000
