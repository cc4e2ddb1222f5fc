"""What every compiled loop counts: regret, return regret, and plays of a best arm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from projbandits._checks import Array


class Tally(NamedTuple):
    """What is asked about a trial, and the answers.

    Parameters
    ----------
    steps : ndarray of shape (n,)
        The steps that are asked about, in order; see `simulation.records.Questions`.
    out : ndarray of shape (3, n)
        The answers: both regrets and the plays of a best arm, up to each step.
    """

    steps: NDArray[np.int64]
    out: Array


START = (0.0, 0.0, 0, 0)
"""Both regrets, the plays of a best arm and the questions answered, before the first step.

A loop carries them from step to step in registers; stores to an array would slow a short step.
"""


def begin_tally(steps: NDArray[np.int64]) -> Tally:
    """Return the tally of a trial that is about to begin."""
    return Tally(steps, np.zeros((3, len(steps))))


@njit(nogil=True, error_model="numpy", forceinline=True)
def count(tally, so_far, t, m, gap, return_gap, best):  # type: ignore[no-untyped-def]
    """Return the counts after m plays of one arm from step t on, and answer what is asked."""
    regret, return_regret, plays, due = so_far
    while due < tally.steps.size and tally.steps[due] < t + m:
        played = tally.steps[due] - t + 1
        tally.out[0, due] = regret + gap * played
        tally.out[1, due] = return_regret + return_gap * played
        tally.out[2, due] = plays + (played if best else 0)
        due += 1
    return regret + gap * m, return_regret + return_gap * m, plays + (m if best else 0), due
