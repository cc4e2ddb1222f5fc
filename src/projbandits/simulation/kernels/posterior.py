"""The belief in the compiled loops: its part inside of U, arm effects, the noise, and draws."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from projbandits._checks import Array
from projbandits.ridge import LEAST_FREE, NOISE_MARGIN

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
    within : ndarray of shape (u, u)
        B^T V^-1 B.
    across : ndarray of shape (u, K)
        B^T V^-1 x_j: how the return of each arm moves the wanted rewards.
    """

    basis: Array
    places: Array
    within: Array
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
    beyond : ndarray of shape (u, K)
        How the wanted reward of each arm differs from that of the greedy arm.
    """

    gaps: Array
    info: Array
    deviations: Array
    scratch: Array
    matrix: Array
    rows: Array
    beyond: Array


def inside_of(B: Array, X_T: Array, penalty: float) -> Inside:
    """Return the belief before any observation about the arms in the columns of X_T."""
    places = np.ascontiguousarray(B.T @ X_T)
    return Inside(np.ascontiguousarray(B), places, np.eye(B.shape[1]) / penalty, places / penalty)


def work_room(K: int, d: int, u: int) -> Room:
    """Return room for K arms and dim U = u."""
    return Room(
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        np.zeros((d, d)),
        np.zeros((3, d)),
        np.zeros((u, K)),
    )


@njit(nogil=True, error_model="numpy", forceinline=True)
def move_inside(inside, w, v, moved, row):  # type: ignore[no-untyped-def]
    """Update for V^-1 moving by -w v v^T; `moved` is <x_j, v> for each arm, `row` is scratch."""
    d, u = inside.basis.shape
    for a in range(u):
        row[a] = 0.0
    for b in range(d):
        for a in range(u):
            row[a] += inside.basis[b, a] * v[b]
    for a in range(u):
        part = w * row[a]
        for b in range(u):
            inside.within[a, b] -= part * row[b]
        for j in range(moved.size):
            inside.across[a, j] -= part * moved[j]


@njit(nogil=True, error_model="numpy", forceinline=True)
def cautious_noise(residual, n, inverse, penalty):  # type: ignore[no-untyped-def]
    """Return sigma as `Ridge.cautious_noise` estimates it."""
    if residual <= 0.0:
        return 1.0
    trace = 0.0
    for a in range(inverse.shape[0]):
        trace += inverse[a, a]
    free = max(n - (inverse.shape[0] - penalty * trace), LEAST_FREE)
    return math.sqrt(residual / free * (1.0 + NOISE_MARGIN * math.sqrt(2.0 / free)))


@njit(nogil=True, error_model="numpy", forceinline=True)
def quadratic(M, columns, row, out):  # type: ignore[no-untyped-def]
    """Fill out with c_j^T M c_j for each column c_j; `row` is scratch.

    As in `common.products`, four terms at a time save most of the writes.
    """
    n, K = columns.shape[0], out.size
    for j in range(K):
        out[j] = 0.0
    for a in range(n):
        for j in range(K):
            row[j] = M[a, a] * columns[a, j]
        b = a + 1
        while b + 4 <= n:
            m0, m1, m2, m3 = M[a, b], M[a, b + 1], M[a, b + 2], M[a, b + 3]
            for j in range(K):
                two = m0 * columns[b, j] + m1 * columns[b + 1, j]
                row[j] += 2.0 * (two + (m2 * columns[b + 2, j] + m3 * columns[b + 3, j]))
            b += 4
        while b < n:
            twice = 2.0 * M[a, b]
            for j in range(K):
                row[j] += twice * columns[b, j]
            b += 1
        for j in range(K):
            out[j] += row[j] * columns[a, j]


@njit(nogil=True, error_model="numpy", forceinline=True)
def sigma_of(t, view, own):  # type: ignore[no-untyped-def]
    """Return sigma at step t: as given, the first of the parameters, or as estimated."""
    if own is not None:
        return own.scales[NOISE]
    if view.parameters[0] > 0.0:
        return view.parameters[0]
    return cautious_noise(view.residual[0], t - 1, view.inverse, view.parameters[1])


@njit(nogil=True, error_model="numpy", forceinline=True)
def compare(h, view, own):  # type: ignore[no-untyped-def]
    """Fill `gaps` with how far each arm is behind arm h, and the differences and deviations.

    Arms are columns: loops over arms are innermost and vectorise without reordering any sum. All
    is in coordinates of U, since only differences there decide what is best.
    """
    inside, room = view.inside, view.room
    beyond, gaps, deviations = room.beyond, room.gaps, room.deviations
    for a in range(beyond.shape[0]):
        origin = inside.places[a, h]
        for j in range(gaps.size):
            beyond[a, j] = inside.places[a, j] - origin
    quadratic(inside.within, beyond, room.scratch, deviations)
    if own is not None:
        for j in range(gaps.size):
            deviations[j] += own.scales[RATIO] * (own.weights[j] + own.weights[h])
    for j in range(gaps.size):
        gaps[j] = view.scores[h] - view.scores[j]
        deviations[j] = math.sqrt(max(deviations[j], 0.0))


@njit(nogil=True, error_model="numpy", forceinline=True)
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


@njit(nogil=True, error_model="numpy", forceinline=True)
def spread(theta, sigma, Q, z, drawn):  # type: ignore[no-untyped-def]
    """Fill drawn = theta-hat + sigma Q z."""
    for a in range(z.size):
        total = 0.0
        for b in range(a, z.size):
            total += Q[a, b] * z[b]
        drawn[a] = theta[a] + sigma * total
