"""One call of `ask`: arms chosen one after another, each a decision with what it rests on."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from projbandits._validation import Array
from projbandits.arms import DecisionSet, FiniteArms
from projbandits.exceptions import ConflictError
from projbandits.ledger.decision import Decision, Grounds
from projbandits.ledger.describing import set_key, set_text
from projbandits.ledger.events import Decided, Described, Event, Rows
from projbandits.ledger.fold import Known, aged
from projbandits.ledger.offer import Offer
from projbandits.ledger.protocol import Ledger
from projbandits.ledger.streams import Streams
from projbandits.strategies import Choice, State
from projbandits.strategies.effects import OpenItems
from projbandits.strategies.open import OpenRows

Mate = tuple[Array, str | None]
"""The arm and the label of a decision of the same batch."""


class Asked(NamedTuple):
    """What a call of `ask` is about.

    Parameters
    ----------
    arms : DecisionSet
        What is on offer.
    kept : bool
        Whether that is kept with the decisions.
    columns : tuple of str or None
        The names of the features.
    ids : sequence of str
        The ids of the decisions to be made.
    meta, context : str or None
        What the caller noted, and the columns that came with the call, as JSON.
    """

    arms: DecisionSet
    kept: bool
    columns: tuple[str, ...] | None
    ids: Sequence[str]
    meta: str | None
    context: str | None = None


class Numbered(NamedTuple):
    """How a ledger refers to what is on offer.

    Parameters
    ----------
    events : list of Event
        What it must be told first.
    rows : ndarray or None
        The numbers of the arms, if there are finitely many that are kept.
    key : str or None
        The key of an infinite set that can be described.
    size : int
        How many rows the catalogue had before.
    """

    events: list[Event]
    rows: Rows | None = None
    key: str | None = None
    size: int = 0


def numbered(ledger: Ledger, arms: DecisionSet, more: int = 0) -> Numbered:
    """Return how a ledger refers to arms, when `more` rows will be added before."""
    catalogue = ledger.catalogue() if ledger.whole else None
    if catalogue is None:
        return NOT_KEPT
    if isinstance(arms, Offer):
        size = len(catalogue)
        rows, new = catalogue.named(arms.vectors, arms.labels, more)
        return Numbered([] if new is None else [new], rows, None, size)
    text = set_text(arms)
    if text is None:
        return Numbered([])
    key = set_key(text)
    return Numbered([] if ledger.described(key) else [Described(key, text)], None, key)


class Last(NamedTuple):
    """What was on offer, how the ledger refers to it, what was known, and the caller's names."""

    offer: DecisionSet
    numbers: Numbered
    known: Known
    ids: Any = None


