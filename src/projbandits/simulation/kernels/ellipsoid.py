"""Optimism in the compiled loops, as in `strategies.ellipsoid`.

The point of a convex set with the largest optimistic score is found as `arms.convex` finds it. From
each start we go to the support point x of a direction c, and on to the gradient g there. On
the entropy ball that map contracts slowly, and one Newton step on g(x(c)) = c is worth many of its
own. If Newton would not climb, by the curvature, or does not, we go on to g.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from projbandits.simulation.kernels.common import argmax, copy
from projbandits.simulation.kernels.loops import loops
from projbandits.simulation.kernels.support import entropy_root, support

ENOUGH = 1e-10
"""A start is done when its expected gain, relative to the height, is below this."""
TOGETHER = 1e-2
"""Starts that Newton would send this close together, relative to |x|, are merged."""


@njit(nogil=True, error_model="numpy", forceinline=True)
def optimistic(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `Ellipsoidal.select` does; the parameters are the radii of steps 1, 2, ..."""
    radius = view.parameters[t - 1]
    for j in range(view.scores.size):
        view.scratch[j] = view.scores[j] + radius * math.sqrt(view.squares[j])
    return argmax(view.scratch, view.lanes)


@njit(nogil=True, error_model="numpy", forceinline=True)
def _score(inverse, aim, radius, x, gradient):  # type: ignore[no-untyped-def]
    """Return the optimistic score of x and its width, and fill its gradient."""
    score, square = 0.0, 0.0
    for a in range(x.size):
        product = 0.0
        for b in range(x.size):
            product += inverse[a, b] * x[b]
        gradient[a] = product
        square += product * x[a]
        score += aim[a] * x[a]
    width = math.sqrt(max(square, 0.0))
    factor = radius / width if width > 0.0 else radius
    for a in range(x.size):
        gradient[a] = aim[a] + factor * gradient[a]
    return score + radius * width, width


@njit(nogil=True, error_model="numpy", forceinline=True)
def _newton(inverse, aim, radius, width, s, c, x, g, goal, matrix, rows):  # type: ignore[no-untyped-def]
    """Move c by Newton's step on g(x(c)) = c and return the gain it expects.

    On the entropy ball x'(c) = B B^T with B = sqrt(s) R (I - q q^T), where R is the diagonal
    matrix of sqrt(x) and q the unit vector along R c. With H the score's second derivative, the
    step is g - c + H B y, where (I - B^T H B) y = B^T (g - c). That matrix is positive definite
    where the score, as a function of c, is concave; elsewhere c becomes g and -1 is returned.
    """
    d = x.size
    root, q, b, h, y = rows[0], rows[1], rows[2], rows[3], rows[4]
    square = 0.0
    for a in range(d):
        root[a] = math.sqrt(x[a])
        q[a] = root[a] * c[a]
        square += q[a] * q[a]
    shrink = 1.0 / math.sqrt(square)
    spread = math.sqrt(s)
    along = 0.0
    for a in range(d):
        q[a] *= shrink
        root[a] *= spread
        b[a] = root[a] * (g[a] - c[a])
        along += q[a] * b[a]
    first, second = radius / width, 1.0 / (radius * width)
    total = 0.0
    for a in range(d):
        b[a] -= along * q[a]
        pull = 0.0
        for e in range(d):
            k = first * inverse[a, e] - second * (g[a] - aim[a]) * (g[e] - aim[e])
            matrix[a, e] = root[a] * k * root[e]
            pull += matrix[a, e] * q[e]
        h[a] = pull
        total += pull * q[a]
    # I - (I - q q^T) R H R (I - q q^T) as L D L^T, with L below the diagonal and D on it.
    for a in range(d):
        for e in range(a + 1):
            m = q[a] * h[e] + q[e] * h[a] - matrix[a, e] - total * q[a] * q[e]
            matrix[a, e] = m + 1.0 if a == e else m
    for e in range(d):
        pivot = matrix[e, e]
        if not pivot > 1e-4:
            copy(g, c)
            return -1.0
        inverted = 1.0 / pivot
        for a in range(e + 1, d):
            ratio = matrix[a, e] * inverted
            for k in range(e + 1, a + 1):
                matrix[a, k] -= ratio * matrix[k, e]
        for a in range(e + 1, d):
            matrix[a, e] *= inverted
    for a in range(d):
        value = b[a]
        for e in range(a):
            value -= matrix[a, e] * y[e]
        y[a] = value
    gain = 0.0
    for a in range(d):
        gain += y[a] * y[a] / matrix[a, a]
        y[a] /= matrix[a, a]
    for a in range(d - 1, -1, -1):
        value = y[a]
        for e in range(a + 1, d):
            value -= matrix[e, a] * y[e]
        y[a] = value
    total = 0.0
    for a in range(d):
        y[a] *= root[a]
        goal[a] = x[a] + y[a]
        total += (g[a] - aim[a]) * y[a]
    for a in range(d):
        value = 0.0
        for e in range(d):
            value += inverse[a, e] * y[e]
        c[a] = g[a] + first * value - second * total * (g[a] - aim[a])
    return 0.5 * gain


