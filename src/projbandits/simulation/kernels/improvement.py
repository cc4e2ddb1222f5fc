"""Expected improvement in the compiled loops, as in `strategies.improvement`."""

from __future__ import annotations

import math

import numpy as np

from projbandits.simulation.kernels.common import argmax, copy, inlined, inner, lowest
from projbandits.simulation.kernels.convex import propose
from projbandits.simulation.kernels.loops import loops
from projbandits.simulation.kernels.posterior import RATIO, compare, quadratic, sigma_of
from projbandits.strategies.improvement import FAR_BEHIND
from projbandits.strategies.information import TIE

FAR_BELOW = 80.0
"""With u^2 this far above the least, a density is below 1e-17 of the largest: mere rounding."""
SURE_BEYOND = FAR_BEHIND + 0.4
"""What stands for an arm that is sure to be worse, if finite numbers are needed."""
TO_INTEGER = 1.5 * 2.0**52
LOG2_E = 1.4426950408889634
LOG_2_HIGH, LOG_2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
"""log 2 in two parts: the product of a small integer with the first is exact."""


@inlined
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


@inner
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


@inlined
def promise(h, sigma, room):  # type: ignore[no-untyped-def]
    """Add the hidden gain to the gaps, and fill `info` with the weight of each arm's lead.

    The weight is the derivative of the hidden gain with respect to the variance of the lead,
    divided by the returned factor, in units of sigma^2.
    """
    gaps, deviations, weights, u = room.gaps, room.deviations, room.info, room.scratch
    deviations[h] = 0.0
    for j in range(gaps.size):
        deviations[j] *= sigma
        behind = gaps[j] / deviations[j]
        u[j] = behind if behind < SURE_BEYOND else SURE_BEYOND  # also if it is 0 / 0
    least = lowest(u)
    farthest = math.sqrt(min(least * least + FAR_BELOW, FAR_BEHIND * FAR_BEHIND))
    for j in range(gaps.size):
        density = falling(0.5 * u[j] * u[j])
        density = density if u[j] <= farthest else 0.0
        weight = density / deviations[j]
        weights[j] = weight if density > 0.0 else 0.0
        u[j] = deviations[j] * density * hidden(u[j])
    delta = total(u, u.size) / math.sqrt(2.0 * math.pi)
    for j in range(gaps.size):
        gaps[j] += delta
    return 0.5 * sigma * sigma / math.sqrt(2.0 * math.pi)


@inlined
def falling(x):  # type: ignore[no-untyped-def]
    """Return exp(-x) for 0 <= x <= 700, to 3e-16; unlike `math.exp` it vectorises.

    With k the integer nearest to -x / log 2 it is 2^k exp(r), and exp(r) is its series. Added to
    1.5 * 2^52, a float's last digit is worth 1: so k is in the last bits, to be moved to those of
    the exponent.
    """
    shifted = TO_INTEGER - x * LOG2_E
    k = shifted - TO_INTEGER
    r = (-x - k * LOG_2_HIGH) - k * LOG_2_LOW
    s = 1.0 / 479001600.0
    s = ((s * r + 1.0 / 39916800.0) * r + 1.0 / 3628800.0) * r + 1.0 / 362880.0
    s = ((s * r + 1.0 / 40320.0) * r + 1.0 / 5040.0) * r + 1.0 / 720.0
    s = ((s * r + 1.0 / 120.0) * r + 1.0 / 24.0) * r + 1.0 / 6.0
    s = ((s * r + 0.5) * r + 1.0) * r + 1.0
    power = np.float64(shifted).view(np.int64) << 52
    return np.int64(np.float64(s).view(np.int64) + power).view(np.float64)


@inlined
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


@inlined
def total(values, n):  # type: ignore[no-untyped-def]
    """Return the sum of the first n values: four side by side, so that none waits for the last."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = n - n % 4
    for j in range(0, whole, 4):
        s0 += values[j]
        s1 += values[j + 1]
        s2 += values[j + 2]
        s3 += values[j + 3]
    for j in range(whole, n):
        s0 += values[j]
    return (s0 + s1) + (s2 + s3)


@inlined
def weigh(weights, room):  # type: ignore[no-untyped-def]
    """Fill the upper half of sum_y weight_y c_y c_y^T, where c_y is how arm y differs.

    A running sum cannot be vectorised, so the terms of four quarters are added up first.
    """
    M, columns, row, folded = room.matrix, room.beyond, room.terms[0], room.terms[1]
    n = row.size // 4
    for a in range(columns.shape[0]):
        for j in range(weights.size):
            row[j] = weights[j] * columns[a, j]
        for b in range(a, columns.shape[0]):
            for j in range(n):
                first = row[j] * columns[b, j] + row[n + j] * columns[b, n + j]
                last = row[2 * n + j] * columns[b, 2 * n + j]
                folded[j] = first + (last + row[3 * n + j] * columns[b, 3 * n + j])
            M[a, b] = total(folded, n)


@inlined
def two_actions(h, room):  # type: ignore[no-untyped-def]
    """Return j and p as `strategies.information.two_actions` does."""
    gaps, info, ratios, chances = room.gaps, room.info, room.scratch, room.deviations
    gap, known = gaps[h], info[h]
    alone = gap * gap / known if known > 0.0 else np.inf
    for j in range(gaps.size):  # without branches, so that it vectorises
        costs, tells = gaps[j] - gap, info[j] - known
        p = gap / costs - 2.0 * known / tells
        p = p if costs > 0.0 else 1.0
        p = 1.0 if p > 1.0 else p
        p = p if tells > 0.0 and p > 0.0 else 0.0
        mixed = gap + p * costs
        ratio = mixed * mixed / (known + p * tells)
        ratios[j] = ratio if p > 0.0 else alone
        chances[j] = p
    least = lowest(ratios)
    j = 0
    while ratios[j] > least * (1.0 + TIE):
        j += 1
    return j, chances[j]


@inlined
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


@inlined
def eiids(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `EIIDS.select` does."""
    h = argmax(view.scores, view.lanes)
    improvement(h, sigma_of(t, view, view.own), view, view.own)
    j, p = two_actions(h, view.room)
    return j if rng.random() < p else h


@inlined
def eiratio(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `EIRatio.select` does; the third parameter is the horizon."""
    h = argmax(view.scores, view.lanes)
    improvement(h, sigma_of(t, view, view.own), view, view.own)
    return best_ratio(h, max(view.parameters[2] - t, 0.0), view.room)


@inlined
def eiids_point(t, view, rng, x):  # type: ignore[no-untyped-def]
    """Choose as `EIIDS.select` does, on a convex set."""
    propose(t, view)
    copy(view.candidates[eiids(t, view, rng)], x)


@inlined
def eiratio_point(t, view, rng, x):  # type: ignore[no-untyped-def]
    """Choose as `EIRatio.select` does, on a convex set."""
    propose(t, view)
    copy(view.candidates[eiratio(t, view, rng)], x)


LOOPS = {
    "eiids": loops("eiids", eiids, eiids_point),
    "eiratio": loops("eiratio", eiratio, eiratio_point),
}
