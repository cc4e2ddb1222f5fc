"""One start of the search for the most optimistic point of a convex set, and its next step.

A start goes from a direction c to the support point x of c, and on to the gradient g there. On the
entropy ball that map contracts slowly, and one Newton step on g(x(c)) = c is worth many of its own.
If Newton would not climb, by the curvature, or does not, it goes on to g.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.simulation.kernels.compiler import inlined
from projbandits.simulation.kernels.support import copy, dimension, entropy_root, support

LASTS = 8
"""For how many searches Newton's response to a gradient is used before it is computed anew."""


DIRECTIONS, POINTS, GRADIENTS, NEXTS, GOALS = range(5)
"""The layers of `Search.vectors`: a direction, its support point, and the gradient there; the
direction to try next, and where Newton expects the maximum."""
HEIGHTS, AHEAD, ROOTS, CURVATURES = range(4)
"""The rows of `Search.numbers`: the score of the point; the gain that Newton expects, negative if
it does not apply; on the entropy ball, s with x = exp(c s - 1), 0 if there is none; and a lower
bound on the curvature that Newton's step last saw, at most 1."""
AGES, GOING, KEPT, OLD = range(4)
"""The rows of `Search.marks`: for how many searches a response has been used, negative if there is
none; whether to go on in this search, whether the next search begins with this point, and whether
this one did."""
START, UNDER_WAY, ALERTED = range(3)
"""The entries of `Search.probing`: which start is being probed, whether it is under way, and for
how many searches to probe more eagerly."""
RADIUS, DUE = range(2)
"""The entries of `Search.carried`: the radius of the last search, and how many steps of the probed
starts are due."""
NEWTON = 5
"""The row of `Search.room` below which there is room for Newton's matrix."""


class Search(NamedTuple):
    """The starts, one per row, and room to work in; entries are named above.

    Parameters
    ----------
    vectors : ndarray of shape (5, m, d)
    numbers : ndarray of shape (4, m)
    marks : ndarray of int of shape (4, m)
    responses : ndarray of shape (m, d, d)
        How far Newton goes per unit of g - c, as it was when last computed.
    probing, carried : ndarray of shape (3,) and (2,)
    room : ndarray of shape (5 + d, d)
    """

    vectors: Array
    numbers: Array
    marks: NDArray[np.int64]
    responses: Array
    probing: NDArray[np.int64]
    carried: Array
    room: Array


def search_room(count: int, d: int) -> Search:
    """Return room for `count` starts."""
    marks = np.zeros((4, count), np.int64)
    marks[AGES] = -1
    vectors, responses = np.zeros((5, count, d)), np.zeros((count, d, d))
    rest = np.zeros(3, np.int64), np.zeros(2), np.zeros((NEWTON + d, d))
    return Search(vectors, np.zeros((4, count)), marks, responses, *rest)


@inlined
def score(d, inverse, aim, radius, x, gradient):
    """Return the optimistic score of x and its width, and fill its gradient."""
    height, square = 0.0, 0.0
    for a in range(d):
        product = 0.0
        for b in range(d):
            product += inverse[a, b] * x[b]
        gradient[a] = product
        square += product * x[a]
        height += aim[a] * x[a]
    width = math.sqrt(max(square, 0.0))
    factor = radius / width if width > 0.0 else radius
    for a in range(d):
        gradient[a] = aim[a] + factor * gradient[a]
    return height + radius * width, width


@inlined
def newton(d, inverse, aim, radius, width, s, c, x, g, goal, ahead, matrix, rows, response):
    """Fill `ahead` with Newton's step on g(x(c)) = c; return the gain it expects, and a curvature.

    On the entropy ball x'(c) = B B^T with B = sqrt(s) R (I - q q^T), where R is the diagonal
    matrix of sqrt(x) and q the unit vector along R c. With H the score's second derivative, the
    step is g - c + H B y, where (I - B^T H B) y = B^T (g - c). That matrix is positive definite
    where the score, as a function of c, is concave; elsewhere `ahead` becomes g and -1 is returned.
    Its eigenvalues are at most 1, so none is below their product, which is the curvature returned.
    """
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
    curvature = 1.0
    for e in range(d):
        pivot = matrix[e, e]
        if not pivot > 1e-4:
            copy(g, ahead, d)
            return -1.0, 0.0
        curvature *= min(pivot, 1.0)
        inverted = 1.0 / pivot
        for a in range(e + 1, d):
            ratio = matrix[a, e] * inverted
            for k in range(e + 1, a + 1):
                matrix[a, k] -= ratio * matrix[k, e]
        for a in range(e + 1, d):
            matrix[a, e] *= inverted
    for k in range(d + 1 if response.size > 0 else 1):
        # In the first round for y = M^-1 b, then for the columns of B M^-1 B^T.
        for a in range(d):
            value = b[a]
            if k > 0:
                value = root[k - 1] * ((1.0 if a == k - 1 else 0.0) - q[a] * q[k - 1])
            for e in range(a):
                value -= matrix[a, e] * y[e]
            y[a] = value
        if k == 0:
            gain = 0.0
            for a in range(d):
                gain += y[a] * y[a] / matrix[a, a]
        for a in range(d):
            y[a] /= matrix[a, a]
        for a in range(d - 1, -1, -1):
            value = y[a]
            for e in range(a + 1, d):
                value -= matrix[e, a] * y[e]
            y[a] = value
        for a in range(d):
            y[a] *= root[a]
            if k > 0:
                response[a, k - 1] = y[a]
        if k == 0:
            onward(d, inverse, aim, first, second, x, g, y, goal, ahead)
    return 0.5 * gain, curvature


