"""The belief in the compiled loops: the noise, leads over the greedy arm, and draws."""

from __future__ import annotations

import math
from typing import Any

from projbandits.ridge import LEAST_FREE, cautious_variance
from projbandits.simulation.kernels.compiler import inlined
from projbandits.simulation.kernels.linear import (
    AMONG,
    BEYOND,
    DEVIATIONS,
    GAPS,
    NOISE,
    PLACES,
    RATIO,
    SCORES,
    WEIGHTS,
)

ROUNDED = 1e-15
"""What elimination leaves of a diagonal entry is rounding if it is below this share of it."""
_cautious_variance = inlined(cautious_variance)


@inlined
def sigma_of(t: Any, state: Any) -> Any:
    """Return sigma at step t: as given, the first of the parameters, or as estimated.

    The estimate is `Ridge.cautious_noise`; the second parameter is lambda.
    """
    if state.scales.size > 0:
        return state.scales[NOISE]
    if state.parameters[0] > 0.0:
        return state.parameters[0]
    if state.residual[0] <= 0.0:
        return 1.0
    d, trace = state.theta.size, 0.0
    for a in range(d):
        trace += state.inverse[a, a]
    free = max(t - 1 - (d - state.parameters[1] * trace), LEAST_FREE)
    return math.sqrt(_cautious_variance(state.residual[0], free))


@inlined
def compare(h, state):
    """Fill in how far each arm is behind arm h, and the differences and deviations.

    The twin is `Moments.leads`. All is in coordinates of U, since only differences there decide
    what is best. Both factors are differences, so that arms with the same projection have a
    deviation of exactly 0.
    """
    places, among, beyond = state.inside[PLACES], state.inside[AMONG], state.inside[BEYOND]
    scores, gaps, deviations = state.arms[SCORES], state.arms[GAPS], state.arms[DEVIATIONS]
    for j in range(gaps.size):
        deviations[j] = 0.0
    for a in range(places.shape[0]):
        origin, moved = places[a, h], among[a, h]
        for j in range(gaps.size):
            beyond[a, j] = places[a, j] - origin
            deviations[j] += beyond[a, j] * (among[a, j] - moved)
    if state.scales.size > 0:
        weights = state.arms[WEIGHTS]
        for j in range(gaps.size):
            deviations[j] += state.scales[RATIO] * (weights[j] + weights[h])
    best = scores[h]
    for j in range(gaps.size):
        gaps[j] = best - scores[j]
        deviations[j] = math.sqrt(max(deviations[j], 0.0))


@inlined
def quadratic(M, columns, row, out):
    """Fill out with c_j^T M c_j for each column c_j, from the upper half of M; `row` is room.

    Two terms at a time save half of the writes.
    """
    n, K = columns.shape
    for j in range(K):
        out[j] = 0.0
    for a in range(n):
        b = a + 1
        half = 0.5 * M[a, a]
        if (n - b) % 2 == 0:
            for j in range(K):
                row[j] = half * columns[a, j]
        else:
            one = M[a, b]
            for j in range(K):
                row[j] = half * columns[a, j] + one * columns[b, j]
            b += 1
        while b < n:
            one, two = M[a, b], M[a, b + 1]
            for j in range(K):
                row[j] += one * columns[b, j] + two * columns[b + 1, j]
            b += 2
        for j in range(K):
            out[j] += 2.0 * row[j] * columns[a, j]


@inlined
def root(inverse, Q):
    """Fill the upper triangle of Q with Q Q^T = V^-1, as `Ridge.root`, and return log det V."""
    d = inverse.shape[0]
    grown = 0.0
    for b in range(d - 1, -1, -1):
        for a in range(b, -1, -1):
            total = inverse[a, b]
            for k in range(b + 1, d):
                total -= Q[a, k] * Q[b, k]
            if a == b:
                total = max(total, ROUNDED * inverse[b, b])
                Q[b, b] = math.sqrt(total)
                grown -= math.log(total)
            else:
                Q[a, b] = total / Q[b, b]
    return grown


@inlined
def draw(theta, sigma, Q, z, drawn):
    """Fill drawn = theta-hat + sigma Q z."""
    for a in range(z.size):
        total = 0.0
        for b in range(a, z.size):
            total += Q[a, b] * z[b]
        drawn[a] = theta[a] + sigma * total
