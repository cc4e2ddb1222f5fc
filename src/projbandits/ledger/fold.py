"""The belief as a fold over events: one function, one event at a time.

What is known at a position is defined by the events up to it: the outcomes in force there, each
learnt at the place of its first report, by the strategy in force there. However it is reached, from
the beginning or from a snapshot, at once or event by event, it has the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from projbandits._blas import single_threaded_blas, while_small
from projbandits._validation import Array
from projbandits.arms import Arm, FiniteArms
from projbandits.exceptions import DamagedError
from projbandits.features.features import Features
from projbandits.ledger.describing import strategy_of
from projbandits.ledger.events import (
    Amended,
    Changed,
    Decayed,
    Decided,
    Learnt,
    Opened,
    StoredEvent,
    Told,
    Withdrawn,
)
from projbandits.ridge import Ridge
from projbandits.strategies import LinearStrategy, State
from projbandits.strategies.effects import Effects
from projbandits.strategies.open import OpenDecisions
from projbandits.subspace import Subspace

CHANGING = (Amended, Withdrawn, Changed)
DECISIONS, SECONDS = "decisions", "seconds"
Given = Iterable[LinearStrategy]
InForce = Mapping[str, float | None]
AS_TOLD: InForce = {}


class Events(Protocol):
    """Reads the events of a ledger."""

    def read(self, after: int, upto: int) -> Iterator[list[StoredEvent]]:
        """Yield the events after a position and up to another, in order, not all at once."""
        ...

    def snapshot(self, upto: int, given: Given) -> Known | None:
        """Return the last snapshot at or before a position."""
        ...


class Known(NamedTuple):
    """What follows from the events up to a position.

    Parameters
    ----------
    position : int
        The last event that is in it.
    key : str
        The ledger's own.
    seed : int
        The ledger's.
    strategy : LinearStrategy
        The strategy that makes the choices.
    subspace : Subspace
        What counts.
    columns : tuple of str or None
        The names of the features.
    state : State
        What the strategy knows.
    open : OpenDecisions
        The decisions whose outcome is open.
    features : Features or None
        How raw columns become features.
    half_life : tuple of float and str
        See `Opened`.
    clock : float
        The latest time of an event, where outcomes lose weight with time.
    intercept : bool
        Whether returns have a level that is learnt.
    """

    position: int
    key: str
    seed: int
    strategy: LinearStrategy
    subspace: Subspace
    columns: tuple[str, ...] | None
    state: State
    open: OpenDecisions
    features: Features | None = None
    half_life: tuple[Any, ...] = ()
    clock: float = 0.0
    intercept: bool = False


def opened(event: Opened, given: Given = ()) -> Known:
    """Return what is known when a ledger begins."""
    subspace = Subspace(event.subspace, event.names)
    strategy = strategy_of(event.strategy, event.label, given)
    return Known(
        1,
        event.key,
        int.from_bytes(event.seed, "little"),
        strategy,
        subspace,
        event.columns,
        initial(strategy, subspace, event.intercept),
        OpenDecisions(subspace.ambient),
        features=None if event.features is None else Features.from_json(event.features),
        half_life=event.half_life,
        clock=event.time,
        intercept=event.intercept,
    )


def advanced(events: Events, start: Known | None, upto: int, given: Given = ()) -> Known:
    """Return what is known at a position.

    Parameters
    ----------
    events, upto : Events and int
        Where the events are, and the position.
    start : Known or None
        What is known at this position or before; None: the last snapshot, or the beginning.
    given : iterable of LinearStrategy
        Strategies that a ledger can only name.
    """
    if start is not None:
        known: Known | None = start
        for chunk in events.read(start.position, upto):
            known = None if known is None else forward(known, chunk)
        if known is not None:
            return known
    with single_threaded_blas():
        return _afresh(events, start, upto, given)


def forward(known: Known, some: Iterable[StoredEvent]) -> Known | None:
    """Return what is known after some more events, None if one of them changes what was before."""
    with while_small(1, known.subspace.ambient):
        for position, event in some:
            if type(event) in CHANGING and _changes_what_was_before(event):
                return None
            known = fold(known, position, event)
    return known


def _changes_what_was_before(event: Any) -> bool:
    if isinstance(event, Changed):
        return event.label is not None or event.subspace is not None
    return event.first is not None


def _afresh(events: Events, start: Known | None, upto: int, given: Given) -> Known:
    """Return what is known at a position, where something changes what was before."""
    in_force: dict[str, float | None] = {}
    learner: Known | None = None
    while True:
        known = start or events.snapshot(upto, given) or _beginning(events, given, learner)
        found, earliest, relearn = dict(in_force), upto, False
        for chunk in events.read(known.position, upto):
            for position, event in chunk:
                if isinstance(event, Amended | Withdrawn) and event.first is not None:
                    found[event.id] = event.outcome if isinstance(event, Amended) else None
                    earliest = min(earliest, event.first)
                elif isinstance(event, Changed) and learner is None:
                    relearn |= not carries(known, changed(known, event, given))
                known = fold(known, position, event, in_force, given, learner)
        if found == in_force and not relearn:
            return known
        in_force = found
        if relearn:
            learner = known  # its strategy learns everything, from the beginning
        start = None if learner else events.snapshot(earliest - 1, given)
        start = start or _beginning(events, given, learner)


def fold(
    known: Known,
    position: int,
    event: Any,
    in_force: InForce = AS_TOLD,
    given: Given = (),
    learner: Known | None = None,
) -> Known:
    """Return what is known after one more event.

    Parameters
    ----------
    known : Known
        What was known before it.
    position, event : int and Event
        The event.
    in_force : mapping
        By id, outcomes that were amended (or withdrawn: None) later than they were told.
    given : iterable of LinearStrategy
        Strategies that a ledger can only name.
    learner : Known, optional
        Whose strategy and subspace are to be learnt by, whatever `Changed` says.
    """
    if known.half_life:
        known = _later(known, getattr(event, "time", known.clock))
    state, open_ = known.state, known.open
    if isinstance(event, Decided):
        open_ = open_.add(position, event.arm.copy(), event.label)
        state = State(state.step + 1, *state[1:])
        if known.half_life and known.half_life[1] == DECISIONS:
            state = faded(state, 0.5 ** (1.0 / known.half_life[0]))
    elif isinstance(event, Told):
        waiting = open_.at(event.decided)
        if waiting is None:
            raise DamagedError(f"outcome {position} is of no open decision: restore a backup")
        open_ = open_.without(event.decided)
        state = _told(known.strategy, state, *waiting, in_force.get(event.id, event.outcome))
    elif isinstance(event, Amended) and event.first is None:
        outcome = in_force.get(event.id, event.outcome)
        state = _told(known.strategy, state, event.arm, event.label, outcome)
    elif isinstance(event, Withdrawn):
        open_ = open_.without(event.decided)
    elif isinstance(event, Learnt):
        state = _learnt(known, event.X, event.outcomes, event.labels)
    elif isinstance(event, Decayed):
        state = faded(state, event.by)
        if state.effects is not None and not known.half_life:
            state = state._replace(effects=state.effects.rejoined())
    elif isinstance(event, Changed):
        known = changed(known, event, given, learner)
        state = known.state
    # As a tuple, since every event comes this way: _replace takes four times as long.
    return tuple.__new__(Known, (position, *known[1:6], state, open_, *known[8:]))


def changed(known: Known, event: Changed, given: Given, learner: Known | None = None) -> Known:
    """Return what is known after a change, with what was learnt before as far as it carries."""
    subspace, strategy = known.subspace, known.strategy
    if learner is None and event.subspace is not None:
        subspace = Subspace(event.subspace, event.names)
    if learner is None and event.label is not None:
        strategy = strategy_of(event.strategy, event.label, given)
    columns = known.columns or event.columns  # the first to name them decides
    if event.half_life is not None:
        known = known._replace(half_life=event.half_life, clock=max(known.clock, event.time))
        if not event.half_life and known.state.effects is not None:
            rejoined = known.state.effects.rejoined()
            known = known._replace(state=known.state._replace(effects=rejoined))
    if subspace is known.subspace and strategy is known.strategy:
        return known._replace(columns=columns)
    before = known.state
    ridge = replace(before.ridge, penalty=strategy.penalty)
    state = initial(strategy, subspace, known.intercept)
    state = state._replace(step=before.step, ridge=ridge)
    if _models(strategy) and _models(strategy) == _models(known.strategy):
        state = state._replace(effects=before.effects)
    return known._replace(strategy=strategy, subspace=subspace, columns=columns, state=state)


def carries(one: Known, other: Known) -> bool:
    """Tell whether what one learnt is what the other would have learnt from the same events."""
    if one.strategy is other.strategy and one.subspace is other.subspace:
        return True
    if _models(other.strategy) and _models(other.strategy) != _models(one.strategy):
        return False
    same = np.array_equal(one.subspace.matrix, other.subspace.matrix)
    if not (learns_plainly(one.strategy) and learns_plainly(other.strategy)):
        return same and repr(one.strategy) == repr(other.strategy)
    on = one.strategy.learns_on
    return on == other.strategy.learns_on and (same or on == "arm")


def _models(strategy: LinearStrategy) -> tuple[Any, ...]:
    """Return what the belief about effects of items depends on; empty if there is none."""
    return () if strategy.arm_effects is None else (strategy.penalty, *strategy.known_scales)


def learns_plainly(strategy: LinearStrategy) -> bool:
    """Tell whether a strategy's belief follows from its observations as in `LinearStrategy`."""
    kind = type(strategy)
    own = (kind.update, kind.learnt, kind.replan)
    return own == (LinearStrategy.update, LinearStrategy.learnt, LinearStrategy.replan)


