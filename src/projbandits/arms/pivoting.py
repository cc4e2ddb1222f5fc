"""Optimal bases of polytopes: the dual simplex method, and a walk over all bases.

A basis is d independent constraints; the point where they hold with equality is a corner. All of
this happens in coordinates z in which the bounding box is [-1, 1]^d, so tolerances mean the same
for every polytope.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._checks import Array
from projbandits._linalg import pivots

TURN = 1e-11
"""How far a direction is turned to break ties; far above round-off, far below what matters."""
RELAX = 1e-10
"""How far the inequalities are moved out, each differently, so that no corner lies on d + 1."""
OVER = 1e-12
"""A constraint that is exceeded by less than this holds."""
SLOPE = 1e-9
"""A constraint that falls less than this along a direction is parallel to it."""
GRID = 2.0**-40
"""Corners are rounded to multiples of this, so that their digits do not depend on the way there."""
WALK_ROOM = 1e6
"""How many numbers a walk over bases handles at a time."""

Indices = NDArray[np.int64]


class Scaled(NamedTuple):
    """A polytope {z : rows z <= limits}, in which the first rows are equalities.

    Parameters
    ----------
    middle, half : ndarray of shape (d,)
        The bounding box: x = middle + half z.
    rows, limits : ndarray of shape (m, d) and (m,)
        The constraints. Rows have length one.
    relaxed : ndarray of shape (m,)
        The limits, slightly larger for inequalities. A set without interior has one then, and each
        corner lies on exactly d constraints.
    equalities : int
        How many of the rows are equalities.
    source : ndarray of shape (m,)
        Which constraint each row was, of the equalities and inequalities in turn.
    turn : ndarray of shape (d,)
        By how much to turn a direction of size one.
    """

    middle: Array
    half: Array
    rows: Array
    limits: Array
    relaxed: Array
    equalities: int
    source: Indices
    turn: Array


def scaled(A_eq: Array, b_eq: Array, A: Array, b: Array, lower: Array, upper: Array) -> Scaled:
    """Return a bounded polytope in coordinates that make its bounding box a cube."""
    width, size = upper - lower, np.maximum(np.abs(lower), np.abs(upper))
    widest = max(width.max(), 0.0) or size.max() or 1.0
    # Along a flat side, the width is round-off and any scale will do.
    flat = (width <= 1e-9 * size) | (width <= 1e-10 * widest)
    middle, half = (lower + upper) / 2, np.where(flat, widest, width) / 2
    rows = np.vstack([A_eq, A]) * half
    lengths = np.linalg.norm(rows, axis=1)
    limits = np.concatenate([b_eq, b]) - np.vstack([A_eq, A]) @ middle
    source = np.flatnonzero(lengths > 0)
    unit, within = rows[source] / lengths[source, None], limits[source] / lengths[source]
    q = int((source < len(A_eq)).sum())
    keep = np.arange(q, len(source))
    if q:
        R, order = pivots(unit[:q])
        independent = np.abs(np.diag(R)) > 1e-9
        keep = np.concatenate([np.sort(order[: independent.sum()]), keep])
        q = int(independent.sum())
    rng = np.random.default_rng(0)  # any numbers without structure will do
    d, m = len(lower), len(keep)
    turn = TURN * rng.uniform(1.0, 2.0, d)
    relaxed = within[keep] + np.where(np.arange(m) < q, 0.0, RELAX * rng.uniform(1.0, 2.0, m))
    return Scaled(middle, half, unit[keep], within[keep], relaxed, q, source[keep], turn)


def turned(polytope: Scaled, directions: Array) -> Array:
    """Return directions in z, turned so that each has one optimal basis.

    Two corners may have equal scores at every step of a game: if U ignores a feature, those that
    differ only in that feature. Which of them wins must not be the luck of rounding.
    """
    largest = np.abs(directions).max(axis=1, keepdims=True)
    along = directions / np.where(largest > 0, largest, 1.0) * polytope.half
    return np.asarray(along + np.abs(along).max(axis=1, keepdims=True) * polytope.turn)


def optimal_basis(polytope: Scaled, direction: Array) -> Indices | None:
    """Return the basis that is optimal in a turned direction, sorted; None if round-off wins.

    The dual simplex method: begin at the corner of a larger box, which is optimal but infeasible.
    As long as a constraint is violated, let the worst one take the place of the one with the
    smallest ratio, which keeps the corner optimal.
    """
    q, (m, d) = polytope.equalities, polytope.rows.shape
    basis = np.arange(m, m + d)
    signs = np.where(direction < 0, -1.0, 1.0)
    B, limits, weights = np.diag(signs), np.full(d, 2.0), np.abs(direction)
    inverse = B.copy()
    for turn in range(1, 50 * (m + d)):
        z = inverse @ limits
        over = polytope.rows @ z - polytope.relaxed
        below = over[:q] < 0
        over[:q] = np.abs(over[:q])
        worst = int(over.argmax())
        if over[worst] <= OVER:
            return np.sort(basis) if basis.max() < m else None
        sign = -1.0 if worst < q and below[worst] else 1.0
        row = sign * polytope.rows[worst]
        shares = row @ inverse
        free = (shares > SLOPE) & (basis >= q)
        if not free.any():
            return None
        ratios = np.full(d, np.inf)
        ratios[free] = weights[free] / shares[free]
        out = int(ratios.argmin())
        weights -= ratios[out] * shares
        weights[out] = ratios[out]
        basis[out], B[out], limits[out] = worst, row, sign * polytope.relaxed[worst]
        if turn % 20 == 0:
            inverse = np.linalg.inv(B)
        else:
            column = inverse[:, out] / shares[out]
            inverse -= np.outer(column, shares)
            inverse[:, out] = column
    return None


def every_basis(polytope: Scaled, first: Indices, most: int) -> Indices | None:
    """Return all feasible bases, one per row, found from the first; None if more than `most`.

    From each basis, an edge leads along every inequality that may be dropped, up to the first
    constraint that stops it. The corners and edges of a polytope are connected.
    """
    q, (m, d) = polytope.equalities, polytope.rows.shape
    found = {tuple(first.tolist())}
    at_once = max(1, int(WALK_ROOM / (m * d)))
    waiting = [first]
    while waiting:
        bases, waiting = np.array(waiting[:at_once]), waiting[at_once:]
        inverses = np.linalg.inv(polytope.rows[bases])
        corners = np.einsum("kij,kj->ki", inverses, polytope.relaxed[bases])
        edges = -inverses[:, :, q:]
        slacks = np.maximum(polytope.relaxed[q:] - corners @ polytope.rows[q:].T, 0.0)
        slopes = polytope.rows[q:] @ edges
        rising = slopes > SLOPE * np.abs(edges).max(axis=1, keepdims=True)
        reach = np.where(rising, slacks[:, :, None] / np.where(rising, slopes, 1.0), np.inf)
        stops = q + reach.argmin(axis=1)
        for basis, into in zip(bases, stops, strict=True):
            for j, row in enumerate(into, start=q):
                neighbour = basis.copy()
                neighbour[j] = row
                neighbour.sort()
                key = tuple(neighbour.tolist())
                if key not in found:
                    found.add(key)
                    waiting.append(neighbour)
        if len(found) > most:
            return None
    return np.array(sorted(found))
