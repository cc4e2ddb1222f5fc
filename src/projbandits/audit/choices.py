"""Whether other protected parts would change what is chosen, by `select` itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from projbandits._validation import Array
from projbandits.audit.answers import UNKNOWN_SIZE, ZERO, Answer
from projbandits.audit.redecide import DecidedAgain
from projbandits.audit.scores import rate
from projbandits.statistics import Estimate, mean

SETTLED = 0.5
"""If, once sure, more than this share of the later choices are still made at random among arms
other than the best guess, exploring cannot be told from an influence."""
LEAST_AGAIN = 73
"""With fewer decisions, even if no choice changed, the 95 % interval goes beyond `MANY_CHANGED`."""

BEYOND = 0.002
"""From this share on, at the low end of its interval, settled choices are said to change."""

MANY_CHANGED = 0.05
"""If more than this share of the choices change, nothing is cleared."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Choices(Answer):
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


def choices(
    weighed: list[DecidedAgain], late: list[bool], *, varied: bool, scores: bool | None
) -> Choices:
    """Return whether choices changed.

    Parameters
    ----------
    weighed : list of DecidedAgain
        What became of the choices that were decided again.
    late : list of bool
        Whether each was in the second half of the log.
    varied : bool
        Whether there were other protected parts to try.
    scores : bool or None
        Whether the scores change beyond noise, where choices follow them.
    """
    explored = np.array([one.explored for one in weighed], dtype=bool)
    shifts = np.array([one.shift for one in weighed], dtype=np.float64)
    changed = np.array([one.changed for one in weighed], dtype=bool)
    strayed = sum(one.strayed for one in weighed)
    later = [one.wandered for one, is_late in zip(weighed, late, strict=True) if is_late]
    wandering = float(np.mean(later)) if later else 0.0
    settled = rate(strayed, len(weighed))
    found: bool | None = settled.low >= BEYOND if strayed else False
    with_scores = sum(one.with_scores for one in weighed)
    if with_scores and scores is not False:
        found = found or scores
    share = rate(int(changed.sum()), len(weighed))
    doubtful = strayed or with_scores or wandering > SETTLED or len(weighed) < LEAST_AGAIN
    doubtful = doubtful or share.value > MANY_CHANGED
    if not weighed or not varied or (not found and doubtful):
        found = None
    worth = np.array([one.worth if one.changed else 0.0 for one in weighed])
    return Choices(
        found=found,
        size=_mean(worth),
        share=share,
        guesses=rate(int(changed[~explored].sum()), int((~explored).sum())),
        explored=rate(int(changed[explored].sum()), int(explored.sum())),
        shift=_mean(shifts),
        shift_guesses=_mean(shifts[~explored]),
        shift_explored=_mean(shifts[explored]),
        settled=settled,
        with_scores=rate(with_scores, len(weighed)),
        wandering=wandering,
        shifts=shifts,
        decisions=len(weighed),
    )


def _mean(values: Array) -> Estimate:
    known = values[~np.isnan(values)]
    if not len(known):
        return UNKNOWN_SIZE
    if not known.any():
        return ZERO
    value, low, high = mean(known)  # of values that are none of them negative
    return Estimate(value, max(0.0, low), high)
