"""Directed information in the compiled loops, as in `strategies.directed`."""

from __future__ import annotations

import math

from projbandits.simulation.kernels.belief import compare, root, sigma_of
from projbandits.simulation.kernels.compiler import inlined, kernel, lent
from projbandits.simulation.kernels.convex import play_point, propose
from projbandits.simulation.kernels.improvement import two_actions
from projbandits.simulation.kernels.linear import (
    ACROSS,
    BEYOND,
    DEVIATIONS,
    GAPS,
    INFO,
    INSIDE,
    MATRIX,
    RATIO,
    SCORES,
    SQUARES,
    WEIGHTS,
    WORK,
    first_largest,
    stopped,
)
from projbandits.simulation.kernels.offers import offer, take
from projbandits.simulation.kernels.step import step
from projbandits.simulation.kernels.support import copy
from projbandits.strategies.directed import CERTAIN
from projbandits.strategies.information import TIE


@inlined
def reach(t, state):
    """Return sigma times the radius of `DirectedIDS`; the third parameter is its bound, or 0."""
    sigma, penalty, bound = sigma_of(t, state), state.parameters[1], state.parameters[2]
    if bound == 0.0:
        return sigma * math.sqrt(math.log(t) / 2.0)
    grown = root(state.inverse, state.room[MATRIX:]) - state.theta.size * math.log(penalty)
    return sigma * math.sqrt(4.0 * math.log(t) + max(grown, 0.0)) + math.sqrt(penalty) * bound


@inlined
def plausible(h, radius, state):
    """Add the largest plausible lead to the gaps; return the plausible arm of largest deviation.

    The deviations of arms that are not plausible, and of h, become zero. `radius` is in units of
    the deviations here, which lack the factor sigma.
    """
    gaps, deviations = state.arms[GAPS], state.arms[DEVIATIONS]
    deviations[h] = 0.0
    delta, largest = 0.0, 0.0
    for j in range(gaps.size):
        above = radius * deviations[j] - gaps[j]
        delta = max(delta, above)
        if above >= 0.0:
            largest = max(largest, deviations[j])
        else:
            deviations[j] = 0.0
    for j in range(gaps.size):
        gaps[j] += delta
    w = 0
    while deviations[w] < largest * (1.0 - TIE):
        w += 1
    return w


@inlined
def inform(h, w, state):
    """Fill the information about the lead of arm w over arm h."""
    beyond, across, along = state.inside[BEYOND], state.inside[ACROSS], state.arms[WORK]
    info, squares = state.arms[INFO], state.arms[SQUARES]
    for z in range(along.size):
        along[z] = 0.0
    for a in range(beyond.shape[0]):
        share = beyond[a, w]
        for z in range(along.size):
            along[z] += share * across[a, z]
    if state.scales.size > 0:
        ratio, weights = state.scales[RATIO], state.arms[WEIGHTS]
        for z in range(along.size):
            along[z] *= weights[z]
        along[w] += ratio * weights[w]
        along[h] -= ratio * weights[h]
    square = state.arms[DEVIATIONS, w] ** 2
    for z in range(info.size):
        info[z] = 0.0
        if square > 0.0:
            correlation = along[z] * along[z] / (square * (1.0 + squares[z]))
            info[z] = -math.log1p(-min(correlation, CERTAIN))


@inlined
def directed(t, state, rng):
    """Choose as `DirectedIDS.select` does."""
    h = first_largest(state.arms[SCORES])
    radius = reach(t, state)
    compare(h, state)
    inform(h, plausible(h, radius, state), state)
    j, p = two_actions(h, state)
    return j if rng.random() < p else h


@kernel
def steps(state, world, tally, noise_rng, rng, first, last, stop):
    """Play some steps among arms that never change."""
    state, world, tally = lent(state), lent(world), lent(tally)
    for t in range(first, last + 1):
        if stopped(t, stop):
            break
        step(t, directed(t, state, rng), INSIDE, state, world, tally, noise_rng)


@kernel
def offer_steps(state, shown, items, tally, offer_rng, noise_rng, rng, horizon, stop):
    """Play a trial where the arms change."""
    state, shown, items, tally = lent(state), lent(shown), lent(items), lent(tally)
    for t in range(1, horizon + 1):
        if stopped(t, stop):
            break
        offer(INSIDE, state, shown, items, offer_rng)
        take(t, directed(t, state, rng), state, shown, items, tally, offer_rng, noise_rng)


@kernel
def convex_steps(state, world, tally, noise_rng, rng, horizon, stop):
    """Play a trial on a convex set."""
    state, world, tally = lent(state), lent(world), lent(tally)
    for t in range(1, horizon + 1):
        if stopped(t, stop):
            break
        propose(t, state)
        copy(state.linear.learn[directed(t, state.linear, rng)], state.x)
        play_point(t, state, world, tally, noise_rng)
