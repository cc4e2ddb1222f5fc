"""The belief in the compiled loops: its part inside of U, arm effects, the noise, and draws."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from projbandits._validation import Array
from projbandits.ridge import LEAST_FREE, NOISE_MARGIN
from projbandits.simulation.kernels.common import inlined

ROUNDED = 1e-15
"""What elimination leaves of a diagonal entry is rounding if it is below this share of it."""


class Inside(NamedTuple):
    """The belief in coordinates of U: B has an orthonormal basis of U as its columns.

    If arms have effects, the coordinates are those of the whole space.

    Parameters
    ----------
    basis : ndarray of shape (d, u)
        B.
    places : ndarray of shape (u, K)
        B^T x_j: how the wanted reward of each arm depends on theta.
    among : ndarray of shape (u, K)
        B^T V^-1 B B^T x_j: how the wanted reward of each arm varies with the others'.
    across : ndarray of shape (u, K)
        B^T V^-1 x_j: how the return of each arm moves the wanted rewards.
    """

    basis: Array
    places: Array
    among: Array
    across: Array


class Own(NamedTuple):
    """What is known of the arms' own effects; `strategies.effects` has the formulas.

    Parameters
    ----------
    weights : ndarray of shape (K,)
        1 / (1 + n_j rho).
    linear : ndarray of shape (K,)
        |f_j|^2_{V^-1}, the squared width of the features' part.
    pulls, sums : ndarray of shape (K,)
        How often each arm was pulled, and the sum of its returns.
    scales : ndarray of shape (5,)
        rho, sigma, the number of pulls, the sum of the squares of the returns, and lambda.
    """

    weights: Array
    linear: Array
    pulls: Array
    sums: Array
    scales: Array


RATIO, NOISE, PULLS, SQUARES, PENALTY = 0, 1, 2, 3, 4
"""The positions in `Own.scales`."""


class Room(NamedTuple):
    """Room to work in, and the results.

    Parameters
    ----------
    gaps, info : ndarray of shape (K,)
        The gap and the information of each arm.
    deviations, scratch : ndarray of shape (K,)
        The deviation of each arm's difference from the greedy arm, over sigma; room.
    matrix, rows : ndarray of shape (d, d) and (3, d)
        Room.
    beyond, terms : ndarray of shape (u, n) and (2, n)
        How the wanted reward of each arm differs from that of the greedy arm, and room. For
        `weigh` n is a multiple of 16, and zero follows on the last arm.
    """

    gaps: Array
    info: Array
    deviations: Array
    scratch: Array
    matrix: Array
    rows: Array
    beyond: Array
    terms: Array


def inside_of(B: Array, X_T: Array, penalty: float) -> Inside:
    """Return the belief before any observation about the arms in the columns of X_T."""
    places = np.ascontiguousarray(B.T @ X_T)
    return Inside(np.ascontiguousarray(B), places, places / penalty, places / penalty)


def work_room(K: int, d: int, u: int) -> Room:
    """Return room for K arms and dim U = u."""
    padded = -(-K // 16) * 16
    return Room(
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        np.zeros((d, d)),
        np.zeros((3, d)),
        np.zeros((u, padded)),
        np.zeros((2, padded)),
    )


@inlined
def turn(matrix_T, v, out):  # type: ignore[no-untyped-def]
    """Fill out with B^T v, for B given by its rows."""
    for a in range(out.size):
        out[a] = 0.0
    for b in range(v.size):
        for a in range(out.size):
            out[a] += matrix_T[b, a] * v[b]


@inlined
def shift(covariances, w, row, moved):  # type: ignore[no-untyped-def]
    """Update B^T V^-1 c_j for V^-1 moving by -w v v^T; `row` is B^T v, `moved` <c_j, v>."""
    for a in range(covariances.shape[0]):
        part = w * row[a]
        for j in range(moved.size):
            covariances[a, j] -= part * moved[j]


@inlined
def cautious_noise(residual, n, inverse, penalty):  # type: ignore[no-untyped-def]
    """Return sigma as `Ridge.cautious_noise` estimates it."""
    if residual <= 0.0:
        return 1.0
    trace = 0.0
    for a in range(inverse.shape[0]):
        trace += inverse[a, a]
    free = max(n - (inverse.shape[0] - penalty * trace), LEAST_FREE)
    return math.sqrt(residual / free * (1.0 + NOISE_MARGIN * math.sqrt(2.0 / free)))


@inlined
def quadratic(M, columns, row, out):  # type: ignore[no-untyped-def]
    """Fill out with c_j^T M c_j for each column c_j; `row` is scratch.

    Two terms at a time save half of the writes.
    """
    n, K = columns.shape[0], out.size
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
def sigma_of(t, view, own):  # type: ignore[no-untyped-def]
    """Return sigma at step t: as given, the first of the parameters, or as estimated."""
    if own is not None:
        return own.scales[NOISE]
    if view.parameters[0] > 0.0:
        return view.parameters[0]
    return cautious_noise(view.residual[0], t - 1, view.inverse, view.parameters[1])


@inlined
def compare(h, view, own):  # type: ignore[no-untyped-def]
    """Fill `gaps` with how far each arm is behind arm h, and the differences and deviations.

    Arms are columns: loops over arms are innermost and vectorise without reordering any sum. All
    is in coordinates of U, since only differences there decide what is best. Both factors are
    differences, so that arms with the same projection have a deviation of exactly 0.
    """
    inside, room = view.inside, view.room
    beyond, gaps, deviations = room.beyond, room.gaps, room.deviations
    for j in range(gaps.size):
        deviations[j] = 0.0
    for a in range(beyond.shape[0]):
        origin, moved = inside.places[a, h], inside.among[a, h]
        for j in range(gaps.size):
            beyond[a, j] = inside.places[a, j] - origin
            deviations[j] += beyond[a, j] * (inside.among[a, j] - moved)
    if own is not None:
        for j in range(gaps.size):
            deviations[j] += own.scales[RATIO] * (own.weights[j] + own.weights[h])
    best = view.scores[h]
    for j in range(gaps.size):
        gaps[j] = best - view.scores[j]
        deviations[j] = math.sqrt(max(deviations[j], 0.0))


@inlined
def root(inverse, Q):  # type: ignore[no-untyped-def]
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
def spread(theta, sigma, Q, z, drawn):  # type: ignore[no-untyped-def]
    """Fill drawn = theta-hat + sigma Q z."""
    for a in range(z.size):
        total = 0.0
        for b in range(a, z.size):
            total += Q[a, b] * z[b]
        drawn[a] = theta[a] + sigma * total
