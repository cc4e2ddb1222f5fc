"""The compiled loop around a rule."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

EFFECTS = ("greedy", "optimistic", "eiids", "eiratio", "directed", "thompson")
"""The kernels that `kernels.effect_rules` knows, in its order."""


@lru_cache(maxsize=64)
def loop_of(kernel: Callable[..., Any] | str, kind: str) -> Any:
    """Return the compiled loop around a kernel; those of the library are kept on disk.

    The kind is "finite" arms, finite arms with "effects", or a "convex" set.
    """
    from projbandits.simulation.kernels import (
        convex,
        effect_rules,
        ids_points,
        ids_rules,
        rules,
        steps,
    )

    if kind == "effects":
        return effect_rules.with_effects
    own = {
        ("greedy", "finite"): rules.greedy_steps,
        ("greedy", "convex"): rules.greedy_points,
        ("optimistic", "finite"): rules.optimistic_steps,
        ("optimistic", "convex"): rules.optimistic_points,
        ("eiids", "finite"): ids_rules.eiids_steps,
        ("eiids", "convex"): ids_points.eiids_points,
        ("eiratio", "finite"): ids_rules.eiratio_steps,
        ("eiratio", "convex"): ids_points.eiratio_points,
        ("directed", "finite"): ids_rules.directed_steps,
        ("directed", "convex"): ids_points.directed_points,
        ("thompson", "finite"): ids_rules.thompson_steps,
        ("thompson", "convex"): ids_points.thompson_points,
    }
    if isinstance(kernel, str):
        return own[kernel, kind]
    return rules.bind_rule(convex.convex_steps if kind == "convex" else steps.steps, kernel)