@njit(nogil=True, error_model="numpy", forceinline=True)
def _go(view, radius, k):  # type: ignore[no-untyped-def]
    """Go on from start k, and return the gain."""
    search, region = view.search, view.region
    c, x, g = search.directions[k], search.points[k], search.gradients[k]
    fresh = search.rows[0]
    before = search.heights[k]
    support(region, c, x, k)
    height, width = _score(view.inverse, view.aim, radius, x, fresh)
    if height < before and search.ahead[k] >= 0.0:
        copy(g, c)
        support(region, c, x, k)
        height, width = _score(view.inverse, view.aim, radius, x, fresh)
    copy(fresh, g)
    search.heights[k] = height
    s = entropy_root(region, c, k)
    if s > 0.0 and width > 0.0 and radius > 0.0:
        search.ahead[k] = _newton(
            view.inverse,
            view.aim,
            radius,
            width,
            s,
            c,
            x,
            g,
            search.goals[k],
            search.matrix,
            search.rows,
        )
    else:
        copy(g, c)
        search.ahead[k] = -1.0
    return height - before


@njit(nogil=True, error_model="numpy", forceinline=True)
def _together(search, i, k):  # type: ignore[no-untyped-def]
    if search.ahead[i] < 0.0 or search.ahead[k] < 0.0:
        return False
    apart, size = 0.0, 0.0
    for a in range(search.goals.shape[1]):
        apart = max(apart, abs(search.goals[i, a] - search.goals[k, a]))
        size = max(size, search.points[i, a])
    return apart <= TOGETHER * size


@njit(nogil=True, error_model="numpy", forceinline=True)
def _merge(search):  # type: ignore[no-untyped-def]
    """Merge each start into an earlier one close to it, which keeps the higher of their points."""
    for k in range(1, search.going.size):
        for i in range(k):
            if search.going[k] and search.going[i] and _together(search, i, k):
                search.going[k] = False
                if search.heights[k] > search.heights[i]:
                    copy(search.directions[k], search.directions[i])
                    copy(search.points[k], search.points[i])
                    copy(search.gradients[k], search.gradients[i])
                    copy(search.goals[k], search.goals[i])
                    search.heights[i] = search.heights[k]
                    search.ahead[i] = search.ahead[k]
                search.heights[k] = -np.inf


@njit(nogil=True, error_model="numpy", forceinline=True)
def optimistic_point(t, view, rng, x):  # type: ignore[no-untyped-def]
    """Choose as `Ellipsoidal.select` does."""
    radius = view.parameters[t - 1]
    search = view.search
    last = view.starts.shape[0]
    for k in range(last):
        height, width = _score(view.inverse, view.aim, radius, view.starts[k], search.directions[k])
        # From the origin we would go to the support point of aim, like the last start.
        search.going[k] = width > 0.0
        search.heights[k] = height if width > 0.0 else -np.inf
    copy(view.aim, search.directions[last])
    search.heights[last] = -np.inf
    search.going[last] = True
    search.ahead[:] = -1.0
    top = -np.inf
    for _ in range(1000):
        moved = False
        for k in range(last + 1):
            if search.going[k]:
                gain = _go(view, radius, k)
                top = max(top, search.heights[k])
                ahead = search.ahead[k]
                if ahead >= 0.0:
                    reach = 10.0 * ahead
                else:
                    ahead, reach = gain, 100.0 * gain
                reachable = search.heights[k] + reach >= top
                search.going[k] = ahead > ENOUGH * abs(top) and reachable
                moved = moved or search.going[k]
        if not moved:
            break
        _merge(search)
    best = 0
    while search.heights[best] < top - 1e-9 * abs(top):
        best += 1
    copy(search.points[best], x)


LOOPS = {"optimistic": loops("optimistic", optimistic, optimistic_point)}
