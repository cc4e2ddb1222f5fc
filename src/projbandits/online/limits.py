"""How large a number may be, so that what is computed from it is still one."""

from __future__ import annotations

LARGEST = 1e50
"""The largest reward, and the largest parameter of a strategy."""


def check_reward(name: str, reward: float) -> None:
    """Raise if a reward is too large for the fourth power that a strategy may take of it."""
    if abs(reward) > LARGEST:
        raise ValueError(f"{name} must be at most {LARGEST:g} in size, got {reward}: rescale it")
