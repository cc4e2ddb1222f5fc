"""How large a number may be, so that what is computed from it is still one."""

from __future__ import annotations

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
