"""One decision, decided again with other protected parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from projbandits._validation import Array
from projbandits.arms import FiniteArms
from projbandits.audit.protected import SCORE_ROUNDING
from projbandits.ledger.decision import Grounds
from projbandits.ledger.offer import Offer
from projbandits.ridge import Ridge
from projbandits.strategies import Choice, State
from projbandits.strategies.probabilities import probabilities

SURE_FACTOR = 1e6
"""How much smaller the error of a score becomes than the scores' spread, once sure."""

AT_RANDOM = 0.5
"""A choice with at most this probability was made at random."""


class Case(NamedTuple):
    """A decision that is looked at, beside itself with other protected parts.

    Parameters
    ----------
    grounds : Grounds
        What it rested on.
    arms, others : FiniteArms
        The arms on offer, and the same with other protected parts.
    aim : ndarray of shape (d,)
        What arms were scored by.
    before, after : ndarray of shape (K,)
        The scores of both.
    own : ndarray of shape (K,) or float
        What is in them of the arms' own effects, which no feature has.
    rounding : float
        Scores that differ by no more are the same.
    chosen, guess : int
        The places of the choice and of the best guess.
    """

    grounds: Grounds
    arms: FiniteArms
    others: FiniteArms
    aim: Array
    before: Array
    after: Array
    own: Array | float
    rounding: float
    chosen: int
    guess: int

    @classmethod
    def of(cls, grounds: Grounds, arms: FiniteArms, swapped: Array, chosen: int) -> Case:
        """Return a decision beside itself with the arms swapped."""
        aim = grounds.strategy.aim(grounds.state)
        others = Offer(swapped, arms.columns)
        own = grounds.own
        before, after = arms.scores(aim) + own, others.scores(aim) + own
        longest = np.sqrt(max(_longest(arms.vectors), _longest(swapped)))
        rounding = SCORE_ROUNDING * longest * float(np.linalg.norm(grounds.state.ridge.theta))
        guess = int(before.argmax())
        return cls(grounds, arms, others, aim, before, after, own, rounding, chosen, guess)

    @property
    def explored(self) -> bool:
        """Whether the choice was another than the best guess."""
        return self.chosen != self.guess

    @property
    def moved(self) -> float:
        """The largest change of a score; one that rounding can make is none."""
        moved = float(np.abs(self.after - self.before).max())
        return moved if moved > self.rounding else 0.0

    @property
    def guess_changed(self) -> bool:
        """Whether another arm became the best guess."""
        return bool(self.before[int(self.after.argmax())] < self.before.max() - self.rounding)


class DecidedAgain(NamedTuple):
    """What became of a choice with other protected parts.

    Parameters
    ----------
    changed : bool
        Whether another arm was chosen, with the same random numbers.
    worth : float
        The change of the chosen arm's score.
    shift : float
        How far the probabilities moved (total variation); nan where they are unknown.
    explored : bool
        Whether the choice was another than the best guess.
    strayed : bool
        Whether, once sure, the choice changed although the best guess says otherwise, and not at
        random.
    wandered : bool
        Whether, once sure, an arm that is no best guess was chosen at random.
    with_scores : bool
        Whether, once sure, the choice changed as the best guess did.
    """

    changed: bool
    worth: float
    shift: float
    explored: bool
    strayed: bool
    wandered: bool
    with_scores: bool


def decided(case: Case, stream: Callable[[], np.random.Generator]) -> DecidedAgain:
    """Decide again by `select` itself, as sure as it was and once it is sure.

    Parameters
    ----------
    case : Case
        The decision.
    stream : callable
        Returns its random numbers, from the first on.
    """
    strategy, state = case.grounds[:2]
    chosen, other = (_place(strategy.select(state, a, stream())) for a in (case.arms, case.others))
    p, q = (probabilities(strategy, state, a) for a in (case.arms, case.others))
    shift = np.nan if p is None or q is None else float(np.abs(p - q).sum() / 2)
    certain = sure(case)
    one, two = (strategy.select(certain, a, stream()) for a in (case.arms, case.others))
    linear = case.before - case.own, case.after - case.own
    astray = _astray(linear[0], one, case.rounding), _astray(linear[1], two, case.rounding)
    at_random = any(
        choice.probability <= AT_RANDOM
        for choice, stray in zip((one, two), astray, strict=True)
        if stray
    )
    moved = _place(one) != _place(two)
    return DecidedAgain(
        chosen != other,
        abs(float(case.before[chosen] - case.after[other])),
        shift,
        case.explored,
        any(astray) and moved and not at_random,
        any(astray) and at_random,
        moved and not any(astray) and case.moved > 0,
    )


def sure(case: Case) -> State:
    """Return the state with the same estimate, of which nothing is uncertain any more.

    Whatever a strategy explores in order to learn, it need not explore any more. Effects of single
    arms are left out: the protected part of an arm is in its features.
    """
    state = case.grounds.state
    ridge, d = state.ridge, state.ridge.d
    spread = float(np.ptp(case.before - case.own))
    spread = spread if spread > case.rounding else 1.0
    longest = np.sqrt(max(_longest(case.arms.vectors), _longest(case.others.vectors)))
    noise = max(1.0, getattr(case.grounds.strategy, "noise", None) or 0.0)
    size = max(SURE_FACTOR * noise * float(longest) / spread, SURE_FACTOR * np.sqrt(ridge.penalty))
    first = int(ridge.intercept)
    factor = np.zeros((d + 1 + first, d + 1 + first))
    factor[:-1, :-1] = size * np.eye(d + first)
    factor[first:-1, -1] = (size + ridge.penalty / size) * state.theta
    certain = Ridge(ridge.penalty, ridge.n + d + 1000, factor, intercept=ridge.intercept)
    return state._replace(ridge=certain, effects=None)


def _astray(scores: Array, choice: Choice, rounding: float) -> bool:
    """Tell whether a choice is none of the best guesses."""
    near = rounding + 2 / SURE_FACTOR * float(np.ptp(scores))
    return bool(scores[_place(choice)] < scores.max() - near)


def _place(choice: Choice) -> int:
    assert choice.index is not None
    return choice.index


def _longest(X: Array) -> float:
    """Return the largest squared length of a row."""
    return float(np.einsum("ij,ij->i", X, X).max())
