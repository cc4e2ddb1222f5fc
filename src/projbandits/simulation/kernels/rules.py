"""The rules of the library's own strategies on finitely many arms, and the loops built on them.

A loop is compiled once for each rule, with the rule bound to its global name `rule`; see `bind`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numba import njit

from projbandits.simulation.kernels.common import argmax, bind
from projbandits.simulation.kernels.convex import convex_steps, greedy_point
from projbandits.simulation.kernels.optimism import optimistic_point
from projbandits.simulation.kernels.steps import steps


@njit(nogil=True, error_model="numpy", forceinline=True)
def greedy_rule(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `EpsilonGreedy.select` does; the parameters are epsilon_1, epsilon_2, ..."""
    if rng.random() < view.parameters[t - 1]:
        return view.basis[int(rng.random() * view.basis.size)]
    return argmax(view.scores, view.lanes)


@njit(nogil=True, error_model="numpy", forceinline=True)
def optimistic_rule(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `Ellipsoidal.select` does; the parameters are the radii of steps 1, 2, ..."""
    radius = view.parameters[t - 1]
    for j in range(view.scores.size):
        view.scratch[j] = view.scores[j] + radius * math.sqrt(view.squares[j])
    return argmax(view.scratch, view.lanes)


def bind_rule(loop: Callable[..., Any], function: Callable[..., Any]) -> Any:
    """Return a loop around somebody else's rule; it is compiled in each process anew."""
    rule = function if hasattr(function, "py_func") else njit(nogil=True)(function)
    return bind(loop, f"{loop.__name__}_with_{function.__name__}", keep=False, rule=rule)


greedy_steps = bind(steps, "greedy_steps", allocates=False, rule=greedy_rule)
optimistic_steps = bind(steps, "optimistic_steps", allocates=False, rule=optimistic_rule)
greedy_points = bind(convex_steps, "greedy_points", allocates=False, rule=greedy_point)
optimistic_points = bind(convex_steps, "optimistic_points", allocates=False, rule=optimistic_point)
