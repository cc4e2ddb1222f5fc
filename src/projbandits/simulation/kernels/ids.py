"""Gaps and information of arms, as `strategies.improvement` and `strategies.directed` have them.

Arms are columns: loops over arms are innermost and vectorise without reordering any sum.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from projbandits._checks import Array
from projbandits.strategies.ids import TIE
from projbandits.strategies.noise import CAUTION

NEGLIGIBLE = 100.0
"""u^2 beyond the least: its density is less than 1e-21 of the largest, far below rounding."""


class Room(NamedTuple):
    """Room to work in, and what is found.

    Parameters
    ----------
    gaps, info : ndarray of shape (K,)
        The gap and the information of each arm.
    deviations, scratch : ndarray of shape (K,)
        The squared deviation of each arm's difference from the greedy arm, over sigma^2; room.
    active : ndarray of shape (K,)
        The arms that may still turn out to be best.
    matrix, rows : ndarray of shape (d, d) and (3, d)
        Room.
    """

    gaps: Array
    info: Array
    deviations: Array
    scratch: Array
    active: NDArray[np.int64]
    matrix: Array
    rows: Array


def ids_room(K: int, d: int) -> Room:
    """Return room for K arms."""
    return Room(
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        np.zeros(K, np.int64),
        np.zeros((d, d)),
        np.zeros((3, d)),
    )


@njit(nogil=True, error_model="numpy", forceinline=True)
def cautious_noise(given, residual, n):  # type: ignore[no-untyped-def]
    """Return sigma as given, or if that is 0 as `strategies.noise` estimates it."""
    if given > 0.0:
        return given
    if residual <= 0.0:
        return 1.0
    spread = 2.0 / (9.0 * n)
    root = 1.0 - spread - CAUTION * math.sqrt(spread)
    return math.sqrt(residual / (n * (root * root * root)))


@njit(nogil=True, error_model="numpy", forceinline=True)
def _compare(h, scores, aim_T, turned, room):  # type: ignore[no-untyped-def]
    """Fill how far each arm is behind arm h, as `gaps`, and the squared deviations."""
    gaps, squares = room.gaps, room.deviations
    for j in range(gaps.size):
        gaps[j] = scores[h] - scores[j]
        squares[j] = 0.0
    for a in range(room.matrix.shape[0]):
        f, g = aim_T[a, h], turned[a, h]
        for j in range(gaps.size):
            squares[j] += (aim_T[a, j] - f) * (turned[a, j] - g)


@njit(nogil=True, error_model="numpy", forceinline=True)
def improvement(h, sigma, scores, squares, aim_T, learn_T, turned, room):  # type: ignore[no-untyped-def]
    """Fill the gaps and the information by expected improvement over the greedy arm h."""
    _compare(h, scores, aim_T, turned, room)
    gaps, info, deviations, u, active = (
        room.gaps,
        room.info,
        room.deviations,
        room.scratch,
        room.active,
    )
    K, d = gaps.size, room.matrix.shape[0]
    least = np.inf
    for j in range(K):
        deviations[j] = sigma * math.sqrt(max(deviations[j], 0.0))
        u[j] = gaps[j] / deviations[j] if deviations[j] > 0.0 and j != h else np.inf
    for j in range(K):
        least = min(least, u[j])
    count = 0
    delta = 0.0
    for j in range(K):
        if u[j] < np.inf and u[j] * u[j] <= least * least + NEGLIGIBLE:
            density = math.exp(-0.5 * u[j] * u[j]) / math.sqrt(2.0 * math.pi)
            tail = 0.5 * math.erfc(u[j] / math.sqrt(2.0))
            delta += deviations[j] * (density - u[j] * tail)
            info[count] = density / (2.0 * deviations[j])  # the weight; no arm is told of yet
            active[count] = j
            count += 1
    for j in range(K):
        gaps[j] += delta
    if 2 * count <= d:
        _told_one_by_one(h, count, learn_T, turned, room)
    else:
        _told_together(h, count, learn_T, turned, room)
    for j in range(K):
        info[j] = sigma * sigma * u[j] / (1.0 + squares[j])


@njit(nogil=True, error_model="numpy", forceinline=True)
def _told_one_by_one(h, count, learn_T, turned, room):  # type: ignore[no-untyped-def]
    """Fill the scratch with sum_y weight_y <g_y, x_z>^2 for each arm z."""
    weights, along, told = room.info, room.deviations, room.scratch
    for z in range(told.size):
        told[z] = 0.0
    for k in range(count):
        for z in range(told.size):
            along[z] = 0.0
        for a in range(room.matrix.shape[0]):
            g = turned[a, room.active[k]] - turned[a, h]
            for z in range(told.size):
                along[z] += g * learn_T[a, z]
        weight = weights[k]
        for z in range(told.size):
            told[z] += weight * along[z] * along[z]


@njit(nogil=True, error_model="numpy", forceinline=True)
def _told_together(h, count, learn_T, turned, room):  # type: ignore[no-untyped-def]
    """Fill the scratch with x_z^T A x_z for each arm z, with A = sum_y weight_y g_y g_y^T."""
    A, g = room.matrix, room.rows[0]
    d = A.shape[0]
    for a in range(d):
        for b in range(d):
            A[a, b] = 0.0
    for k in range(count):
        for a in range(d):
            g[a] = turned[a, room.active[k]] - turned[a, h]
        for a in range(d):
            weighted = room.info[k] * g[a]
            for b in range(a, d):
                A[a, b] += weighted * g[b]
    row, told = room.deviations, room.scratch
    for z in range(told.size):
        told[z] = 0.0
    for a in range(d):
        for z in range(told.size):
            row[z] = A[a, a] * learn_T[a, z]
        for b in range(a + 1, d):
            twice = 2.0 * A[a, b]
            for z in range(told.size):
                row[z] += twice * learn_T[b, z]
        for z in range(told.size):
            told[z] += row[z] * learn_T[a, z]


@njit(nogil=True, error_model="numpy", forceinline=True)
def directed(h, radius, scores, squares, aim_T, learn_T, turned, room):  # type: ignore[no-untyped-def]
    """Fill the gaps and the information along the widest plausible difference from arm h.

    `radius` is in units of the deviations here, which lack the factor sigma.
    """
    _compare(h, scores, aim_T, turned, room)
    gaps, info, deviations, along = room.gaps, room.info, room.deviations, room.scratch
    delta, widest = 0.0, 0.0
    for j in range(gaps.size):
        deviations[j] = math.sqrt(max(deviations[j], 0.0)) if j != h else 0.0
        above = radius * deviations[j] - gaps[j]
        delta = max(delta, above)
        if above >= 0.0:
            widest = max(widest, deviations[j])
        else:
            deviations[j] = 0.0
    w = 0
    while deviations[w] < widest * (1.0 - TIE):
        w += 1
    for z in range(gaps.size):
        gaps[z] += delta
        along[z] = 0.0
    for a in range(room.matrix.shape[0]):
        g = turned[a, w] - turned[a, h]
        for z in range(gaps.size):
            along[z] += g * learn_T[a, z]
    for z in range(gaps.size):
        info[z] = 0.0
        if widest > 0.0:
            square = along[z] * along[z] / (deviations[w] * deviations[w] * (1.0 + squares[z]))
            info[z] = -math.log1p(-square)


@njit(nogil=True, error_model="numpy", forceinline=True)
def two_actions(h, room):  # type: ignore[no-untyped-def]
    """Return j and p as `strategies.ids.two_actions` does."""
    gaps, info, ratios, chances = room.gaps, room.info, room.scratch, room.deviations
    gap, known = gaps[h], info[h]
    alone = gap * gap / known if known > 0.0 else np.inf
    least = np.inf
    for j in range(gaps.size):
        costs, tells = gaps[j] - gap, info[j] - known
        p = 0.0
        if tells > 0.0:
            p = gap / costs - 2.0 * known / tells if costs > 0.0 else 1.0
            p = min(max(p, 0.0), 1.0)
        mixed = gap + p * costs
        ratios[j] = mixed * mixed / (known + p * tells) if p > 0.0 else alone
        chances[j] = p
        least = min(least, ratios[j])
    j = 0
    while ratios[j] > least * (1.0 + TIE):
        j += 1
    return j, chances[j]


@njit(nogil=True, error_model="numpy", forceinline=True)
def best_ratio(h, left, room):  # type: ignore[no-untyped-def]
    """Return the arm that `EIRatio` chooses with `left` steps left."""
    gaps, info, ratios = room.gaps, room.info, room.scratch
    if gaps[h] <= 0.0:
        return h
    largest = 0.0
    for j in range(gaps.size):
        repaid = left * info[j] >= gaps[j] - gaps[h]
        ratios[j] = info[j] / gaps[j] if repaid else 0.0
        largest = max(largest, ratios[j])
    j = 0
    while ratios[j] < largest * (1.0 - TIE):
        j += 1
    return j


@njit(nogil=True, error_model="numpy", forceinline=True)
def root(inverse, L):  # type: ignore[no-untyped-def]
    """Fill the lower triangle L with L L^T = V^-1, and return log det V."""
    d = inverse.shape[0]
    grown = 0.0
    for a in range(d):
        for b in range(a + 1):
            total = inverse[a, b]
            for k in range(b):
                total -= L[a, k] * L[b, k]
            if a == b:
                L[a, a] = math.sqrt(max(total, 0.0))
                grown -= math.log(total)
            else:
                L[a, b] = total / L[b, b]
    return grown
