"""What every compiled loop counts: regret, return regret, and plays of a best arm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from projbandits._checks import Array


class Tally(NamedTuple):
    """Running counts, and their values at the steps that are asked about.

    Parameters
    ----------
    regrets : ndarray of shape (2,)
        The projection regret and the return regret.
    counts : ndarray of shape (2,)
        The plays of a best arm, and the number of questions answered.
    steps : ndarray of shape (n,)
        The steps that are asked about, in order; see `simulation.records.Questions`.
    out : ndarray of shape (3, n)
        The answers: both regrets and the plays of a best arm, up to each step.
    """

    regrets: Array
    counts: NDArray[np.int64]
    steps: NDArray[np.int64]
    out: Array


def begin_tally(steps: NDArray[np.int64]) -> Tally:
    """Return the tally of a trial that is about to begin."""
    return Tally(np.zeros(2), np.zeros(2, np.int64), steps, np.zeros((3, len(steps))))


@njit(nogil=True, error_model="numpy", forceinline=True)
def count(tally, t, m, gap, return_gap, best):  # type: ignore[no-untyped-def]
    """Count m plays of one arm, from step t on."""
    regrets, counts, steps, out = tally.regrets, tally.counts, tally.steps, tally.out
    due = counts[1]
    while due < steps.size and steps[due] < t + m:
        played = steps[due] - t + 1
        out[0, due] = regrets[0] + gap * played
        out[1, due] = regrets[1] + return_gap * played
        out[2, due] = counts[0] + (played if best else 0)
        due += 1
    counts[1] = due
    regrets[0] += gap * m
    regrets[1] += return_gap * m
    counts[0] += m if best else 0
