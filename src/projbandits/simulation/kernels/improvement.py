"""Expected improvement in the compiled loops, as in `strategies.improvement`."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from projbandits.simulation.kernels.common import argmax, copy
from projbandits.simulation.kernels.convex_loop import propose
from projbandits.simulation.kernels.loops import loops
from projbandits.simulation.kernels.posterior import RATIO, compare, quadratic, sigma_of
from projbandits.strategies.improvement import SURE
from projbandits.strategies.information import TIE

NEGLIGIBLE = 80.0
"""With u^2 this far above the least, a density is below 1e-17 of the largest: mere rounding."""


@njit(nogil=True, error_model="numpy", forceinline=True)
def improvement(h, sigma, view, own):  # type: ignore[no-untyped-def]
    """Fill the gaps and the information by expected improvement over the greedy arm h."""
    room, across = view.room, view.inside.across
    info, told = room.info, room.scratch
    compare(h, view, own)
    factor = promise(h, sigma, room)
    weigh(info, room)
    quadratic(room.matrix, across, room.deviations, told)
    if own is not None:
        add_effects(h, view, own)
    for j in range(info.size):
        info[j] = factor * max(told[j], 0.0) / (1.0 + view.squares[j])


@njit(nogil=True, error_model="numpy")
def add_effects(h, view, own):  # type: ignore[no-untyped-def]
    """Add what each arm tells through its own effect to what it tells already, in `scratch`."""
    room, across, weights, ratio = view.room, view.inside.across, own.weights, own.scales[RATIO]
    beyond, info, told, alone = room.beyond, room.info, room.scratch, room.deviations
    own_h = ratio * weights[h]
    tilt, total = 0.0, 0.0
    for j in range(info.size):
        alone[j] = 0.0
    for a in range(beyond.shape[0]):  # how each arm's lead depends on its return, and on that of h
        lean = 0.0
        for j in range(info.size):
            alone[j] += beyond[a, j] * across[a, j]
            lean += info[j] * beyond[a, j]
        tilt += lean * across[a, h]
    for j in range(info.size):
        total += info[j]
    for j in range(info.size):
        w, effect = weights[j], ratio * weights[j]
        told[j] = w * w * told[j] + info[j] * effect * (2.0 * w * alone[j] + effect)
    told[h] += own_h * (own_h * total - 2.0 * weights[h] * tilt)


@njit(nogil=True, error_model="numpy", forceinline=True)
def promise(h, sigma, room):  # type: ignore[no-untyped-def]
    """Add the hidden gain to the gaps, and fill `info` with the weight of each arm's lead.

    The weight is the derivative of the hidden gain with respect to the variance of the lead,
    divided by the returned factor, in units of sigma^2.
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
    """Fill the upper half of sum_y weight_y c_y c_y^T, where c_y is how arm y differs.

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
def two_actions(h, room):  # type: ignore[no-untyped-def]
    """Return j and p as `strategies.information.two_actions` does."""
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


@njit(nogil=True, error_model="numpy", forceinline=True)
def eiids(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `EIIDS.select` does."""
    h = argmax(view.scores, view.lanes)
    improvement(h, sigma_of(t, view, view.own), view, view.own)
    j, p = two_actions(h, view.room)
    return j if rng.random() < p else h


@njit(nogil=True, error_model="numpy", forceinline=True)
def eiratio(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `EIRatio.select` does; the third parameter is the horizon."""
    h = argmax(view.scores, view.lanes)
    improvement(h, sigma_of(t, view, view.own), view, view.own)
    return best_ratio(h, max(view.parameters[2] - t, 0.0), view.room)


@njit(nogil=True, error_model="numpy", forceinline=True)
def eiids_point(t, view, rng, x):  # type: ignore[no-untyped-def]
    """Choose as `EIIDS.select` does, on a convex set."""
    propose(t, view)
    copy(view.candidates[eiids(t, view, rng)], x)


@njit(nogil=True, error_model="numpy", forceinline=True)
def eiratio_point(t, view, rng, x):  # type: ignore[no-untyped-def]
    """Choose as `EIRatio.select` does, on a convex set."""
    propose(t, view)
    copy(view.candidates[eiratio(t, view, rng)], x)


LOOPS = {
    "eiids": loops("eiids", eiids, eiids_point),
    "eiratio": loops("eiratio", eiratio, eiratio_point),
}
