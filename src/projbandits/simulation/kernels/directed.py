"""Directed information in the compiled loops, as in `strategies.directed`."""

from __future__ import annotations

import math

from projbandits.simulation.kernels.common import argmax, copy, inlined
from projbandits.simulation.kernels.convex import propose
from projbandits.simulation.kernels.improvement import two_actions
from projbandits.simulation.kernels.loops import loops
from projbandits.simulation.kernels.posterior import RATIO, compare, root, sigma_of
from projbandits.strategies.directed import CERTAIN
from projbandits.strategies.information import TIE


@inlined
def reach(t, view, own):  # type: ignore[no-untyped-def]
    """Return sigma times the radius of `DirectedIDS`; the third parameter is its bound, or 0."""
    sigma, penalty, bound = sigma_of(t, view, own), view.parameters[1], view.parameters[2]
    if bound == 0.0:
        return sigma * math.sqrt(math.log(t) / 2.0)
    grown = root(view.inverse, view.room.matrix) - view.theta.size * math.log(penalty)
    return sigma * math.sqrt(4.0 * math.log(t) + max(grown, 0.0)) + math.sqrt(penalty) * bound


@inlined
def directed(h, radius, view, own):  # type: ignore[no-untyped-def]
    """Fill the gaps and the information along the widest plausible difference from arm h.

    `radius` is in units of the deviations here, which lack the factor sigma.
    """
    room, across = view.room, view.inside.across
    along = room.scratch
    compare(h, view, own)
    w = widest(h, radius, room)
    for z in range(along.size):
        along[z] = 0.0
    for a in range(room.beyond.shape[0]):
        step = room.beyond[a, w]
        for z in range(along.size):
            along[z] += step * across[a, z]
    if own is not None:
        ratio = own.scales[RATIO]
        for z in range(along.size):
            along[z] *= own.weights[z]
        along[w] += ratio * own.weights[w]
        along[h] -= ratio * own.weights[h]
    correlate(w, view.squares, room)


@inlined
def widest(h, radius, room):  # type: ignore[no-untyped-def]
    """Add the largest plausible lead to the gaps; return the plausible arm of largest deviation.

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


@inlined
def correlate(w, widths, room):  # type: ignore[no-untyped-def]
    """Fill the information about arm w's lead, from its covariances in `scratch`."""
    square = room.deviations[w] * room.deviations[w]
    for z in range(room.info.size):
        room.info[z] = 0.0
        if square > 0.0:
            along = room.scratch[z] * room.scratch[z]
            room.info[z] = -math.log1p(-min(along / (square * (1.0 + widths[z])), CERTAIN))


@inlined
def directed_rule(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `DirectedIDS.select` does."""
    h = argmax(view.scores, view.lanes)
    directed(h, reach(t, view, view.own), view, view.own)
    j, p = two_actions(h, view.room)
    return j if rng.random() < p else h


@inlined
def directed_point(t, view, rng, x):  # type: ignore[no-untyped-def]
    """Choose as `DirectedIDS.select` does, on a convex set."""
    propose(t, view)
    copy(view.candidates[directed_rule(t, view, rng)], x)


LOOPS = {"directed": loops("directed", directed_rule, directed_point)}
