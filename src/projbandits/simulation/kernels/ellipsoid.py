"""Optimism in the compiled loops, as in `strategies.ellipsoid`.

The point of a convex set with the largest optimistic score is found as `arms.convex` finds it, by
climbing from several starts; `ascent` has the steps. On the entropy ball the maxima move little
from one search to the next, so a search follows those of the last one, and probes the starts for
new ones, one step at a time. If anything is unusual, it begins anew from all starts.
"""

from __future__ import annotations

import math

import numpy as np

from projbandits.simulation.kernels.common import argmax, copy, inlined
from projbandits.simulation.kernels.loops import loops
from projbandits.simulation.kernels.search import go, score
from projbandits.simulation.kernels.support import dimension

ENOUGH = 1e-10
"""A start is done when its expected gain, relative to the height, is below this."""
TOGETHER = 1e-2
"""Starts that Newton would send this close together, relative to |x|, are merged."""
EQUAL = 1e-9
"""Heights this close, relative to the highest, are equal: the first start wins."""
NEAR = 1e-3
"""A start that expects to gain less than this, relative to the height, is close to a maximum."""
CALMLY, EAGER = 0.5, 500.0
"""How many steps of the probed starts a search takes, on average, and how many more of them per
squared width of the last arm."""
MORE, ALERT = 4, 50
"""How many more, and for how many searches, after one that began anew or lost a maximum."""
CALM = 0.02
"""If squared widths may have shrunk, or the radius changed, by more than this, search anew."""


