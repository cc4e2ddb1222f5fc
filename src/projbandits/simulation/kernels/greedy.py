"""epsilon_t-greedy choice in the compiled loops, as in `strategies.greedy`."""

from __future__ import annotations

from projbandits.simulation.kernels.compiler import inlined, kernel, lent
from projbandits.simulation.kernels.convex import play_point
from projbandits.simulation.kernels.linear import NARROW, SCORES, first_largest, stopped
from projbandits.simulation.kernels.offers import farthest_row, offer, take
from projbandits.simulation.kernels.step import step
from projbandits.simulation.kernels.support import copy, support


@inlined
def explored(t, state, k, rng):
    """Return the row of D_k to explore, or -1; the parameters are epsilon_1, epsilon_2, ..."""
    return int(rng.random() * k) if rng.random() < state.parameters[t - 1] else -1


@kernel
def steps(state, world, tally, noise_rng, rng, first, last, stop):
    """Choose as `EpsilonGreedy.select` does."""
    state, world, tally = lent(state), lent(world), lent(tally)
    for t in range(first, last + 1):
        if stopped(t, stop):
            break
        m = explored(t, state, state.basis.size, rng)
        i = state.basis[m] if m >= 0 else first_largest(state.arms[SCORES])
        step(t, i, NARROW, state, world, tally, noise_rng)


@kernel
def offer_steps(state, shown, items, tally, offer_rng, noise_rng, rng, horizon, stop):
    """Choose as `EpsilonGreedy.select` does, where D_k changes: it is found when it is needed."""
    state, shown, items, tally = lent(state), lent(shown), lent(items), lent(tally)
    for t in range(1, horizon + 1):
        if stopped(t, stop):
            break
        offer(NARROW, state, shown, items, offer_rng)
        m = explored(t, state, state.basis.size, rng)
        i = farthest_row(m, state, shown) if m >= 0 else first_largest(state.arms[SCORES])
        take(t, i, state, shown, items, tally, offer_rng, noise_rng)


@kernel
def convex_steps(state, world, tally, noise_rng, rng, horizon, stop):
    """Choose as `EpsilonGreedy.select` does, on a convex set."""
    state, world, tally = lent(state), lent(world), lent(tally)
    for t in range(1, horizon + 1):
        if stopped(t, stop):
            break
        m = explored(t, state.linear, state.points.shape[0], rng)
        if m >= 0:
            copy(state.points[m], state.x)
        else:
            support(state.region, state.aim, state.x)
        play_point(t, state, world, tally, noise_rng)
