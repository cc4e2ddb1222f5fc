"""Support points of the convex sets, as `arms` computes them, one direction at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import lambertw

from projbandits._validation import Array
from projbandits.arms import Ball, Box, ConvexSet, Ellipsoid, EntropyBall, Polytope
from projbandits.simulation.kernels.compiler import inlined

ENTROPY, BALL, ELLIPSOID, BOX, VERTICES = 0, 1, 2, 3, 4


CENTER, LENGTHS, TIES, ALONG, UNIT = range(5)
"""The rows of `Region.rows`: the centre, or the box's lower bounds; the ellipsoid's half-axes, the
box's upper bounds, or half of a polytope's bounding box; the point for direction 0; and room. Of a
polytope, `UNIT` says how it breaks ties."""


class Region(NamedTuple):
    """A convex set as plain arrays; which of them are used depends on the kind.

    Parameters
    ----------
    kind : int
        ENTROPY, BALL, ELLIPSOID, BOX or VERTICES (of a polytope).
    size, most : float
        The entropy ball's bound or the ball's radius, and the largest root on the entropy ball.
    rows : ndarray of shape (5, d)
        Named above.
    axes : ndarray of shape (d, m)
        The ellipsoid's axes, or a polytope's vertices, scaled, one per column.
    roots : ndarray
        The root of the last support point in each slot, where the next search starts; of a
        polytope, room for the scores of its vertices.
    fixed : tuple
        As long as d for an entropy ball whose kernel is compiled for its d alone; empty otherwise.
    """

    kind: int
    size: float
    most: float
    rows: Array
    axes: Array
    roots: Array
    fixed: tuple[int, ...] = ()


def _plain(
    arms: ConvexSet,
    kind: int,
    size: float = 0.0,
    rows: Any = (),
    axes: Any = None,
    most: float = 0.0,
    roots: Array | None = None,
) -> Region:
    room = np.zeros((5, arms.d))
    room[TIES] = arms.tie
    for row, values in zip((CENTER, LENGTHS, UNIT), rows, strict=False):
        room[row] = values
    axes = np.zeros((arms.d, arms.d)) if axes is None else np.array(axes, order="C")
    roots = np.full(len(arms.spanning_points) + 2, most) if roots is None else roots
    return Region(kind, size, most, room, axes, roots)


def _entropy_region(arms: EntropyBall) -> Region:
    most = 1.0 + lambertw(arms.bound + (arms.d - 1) / math.e).real
    return _plain(arms, ENTROPY, float(arms.bound), most=float(most))


def _polytope_region(arms: Polytope) -> Region:
    inside, corners = arms.scaled, arms.vertices
    assert corners is not None  # see `compiled.why_not_here`
    places = (corners - inside.middle) / inside.half
    rows = inside.middle, inside.half, inside.turn
    return _plain(arms, VERTICES, rows=rows, axes=places.T, roots=np.empty(len(corners)))


REGIONS: dict[type, Callable[[Any], Region]] = {
    EntropyBall: _entropy_region,
    Ball: lambda arms: _plain(arms, BALL, float(arms.radius), (arms.center,)),
    Ellipsoid: lambda arms: _plain(
        arms, ELLIPSOID, rows=(arms.center, arms.lengths), axes=arms.axes
    ),
    Box: lambda arms: _plain(arms, BOX, rows=(arms.lower, arms.upper)),
    Polytope: _polytope_region,
}
"""How each convex set becomes a region; a set that is not here has no compiled support points."""


@inlined
def copy(source, target, n=0):
    """Copy n entries, or all of them; assigning to a slice would make a temporary array."""
    for a in range(n or source.size):
        target[a] = source[a]


@inlined
def dimension(region):
    """Return d, a constant if it is fixed: short loops are then unrolled, and run twice as fast."""
    return len(region.fixed) or region.rows.shape[1]


@inlined
def support(region, c, x, slot=0):
    """Fill x with the support point in direction c; calls in one slot have similar directions."""
    d = dimension(region)
    if _nowhere(d, c):
        copy(region.rows[TIES], x, d)
    elif len(region.fixed) > 0 or region.kind == ENTROPY:
        _entropy(region, c, x, slot)
    elif region.kind == BALL:
        _unit(c, x)
        for a in range(c.size):
            x[a] = region.rows[CENTER, a] + region.size * x[a]
    elif region.kind == ELLIPSOID:
        _ellipsoid(region, c, x)
    elif region.kind == VERTICES:
        _best_vertex(region, c, x)
    else:
        for a in range(c.size):
            low, high = region.rows[CENTER, a], region.rows[LENGTHS, a]
            x[a] = high if c[a] > 0 else (low if c[a] < 0 else (low + high) / 2)


@inlined
def _nowhere(d, c):
    moves = 0
    for a in range(d):
        moves += c[a] != 0.0
    return moves == 0


@inlined
def _unit(c, x):
    largest = 0.0
    for a in range(c.size):
        largest = max(largest, abs(c[a]))
    if largest == 0.0:
        x[:] = 0.0
        return
    square = 0.0
    for a in range(c.size):
        x[a] = c[a] / largest
        square += x[a] * x[a]
    length = math.sqrt(square)
    for a in range(c.size):
        x[a] /= length


@inlined
def _ellipsoid(region, c, x):
    d = c.size
    along, unit = region.rows[ALONG], region.rows[UNIT]
    for b in range(d):
        total = 0.0
        for a in range(d):
            total += c[a] * region.axes[a, b]
        along[b] = total * region.rows[LENGTHS, b]
    _unit(along, unit)
    for a in range(d):
        x[a] = region.rows[CENTER, a]
        for b in range(d):
            x[a] += region.axes[a, b] * (unit[b] * region.rows[LENGTHS, b])


@inlined
def _best_vertex(region, c, x):
    """Fill x with the best vertex along a direction, turned as `arms.polytope` does it."""
    middle, half = region.rows[CENTER], region.rows[LENGTHS]
    places_T, scores = region.axes, region.roots
    along, turn, largest, size = region.rows[ALONG], region.rows[UNIT], 0.0, 0.0
    for a in range(c.size):
        largest = max(largest, abs(c[a]))
    for a in range(c.size):
        along[a] = c[a] / largest * half[a]
        size = max(size, abs(along[a]))
    for k in range(scores.size):
        scores[k] = 0.0
    for a in range(c.size):
        share = along[a] + size * turn[a]
        for k in range(scores.size):
            scores[k] += share * places_T[a, k]
    best = 0
    for k in range(1, scores.size):
        if scores[k] > scores[best]:
            best = k
    for a in range(c.size):
        x[a] = middle[a] + half[a] * places_T[a, best]


@inlined
def _entropy(region, c, x, slot):
    """Fill x = exp(c s - 1) at the root s of sum exp(c s - 1) (c s - 1) = bound."""
    d = dimension(region)
    bound, scaled = region.size, region.rows[ALONG]
    largest, nearest, zeros = -np.inf, -np.inf, 0
    for a in range(d):
        largest = max(largest, c[a])
        if c[a] < 0.0:
            nearest = max(nearest, c[a])
        elif c[a] == 0.0:
            zeros += 1
    if largest <= 0.0 and bound >= -zeros / math.e:
        for a in range(d):
            x[a] = math.exp(-1.0) if c[a] == 0.0 and bound < 0.0 else 0.0
        return
    scale = largest if largest > 0.0 else -nearest
    for a in range(d):
        scaled[a] = max(c[a] / scale, -1e100)  # its cube is still finite
    low, high, s = 0.0, np.inf, 1.0
    if largest > 0.0:
        s, high = region.roots[slot], region.most
    change = 0.0
    for _ in range(200):
        excess, slope, bend = -bound, 0.0, 0.0
        for a in range(d):
            k = scaled[a]
            u = max(k * s - 1.0, -800.0)
            x[a] = math.exp(u)
            excess += x[a] * u
            slope += x[a] * k * k
            bend += x[a] * k * k * k
        if excess > 0.0:
            high = s
        else:
            low = s
        # Halley's step: Newton's, corrected by how the slope s * slope changes on the way.
        newton = -excess / (s * slope)
        turn = 0.5 * newton * (1.0 / s + bend / slope)
        change = newton / (1.0 + turn) if abs(turn) < 0.5 else newton
        if low <= s + change <= high:
            s += change
            # Halley's error is the cube of its step: after one this small it is 1e-11.
            if abs(change) <= 2e-4 * s:
                break
            continue
        s = (low + high) / 2.0 if high < np.inf else 2.0 * low
    if largest > 0.0:
        region.roots[slot] = s
    for a in range(d):
        # exp at the new root by its series from exp at the last s: the change is small enough.
        y = scaled[a] * change
        x[a] *= 1.0 + y * (1.0 + y * (0.5 + y / 6.0))


@inlined
def entropy_root(region, c, slot):
    """Return s with x = exp(c s - 1) for the last support point in a slot, 0 if there is none."""
    largest = 0.0
    if len(region.fixed) > 0 or region.kind == ENTROPY:
        for a in range(dimension(region)):
            largest = max(largest, c[a])
    return region.roots[slot] / largest if largest > 0.0 else 0.0
