"""Optimism in the compiled loops, as in `strategies.ellipsoid`.

The point of a convex set with the largest optimistic score is found as `arms.convex` finds it, by
climbing from several starts; `ascent` has the steps. On the entropy ball the maxima move little
from one search to the next, so a search follows those of the last one, and probes the starts for
new ones, one step at a time. If anything is unusual, it begins anew from all starts.
"""

from __future__ import annotations

import math

import numpy as np

from projbandits.simulation.kernels.compiler import inlined, kernel, lent, part
from projbandits.simulation.kernels.convex import play_point
from projbandits.simulation.kernels.linear import (
    SCORES,
    SQUARES,
    WIDE,
    WORK,
    first_largest,
    stopped,
)
from projbandits.simulation.kernels.offers import offer, take
from projbandits.simulation.kernels.search import (
    AGES,
    AHEAD,
    ALERTED,
    CURVATURES,
    DUE,
    GOALS,
    GOING,
    HEIGHTS,
    KEPT,
    NEXTS,
    OLD,
    POINTS,
    RADIUS,
    START,
    UNDER_WAY,
    go,
    score,
)
from projbandits.simulation.kernels.step import step
from projbandits.simulation.kernels.support import copy, dimension

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
def optimistic(t, state):
    """Choose as `Ellipsoidal.select` does; the parameters are the radii of steps 1, 2, ..."""
    scores, squares, indices = state.arms[SCORES], state.arms[SQUARES], state.arms[WORK]
    radius = state.parameters[t - 1]
    for j in range(indices.size):
        indices[j] = scores[j] + radius * math.sqrt(squares[j])
    return first_largest(indices)


@part
def begin_at(state, radius, k, slot):
    """Put start k into a slot: a support point along an axis or, after those, that of the aim."""
    numbers, marks, vectors = state.search.numbers, state.search.marks, state.search.vectors
    d = dimension(state.region)
    numbers[HEIGHTS, slot], numbers[AHEAD, slot], numbers[CURVATURES, slot] = -np.inf, -1.0, 0.0
    marks[GOING, slot] = True
    if k == state.starts.shape[0]:
        copy(state.aim, vectors[NEXTS, slot], d)
        return
    height, width = score(
        d, state.linear.inverse, state.aim, radius, state.starts[k], vectors[NEXTS, slot]
    )
    # From the origin we would go to the support point of aim, like the last start.
    marks[GOING, slot] = width > 0.0
    if width > 0.0:
        numbers[HEIGHTS, slot] = height


@inlined
def resume(state, radius, tries):
    """Begin with the points that were kept and, in the last slot, with the start being probed."""
    numbers, marks = state.search.numbers, state.search.marks
    probe = state.starts.shape[0] + 1
    for k in range(probe):
        marks[GOING, k] = marks[OLD, k] = marks[KEPT, k]
        if not marks[KEPT, k]:
            numbers[HEIGHTS, k] = -np.inf
    marks[GOING, probe] = False
    if tries > 0:
        probe_on(state, radius)


@inlined
def probe_on(state, radius):
    """Go on with the start being probed, or begin with the next."""
    marks, probing = state.search.marks, state.search.probing
    probe = state.starts.shape[0] + 1
    marks[GOING, probe] = True
    if probing[UNDER_WAY] == 0:
        probing[START] = (probing[START] + 1) % probe
        begin_at(state, radius, probing[START], probe)


@inlined
def together(d, search, i, k):
    """Return whether Newton would send two starts close together."""
    if search.numbers[AHEAD, i] < 0.0 or search.numbers[AHEAD, k] < 0.0:
        return False
    apart, size = 0.0, 0.0
    for a in range(d):
        apart = max(apart, abs(search.vectors[GOALS, i, a] - search.vectors[GOALS, k, a]))
        size = max(size, search.vectors[POINTS, i, a])
    return apart <= TOGETHER * size


@part
def give(state, k, i):
    """Copy what slot k has into slot i."""
    search, d = state.search, dimension(state.region)
    for layer in range(search.vectors.shape[0]):
        copy(search.vectors[layer, k], search.vectors[layer, i], d)
    for row in range(search.numbers.shape[0]):
        search.numbers[row, i] = search.numbers[row, k]
    search.marks[AGES, i] = -1


@part
def merge(state, last):
    """Merge each start into an earlier one close to it, which keeps the higher of their points."""
    numbers, marks = state.search.numbers, state.search.marks
    search, d = state.search, dimension(state.region)
    for k in range(1, last + 1):
        for i in range(k):
            if marks[GOING, k] and marks[GOING, i] and together(d, search, i, k):
                if marks[OLD, k] and marks[OLD, i]:  # where one vanishes, another may appear
                    search.probing[ALERTED] = ALERT
                marks[GOING, k] = marks[KEPT, k] = False
                if numbers[HEIGHTS, k] > numbers[HEIGHTS, i]:
                    give(state, k, i)
                numbers[HEIGHTS, k] = -np.inf


@part
def keep_apart(state):
    """Keep each maximum once, in its first slot."""
    marks = state.search.marks
    search, d = state.search, dimension(state.region)
    for k in range(1, marks.shape[1] - 1):
        for i in range(k):
            if marks[KEPT, k] and marks[KEPT, i] and together(d, search, i, k):
                marks[KEPT, k] = False