@inlined
def optimistic(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `Ellipsoidal.select` does; the parameters are the radii of steps 1, 2, ..."""
    radius = view.parameters[t - 1]
    for j in range(view.scores.size):
        view.scratch[j] = view.scores[j] + radius * math.sqrt(view.squares[j])
    return argmax(view.scratch, view.lanes)


@inlined
def _begin(view, radius, k, slot):  # type: ignore[no-untyped-def]
    """Put start k into a slot: a support point along an axis or, after those, that of the aim."""
    search, d = view.search, dimension(view.region)
    search.heights[slot], search.ahead[slot], search.curvatures[slot] = -np.inf, -1.0, 0.0
    search.going[slot] = True
    if k == view.starts.shape[0]:
        copy(view.aim, search.nexts[slot], d)
        return
    height, width = score(d, view.inverse, view.aim, radius, view.starts[k], search.nexts[slot])
    # From the origin we would go to the support point of aim, like the last start.
    search.going[slot] = width > 0.0
    if width > 0.0:
        search.heights[slot] = height


@inlined
def _resume(view, radius, tries):  # type: ignore[no-untyped-def]
    """Begin with the points that were kept and, in the last slot, with the start being probed."""
    search = view.search
    probe = view.starts.shape[0] + 1
    for k in range(probe):
        search.going[k] = search.old[k] = search.kept[k]
        if not search.kept[k]:
            search.heights[k] = -np.inf
    search.going[probe] = False
    if tries > 0:
        _probe(view, radius)


@inlined
def _probe(view, radius):  # type: ignore[no-untyped-def]
    """Go on with the start being probed, or begin with the next."""
    search = view.search
    probe = view.starts.shape[0] + 1
    search.going[probe] = True
    if search.probing[1] == 0:
        search.probing[0] = (search.probing[0] + 1) % probe
        _begin(view, radius, search.probing[0], probe)


@inlined
def _together(d, search, i, k):  # type: ignore[no-untyped-def]
    if search.ahead[i] < 0.0 or search.ahead[k] < 0.0:
        return False
    apart, size = 0.0, 0.0
    for a in range(d):
        apart = max(apart, abs(search.goals[i, a] - search.goals[k, a]))
        size = max(size, search.points[i, a])
    return apart <= TOGETHER * size


@inlined
def _give(view, k, i):  # type: ignore[no-untyped-def]
    """Copy what slot k has into slot i."""
    search, d = view.search, dimension(view.region)
    copy(search.directions[k], search.directions[i], d)
    copy(search.points[k], search.points[i], d)
    copy(search.gradients[k], search.gradients[i], d)
    copy(search.nexts[k], search.nexts[i], d)
    copy(search.goals[k], search.goals[i], d)
    search.heights[i] = search.heights[k]
    search.ahead[i] = search.ahead[k]
    search.curvatures[i] = search.curvatures[k]
    search.ages[i] = -1
    search.roots[i] = search.roots[k]


@inlined
def _merge(view, last):  # type: ignore[no-untyped-def]
    """Merge each start into an earlier one close to it, which keeps the higher of their points."""
    search, d = view.search, dimension(view.region)
    for k in range(1, last + 1):
        for i in range(k):
            if search.going[k] and search.going[i] and _together(d, search, i, k):
                if search.old[k] and search.old[i]:  # where one vanishes, another may appear
                    search.probing[2] = ALERT
                search.going[k] = search.kept[k] = False
                if search.heights[k] > search.heights[i]:
                    _give(view, k, i)
                search.heights[k] = -np.inf


@inlined
def _part(view):  # type: ignore[no-untyped-def]
    """Keep each maximum once, in its first slot."""
    search, d = view.search, dimension(view.region)
    for k in range(1, search.going.size - 1):
        for i in range(k):
            if search.kept[k] and search.kept[i] and _together(d, search, i, k):
                search.kept[k] = False


@inlined
def _judge_probe(view, gain, top):  # type: ignore[no-untyped-def]
    """Decide what becomes of the start being probed; return the slot of a new maximum, or -1."""
    search, d = view.search, dimension(view.region)
    probe = search.going.size - 1
    search.going[probe] = False
    search.probing[1] = 0
    ahead = search.ahead[probe]
    free = -1
    for k in range(probe):
        if not search.kept[k]:
            free = k
        elif _together(d, search, k, probe):
            return -1
    if not 0.0 <= ahead <= NEAR * abs(top):
        search.probing[1] = 1 if ahead >= 0.0 or gain > ENOUGH * abs(top) else 0
        return -1
    if free >= 0:
        _give(view, probe, free)
        search.kept[free] = search.going[free] = True
        search.old[free] = False
    return free


@inlined
def _climb(view, radius, fresh, tries):  # type: ignore[no-untyped-def]
    """Climb until nothing is left to gain; return the best slot, or -1 to begin anew.

    The probed starts take `tries` steps between them.
    """
    search = view.search
    probe = search.going.size - 1
    top, added = -np.inf, -1
    for turn in range(1000):
        moved = False
        for k in range(probe + 1):
            if not search.going[k]:
                continue
            looks = not fresh and turn == 0 and k < probe
            near = k < probe and 0.0 <= search.ahead[k] <= NEAR * abs(top)
            if (
                near
                and not fresh
                and not looks
                and search.heights[k] + 10.0 * search.ahead[k] < top
            ):
                search.going[k] = False
                continue
            enough = ENOUGH * abs(top) if turn > 0 and not fresh else 0.0
            gain = go(view, radius, k, not looks, enough)
            if k == probe:
                new = _judge_probe(view, gain, top)
                added = max(added, new)
                tries -= 1
                if tries > 0:
                    _probe(view, radius)
                moved = moved or new >= 0 or search.going[probe]
                continue
            ahead = search.ahead[k]
            top = max(top, search.heights[k])
            if ahead >= 0.0:
                reach = 10.0 * ahead if fresh or ahead <= NEAR * abs(top) else np.inf
            else:
                ahead, reach = gain, 100.0 * gain
            reachable = search.heights[k] + reach >= top
            search.going[k] = ahead > ENOUGH * abs(top) and reachable
            moved = moved or search.going[k]
        if not moved:
            break
        _merge(view, probe - 1)
    best = 0
    while search.heights[best] < top - EQUAL * abs(top):
        best += 1
    if not fresh and (best == added or search.ahead[best] < 0.0):
        return -1
    return best


@inlined
def optimistic_point(t, view, rng, x):  # type: ignore[no-untyped-def]
    """Choose as `Ellipsoidal.select` does."""
    radius = view.parameters[t - 1]
    search = view.search
    probe = search.going.size - 1
    fresh = view.told[0] > CALM or abs(radius - search.radius[0]) > CALM * radius
    kept = False
    for k in range(probe):
        kept = kept or search.kept[k]
    fresh = fresh or not kept
    search.radius[0] = radius
    search.probing[2] = max(search.probing[2] - 1, 0)
    best = -1
    while best < 0:
        if fresh:
            for k in range(probe):
                _begin(view, radius, k, k)
                search.kept[k] = search.old[k] = False
            search.going[probe] = False
            search.probing[1] = 0
            tries = 0
        else:
            search.due[0] += CALMLY + EAGER * view.told[0] + (MORE if search.probing[2] > 0 else 0)
            tries = int(search.due[0])
            search.due[0] -= tries
            _resume(view, radius, tries)
        best = _climb(view, radius, fresh, tries)
        if best < 0:
            search.probing[2] = ALERT
        if best >= 0 and fresh:
            for k in range(probe):
                # What cannot be followed from the top must be searched anew.
                follow = search.ahead[best] >= 0.0
                near = 0.0 <= search.ahead[k] <= NEAR * abs(search.heights[best])
                search.kept[k] = follow and near and search.heights[k] > -np.inf
        fresh = True
    _part(view)
    copy(search.points[best], x, dimension(view.region))


LOOPS = {"optimistic": loops("optimistic", optimistic, optimistic_point)}
