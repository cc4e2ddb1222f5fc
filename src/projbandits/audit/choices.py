"""Whether other protected parts would change what is chosen, by `select` itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.audit.answers import UNKNOWN_SIZE, ZERO, AuditAnswer, rate
from projbandits.ridge import Ridge
from projbandits.statistics import Estimate, mean
from projbandits.strategies import Choice, State
from projbandits.strategies.probabilities import probabilities

if TYPE_CHECKING:
    from projbandits.audit.sample import Case

SETTLED = 0.5
"""If, once sure, more than this share of the later choices are still made at random among arms
other than the best guess, exploring cannot be told from an influence."""

LEAST_AGAIN = 73
"""With fewer decisions, even if no choice changed, the 95 % interval goes beyond `MANY_CHANGED`."""

BEYOND = 0.002
"""From this share on, at the low end of its interval, settled choices are said to change."""

MANY_CHANGED = 0.05
"""If more than this share of the choices change, nothing is cleared."""

SURE_FACTOR = 1e6
"""How much smaller the error of a score becomes than the scores' spread, once sure."""

AT_RANDOM = 0.5
"""A choice with at most this probability was made at random."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Choices(AuditAnswer):
    """Whether choices change with the protected part, with the same random numbers.

    `share` is the share of choices that change. `size` is by how much the score of the chosen arm
    changes then, averaged over all choices that were decided again (in units of the outcome).

    Parameters
    ----------
    guesses, explored : Estimate
        The share that changes where the best guess was chosen, and where another arm was.
    shift, shift_guesses, shift_explored : Estimate
        How far the probabilities of choices move (total variation, mean), in all and apart.
    settled : Estimate
        The share that still changes once nothing is uncertain, with the same estimates, leaving
        out what follows from the scores and what is chosen at random.
    with_scores : Estimate
        The share that changes then because the scores do.
    wandering : float
        The share of the later choices that are then still made at random among other arms.
    shifts : ndarray
        How far the probabilities of each choice move; nan where they are unknown.
    decisions : int
        How many were decided again.
    """

    guesses: Estimate
    explored: Estimate
    shift: Estimate
    shift_guesses: Estimate
    shift_explored: Estimate
    settled: Estimate
    with_scores: Estimate
    wandering: float
    shifts: Array
    decisions: int

    @property
    def many(self) -> bool:
        """Whether so many choices change that nothing is cleared."""
        return self.share.value > MANY_CHANGED

    @property
    def explores(self) -> bool:
        """Whether any choice, or its probabilities, change."""
        return self.share.value > 0 or self.shift.value > 0


class Rerun(NamedTuple):
    """The fate of a choice with other protected parts, as it was and once nothing is uncertain.

    Parameters
    ----------
    changed : bool
        Whether another arm was chosen, with the same random numbers.
    worth : float
        The change of the chosen arm's score, if so.
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
    late : bool
        Whether it was in the second half of the log.
    """

    changed: bool
    worth: float
    shift: float
    explored: bool
    strayed: bool
    wandered: bool
    with_scores: bool
    late: bool


def rerun(case: Case, stream: Callable[[], np.random.Generator], late: bool) -> Rerun:
    """Decide again by `select` itself, as sure as it was and once it is sure.

    Parameters
    ----------
    case : Case
        The decision.
    stream : callable
        Returns its random numbers, from the first on.
    late : bool
        See `Rerun`.
    """
    strategy, state, offers = case.grounds.strategy, case.grounds.state, (case.arms, case.others)
    chosen, other = (_place(strategy.select(state, each, stream())) for each in offers)
    p, q = (probabilities(strategy, state, each) for each in offers)
    certain, own = sure(case), case.grounds.own
    settled = [strategy.select(certain, each, stream()) for each in offers]
    linear = case.before - own, case.after - own
    astray = [*map(_astray, linear, settled, [case.rounding] * 2)]
    random = any(
        choice.probability <= AT_RANDOM
        for choice, stray in zip(settled, astray, strict=True)
        if stray
    )
    changed, moved = chosen != other, _place(settled[0]) != _place(settled[1])
    return Rerun(
        changed=changed,
        worth=abs(float(case.before[chosen] - case.after[other])) if changed else 0.0,
        shift=np.nan if p is None or q is None else float(np.abs(p - q).sum() / 2),
        explored=case.chosen != case.guess,
        strayed=any(astray) and moved and not random,
        wandered=random,
        with_scores=moved and not any(astray) and case.moved > 0,
        late=late,
    )


def sure(case: Case) -> State:
    """Return the state with the same estimate, of which nothing is uncertain any more.

    Whatever a strategy explores in order to learn, it need not explore any more. Effects of single
    arms are left out: the protected part of an arm is in its features.
    """
    state = case.grounds.state
    ridge, d = state.ridge, state.ridge.d
    spread = float(np.ptp(case.before - case.grounds.own))
    spread = spread if spread > case.rounding else 1.0
    noise = max(1.0, getattr(case.grounds.strategy, "noise", None) or 0.0)
    size = max(SURE_FACTOR * noise * case.longest / spread, SURE_FACTOR * np.sqrt(ridge.penalty))
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


def choices(reruns: list[Rerun], *, varied: bool, scores: bool | None) -> Choices:
    """Return whether choices changed.

    Parameters
    ----------
    reruns : list of Rerun
        The decisions that were made again.
    varied : bool
        Whether there were other protected parts to try.
    scores : bool or None
        Whether the scores change beyond noise, where choices follow them.
    """
    n = len(reruns)
    columns = zip(*reruns, strict=True) if n else [()] * len(Rerun._fields)
    changed, worth, shifts, explored, strayed, wandered, with_scores, late = map(np.array, columns)
    changed, explored, late = (x.astype(bool) for x in (changed, explored, late))
    settled, share = rate(strayed), rate(changed)
    wandering = float(wandered[late].mean()) if late.any() else 0.0
    found: bool | None = settled.low >= BEYOND if strayed.any() else False
    if with_scores.any() and scores is not False:
        found = found or scores
    doubtful = strayed.any() or with_scores.any() or wandering > SETTLED or n < LEAST_AGAIN
    doubtful = doubtful or share.value > MANY_CHANGED
    if not n or not varied or (not found and doubtful):
        found = None
    return Choices(
        found=found,
        size=_mean(worth),
        share=share,
        guesses=rate(changed[~explored]),
        explored=rate(changed[explored]),
        shift=_mean(shifts),
        shift_guesses=_mean(shifts[~explored]),
        shift_explored=_mean(shifts[explored]),
        settled=settled,
        with_scores=rate(with_scores),
        wandering=wandering,
        shifts=shifts,
        decisions=n,
    )


def _mean(values: NDArray[np.float64]) -> Estimate:
    known = values[~np.isnan(values)]
    if not len(known):
        return UNKNOWN_SIZE
    if not known.any():
        return ZERO
    value, low, high = mean(known)  # of values that are none of them negative
    return Estimate(value, max(0.0, low), high)
