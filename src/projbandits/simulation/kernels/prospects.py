"""Gaps and information of arms, as `strategies.improvement` and `strategies.directed` have them.

Arms are columns: loops over arms are innermost and vectorise without reordering any sum. All is
computed in coordinates of U (see `ids.Inside`), since only differences there decide what is best.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from projbandits.strategies.directed import CERTAIN
from projbandits.strategies.ids import TIE
from projbandits.strategies.improvement import SURE

NEGLIGIBLE = 80.0
"""u^2 beyond the least: its density is less than 1e-17 of the largest, below rounding."""


@njit(nogil=True, error_model="numpy", forceinline=True)
def quadratic(M, columns, row, out):  # type: ignore[no-untyped-def]
    """Fill out with c_j^T M c_j for each column c_j; `row` is scratch.

    As in `common.products`, four terms at a time spare most of the stores.
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
def _compare(h, scores, inside, room):  # type: ignore[no-untyped-def]
    """Fill how far each arm is behind arm h, as `gaps`, and their differences and deviations."""
    beyond = room.beyond
    for a in range(beyond.shape[0]):
        origin = inside.places[a, h]
        for j in range(room.gaps.size):
            beyond[a, j] = inside.places[a, j] - origin
    quadratic(inside.within, beyond, room.scratch, room.deviations)
    for j in range(room.gaps.size):
        room.gaps[j] = scores[h] - scores[j]
        room.deviations[j] = math.sqrt(max(room.deviations[j], 0.0))


@njit(nogil=True, error_model="numpy", forceinline=True)
def improvement(h, sigma, scores, widths, inside, room):  # type: ignore[no-untyped-def]
    """Fill the gaps and the information by expected improvement over the greedy arm h."""
    _compare(h, scores, inside, room)
    factor = promise(h, sigma, room)
    weigh(room.info, room)
    quadratic(room.matrix, inside.across, room.deviations, room.scratch)
    for j in range(room.info.size):
        room.info[j] = factor * max(room.scratch[j], 0.0) / (1.0 + widths[j])


@njit(nogil=True, error_model="numpy", forceinline=True)
def promise(h, sigma, room):  # type: ignore[no-untyped-def]
    """Add the hidden gain to the gaps, and fill `info` with the weight of each arm's lead.

    That is the derivative of the hidden gain by the variance of the lead, over the factor that is
    returned and in units of sigma^2.
    """
    gaps, deviations, weights, u = room.gaps, room.deviations, room.info, room.scratch
    least = np.inf
    for j in range(gaps.size):
        deviations[j] *= sigma
        u[j] = gaps[j] / deviations[j] if deviations[j] > 0.0 and j != h else np.inf
    for j in range(gaps.size):
        least = min(least, u[j])
    negligible = min(least * least + NEGLIGIBLE, SURE * SURE)
    for j in range(gaps.size):
        square = u[j] * u[j]
        weights[j] = math.exp(-0.5 * square) if square <= negligible else 0.0
    for j in range(gaps.size):
        u[j] = deviations[j] * weights[j] * hidden(u[j])
    delta = 0.0
    for j in range(gaps.size):
        delta += u[j]
        weights[j] = weights[j] / deviations[j] if weights[j] > 0.0 else 0.0
    delta /= math.sqrt(2.0 * math.pi)
    for j in range(gaps.size):
        gaps[j] += delta
    return 0.5 * sigma * sigma / math.sqrt(2.0 * math.pi)


@njit(nogil=True, error_model="numpy", forceinline=True)
def hidden(u):  # type: ignore[no-untyped-def]
    """Return 1 - u Phi(-u) / phi(u) for u >= 0, to 3e-14: a polynomial in t = 4 / (4 + u)."""
    t = 4.0 / (4.0 + u)
    r = 0.02504048794216523
    r = (
        ((r * t - 0.2600227228168807) * t + 1.224527118790178) * t - 3.4400453315968824
    ) * t + 6.382615655342452
    r = (
        ((r * t - 8.206042546326382) * t + 7.538305557226105) * t - 5.1394541252988954
    ) * t + 2.728581353121928
    r = (
        ((r * t - 1.1007141036530792) * t + 0.3089324342904526) * t - 0.1245070486670508
    ) * t - 0.0019327776561081627
    r = (
        ((r * t + 0.03389139918315997) * t + 0.10286078430640458) * t + 0.16258229492722853
    ) * t + 0.19897534198964414
    r = (
        ((r * t + 0.2031249785624038) * t + 0.17578125033532505) * t + 0.12499999999783751
    ) * t + 0.06250000000000311
    return r * t * t


@njit(nogil=True, error_model="numpy", forceinline=True)
def weigh(weights, room):  # type: ignore[no-untyped-def]
    """Fill the upper half of sum_y weight_y c_y c_y^T with c_y how arm y differs.

    Four sums run side by side, as one could not be vectorised.
    """
    M, columns, row = room.matrix, room.beyond, room.scratch
    K = row.size
    whole = K - K % 4
    for a in range(columns.shape[0]):
        for j in range(K):
            row[j] = weights[j] * columns[a, j]
        for b in range(a, columns.shape[0]):
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            for j in range(0, whole, 4):
                s0 += row[j] * columns[b, j]
                s1 += row[j + 1] * columns[b, j + 1]
                s2 += row[j + 2] * columns[b, j + 2]
                s3 += row[j + 3] * columns[b, j + 3]
            for j in range(whole, K):
                s0 += row[j] * columns[b, j]
            M[a, b] = (s0 + s1) + (s2 + s3)


@njit(nogil=True, error_model="numpy", forceinline=True)
def directed(h, radius, scores, widths, inside, room):  # type: ignore[no-untyped-def]
    """Fill the gaps and the information along the widest plausible difference from arm h.

    `radius` is in units of the deviations here, which lack the factor sigma.
    """
    info, along = room.info, room.scratch
    _compare(h, scores, inside, room)
    w = widest(h, radius, room)
    for z in range(info.size):
        along[z] = 0.0
    for a in range(room.beyond.shape[0]):
        step = room.beyond[a, w]
        for z in range(info.size):
            along[z] += step * inside.across[a, z]
    correlate(w, widths, room)


@njit(nogil=True, error_model="numpy", forceinline=True)
def widest(h, radius, room):  # type: ignore[no-untyped-def]
    """Add to the gaps what may be hidden, and return the plausible arm that differs most widely.

    The deviations of arms that are not plausible, and of h, become zero.
    """
    gaps, deviations = room.gaps, room.deviations
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


@njit(nogil=True, error_model="numpy", forceinline=True)
def correlate(w, widths, room):  # type: ignore[no-untyped-def]
    """Fill the information about arm w's difference, by its covariances in `scratch`."""
    square = room.deviations[w] * room.deviations[w]
    for z in range(room.info.size):
        room.info[z] = 0.0
        if square > 0.0:
            along = room.scratch[z] * room.scratch[z]
            room.info[z] = -math.log1p(-min(along / (square * (1.0 + widths[z])), CERTAIN))


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
    if largest <= 0.0:
        return h
    j = 0
    while ratios[j] < largest * (1.0 - TIE):
        j += 1
    return j