class Recent:
    """The last few offers, so that what comes again need not be read, numbered or factored again.

    They are found by the array that was passed, and compared number by number.

    Parameters
    ----------
    most : int
        How many are kept; of large ones, only the last is.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[int, Last] = OrderedDict()

    def keep(self, arms: Any, last: Last) -> None:
        """Remember an offer."""
        self._kept[id(arms)] = last
        self._kept.move_to_end(id(arms))
        large = int(last.offer.size * last.offer.d) > LARGE_OFFER
        while len(self._kept) > (1 if large else self._most):
            self._kept.popitem(last=False)

    def of(self, arms: Any, ids: Any) -> Last | None:
        """Return what is remembered of an array under these names."""
        found = self._kept.get(id(arms))
        if found is None or type(arms) is not np.ndarray or found.ids != ids:
            return None
        offer = found.offer
        return found if isinstance(offer, Offer) and offer.has_rows(arms) else None

    def same(self, offer: Offer) -> Offer | None:
        """Return the same arms, if they were on offer last."""
        last = next(reversed(self._kept.values()), None)
        if last is None or not isinstance(last.offer, Offer):
            return None
        return last.offer if last.offer.holds(offer.vectors, offer.labels) else None


def same_terms(one: Known, other: Known) -> bool:
    """Tell whether arms are read in the same way by two states of knowledge."""
    return (
        one.subspace is other.subspace
        and one.strategy is other.strategy
        and one.features is other.features
        and one.columns == other.columns
    )


LARGE_OFFER = 20_000
"""Of offers with more numbers than this, only the last is remembered."""

NOT_KEPT = Numbered([])
"""How a ledger refers to what it does not keep: not at all."""


def choose(
    known: Known,
    asked: Asked,
    numbers: Numbered,
    streams: Streams,
    session: int,
    draw: int,
    mates: Sequence[Mate] = (),
) -> tuple[list[Decided], list[Decision]]:
    """Return the decisions of a call, as events and for the caller; nothing is changed.

    Each counts as open what is `known` to be, `mates`, which were decided just before by what was
    known then too, and those before it in the same call.
    """
    events, decisions, taken = list[Decided](), list[Decision](), list[int]()
    counted = [*mates]
    strategy, first = known.strategy, known.state.step
    labels = asked.arms.labels if isinstance(asked.arms, Offer) else None
    for slot, id in enumerate(asked.ids):
        now = time.time()
        at = session, draw + slot, first + slot
        choice, state, left = chosen(known, asked.arms, taken, streams, *at, now, counted)
        before, index = tuple(taken), choice.index
        if index is not None:
            taken.append(index)
        x = choice.arm.x.copy()
        x.flags.writeable = False  # it is learnt from when the outcome comes
        grounds = Grounds(strategy, state, left if asked.kept else None, before, asked.columns)
        designed = known.features is not None
        estimate, standard_error = _estimate(grounds, left, x, index, designed)
        label = None if labels is None or index is None else labels[index]
        event = Decided(
            id,
            now,
            state.step,
            known.position,
            session,
            draw + slot,
            index,
            choice.probability,
            estimate,
            standard_error,
            numbers.rows,
            before,
            x if numbers.rows is None else None,
            numbers.key,
            label,
            asked.meta,
            asked.context,
            len(counted),
        )
        counted.append((x, label))
        events.append(event)
        decisions.append(Decision.made(event, x, grounds))
    return events, decisions


def chosen(
    known: Known,
    arms: DecisionSet,
    taken: Sequence[int],
    streams: Streams,
    session: int,
    draw: int,
    step: int,
    now: float,
    mates: Sequence[Mate] = (),
) -> tuple[Choice, State, DecisionSet]:
    """Return a choice among the arms that are left, what it rests on, and those arms.

    The choice's index is a row of all that was offered. `now` is the time of the decision, until
    which outcomes lose weight, and `mates` are decisions made before that it counts as open.
    """
    left, rows = arms, None
    if taken and isinstance(arms, Offer):
        left, rows = arms.without(taken)
    state = state_at(known, left, step, now, mates)
    choice = known.strategy.select(state, left, streams.at(session, draw))
    if rows is not None and choice.index is not None:
        index = int(rows[choice.index])
        choice = Choice(type(choice.arm)(choice.arm.x, index), choice.probability)
    return choice, state, left


def state_at(
    known: Known,
    arms: DecisionSet | None,
    step: int,
    now: float,
    mates: Sequence[Mate] = (),
) -> State:
    """Return what a strategy knows when it decides: at this step and time, of these arms.

    Open decisions count in the precision, `mates` behind all that are known; what depends on
    outcomes is as told.
    """
    state, strategy = known.state, known.strategy
    if known.half_life:
        state = aged(known, now)
    if state.step != step:
        state = state._replace(step=step)
    waiting = known.open.and_also(mates)
    if waiting.count:
        learnt = partial(strategy.learnt, state)
        state = state._replace(ridge=state.ridge.counting(OpenRows(waiting, learnt)))
    if state.effects is None:
        return state
    labels = arms.labels if isinstance(arms, Offer) else None
    if labels is None:
        # Without names, or where the offer was not kept: items that nobody has seen yet.
        labels = () if arms is None else ("",) * int(arms.size)
    items = None
    if waiting.count:
        X, whose = waiting.listed
        items = OpenItems.of(strategy.learnt(state, X), whose)
    return state._replace(effects=state.effects.offered(labels, items))


def _estimate(
    grounds: Grounds, arms: DecisionSet, x: Array, index: int | None, designed: bool
) -> tuple[float, float]:
    """Return the projection reward of the chosen arm, its effect included, and the error."""
    state = grounds.state
    shared = arms.shared if isinstance(arms, FiniteArms) and arms.size > 1 else None
    value, error = state.ridge.told.projected(state.projection, x, designed, shared)
    if state.effects is None or index is None:
        return float(value), float(error)
    wanted = x @ state.projection
    learnt = grounds.strategy.learnt(state, x)
    told = state.effects.at(grounds.position(index))
    moments = told.moments_at(learnt[None], wanted[None])
    variance = moments.target[0] @ moments.covariance @ moments.target[0] + moments.own[0]
    unknown = state.ridge.weight <= 0.0 or state.ridge.equal
    return float(moments.mean[0]), math.nan if unknown else math.sqrt(variance)


def repeated(ledger: Ledger, ids: Sequence[str], arms: DecisionSet) -> list[Decision]:
    """Return what was decided under these ids before, if that can be chosen from `arms` too."""
    held = [ledger.held(id) for id in ids]
    found = [Decision.of(each) for each in held if each is not None]
    if len(found) != len(ids):
        missing = [id for id, each in zip(ids, held, strict=True) if each is None]
        raise ConflictError(
            f"id {ids[0]!r} was asked for before, with another count: there is no {missing[0]!r}"
        )
    for decision in found:
        if not _has(arms, decision):
            raise ConflictError(
                f"id {decision.id!r} was decided before, and the arm chosen then is not in its "
                "place among these: pass the same arms, or another id"
            )
    return found


def _has(arms: DecisionSet, decision: Decision) -> bool:
    """Tell whether the chosen arm is where the decision says."""
    index = decision.index
    if not isinstance(arms, FiniteArms):
        return index is None and arms.contains(decision.arm, 1e-6)
    return (
        index is not None
        and index < arms.size
        and bool((arms.vectors[index] == decision.arm).all())
    )


def learnt_rows(known: Known) -> Array:
    """Return rows that span the arms learnt from, unless only their projections are known."""
    ridge = known.state.ridge
    rows = ridge.factor[:-1, int(ridge.intercept) : -1]
    return rows if known.strategy.learns_on == "arm" else rows[:0]
