"""The rules of the library's own strategies on finitely many arms, and the loops built on them.

Each loop is a function of this module, not a value that closes over its rule, so that numba can
keep it on disk and the next process need not compile it.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from numba import njit

from projbandits.simulation.kernels.common import argmax
from projbandits.simulation.kernels.convex import convex_steps, greedy_point, optimistic_point
from projbandits.simulation.kernels.steps import steps


@njit(nogil=True)
def greedy_rule(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `EpsilonGreedy.select` does; the parameters are epsilon_1, epsilon_2, ..."""
    if rng.random() < view.parameters[t - 1]:
        return view.basis[int(rng.random() * view.basis.size)]
    return argmax(view.scores, view.lanes)


@njit(nogil=True)
def optimistic_rule(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `Ellipsoidal.select` does; the parameters are the radii of steps 1, 2, ..."""
    radius = view.parameters[t - 1]
    for j in range(view.scores.size):
        view.scratch[j] = view.scores[j] + radius * math.sqrt(view.squares[j])
    return argmax(view.scratch, view.lanes)


def bind(loop: Callable[..., Any], rule: Any, name: str, *, cache: bool) -> Any:
    """Return a loop compiled with its global name `rule` bound to the given rule.

    A rule passed as an argument would be called through a pointer, and numba keeps no loop on disk
    that takes one. Bound as a global it is inlined, and the loop can be kept under its own name.
    """
    bound = types.FunctionType(loop.__code__, {**loop.__globals__, "rule": rule}, name)
    bound.__qualname__ = name
    bound.__module__ = loop.__module__
    return njit(nogil=True, cache=cache)(bound)


def bind_rule(loop: Callable[..., Any], function: Callable[..., Any]) -> Any:
    """Return a loop around somebody else's rule; it is compiled in each process anew."""
    rule = function if hasattr(function, "py_func") else njit(nogil=True)(function)
    return bind(loop, rule, f"{loop.__name__}_with_{function.__name__}", cache=False)


greedy_steps = bind(steps, greedy_rule, "greedy_steps", cache=True)
optimistic_steps = bind(steps, optimistic_rule, "optimistic_steps", cache=True)
greedy_points = bind(convex_steps, greedy_point, "greedy_points", cache=True)
optimistic_points = bind(convex_steps, optimistic_point, "optimistic_points", cache=True)
