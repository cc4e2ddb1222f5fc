"""Polytopes: the best of their vertices if they are few, and a linear program if not."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from projbandits._linalg import pivots
from projbandits._validation import Array, real_array, real_vector
from projbandits.arms.convex import ConvexSet

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

MOST_CHOICES = 20_000
"""With at most this many ways to choose the constraints of a vertex, they are listed."""
TURN = 1e-11
"""How far a direction is turned to break ties; far above round-off, far below what matters."""
OVER = 1e-9
"""A constraint that is exceeded by less than this holds, where the bounding box is [-1, 1]^d."""


class Scaled(NamedTuple):
    """A polytope {z : rows z <= limits}, in which the first rows are equalities.

    Parameters
    ----------
    middle, half : ndarray of shape (d,)
        The bounding box: x = middle + half z.
    rows, limits : ndarray of shape (m, d) and (m,)
        The constraints. Rows have length one.
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
    equalities: int
    source: NDArray[np.int64]
    turn: Array


class Polytope(ConvexSet):
    """The bounded polyhedron {x : A x <= b, A_eq x = b_eq}.

    Parameters
    ----------
    A, b : arrays of shape (m, d) and (m,)
        The inequalities. Coordinates are free unless a row bounds them.
    A_eq, b_eq : arrays of shape (p, d) and (p,), optional
        The equalities.
    tie : array of shape (d,), optional
        The point to play in direction 0; see `ConvexSet.tie`.

    Raises
    ------
    ValueError
        If no x satisfies the constraints, or if the set is unbounded.

    Notes
    -----
    A vertex is where d independent constraints meet. If there are at most 20,000 ways to choose
    them, the vertices are listed, and the support point is the best of them, in every engine: ties
    are broken by turning the direction by about 1e-11 of its size, always in the same way. On
    other polytopes HiGHS solves a linear program for each support point, which only the reference
    engine does. It also finds the bounding box, and tells whether there is one.

    Examples
    --------
    Mixtures of three drugs, at most 0.5 of each:

    >>> import numpy as np, projbandits as pb
    >>> A = np.vstack([np.eye(3), -np.eye(3)])
    >>> mixtures = pb.Polytope(A, [0.5] * 3 + [0.0] * 3, A_eq=[[1, 1, 1]], b_eq=[1])
    >>> mixtures.maximize([3.0, 2.0, 1.0])
    array([0.5, 0.5, 0. ])
    """

    def __init__(
        self,
        A: npt.ArrayLike,
        b: npt.ArrayLike,
        A_eq: npt.ArrayLike | None = None,
        b_eq: npt.ArrayLike | None = None,
        *,
        tie: npt.ArrayLike | None = None,
    ) -> None:
        self.A = real_array("A", A, ndim=2)
        self.b = real_vector("b", b, len(self.A))
        d = self.A.shape[1]
        if (A_eq is None) != (b_eq is None):
            raise ValueError("A_eq and b_eq must be given together, got only one of them")
        self.A_eq = np.zeros((0, d)) if A_eq is None else real_array("A_eq", A_eq, ndim=2)
        self.b_eq = real_vector("b_eq", [] if b_eq is None else b_eq, len(self.A_eq))
        if self.A_eq.shape[1] != d:
            raise ValueError(f"A_eq must have {d} columns like A, got {self.A_eq.shape[1]}")
        for name, limits in (("b", self.b), ("b_eq", self.b_eq)):
            if (np.abs(limits) > 1e15).any():
                raise ValueError(
                    f"{name} must not exceed 1e15 in size, got {limits[np.abs(limits).argmax()]}: "
                    "HiGHS takes larger ones for infinite; leave such a constraint out"
                )
        if d == 0:
            raise ValueError("A must have at least one column, got none")
        # Row lengths only scale the constraints; with unit rows a slack is a distance.
        self._rows, self._limits = _unit_rows(self.A, self.b)
        self._rows_eq, self._limits_eq = _unit_rows(self.A_eq, self.b_eq)
        axes = np.eye(d)
        self.lower = np.array([self._solved(-axis)[a] for a, axis in enumerate(axes)])
        self.upper = np.array([self._solved(axis)[a] for a, axis in enumerate(axes)])
        self._break_ties(tie)

    @property
    def d(self) -> int:
        """The number of features of an arm."""
        return int(self.A.shape[1])

    @cached_property
    def longest(self) -> float:
        """A bound on |x|: the farthest corner of the bounding box."""
        return float(np.linalg.norm(np.maximum(np.abs(self.lower), np.abs(self.upper))))

    @cached_property
    def scaled(self) -> Scaled:
        """The constraints in coordinates that make the bounding box a cube."""
        return _scaled(self.A_eq, self.b_eq, self.A, self.b, self.lower, self.upper)

    @cached_property
    def vertices(self) -> Array | None:
        """The vertices, one per row, or None if they are too many to be listed (see Notes).

        None too if constraints contradict one another within round-off.
        """
        inside = self.scaled
        q, (m, d) = inside.equalities, inside.rows.shape
        if d < q or math.comb(m - q, d - q) > MOST_CHOICES:
            return None
        others = np.array([*combinations(range(q, m), d - q)], dtype=np.int64)
        bases = np.hstack([np.tile(np.arange(q), (len(others), 1)), others.reshape(-1, d - q)])
        bases = bases[np.abs(np.linalg.det(inside.rows[bases])) > OVER]
        z = np.linalg.solve(inside.rows[bases], inside.limits[bases][:, :, None])[:, :, 0]
        over = (z @ inside.rows.T - inside.limits)[:, q:].max(axis=1, initial=0.0)
        z, bases = z[over <= OVER], bases[over <= OVER]
        if len(z) == 0:
            return None
        _, first = np.unique(z.round(8) + 0.0, axis=0, return_index=True)
        return np.array([self._corner(basis) for basis in bases[first]])

    def supports(self, directions: Array) -> Array:
        """Return optimal vertices."""
        if self.vertices is None:
            return np.array([self._solved(direction) for direction in directions])
        places = (self.vertices - self.scaled.middle) / self.scaled.half
        along = _turned(self.scaled, directions)
        return np.asarray(self.vertices[(along @ places.T).argmax(axis=1)])

    def _corner(self, basis: NDArray[np.int64]) -> Array:
        """Return where the constraints of a basis meet."""
        of = self.scaled.source[basis]
        A, b = np.vstack([self.A_eq, self.A])[of], np.concatenate([self.b_eq, self.b])[of]
        return np.linalg.solve(A, b) + 0.0  # no negative zeros

    def _solved(self, direction: Array) -> Array:
        """Return an optimal vertex by HiGHS."""
        largest = np.abs(direction).max()
        answer = self._solve(-direction / largest if largest > 0 else direction)
        if answer.status == 0:
            return np.asarray(answer.x) + 0.0  # no negative zeros
        # HiGHS may stop at "unbounded or infeasible"; the zero objective tells which.
        if self._solve(np.zeros_like(direction)).status == 0:
            raise ValueError(
                "the polytope is unbounded along the direction "
                f"{np.round(direction, 6).tolist()}: add rows to A that bound it"
            )
        raise ValueError(
            "the polytope is empty: no x satisfies A x <= b and A_eq x = b_eq; "
            "relax or remove a constraint"
        )

    def contains(self, x: npt.ArrayLike, tolerance: float = 1e-9) -> bool:
        """Tell whether x lies in the polytope, up to a tolerance relative to its size."""
        return self._violation(real_vector("x", x, self.d)) <= tolerance * max(self.longest, 1e-300)

    def _solve(self, cost: Array) -> OptimizeResult:
        from scipy.optimize import linprog  # here, as it takes a fifth of the package's import time

        return linprog(
            cost,
            A_ub=self._rows,
            b_ub=self._limits,
            A_eq=self._rows_eq,
            b_eq=self._limits_eq,
            bounds=(None, None),
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )

    def _violation(self, x: Array) -> float:
        """Return how far outside the worst constraint x lies."""
        over = (self._rows @ x - self._limits).max(initial=0.0)
        off = np.abs(self._rows_eq @ x - self._limits_eq).max(initial=0.0)
        return float(max(over, off))

    def __identity__(self) -> tuple[Array | None, ...]:
        return self.A, self.b, self.A_eq, self.b_eq, self._given_tie

    def __repr__(self) -> str:
        sizes = f"{len(self.A)} inequalities, {len(self.A_eq)} equalities, d={self.d}"
        return f"Polytope({sizes}{self._tie_text})"


def _unit_rows(A: Array, b: Array) -> tuple[Array, Array]:
    lengths = np.linalg.norm(A, axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)
    return A / lengths[:, None], b / lengths


def _scaled(A_eq: Array, b_eq: Array, A: Array, b: Array, lower: Array, upper: Array) -> Scaled:
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
    # Any numbers without structure will do.
    turn = TURN * np.random.default_rng(0).uniform(1.0, 2.0, len(lower))
    return Scaled(middle, half, unit[keep], within[keep], q, source[keep], turn)


def _turned(polytope: Scaled, directions: Array) -> Array:
    """Return directions in z, turned so that each has one best vertex.

    Two vertices may have equal scores at every step of a game: if U ignores a feature, those that
    differ only in that feature. Which of them wins must not be the luck of rounding.
    """
    largest = np.abs(directions).max(axis=1, keepdims=True)
    along = directions / np.where(largest > 0, largest, 1.0) * polytope.half
    return np.asarray(along + np.abs(along).max(axis=1, keepdims=True) * polytope.turn)
