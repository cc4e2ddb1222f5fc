"""Polytopes: their vertices if they are few, and the simplex method if not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from projbandits._cached import cached_property
from projbandits._checks import Array, real_array, real_vector
from projbandits.arms.convex import ConvexSet
from projbandits.arms.pivoting import GRID, Scaled, every_basis, optimal_basis, scaled, turned

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

MOST_BASES = 1024
"""With at most this many bases, a polytope is known by its vertices."""


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
    A polytope with at most 1,024 bases (choices of d constraints that meet in a vertex; a vertex on
    more than d constraints has several) is known by its vertices, and its support point is the best
    of them. On others the dual simplex method finds it, and in the compiled loop the primal method,
    which starts from the vertex that was best at the step before. Ties are broken by turning the
    direction by about 1e-11 of its size, always in the same way, so both engines play the same
    vertex. HiGHS finds the bounding box, and tells whether there is one.

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
        return scaled(self.A_eq, self.b_eq, self.A, self.b, self.lower, self.upper)

    @cached_property
    def start(self) -> NDArray[np.int64] | None:
        """Some feasible basis; None if constraints contradict one another within round-off."""
        return optimal_basis(self.scaled, self.scaled.turn)

    @cached_property
    def vertices(self) -> Array | None:
        """The vertices, one per row, or None if there are too many (see Notes)."""
        inside = self.scaled
        bases = None if self.start is None else every_basis(inside, self.start, MOST_BASES)
        if bases is None:
            return None
        z = np.linalg.solve(inside.rows[bases], inside.limits[bases][:, :, None])[:, :, 0]
        # Where constraints nearly meet, moving them out leaves corners that are none.
        over = (z @ inside.rows.T - inside.limits)[:, inside.equalities :].max(axis=1)
        z, bases = z[over <= 1e-9], bases[over <= 1e-9]
        _, first = np.unique(z.round(9) + 0.0, axis=0, return_index=True)
        return np.array([self._corner(basis) for basis in bases[first]])

    def supports(self, directions: Array) -> Array:
        """Return optimal vertices."""
        along = turned(self.scaled, directions)
        if self.vertices is not None:
            places = (self.vertices - self.scaled.middle) / self.scaled.half
            return np.asarray(self.vertices[(along @ places.T).argmax(axis=1)])
        return np.array([self._optimal(*both) for both in zip(directions, along, strict=True)])

    def _optimal(self, direction: Array, along: Array) -> Array:
        """Return an optimal vertex by the dual simplex method."""
        basis, inside = optimal_basis(self.scaled, along), self.scaled
        if basis is None:
            return self._solved(direction)
        z = np.linalg.solve(inside.rows[basis], inside.limits[basis])
        return np.asarray(inside.middle + inside.half * (np.rint(z / GRID) * GRID) + 0.0)

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
