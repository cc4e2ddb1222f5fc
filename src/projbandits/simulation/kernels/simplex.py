"""Support points of polytopes: the best of few vertices, or the simplex method from the last one.

Directions are turned as `arms.pivoting.turned` does it, so there are no ties. The primal simplex
method begins with the basis that was optimal before in the same slot: it is still feasible, and
often still optimal. If not, it leaves the constraint that pushes back most, for the first one in
the way. Constraints are slightly relaxed, each differently, so no move has length zero.

It keeps a table with one row per constraint, and below them one per coordinate. Its column j says
how each changes per unit against edge j, which leaves the j-th constraint of the basis. The last
two columns say by how much the current corner exceeds each constraint, and where it lies: with the
relaxed limits, and with the given ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from projbandits._checks import Array
from projbandits.arms.pivoting import Scaled
from projbandits.simulation.kernels.common import INNER, inlined

SLOPE = 1e-9
"""A constraint that falls less than this along an edge is parallel to it."""
FRESH = 256
"""After this many moves, a slot begins anew: each adds a little round-off."""
GRID = 2.0**-40
"""As in `arms.pivoting`."""
APART: dict[str, Any] = {**INNER, "_nrt": False, "forceinline": False}
"""For a function that makes no arrays (see `bind`) and is long.

Unless it says otherwise, what an inlined function calls is inlined, and compiled for each call.
"""


def first_table(inside: Scaled, basis: NDArray[np.int64]) -> Array:
    """Return the table of a feasible basis, of shape (m + d, d + 2)."""
    inverse = np.linalg.inv(inside.rows[basis])
    limits = np.column_stack([inside.relaxed, inside.limits])
    corners = inverse @ limits[basis]
    above = np.hstack([inside.rows @ inverse, inside.rows @ corners - limits])
    return np.vstack([above, np.hstack([inverse, corners])])


@njit(**APART)
def polytope_point(few, m, equalities, middle, half, table, flat, room, c, x, slot):  # type: ignore[no-untyped-def]
    """Fill x with the support point in direction c; `support.Region` says what the arrays hold."""
    d, largest, size = c.size, 0.0, 0.0
    along, row, slightly = room[0, :d], room[1], room[2]
    for a in range(d):
        largest = max(largest, abs(c[a]))
    for a in range(d):
        along[a] = c[a] / largest * half[a]
        size = max(size, abs(along[a]))
    for a in range(d):
        along[a] += size * slightly[a]
    if few:
        best = _best(table, flat, along)
        for a in range(d):
            x[a] = middle[a] + half[a] * table[a, best]
        return
    rows = m + d
    mine, basis = (
        table[slot * rows : (slot + 1) * rows],
        flat[slot * (d + 1) : (slot + 1) * (d + 1)],
    )
    if basis[d] >= FRESH:
        for i in range(rows):
            for k in range(d + 2):
                mine[i, k] = table[table.shape[0] - rows + i, k]
        for j in range(d + 1):
            basis[j] = flat[flat.size - d - 1 + j]
    for _ in range(50 * rows):
        out, into = _exchange(m, equalities, mine, basis, along, -1e-15 * size)
        if into < 0:
            break
        _move(mine, out, into, row)
        basis[out] = into
        basis[d] += 1.0
    for a in range(d):
        x[a] = middle[a] + half[a] * (np.rint(mine[m + a, d + 1] / GRID) * GRID)


@inlined
def _best(places_T, scores, along):  # type: ignore[no-untyped-def]
    """Return the number of the vertex that is best along a direction."""
    scores[:] = 0.0
    for a in range(along.size):
        for i in range(scores.size):
            scores[i] += along[a] * places_T[a, i]
    best = 0
    for i in range(1, scores.size):
        if scores[i] > scores[best]:
            best = i
    return best


@inlined
def _exchange(m, equalities, table, basis, along, least):  # type: ignore[no-untyped-def]
    """Return which constraint of the basis to leave, and for which; -1 if it is optimal."""
    out, into, reach = -1, -1, np.inf
    for j in range(along.size):
        weight = 0.0
        for a in range(along.size):
            weight += table[m + a, j] * along[a]
        if weight < least and basis[j] >= equalities:
            out, least = j, weight
    if out >= 0:
        longest = 0.0
        for a in range(along.size):
            longest = max(longest, abs(table[m + a, out]))
        for i in range(equalities, m):
            slope, slack = -table[i, out], max(-table[i, along.size], 0.0)
            if slope > SLOPE * longest and slack < reach * slope:
                into, reach = i, slack / slope
    return out, into


@inlined
def _move(table, out, into, row):  # type: ignore[no-untyped-def]
    """Change the table as one constraint of the basis gives way to another."""
    columns = table.shape[1]
    for k in range(columns):
        row[k] = table[into, k]
    for i in range(table.shape[0]):
        share = table[i, out] / row[out]
        for k in range(columns):
            table[i, k] -= share * row[k]
        table[i, out] = share
