"""The loops around a user's own rule: the only closures, compiled once in each process."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from numba import njit

from projbandits.simulation.kernels.compiler import OPTIONS, lent
from projbandits.simulation.kernels.convex import play_point
from projbandits.simulation.kernels.linear import SCORES, SQUARES, stopped
from projbandits.simulation.kernels.step import step


class View(NamedTuple):
    """What a user's rule may look at; docs/adding-a-strategy.md lists the fields.

    On a convex set `learn`, `aim` and `squares` are replaced by the set's: `aim` is the direction
    whose inner product with an arm estimates what is aimed at, and `basis` has the points of D_k.
    """

    scores: Any
    squares: Any
    inverse: Any
    theta: Any
    residual: Any
    learn: Any
    aim: Any
    basis: Any
    parameters: Any
    plan: Any
    inside: Any


@lru_cache(maxsize=64)
def finite_loop(rule: Callable[..., Any], keeps: int) -> Any:
    """Return the loop around `rule(t, view, rng)`, which returns the row of an arm.

    If the row does not exist, `wrong` is set to the step and the row, and the trial ends.
    """
    choose = rule if hasattr(rule, "py_func") else njit(nogil=True)(rule)

    @njit(**OPTIONS)
    def steps(state, world, tally, noise_rng, rng, first, last, stop, wrong):
        state, world, tally = lent(state), lent(world), lent(tally)
        K = state.learn.shape[0]
        view = View(
            state.arms[SCORES, :K],
            state.arms[SQUARES, :K],
            state.inverse,
            state.theta,
            state.residual,
            state.learn,
            state.aim_T[:, :K].T,
            state.basis,
            state.parameters,
            state.plan,
            state.inside,
        )
        for t in range(first, last + 1):
            if stopped(t, stop):
                break
            i = choose(t, view, rng)
            if i < 0 or i >= K:  # before row i is read
                wrong[0], wrong[1] = t, i
                break
            step(t, i, keeps, state, world, tally, noise_rng)

    return steps


@lru_cache(maxsize=64)
def convex_loop(rule: Callable[..., Any]) -> Any:
    """Return the loop around `rule(t, view, rng, x)`, which fills x."""
    choose = rule if hasattr(rule, "py_func") else njit(nogil=True)(rule)

    @njit(**OPTIONS)
    def convex_steps(state, world, tally, noise_rng, rng, horizon, stop):
        state, world, tally = lent(state), lent(world), lent(tally)
        linear = state.linear
        view = View(
            None,
            None,
            linear.inverse,
            linear.theta,
            linear.residual,
            None,
            state.aim,
            state.points,
            linear.parameters,
            linear.plan,
            None,
        )
        for t in range(1, horizon + 1):
            if stopped(t, stop):
                break
            choose(t, view, rng, state.x)
            play_point(t, state, world, tally, noise_rng)

    return convex_steps
