"""What every compiled loop counts: regret, return regret, plays of a best arm and of each arm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.simulation.kernels.common import inlined


class Tally(NamedTuple):
    """What is asked about a trial, and the answers.

    Parameters
    ----------
    steps : ndarray of shape (n,)
        The steps that are asked about, in order; see `simulation.records.Questions`.
    out : ndarray of shape (3, n)
        The answers: both regrets and the plays of a best arm, up to each step.
    pulls : ndarray of shape (K,)
        How often each arm was played; on a convex set all plays have one entry.
    """

    steps: NDArray[np.int64]
    out: Array
    pulls: NDArray[np.int64]


START = (0.0, 0.0, 0, 0)
"""Both regrets, the plays of a best arm and the questions answered, before the first step.

A loop carries them from step to step in registers: as entries of an array they would each be
loaded and stored again at every step, which slows a short one. Nothing waits for `Tally.pulls`.
"""


def begin_tally(steps: NDArray[np.int64], K: int) -> Tally:
    """Return the tally of a trial with K arms that is about to begin."""
    return Tally(steps, np.zeros((3, len(steps))), np.zeros(K, np.int64))


@inlined
def count(tally, so_far, t, m, i, gap, return_gap, best):  # type: ignore[no-untyped-def]
    """Return the counts after m plays of arm i from step t on, and answer what is asked."""
    tally.pulls[i] += m
    regret, return_regret, plays, due = so_far
    while due < tally.steps.size and tally.steps[due] < t + m:
        played = tally.steps[due] - t + 1
        tally.out[0, due] = regret + gap * played
        tally.out[1, due] = return_regret + return_gap * played
        tally.out[2, due] = plays + (played if best else 0)
        due += 1
    return regret + gap * m, return_regret + return_gap * m, plays + (m if best else 0), due
