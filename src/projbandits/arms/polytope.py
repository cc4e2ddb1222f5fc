"""Polytopes; HiGHS finds their support points."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from projbandits._checks import Array, real_array, real_vector
from projbandits.arms.convex import ConvexSet

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult


class Polytope(ConvexSet):
    """The bounded polyhedron {x : A x <= b, A_eq x = b_eq}.

    Parameters
    ----------
    A, b : arrays of shape (m, d) and (m,)
        The inequalities. Coordinates are free unless a row bounds them.
    A_eq, b_eq : arrays of shape (p, d) and (p,), optional
        The equalities.

    Raises
    ------
    ValueError
        If no x satisfies the constraints, or if the set is unbounded.

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
        self.lower = np.diag(self.supports(-axes)).copy()
        self.upper = np.diag(self.supports(axes)).copy()

    @property
    def d(self) -> int:
        """The number of features of an arm."""
        return int(self.A.shape[1])

    @cached_property
    def longest(self) -> float:
        """A bound on |x|: the farthest corner of the bounding box."""
        return float(np.linalg.norm(np.maximum(np.abs(self.lower), np.abs(self.upper))))

    def supports(self, directions: Array) -> Array:
        """Return optimal vertices."""
        return np.array([self._vertex(direction) for direction in directions])

    def _vertex(self, direction: Array) -> Array:
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

    def __identity__(self) -> tuple[Array, ...]:
        return self.A, self.b, self.A_eq, self.b_eq

    def __repr__(self) -> str:
        return f"Polytope({len(self.A)} inequalities, {len(self.A_eq)} equalities, d={self.d})"


def _unit_rows(A: Array, b: Array) -> tuple[Array, Array]:
    lengths = np.linalg.norm(A, axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)
    return A / lengths[:, None], b / lengths