@part
def judge_probe(state, gain, top):
    """Decide what becomes of the start being probed; return the slot of a new maximum, or -1."""
    numbers, marks, probing = state.search.numbers, state.search.marks, state.search.probing
    search, d = state.search, dimension(state.region)
    probe = marks.shape[1] - 1
    marks[GOING, probe] = False
    probing[UNDER_WAY] = 0
    ahead = numbers[AHEAD, probe]
    free = -1
    for k in range(probe):
        if not marks[KEPT, k]:
            free = k
        elif together(d, search, k, probe):
            return -1
    if not 0.0 <= ahead <= NEAR * abs(top):
        probing[UNDER_WAY] = 1 if ahead >= 0.0 or gain > ENOUGH * abs(top) else 0
        return -1
    if free >= 0:
        give(state, probe, free)
        marks[KEPT, free] = marks[GOING, free] = True
        marks[OLD, free] = False
    return free


@inlined
def climb(state, radius, fresh, tries):
    """Climb until nothing is left to gain; return the best slot, or -1 to begin anew.

    The probed starts take `tries` steps between them.
    """
    numbers, marks = state.search.numbers, state.search.marks
    probe = marks.shape[1] - 1
    top, added = -np.inf, -1
    for turn in range(1000):
        moved = False
        for k in range(probe + 1):
            if not marks[GOING, k]:
                continue
            looks = not fresh and turn == 0 and k < probe
            near = k < probe and 0.0 <= numbers[AHEAD, k] <= NEAR * abs(top)
            if (
                near
                and not fresh
                and not looks
                and numbers[HEIGHTS, k] + 10.0 * numbers[AHEAD, k] < top
            ):
                marks[GOING, k] = False
                continue
            enough = ENOUGH * abs(top) if turn > 0 and not fresh else 0.0
            gain = go(state, radius, k, not looks, enough)
            if k == probe:
                new = judge_probe(state, gain, top)
                added = max(added, new)
                tries -= 1
                if tries > 0:
                    probe_on(state, radius)
                moved = moved or new >= 0 or marks[GOING, probe]
                continue
            ahead = numbers[AHEAD, k]
            top = max(top, numbers[HEIGHTS, k])
            if ahead >= 0.0:
                reach = 10.0 * ahead if fresh or ahead <= NEAR * abs(top) else np.inf
            else:
                ahead, reach = gain, 100.0 * gain
            reachable = numbers[HEIGHTS, k] + reach >= top
            marks[GOING, k] = ahead > ENOUGH * abs(top) and reachable
            moved = moved or marks[GOING, k]
        if not moved:
            break
        merge(state, probe - 1)
    best = 0
    while numbers[HEIGHTS, best] < top - EQUAL * abs(top):
        best += 1
    if not fresh and (best == added or numbers[AHEAD, best] < 0.0):
        return -1
    return best


@inlined
def optimistic_point(t, state):
    """Choose as `Ellipsoidal.select` does."""
    numbers, marks, probing, carried = (
        state.search.numbers,
        state.search.marks,
        state.search.probing,
        state.search.carried,
    )
    radius = state.linear.parameters[t - 1]
    probe = marks.shape[1] - 1
    fresh = state.width[0] > CALM or abs(radius - carried[RADIUS]) > CALM * radius
    kept = False
    for k in range(probe):
        kept = kept or marks[KEPT, k]
    fresh = fresh or not kept
    carried[RADIUS] = radius
    probing[ALERTED] = max(probing[ALERTED] - 1, 0)
    best = -1
    while best < 0:
        if fresh:
            for k in range(probe):
                begin_at(state, radius, k, k)
                marks[KEPT, k] = marks[OLD, k] = False
            marks[GOING, probe] = False
            probing[UNDER_WAY] = 0
            tries = 0
        else:
            carried[DUE] += CALMLY + EAGER * state.width[0] + (MORE if probing[ALERTED] > 0 else 0)
            tries = int(carried[DUE])
            carried[DUE] -= tries
            resume(state, radius, tries)
        best = climb(state, radius, fresh, tries)
        if best < 0:
            probing[ALERTED] = ALERT
        if best >= 0 and fresh:
            for k in range(probe):
                # What cannot be followed from the top must be searched anew.
                follow = numbers[AHEAD, best] >= 0.0
                near = 0.0 <= numbers[AHEAD, k] <= NEAR * abs(numbers[HEIGHTS, best])
                marks[KEPT, k] = follow and near and numbers[HEIGHTS, k] > -np.inf
        fresh = True
    keep_apart(state)
    copy(state.search.vectors[POINTS, best], state.x, dimension(state.region))


@kernel
def steps(state, world, tally, noise_rng, rng, first, last, stop):
    """Play some steps among arms that never change."""
    state, world, tally = lent(state), lent(world), lent(tally)
    for t in range(first, last + 1):
        if stopped(t, stop):
            break
        step(t, optimistic(t, state), WIDE, state, world, tally, noise_rng)


@kernel
def offer_steps(state, shown, items, tally, offer_rng, noise_rng, rng, horizon, stop):
    """Play a trial where the arms change."""
    state, shown, items, tally = lent(state), lent(shown), lent(items), lent(tally)
    for t in range(1, horizon + 1):
        if stopped(t, stop):
            break
        offer(WIDE, state, shown, items, offer_rng)
        take(t, optimistic(t, state), state, shown, items, tally, offer_rng, noise_rng)


@kernel
def convex_steps(state, world, tally, noise_rng, rng, horizon, stop):
    """Play a trial on a convex set."""
    state, world, tally = lent(state), lent(world), lent(tally)
    for t in range(1, horizon + 1):
        if stopped(t, stop):
            break
        optimistic_point(t, state)
        play_point(t, state, world, tally, noise_rng)
