"""How large a number may be, so that what is computed from it is still one."""

from __future__ import annotations

import math

import numpy as np

from projbandits._validation import Array

LARGEST_NUMBER = 1e50
"""The largest outcome, and the largest parameter of a strategy."""

LARGEST_ENTRY = 1e14
"""An entry of an arm this many times the root of the ridge leaves two digits of the estimate.

The penalty's rows stand beside those of the arms in one factorisation, which rounds at 1e-16 of the
largest; docs/numerics.md has the figures.
"""


def check_outcome(name: str, outcome: float) -> None:
    """Raise if an outcome is too large for the fourth power that a strategy may take of it."""
    if abs(outcome) > LARGEST_NUMBER:
        raise ValueError(
            f"{name} must be at most {LARGEST_NUMBER:g} in size, got {outcome}: rescale it"
        )


def check_estimate(factor: Array, n: int, penalty: float, intercept: bool = False) -> None:
    """Raise unless a factor can be that of n observations, which bounds its size."""
    most = np.full(len(factor), LARGEST_ENTRY * math.sqrt(penalty))
    most[-1] = 2 * LARGEST_NUMBER  # as a difference from the first
    if intercept:
        most[0] = 1.0
    # A projected arm may have entries as large as the arm is long.
    if not (np.abs(factor) <= 1.001 * math.sqrt(n * len(factor)) * most).all():
        raise ValueError(f"its estimate is not one of {n} observations")