@inlined
def onward(d, inverse, aim, first, second, x, g, y, goal, ahead):
    """Fill the goal x + y, and `ahead` with the gradient to be expected there, g + H y."""
    total = 0.0
    for a in range(d):
        goal[a] = x[a] + y[a]
        total += (g[a] - aim[a]) * y[a]
    for a in range(d):
        value = 0.0
        for e in range(d):
            value += inverse[a, e] * y[e]
        ahead[a] = g[a] + first * value - second * total * (g[a] - aim[a])


@inlined
def chord(d, c, g, response, y):
    """Fill y with Newton's step by an earlier response; return the gain it expects."""
    gain = 0.0
    for a in range(d):
        value = 0.0
        for e in range(d):
            value += response[a, e] * (g[e] - c[e])
        y[a] = value
        gain += value * (g[a] - c[a])
    return 0.5 * gain


@inlined
def left(d, s, c, x, g):
    """Return |B^T (g - c)|^2 / 2; divided by the least curvature, it bounds what Newton expects."""
    whole, across, along = 0.0, 0.0, 0.0
    for a in range(d):
        off = g[a] - c[a]
        whole += x[a] * off * off
        across += x[a] * c[a] * off
        along += x[a] * c[a] * c[a]
    return 0.5 * s * max(whole - across * across / along, 0.0)


@inlined
def go(state, radius, k, moves, enough):
    """Take the next step of start k, or only look around from where it is; return the gain.

    If what is left to gain is surely below `enough`, Newton's step is not computed.
    """
    search, region, d = state.search, state.region, dimension(state.region)
    numbers, vectors, marks = search.numbers, search.vectors, search.marks
    c, x, g = vectors[DIRECTIONS, k], vectors[POINTS, k], vectors[GRADIENTS, k]
    fresh, inverse = search.room[0], state.linear.inverse
    before = numbers[HEIGHTS, k]
    if moves:
        copy(vectors[NEXTS, k], c, d)
    while True:
        if moves:
            support(region, c, x, k)
        height, width = score(d, inverse, state.aim, radius, x, fresh)
        if not (moves and height < before and numbers[AHEAD, k] >= 0.0):
            break
        copy(g, c, d)
        numbers[AHEAD, k] = -1.0
        numbers[CURVATURES, k] = 0.0
    copy(fresh, g, d)
    numbers[HEIGHTS, k] = height
    if moves:
        numbers[ROOTS, k] = entropy_root(region, c, k)
    s = numbers[ROOTS, k]
    if not (s > 0.0 and width > 0.0 and radius > 0.0):
        copy(g, vectors[NEXTS, k], d)
        numbers[AHEAD, k], numbers[CURVATURES, k] = -1.0, 0.0
        return height - before
    if moves and left(d, s, c, x, g) < enough * numbers[CURVATURES, k]:
        copy(x, vectors[GOALS, k], d)
        numbers[AHEAD, k] = 0.0
        return height - before
    if not moves and 0 <= marks[AGES, k] < LASTS:
        marks[AGES, k] += 1
        y, goal = search.room[4], vectors[GOALS, k]
        numbers[AHEAD, k] = chord(d, c, g, search.responses[k], y)
        first, second = radius / width, 1.0 / (radius * width)
        onward(d, inverse, state.aim, first, second, x, g, y, goal, vectors[NEXTS, k])
        return height - before
    marks[AGES, k] = -1 if moves else 0
    numbers[AHEAD, k], numbers[CURVATURES, k] = newton(
        d,
        inverse,
        state.aim,
        radius,
        width,
        s,
        c,
        x,
        g,
        vectors[GOALS, k],
        vectors[NEXTS, k],
        search.room[NEWTON:],
        search.room,
        search.responses[0 if moves else k, : 0 if moves else d],
    )
    return height - before
