"""Support points of the convex sets, as `arms` computes them, one direction at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import lambertw

from projbandits._validation import Array
from projbandits.arms import Ball, Box, ConvexSet, Ellipsoid, EntropyBall, Polytope
from projbandits.simulation.kernels.common import copy, inlined

ENTROPY, BALL, ELLIPSOID, BOX, VERTICES = 0, 1, 2, 3, 4


class Region(NamedTuple):
    """A convex set as plain arrays; which of them are used depends on the kind.

    Parameters
    ----------
    kind : int
        ENTROPY, BALL, ELLIPSOID, BOX or VERTICES (of a polytope).
    size : float
        The entropy ball's bound or the ball's radius.
    center : ndarray of shape (d,)
        The centre, or the box's lower bounds.
    lengths : ndarray of shape (d,)
        The ellipsoid's half-axes, the box's upper bounds, or half of a polytope's bounding box.
    axes : ndarray of shape (d, d)
        The directions of the ellipsoid's axes, one per column. VERTICES: scaled, one per column.
    most : float
        The largest possible root on the entropy ball.
    tie : ndarray of shape (d,)
        The point for direction 0.
    roots : ndarray of shape (m,)
        The root of the last support point in each slot, where the next search starts.
        VERTICES: room for their scores.
    room : ndarray of shape (2, d)
        Room to work in; of a polytope, the second row says how it breaks ties.
    fixed : tuple
        As long as d for an entropy ball whose kernel is compiled for its d alone; empty otherwise.

    Notes
    -----
    Each further array would take longer to compile, for all sets.
    """

    kind: int
    size: float
    center: Array
    lengths: Array
    axes: Array
    most: float
    tie: Array
    roots: Array
    room: Array
    fixed: tuple[int, ...] = ()


def _plain(arms: ConvexSet, kind: int, **parts: Any) -> Region:
    d = arms.d
    none = np.zeros(d)
    empty: dict[str, Any] = {
        "size": 0.0,
        "center": none,
        "lengths": none,
        "axes": np.zeros((d, d)),
        "most": 0.0,
        "tie": np.array(arms.tie),
        "roots": np.zeros(len(arms.spanning_points) + 2),
        "room": np.empty((2, d)),
    }
    return Region(kind, **{**empty, **parts})


def _entropy_region(arms: EntropyBall) -> Region:
    most = 1.0 + lambertw(arms.bound + (arms.d - 1) / math.e).real
    roots = np.full(len(arms.spanning_points) + 2, most)
    return _plain(arms, ENTROPY, size=arms.bound, most=most, roots=roots)


def _polytope_region(arms: Polytope) -> Region:
    inside, corners = arms.scaled, arms.vertices
    assert corners is not None  # see `compiled.why_not_here`
    places = (corners - inside.middle) / inside.half
    return _plain(
        arms,
        VERTICES,
        center=inside.middle,
        lengths=inside.half,
        axes=places.T.copy(),
        roots=np.empty(len(corners)),
        room=np.vstack([np.zeros(arms.d), inside.turn]),
    )


REGIONS: dict[type, Callable[[Any], Region]] = {
    EntropyBall: _entropy_region,
    Ball: lambda arms: _plain(arms, BALL, size=arms.radius, center=arms.center),
    Ellipsoid: lambda arms: _plain(
        arms,
        ELLIPSOID,
        center=arms.center,
        lengths=arms.lengths,
        axes=np.array(arms.axes, order="C"),
    ),
    Box: lambda arms: _plain(arms, BOX, center=arms.lower, lengths=arms.upper),
    Polytope: _polytope_region,
}
"""How each convex set becomes a region; a set that is not here has no compiled support points."""


@inlined
def dimension(region):  # type: ignore[no-untyped-def]
    """Return d, a constant if it is fixed: short loops are then unrolled, and run twice as fast."""
    return len(region.fixed) or region.tie.size


@inlined
def support(region, c, x, slot=0):  # type: ignore[no-untyped-def]
    """Fill x with the support point in direction c; calls in one slot have similar directions."""
    d = dimension(region)
    if _nowhere(d, c):
        copy(region.tie, x, d)
    elif len(region.fixed) > 0 or region.kind == ENTROPY:
        _entropy(region, c, x, slot)
    elif region.kind == BALL:
        _unit(c, x)
        for a in range(c.size):
            x[a] = region.center[a] + region.size * x[a]
    elif region.kind == ELLIPSOID:
        _ellipsoid(region, c, x)
    elif region.kind == VERTICES:
        _best_vertex(region, c, x)
    else:
        for a in range(c.size):
            low, high = region.center[a], region.lengths[a]
            x[a] = high if c[a] > 0 else (low if c[a] < 0 else (low + high) / 2)


@inlined
def _nowhere(d, c):  # type: ignore[no-untyped-def]
    moves = 0
    for a in range(d):
        moves += c[a] != 0.0
    return moves == 0


@inlined
def _unit(c, x):  # type: ignore[no-untyped-def]
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
def _ellipsoid(region, c, x):  # type: ignore[no-untyped-def]
    d = c.size
    along, unit = region.room[0], region.room[1]
    for b in range(d):
        total = 0.0
        for a in range(d):
            total += c[a] * region.axes[a, b]
        along[b] = total * region.lengths[b]
    _unit(along, unit)
    for a in range(d):
        x[a] = region.center[a]
        for b in range(d):
            x[a] += region.axes[a, b] * (unit[b] * region.lengths[b])


@inlined
def _best_vertex(region, c, x):  # type: ignore[no-untyped-def]
    """Fill x with the best vertex along a direction, turned as `arms.polytope` does it."""
    middle, half, places_T, scores = region.center, region.lengths, region.axes, region.roots
    along, turn, largest, size = region.room[0], region.room[1], 0.0, 0.0
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
def _entropy(region, c, x, slot):  # type: ignore[no-untyped-def]
    """Fill x = exp(c s - 1) at the root s of sum exp(c s - 1) (c s - 1) = bound."""
    d = dimension(region)
    bound, scaled = region.size, region.room[0]
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
def entropy_root(region, c, slot):  # type: ignore[no-untyped-def]
    """Return s with x = exp(c s - 1) for the last support point in a slot, 0 if there is none."""
    largest = 0.0
    if len(region.fixed) > 0 or region.kind == ENTROPY:
        for a in range(dimension(region)):
            largest = max(largest, c[a])
    return region.roots[slot] / largest if largest > 0.0 else 0.0
