"""Thompson sampling in the compiled loops, as in `strategies.thompson`."""

from __future__ import annotations

import math

import numpy as np

from projbandits.simulation.kernels.belief import draw, root, sigma_of
from projbandits.simulation.kernels.compiler import inlined, kernel, lent
from projbandits.simulation.kernels.convex import play_point, projected
from projbandits.simulation.kernels.linear import (
    GAPS,
    HALF,
    MATRIX,
    NARROW,
    NOISE,
    RATIO,
    SCORES,
    TURNED,
    WEIGHTS,
    WORK,
    first_largest,
    product,
    stopped,
)
from projbandits.simulation.kernels.offers import offer, take
from projbandits.simulation.kernels.step import step
from projbandits.simulation.kernels.support import support


@inlined
def drawn_theta(t, state, rng):
    """Draw theta, into `TURNED`."""
    Q, z, sigma = state.room[MATRIX:], state.room[HALF], sigma_of(t, state)
    for a in range(z.size):
        z[a] = rng.standard_normal()
    root(state.inverse, Q)
    draw(state.theta, sigma, Q, z, state.room[TURNED])


@inlined
def thompson(t, state, rng):
    """Choose as `ProjectedTS.select` does."""
    sampled, K = state.arms[GAPS], state.learn.shape[0]
    if state.scales.size > 0:
        sample_effects(t, state, rng)
    else:
        drawn_theta(t, state, rng)
        product(state.aim_T, state.room[TURNED], sampled)
    for j in range(K, sampled.size):
        sampled[j] = -np.inf
    return first_largest(sampled)


@inlined
def sample_effects(t, state, rng):
    """Fill `GAPS` with the score of each arm under a draw of theta and of the arms' effects."""
    arms, scales, z, drawn = state.arms, state.scales, state.room[HALF], state.room[TURNED]
    L, sigma, sampled = state.room[MATRIX:], scales[NOISE], arms[GAPS]
    root(state.inverse[::-1, ::-1], L[::-1, ::-1])  # lower, as `EffectBelief.sampled` has it
    for a in range(z.size):
        z[a] = rng.standard_normal()
    for a in range(z.size):
        drawn[a] = 0.0
        for b in range(a + 1):
            drawn[a] += sigma * L[a, b] * z[b]
    product(state.aim_T, drawn, sampled)
    product(state.learn_T, drawn, arms[WORK])
    for j in range(state.learn.shape[0]):
        w = arms[WEIGHTS, j]
        alone = sigma * math.sqrt(scales[RATIO] * w) * rng.standard_normal()
        sampled[j] += arms[SCORES, j] - (1.0 - w) * arms[WORK, j] + alone


@kernel
def steps(state, world, tally, noise_rng, rng, first, last, stop):
    """Choose as `ProjectedTS.select` does."""
    state, world, tally = lent(state), lent(world), lent(tally)
    for t in range(first, last + 1):
        if stopped(t, stop):
            break
        step(t, thompson(t, state, rng), NARROW, state, world, tally, noise_rng)


@kernel
def offer_steps(state, shown, items, tally, offer_rng, noise_rng, rng, horizon, stop):
    """Choose as `ProjectedTS.select` does, where the arms change."""
    state, shown, items, tally = lent(state), lent(shown), lent(items), lent(tally)
    for t in range(1, horizon + 1):
        if stopped(t, stop):
            break
        offer(NARROW, state, shown, items, offer_rng)
        take(t, thompson(t, state, rng), state, shown, items, tally, offer_rng, noise_rng)


@kernel
def convex_steps(state, world, tally, noise_rng, rng, horizon, stop):
    """Choose as `ProjectedTS.select` does, on a convex set."""
    state, world, tally = lent(state), lent(world), lent(tally)
    for t in range(1, horizon + 1):
        if stopped(t, stop):
            break
        drawn_theta(t, state.linear, rng)
        projected(state, state.linear.room[TURNED], state.linear.room[HALF])
        support(state.region, state.linear.room[HALF], state.x)
        play_point(t, state, world, tally, noise_rng)
