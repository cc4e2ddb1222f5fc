"""How strategies choose where arms have effects of their own."""

from __future__ import annotations

import math

from numba import njit

from projbandits.simulation.kernels.common import argmax, bind, products
from projbandits.simulation.kernels.effects import effect_steps
from projbandits.simulation.kernels.prospects import (
    best_ratio,
    correlate,
    promise,
    quadratic,
    two_actions,
    weigh,
    widest,
)
from projbandits.simulation.kernels.rules import greedy_rule, optimistic_rule
from projbandits.simulation.kernels.scales import NOISE, RATIO, factor


@njit(nogil=True, error_model="numpy")
def compare(h, view):  # type: ignore[no-untyped-def]
    """Fill how far each arm is behind arm h, as `gaps`, and their differences and deviations."""
    room, weights, ratio = view.room, view.weights, view.scales[RATIO]
    beyond, gaps, deviations = room.beyond, room.gaps, room.deviations
    for a in range(view.theta.size):
        origin = view.aim_T[a, h] - (1.0 - weights[h]) * view.learn_T[a, h]
        for j in range(gaps.size):
            beyond[a, j] = view.aim_T[a, j] - (1.0 - weights[j]) * view.learn_T[a, j] - origin
    quadratic(view.inverse, beyond, room.scratch, deviations)
    for j in range(gaps.size):
        gaps[j] = view.scores[h] - view.scores[j]
        own = ratio * (weights[j] + weights[h])
        deviations[j] = math.sqrt(max(deviations[j] + own, 0.0))


@njit(nogil=True, error_model="numpy")
def improvement(h, view):  # type: ignore[no-untyped-def]
    """Fill the gaps and the information by expected improvement over the greedy arm h."""
    room, weights, across = view.room, view.weights, view.across
    beyond, info, told = room.beyond, room.info, room.scratch
    K, d = info.size, view.theta.size
    ratio, sigma = view.scales[RATIO], view.scales[NOISE]
    own_h = ratio * weights[h]
    compare(h, view)
    factor = promise(h, sigma, room)
    weigh(info, room)
    quadratic(room.matrix, across, room.deviations, told)
    own, tilt, total = room.deviations, 0.0, 0.0
    for j in range(K):
        own[j] = 0.0
    for a in range(d):  # how each arm's lead depends on its own return, and on that of h
        lean = 0.0
        for j in range(K):
            own[j] += beyond[a, j] * across[a, j]
            lean += info[j] * beyond[a, j]
        tilt += lean * across[a, h]
    for j in range(K):
        total += info[j]
    for j in range(K):
        w, effect = weights[j], ratio * weights[j]
        told[j] = w * w * told[j] + info[j] * effect * (2.0 * w * own[j] + effect)
    told[h] += own_h * (own_h * total - 2.0 * weights[h] * tilt)
    for j in range(K):
        info[j] = factor * max(told[j], 0.0) / (view.squares[j] + 1.0)


@njit(nogil=True, error_model="numpy")
def eiids_with_effects(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `EIIDS.select` does."""
    h = argmax(view.scores, view.lanes)
    improvement(h, view)
    j, p = two_actions(h, view.room)
    return j if rng.random() < p else h


@njit(nogil=True, error_model="numpy")
def eiratio_with_effects(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `EIRatio.select` does; the third parameter is the horizon."""
    h = argmax(view.scores, view.lanes)
    improvement(h, view)
    return best_ratio(h, max(view.parameters[2] - t, 0.0), view.room)


@njit(nogil=True, error_model="numpy")
def directed_with_effects(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `DirectedIDS.select` does."""
    h = argmax(view.scores, view.lanes)
    room, weights, ratio = view.room, view.weights, view.scales[RATIO]
    compare(h, view)
    w = widest(h, view.scales[NOISE] * math.sqrt(math.log(t) / 2.0), room)
    along = room.scratch
    for z in range(along.size):
        along[z] = 0.0
    for a in range(view.theta.size):
        for z in range(along.size):
            along[z] += room.beyond[a, w] * view.across[a, z]
    for z in range(along.size):
        along[z] *= weights[z]
    along[w] += ratio * weights[w]
    along[h] -= ratio * weights[h]
    correlate(w, view.squares, room)
    j, p = two_actions(h, room)
    return j if rng.random() < p else h


@njit(nogil=True, error_model="numpy")
def thompson_with_effects(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `ProjectedTS.select` does."""
    room, d, sigma = view.room, view.theta.size, view.scales[NOISE]
    L, z, drawn = room.matrix, room.rows[0], room.rows[1]
    for a in range(d):
        z[a] = rng.standard_normal()
        for b in range(d):
            L[a, b] = view.inverse[a, b]
    factor(L)
    for a in range(d):
        drawn[a] = 0.0
        for b in range(a + 1):
            drawn[a] += sigma * L[a, b] * z[b]
    products(view.aim_T, drawn, room.gaps)
    products(view.learn_T, drawn, room.scratch)
    for j in range(room.gaps.size):
        own = sigma * math.sqrt(view.scales[RATIO] * view.weights[j]) * rng.standard_normal()
        room.gaps[j] += view.scores[j] - (1.0 - view.weights[j]) * room.scratch[j] + own
    return argmax(room.gaps, view.lanes)


@njit(nogil=True, error_model="numpy")
def any_rule(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose by the rule whose place in `simulation.rules.EFFECTS` is the view's."""
    if view.rule == 0:
        return greedy_rule(t, view, rng)
    if view.rule == 1:
        return optimistic_rule(t, view, rng)
    if view.rule == 2:
        return eiids_with_effects(t, view, rng)
    if view.rule == 3:
        return eiratio_with_effects(t, view, rng)
    if view.rule == 4:
        return directed_with_effects(t, view, rng)
    return thompson_with_effects(t, view, rng)


# One loop for all: estimating the scales is the most of it, and would be compiled for each.
with_effects = bind(effect_steps, "with_effects", allocates=False, rule=any_rule)
