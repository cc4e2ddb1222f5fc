"""Support points of the convex sets, as `arms` computes them, one direction at a time."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from projbandits._checks import Array

ENTROPY, BALL, ELLIPSOID, BOX = 0, 1, 2, 3


class Region(NamedTuple):
    """A convex set as plain arrays; which of them mean something depends on the kind.

    Parameters
    ----------
    kind : int
        ENTROPY, BALL, ELLIPSOID or BOX.
    size : float
        The entropy ball's bound, or the ball's radius.
    center : ndarray of shape (d,)
        The centre, or the box's lower bounds.
    lengths : ndarray of shape (d,)
        The ellipsoid's half-axes, or the box's upper bounds.
    axes : ndarray of shape (d, d)
        The directions of the ellipsoid's axes, one a column.
    warm : ndarray of shape (2,)
        For the entropy ball: the root of its last support point, where Newton starts next, and
        the largest root there can be.
    """

    kind: int
    size: float
    center: Array
    lengths: Array
    axes: Array
    warm: Array


@njit(nogil=True)
def support(region, c, x):  # type: ignore[no-untyped-def]
    """Fill x with the support point in direction c."""
    if region.kind == ENTROPY:
        _entropy(region.size, region.warm, c, x)
    elif region.kind == BALL:
        _unit(c, x)
        for a in range(c.size):
            x[a] = region.center[a] + region.size * x[a]
    elif region.kind == ELLIPSOID:
        _ellipsoid(region, c, x)
    else:
        for a in range(c.size):
            low, high = region.center[a], region.lengths[a]
            x[a] = high if c[a] > 0 else (low if c[a] < 0 else (low + high) / 2)


@njit(nogil=True)
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


@njit(nogil=True)
def _ellipsoid(region, c, x):  # type: ignore[no-untyped-def]
    d = c.size
    along = np.zeros(d)
    for a in range(d):
        for b in range(d):
            along[b] += c[a] * region.axes[a, b]
    for b in range(d):
        along[b] *= region.lengths[b]
    unit = np.empty(d)
    _unit(along, unit)
    for a in range(d):
        x[a] = region.center[a]
        for b in range(d):
            x[a] += region.axes[a, b] * (unit[b] * region.lengths[b])


@njit(nogil=True)
def _entropy(bound, warm, c, x):  # type: ignore[no-untyped-def]
    """Fill x = exp(c s - 1) at the root s of sum exp(c s - 1) (c s - 1) = bound."""
    d = c.size
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
    low, high, s = 0.0, np.inf, 1.0
    if largest > 0.0:
        s, high = warm
    for _ in range(200):
        excess, slope = -bound, 0.0
        for a in range(d):
            u = max((c[a] / scale) * s - 1.0, -800.0)
            e = math.exp(u)
            excess += e * u
            slope += e * (c[a] / scale) * (c[a] / scale)
        if excess > 0.0:
            high = s
        else:
            low = s
        step = excess / (s * slope)
        newton = s - step
        if low <= newton <= high:
            s = newton
        elif high < np.inf:
            s = (low + high) / 2.0
        else:
            s = 2.0 * low
        if abs(step) <= 1e-9 * s:
            break
    if largest > 0.0:
        warm[0] = s
    for a in range(d):
        x[a] = math.exp(max((c[a] / scale) * s - 1.0, -800.0))