def aged(known: Known, time: float) -> State:
    """Return what is believed at a time: where weights are lost with time, until then."""
    half_life = known.half_life
    if not half_life or half_life[1] == DECISIONS or time <= known.clock:
        return known.state
    return faded(known.state, 0.5 ** ((time - known.clock) / half_life[0]))


def _later(known: Known, time: float) -> Known:
    """Return what is known when an event comes; a clock that goes back stands still."""
    if time <= known.clock:
        return known
    return known._replace(state=aged(known, time), clock=time)


def faded(state: State, by: float) -> State:
    """Return what is believed when every outcome has `by` times its weight."""
    effects = None if state.effects is None else state.effects.decayed(by)
    return state._replace(ridge=state.ridge.decayed(by), effects=effects)


def _told(
    strategy: LinearStrategy, state: State, arm: Any, label: str | None, outcome: float | None
) -> State:
    """Return what is believed after an outcome; None is one that was withdrawn."""
    if outcome is None:
        return state
    # An update counts as a step to a strategy; here steps are decisions.
    return State(state.step, *strategy.update(state, Arm(arm, None, label), outcome)[1:])


def initial(strategy: LinearStrategy, subspace: Subspace, intercept: bool) -> State:
    """Return the state of a strategy that knows nothing yet."""
    d = subspace.ambient
    state = strategy.init(FiniteArms(np.eye(d)), subspace)
    if intercept:
        state = state._replace(ridge=Ridge.prior(d, strategy.penalty, intercept=True))
    if state.effects is None:
        return state
    effects = Effects.prior(d, strategy.penalty, *strategy.known_scales, intercept)
    return state._replace(effects=effects)


def _beginning(events: Events, given: Given, learner: Known | None) -> Known:
    """Return what is known at the first event, by the strategy of `learner` if there is one."""
    event = next(events.read(0, 1))[0].event
    if not isinstance(event, Opened):
        raise DamagedError(f"a ledger must begin with Opened, got {type(event).__name__}")
    known = opened(event, given)
    if learner is None:
        return known
    state = initial(learner.strategy, learner.subspace, known.intercept)
    return known._replace(strategy=learner.strategy, subspace=learner.subspace, state=state)


def _learnt(known: Known, X: Array, outcomes: Array, labels: tuple[str, ...] | None) -> State:
    state, strategy = known.state, known.strategy
    items: Effects | None = state.effects
    some = X @ state.projection if strategy.learns_on == "projection" else X
    ridge = state.ridge.update_many(some, outcomes)
    if items is None:
        return state._replace(ridge=ridge)
    for label, x, outcome in zip(labels or [None] * len(X), some, outcomes.tolist(), strict=True):
        items = items.update(label, x, outcome)
    if len(X):
        items = items.fitted(*strategy.known_scales)
    return state._replace(ridge=ridge, effects=items)
