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
from projbandits.ledger.events import Decided, Described
from projbandits.ledger.fold import Known, aged
from projbandits.ledger.ledger import Transaction
from projbandits.ledger.offer import Offer
from projbandits.ledger.streams import Streams
from projbandits.strategies import Choice, State
from projbandits.strategies.effects import OpenItems
from projbandits.strategies.open import OpenRows


class Asked(NamedTuple):
    """What a call of `ask` is about.

    Parameters
    ----------
    arms : DecisionSet
        What is on offer.
    columns : tuple of str or None
        The names of the features.
    ids : sequence of str
        The ids of the decisions to be made.
    fresh : bool
        Whether nobody can have used them before.
    meta, context : str or None
        What the caller noted, and the columns that came with the call, as JSON.
    """

    arms: DecisionSet
    columns: tuple[str, ...] | None
    ids: Sequence[str]
    fresh: bool = True
    meta: str | None = None
    context: str | None = None


class Last(NamedTuple):
    """What was on offer, what was known, and the caller's names."""

    offer: DecisionSet
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


def choose(
    tx: Transaction, asked: Asked, streams: Streams, session: int, draw: int
) -> list[Decision]:
    """Decide what a call asks for, and append each decision.

    Each knows of all that were made before, by the same call or by others, and counts as open
    those whose outcome is to come.
    """
    arms, decisions, taken = asked.arms, list[Decision](), list[int]()
    rows, key, labels = None, None, None
    if isinstance(arms, Offer):
        rows, labels = tx.numbered(arms), arms.labels
    else:
        text = set_text(arms)
        if text is not None:
            key = set_key(text)
            tx.append(Described(key, text))
    for slot, id in enumerate(asked.ids):
        now, known = time.time(), tx.known
        at = session, draw + slot
        choice, state, left = chosen(known, arms, taken, streams, *at, now)
        before, index = tuple(taken), choice.index
        if index is not None:
            taken.append(index)
        x = choice.arm.x.copy()
        x.flags.writeable = False  # it is learnt from when the outcome comes
        grounds = Grounds(known.strategy, state, left, before, asked.columns)
        estimate, standard_error = _estimate(grounds, left, x, index, known.features is not None)
        event = Decided(
            id=id,
            time=now,
            step=state.step,
            session=session,
            draw=draw + slot,
            index=index,
            propensity=float(choice.probability),
            estimate=estimate,
            standard_error=standard_error,
            arm=x,
            rows=rows,
            taken=before,
            arms=key,
            label=None if labels is None or index is None else labels[index],
            meta=asked.meta,
            context=asked.context,
        )
        tx.append(event, new=asked.fresh)
        decisions.append(Decision.made(event, grounds))
    if isinstance(arms, Offer):
        arms.numbers = rows, tx.ledger.numbering
    return decisions


def chosen(
    known: Known,
    arms: DecisionSet,
    taken: Sequence[int],
    streams: Streams,
    session: int,
    draw: int,
    now: float,
) -> tuple[Choice, State, DecisionSet]:
    """Return a choice among the arms that are left, what it rests on, and those arms.

    The choice's index is a row of all that was offered. `now` is the time of the decision, until
    which outcomes lose weight.
    """
    left, rows = arms, None
    if taken and isinstance(arms, Offer):
        left, rows = arms.without(taken)
    state = state_at(known, left, now)
    choice = known.strategy.select(state, left, streams.at(session, draw))
    if rows is not None and choice.index is not None:
        index = int(rows[choice.index])
        choice = Choice(type(choice.arm)(choice.arm.x, index), choice.probability)
    return choice, state, left


def state_at(known: Known, arms: DecisionSet | None, now: float) -> State:
    """Return what a strategy knows when it decides: at this time, of these arms.

    Open decisions count in the precision; what depends on outcomes is as told.
    """
    state, strategy, waiting = known.state, known.strategy, known.open
    if known.half_life:
        state = aged(known, now)
    if waiting.count:
        learnt = partial(strategy.learnt, state)
        state = state._replace(ridge=state.ridge.counting(OpenRows(waiting, learnt)))
    if state.effects is None:
        return state
    labels = arms.labels if isinstance(arms, Offer) else None
    if labels is None:
        # Without names, or where the offer is unknown: items that nobody has seen yet.
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


def repeated(tx: Transaction, ids: Sequence[str], arms: DecisionSet) -> list[Decision]:
    """Return what was decided under these ids before, if that can be chosen from `arms` too."""
    held = [tx.held(id) for id in ids]
    found = [Decision.of(each) for each in held if each is not None]
    if len(found) != len(ids):
        missing = [id for id, each in zip(ids, held, strict=True) if each is None]
        there = next(each.decision.id for each in held if each is not None)
        raise ConflictError(
            f"id {there!r} was asked for before, with another count: there is no {missing[0]!r}"
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
