"""Which strategies can decide where the arms on offer change."""

from __future__ import annotations

from typing import Any

from projbandits.strategies import LinearStrategy


def check_suits(strategy: Any) -> LinearStrategy:
    """Return the strategy, or raise if it needs the same arms at every step."""
    if not isinstance(strategy, LinearStrategy):
        raise TypeError(f"strategy must be one like pb.GENTRY(), got {strategy!r}")
    if getattr(strategy, "arm_effects", None):
        raise ValueError(
            f"strategy must do without arm_effects, got {strategy!r}: the arms on offer may change "
            "at every call, so an arm's own effect cannot be told by its place"
        )
    return strategy
