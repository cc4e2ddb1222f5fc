"""The compiled loops around a rule: on finitely many arms, with effects, on convex sets, on offers.

A loop is compiled once for each rule, with the rule bound to its global name `rule`; see `bind`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from projbandits.simulation.kernels.common import bind
from projbandits.simulation.kernels.convex import convex_steps
from projbandits.simulation.kernels.effects import effect_steps
from projbandits.simulation.kernels.finite import finite_steps
from projbandits.simulation.kernels.offers import offer_steps

Rule = Callable[..., Any]


def loops(name: str, rule: Rule, point: Rule, on_offer: Rule | None = None) -> dict[str, Any]:
    """Return the loops around a rule of the library, by the kind of world; cached on disk.

    `on_offer` is the rule where what is on offer changes, if that is another one.
    """
    return {
        "finite": bind(finite_steps, f"{name}_finite", allocates=False, rule=rule),
        "effects": bind(effect_steps, f"{name}_effects", allocates=False, rule=rule),
        "offers": bind(offer_steps, f"{name}_offers", allocates=False, rule=on_offer or rule),
        "convex": bind(convex_steps, f"{name}_convex", allocates=False, rule=point),
    }


def stranger_loop(rule: Rule, kind: str) -> Any:
    """Return the loop around a user's rule; each process compiles it again."""
    loop: Any = {"finite": finite_steps, "convex": convex_steps}[kind]
    compiled = rule if hasattr(rule, "py_func") else njit(nogil=True)(rule)
    return bind(loop, f"{loop.__name__}_with_{rule.__name__}", keep=False, rule=compiled)
