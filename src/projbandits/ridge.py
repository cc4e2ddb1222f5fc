"""The L2-regularised least squares estimate, and every formula about it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg

from projbandits._checks import Array, integer, positive, real_array, real_vector


class Ridge(NamedTuple):
    """What is known of theta: theta-hat_t = V_t^-1 sum r x and V_t^-1 (Section III-A).

    V_t = lambda I + sum x x^T. Only the inverse and the estimate are kept, and each observation
    moves them by a rank-one update; docs/numerics.md shows why that is more accurate in the long
    run than solving from accumulated sums.

    Parameters
    ----------
    penalty : float
        lambda.
    n : int
        t, the number of observations.
    inverse : ndarray of shape (d, d)
        V_t^-1.
    theta : ndarray of shape (d,)
        theta-hat_t.

    Examples
    --------
    >>> from projbandits.ridge import Ridge
    >>> ridge = Ridge.prior(d=2, penalty=1.0).update([1.0, 0.0], 4.0)
    >>> ridge.theta
    array([2., 0.])
    >>> float(ridge.width([1.0, 0.0]).round(4))
    0.7071
    """

    penalty: float
    n: int
    inverse: Array
    theta: Array

    @classmethod
    def prior(cls, d: int, penalty: float = 1.0) -> Ridge:
        """Return the estimate before any observation: theta-hat = 0, V = lambda I."""
        d = integer("d", d, least=1)
        penalty = positive("penalty", penalty)
        return cls(penalty, 0, np.eye(d) / penalty, np.zeros(d))

    @property
    def precision(self) -> Array:
        """V_t = lambda I + sum x x^T."""
        return _inverse(self.inverse)

    def update(self, x: npt.ArrayLike, observed: float) -> Ridge:
        """Return the estimate after one more observation, by a rank-one update.

        With v = V^-1 x and q = <x, v>, theta-hat moves by v (r - <x, theta-hat>) / (1 + q) and
        V^-1 by -v v^T / (1 + q) (Sherman and Morrison).
        """
        x = np.asarray(x, dtype=np.float64)
        v = self.inverse @ x
        shrink = 1.0 + float(x @ v)
        u = v / math.sqrt(shrink)  # the product u u^T is symmetric to the last bit
        return Ridge(
            self.penalty,
            self.n + 1,
            self.inverse - np.multiply.outer(u, u),
            self.theta + v * ((observed - float(x @ self.theta)) / shrink),
        )

    def update_many(self, X: npt.ArrayLike, observed: npt.ArrayLike) -> Ridge:
        """Return the estimate after a batch of observations, one a row of X.

        Blocks of d rows are taken at once: with W = X V^-1 and S = I + X V^-1 X^T, theta-hat moves
        by W^T S^-1 (r - X theta-hat) and V^-1 by -W^T S^-1 W (Woodbury).
        """
        d = len(self.theta)
        rows = real_array("X", X, ndim=2)
        if rows.shape[1] != d:
            raise ValueError(f"X must have {d} columns, got {rows.shape[1]}")
        r = real_vector("observed", observed, len(rows))
        inverse, theta = self.inverse, self.theta
        for start in range(0, len(rows), d):
            block = rows[start : start + d]
            W = block @ inverse
            L = np.linalg.cholesky(np.eye(len(block)) + W @ block.T)
            half = scipy.linalg.solve_triangular(L, W, lower=True)
            rest = scipy.linalg.solve_triangular(
                L, r[start : start + d] - block @ theta, lower=True
            )
            theta = theta + half.T @ rest
            inverse = inverse - half.T @ half
        return Ridge(self.penalty, self.n + len(rows), inverse, theta)

    def merge(self, other: Ridge) -> Ridge:
        """Return the estimate from the observations of both.

        The sums add: V = V_1 + V_2 - lambda I and V theta-hat = V_1 theta-hat_1 + V_2 theta-hat_2.
        """
        if other.penalty != self.penalty:
            raise ValueError(
                f"merging needs equal penalties, got {self.penalty} and {other.penalty}"
            )
        if len(other.theta) != len(self.theta):
            raise ValueError(
                f"merging needs equal dimensions, got {len(self.theta)} and {len(other.theta)}"
            )
        one, two = self.precision, other.precision
        inverse = _inverse(one + two - self.penalty * np.eye(len(self.theta)))
        theta = inverse @ (one @ self.theta + two @ other.theta)
        return Ridge(self.penalty, self.n + other.n, inverse, theta)

    def width(self, X: npt.ArrayLike) -> Array:
        """Return |x|_{V^-1}, the width of the ellipsoid along x or along each row of X."""
        rows = np.asarray(X, dtype=np.float64)
        squares: Array = np.einsum("...i,...i->...", rows @ self.inverse, rows)
        return np.sqrt(np.maximum(squares, 0.0))


def _inverse(matrix: Array) -> Array:
    """Return the inverse of a positive definite matrix.

    It is scaled to a unit diagonal first, so that features of very different scales do not cost
    accuracy.
    """
    scale = 1.0 / np.sqrt(np.diag(matrix))
    factor = scipy.linalg.cho_factor(matrix * scale * scale[:, None], lower=True)
    inverse = scipy.linalg.cho_solve(factor, np.diag(scale)) * scale[:, None]
    return np.asarray((inverse + inverse.T) / 2)
