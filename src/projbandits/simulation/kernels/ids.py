"""What compiled rules keep of a belief: its part inside of U, the noise, and draws."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from projbandits._checks import Array
from projbandits.strategies.noise import CAUTION, LEAST_FREE

ROUNDED = 1e-15
"""What is left of a variance, against itself, is rounding below this."""


class Inside(NamedTuple):
    """The belief in coordinates of U: B has an orthonormal basis of U as its columns.

    Parameters
    ----------
    basis : ndarray of shape (d, u)
        B.
    places : ndarray of shape (u, K)
        B^T x_j: how what is wanted of each arm depends on theta.
    within : ndarray of shape (u, u)
        B^T V^-1 B.
    across : ndarray of shape (u, K)
        B^T V^-1 x_j: how what each arm returns moves what is wanted.
    """

    basis: Array
    places: Array
    within: Array
    across: Array


class Room(NamedTuple):
    """Room to work in, and what is found.

    Parameters
    ----------
    gaps, info : ndarray of shape (K,)
        The gap and the information of each arm.
    deviations, scratch : ndarray of shape (K,)
        The deviation of each arm's difference from the greedy arm, over sigma; room.
    matrix, rows : ndarray of shape (d, d) and (3, d)
        Room.
    beyond : ndarray of shape (u, K)
        How what is wanted of each arm differs from the greedy arm.
    """

    gaps: Array
    info: Array
    deviations: Array
    scratch: Array
    matrix: Array
    rows: Array
    beyond: Array


def inside(B: Array, X_T: Array, penalty: float) -> Inside:
    """Return the belief before any observation about the arms in the columns of X_T."""
    places = np.ascontiguousarray(B.T @ X_T)
    return Inside(np.ascontiguousarray(B), places, np.eye(B.shape[1]) / penalty, places / penalty)


def ids_room(K: int, d: int, u: int) -> Room:
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
    """Follow V^-1 as it moves by -w v v^T; `moved` is <x_j, v> for each arm, `row` is scratch."""
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
    """Return sigma as `strategies.noise` estimates it."""
    if residual <= 0.0:
        return 1.0
    trace = 0.0
    for a in range(inverse.shape[0]):
        trace += inverse[a, a]
    free = max(n - (inverse.shape[0] - penalty * trace), LEAST_FREE)
    return math.sqrt(residual / free * (1.0 + CAUTION * math.sqrt(2.0 / free)))


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
