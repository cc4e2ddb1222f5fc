"""The L2-regularised least squares estimate, and every formula about it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dgeqrf, dtrtri

from projbandits._cached import cached_property
from projbandits._checks import Array, integer, positive, real, real_array, real_vector
from projbandits._linalg import pivots

CANCELLED = 0.01
"""A difference of whole numbers below this may be nothing but round-off."""
NOISE_MARGIN = 1.0
"""How many standard errors are added to a cautious estimate of the noise's variance."""
UNTOLD = 1e-7
"""A direction told less than this, relative to the best told, may be nothing but round-off."""
NOWHERE = 1e-6
"""A smaller part of a direction, relative to its length, may be nothing but round-off."""
LEAST_FREE = 1e-9
"""Round-off in the number of free observations, when that is computed from V^-1."""


@dataclass(frozen=True, eq=False)
class Ridge:
    """What is known of theta: theta-hat_t = V_t^-1 sum r x, V_t = lambda I + sum x x^T.

    It is equation 7 of the paper.

    The observations are kept as a triangular factor: an upper triangular [R, z] with
    R^T R = sum x x^T and R^T z = sum r x. Each observation is one more row, folded in by a QR
    factorisation. V and its inverse lose digits with the square of the features' scales, the
    factor only with the scales themselves; docs/numerics.md shows the difference.

    Parameters
    ----------
    penalty : float
        lambda.
    n : int
        t, the number of observations.
    factor : ndarray of shape (d + 1, d + 1)
        [R, z], and below it what the estimate cannot explain.
    forgotten : float
        How much of the n observations was forgotten: the weight that they have lost.

    Examples
    --------
    >>> from projbandits.ridge import Ridge
    >>> ridge = Ridge.prior(d=2, penalty=1.0).update([1.0, 0.0], 4.0)
    >>> ridge.theta.round(12)
    array([2., 0.])
    >>> float(ridge.width([1.0, 0.0]).round(4))
    0.7071
    """

    penalty: float
    n: int
    factor: Array
    forgotten: float = 0.0

    @classmethod
    def prior(cls, d: int, penalty: float = 1.0) -> Ridge:
        """Return the estimate before any observation: theta-hat = 0, V = lambda I."""
        d = integer("d", d, least=1)
        return cls(positive("penalty", penalty), 0, np.zeros((d + 1, d + 1)))

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.factor) - 1

    @property
    def weight(self) -> float:
        """The weight of all observations: n, but for what was forgotten."""
        return self.n - self.forgotten

    @cached_property
    def _posterior(self) -> tuple[Array, Array, float]:
        """Q = L^-1 with L^T L = V, L theta-hat, and the root of `residual`."""
        d = self.d
        rows = _penalty_rows(d, self.penalty).copy(order="F")
        rows[: d + 1] = self.factor
        L = triangle(rows)
        Q, _ = dtrtri(L[:d, :d])
        return Q, L[:d, d], float(L[d, d])

    @cached_property
    def theta(self) -> Array:
        """theta-hat_t, the estimate."""
        Q, target, _ = self._posterior
        return Q @ target

    @cached_property
    def inverse(self) -> Array:
        """V_t^-1."""
        Q, _, _ = self._posterior
        return Q @ Q.T

    @property
    def root(self) -> Array:
        """Q, upper triangular with a positive diagonal, such that Q Q^T = V_t^-1."""
        Q, _, _ = self._posterior
        return np.asarray(Q * np.sign(Q.diagonal()))

    @property
    def residual(self) -> float:
        """The least of sum (r - <x, theta>)^2 + lambda |theta|^2.

        It grows with each observation by (r - <x, theta-hat>)^2 / (1 + |x|^2_{V^-1}).

        Examples
        --------
        >>> from projbandits.ridge import Ridge
        >>> round(Ridge.prior(d=1).update([1.0], 4.0).residual, 12)
        8.0
        """
        left = self._posterior[2]
        return left * left

    @cached_property
    def noise(self) -> float:
        """An estimate of sigma, the noise's standard deviation; nan without observations.

        It is the root of residual / free. The residual includes lambda |theta-hat|^2, so while
        data are few it errs upwards.

        Examples
        --------
        >>> from projbandits.ridge import Ridge
        >>> ridge = Ridge.prior(d=1, penalty=1e-9).update([1.0], 1.0).update([1.0], 3.0)
        >>> round(ridge.noise, 6)
        1.414214
        """
        if self.weight <= 0.0:
            return math.nan
        return math.sqrt(self.residual / self.free)

    @cached_property
    def cautious_noise(self) -> float:
        """An estimate of sigma on the high side, for a strategy that must not stop asking early.

        The mean of the residual is at least sigma^2 times `free`, whatever theta is, so the
        quotient errs high if at all. One standard error is added, which matters while data are
        few. Until something other than 0 is observed the estimate is 1: every strategy here then
        chooses the same whatever the noise.

        Examples
        --------
        >>> from projbandits.ridge import Ridge
        >>> ridge = Ridge.prior(d=1)
        >>> ridge.cautious_noise
        1.0
        >>> for r in (1.0, -1.0) * 200:
        ...     ridge = ridge.update([1.0], r)
        >>> round(ridge.cautious_noise, 2)
        1.04
        """
        if self.residual <= 0.0:
            return 1.0
        free = self.free
        return math.sqrt(self.residual / free * (1.0 + NOISE_MARGIN * math.sqrt(2.0 / free)))

    @cached_property
    def free(self) -> float:
        """The number of observations, out of n, that the estimate has not adapted to.

        It has adapted to tr(V^-1 sum x x^T) = d - lambda tr V^-1 of them. While n < d, unseen
        directions cancel in that difference, and large features leave only round-off. It is then
        summed over the n seen directions instead: one with singular value s leaves
        lambda / (s^2 + lambda) free.

        Examples
        --------
        >>> from projbandits.ridge import Ridge
        >>> f"{Ridge.prior(d=2).update([1e9, 2e9], 1.0).free:.6g}"
        '2e-19'
        """
        Q, _, _ = self._posterior
        free = self.weight - self.d + self.penalty * float(np.vdot(Q, Q))  # tr V^-1 = |Q|^2
        if self.forgotten:
            return max(free, LEAST_FREE)
        if free >= CANCELLED or self.n >= self.d:
            return free
        seen = np.linalg.svd(self.factor[:-1, :-1], compute_uv=False)[: self.n]
        return float((self.penalty / (seen * seen + self.penalty)).sum())

    @property
    def precision(self) -> Array:
        """V_t = lambda I + sum x x^T."""
        R = self.factor[: self.d, : self.d]
        return R.T @ R + self.penalty * np.eye(self.d)

    def update(self, x: npt.ArrayLike, observed: float) -> Ridge:
        """Return the estimate after one more observation."""
        features = np.asarray(x, dtype=np.float64)
        d = len(self.factor) - 1
        if features.shape != (d,):
            raise ValueError(f"x must have shape ({d},), got {features.shape}")
        stacked = np.empty((d + 2, d + 1), order="F")
        stacked[:-1] = self.factor
        row = stacked[-1]
        row[:-1] = features
        row[-1] = observed
        if not math.isfinite(row.dot(row)) and not np.isfinite(row).all():  # the first is quicker
            raise ValueError(f"x and observed must be finite, got {features} and {observed}")
        return Ridge(self.penalty, self.n + 1, triangle(stacked), self.forgotten)

    def update_many(self, X: npt.ArrayLike, observed: npt.ArrayLike) -> Ridge:
        """Return the estimate after a batch of observations, one per row of X."""
        rows = real_array("X", X, ndim=2)
        if rows.shape[1] != self.d:
            raise ValueError(f"X must have {self.d} columns, got {rows.shape[1]}")
        r = real_vector("observed", observed, len(rows))
        return self._with(np.column_stack([rows, r]))

    def decayed(self, by: float) -> Ridge:
        """Return the estimate when every observation has `by` times its weight.

        The penalty keeps its weight, so what is forgotten returns to what was believed first.

        Examples
        --------
        >>> from projbandits.ridge import Ridge
        >>> ridge = Ridge.prior(d=1).update([1.0], 4.0)
        >>> [float(r.theta.round(6)[0]) for r in (ridge, ridge.decayed(0.5), ridge.decayed(0.0))]
        [2.0, 1.333333, 0.0]
        """
        by = real("by", by)
        if not 0.0 <= by <= 1.0:
            raise ValueError(f"by must be from 0 to 1, got {by}")
        forgotten = self.n - by * self.weight
        return Ridge(self.penalty, self.n, math.sqrt(by) * self.factor, forgotten)

    def __reduce__(self) -> tuple[type[Ridge], tuple[float, int, Array, float]]:
        return Ridge, (self.penalty, self.n, self.factor, self.forgotten)  # without what is cached

    def _with(self, rows: Array) -> Ridge:
        """Return the estimate with more rows [x, r] folded in."""
        d = self.d
        stacked = np.empty((d + 1 + len(rows), d + 1), order="F")
        stacked[: d + 1] = self.factor
        stacked[d + 1 :] = rows
        return Ridge(self.penalty, self.n + len(rows), triangle(stacked), self.forgotten)

    def projected(self, projection: Array, X: Array, designed: bool = False) -> tuple[Array, Array]:
        """Return <P_U x, P_U theta-hat> for x or each row of X, and its standard error.

        The error is that of `errors`, with sigma from the residuals.

        Examples
        --------
        >>> import numpy as np
        >>> from projbandits.ridge import Ridge
        >>> ridge = Ridge.prior(d=1, penalty=1e-9).update([1.0], 1.0).update([1.0], 3.0)
        >>> value, error = ridge.projected(np.eye(1), np.array([1.0]))
        >>> round(float(value), 6), round(float(error), 6)
        (2.0, 1.0)
        """
        kept = X @ projection
        return np.asarray(kept @ self.theta), self.errors(kept, designed)

    def errors(self, X: npt.ArrayLike, designed: bool = False, noise: float | None = None) -> Array:
        """Return the standard error of <x, theta-hat> for x or each row of X; nan if unknown.

        The penalty draws theta-hat to 0, and sigma |x|_{V^-1} takes for granted that theta is as
        small as the penalty believes. Nothing of that kind is assumed here. With S = V - lambda I
        and theta-tilde the estimate without a penalty, the error is the root of::

            sigma^2 <x, S^-1 x> + <x, theta-tilde - theta-hat>^2
            theta-tilde - theta-hat = lambda S^-1 theta-hat

        So an interval of 1.96 errors around <x, theta-hat> is never narrower than that of least
        squares, and reaches it. Where S is not singular to rounding, the penalty costs nothing in
        the long run. Along directions of which nothing was told the error is unknown.

        Parameters
        ----------
        X : array of shape (d,) or (m, d)
            Directions.
        designed : bool
            Whether columns depend on one another by design, as all levels of a category do with
            those of another. What such columns share cannot be told and need not be: it is divided
            among them as theta-hat divides it, and the error is that of the rest.
        noise : float, optional
            sigma, by default from the residuals.

        Examples
        --------
        >>> from projbandits.ridge import Ridge
        >>> ridge = Ridge.prior(d=2).update_many([[1.0, 0.0]] * 4, [10.0, 12.0, 10.0, 12.0])
        >>> ridge.theta, (ridge.noise * ridge.width([[1.0, 0.0], [0.0, 1.0]])).round(2)
        (array([8.8, 0. ]), array([2.51, 5.61]))
        >>> ridge.errors([[1.0, 0.0], [0.0, 1.0]]).round(2)
        array([3.57,  nan])
        """
        T, order, scale = self._directions_told(designed)
        k = len(T)
        rows = (np.asarray(X, dtype=np.float64) / scale)[..., order].T
        size = np.sqrt(np.square(rows).sum(axis=0))
        theta = (self.theta / scale)[order]
        if designed and k < self.d:  # leave what is shared to theta-hat
            across, _ = np.linalg.qr(T.T)
            rows = across @ (across.T @ rows)
            found = np.sqrt(np.square(rows).sum(axis=0))
            lost = (found <= NOWHERE * size) & (size > 0.0)
        along = solve_triangular(T[:, :k], np.column_stack([rows[:k], theta[:k]]), trans=1)
        along, believed = along[:, :-1].reshape(k, *size.shape), along[:, -1]
        if not (designed and k < self.d):
            missing = rows[k:] - np.tensordot(T[:, k:], along, (0, 0))
            lost = np.sqrt(np.square(missing).sum(axis=0)) > NOWHERE * size
        sigma = self.noise if noise is None else noise
        variance = sigma**2 * np.square(along).sum(axis=0)
        held_back = self.penalty * (believed @ along)
        return np.where(lost, math.nan, np.sqrt(variance + held_back**2))

    def _directions_told(self, designed: bool) -> tuple[Array, NDArray[np.int64], Array]:
        """Return k independent rows T of the factor, its columns in an order and by a scale.

        T^T T is sum x x^T to rounding, and its first k columns are triangular. The scale makes
        units not matter. Columns that depend by design are at one scale already.
        """
        R = self.factor[-1 - self.d : -1, -1 - self.d : -1]
        scale = np.ones(self.d) if designed else np.sqrt(np.square(R).sum(axis=0))
        scale[scale == 0.0] = 1.0
        T, order = pivots((R / scale).T)
        sizes = np.abs(T.diagonal())
        return np.triu(T)[: int((sizes > UNTOLD * sizes[0]).sum())], order, scale

    def width(self, X: npt.ArrayLike) -> Array:
        """Return |x|_{V^-1}, the width of the ellipsoid along x or along each row of X."""
        Q, _, _ = self._posterior
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim == 1:
            turned = rows @ Q
            return np.asarray(math.sqrt(turned @ turned))
        # einsum sums every row in the same order, so equal arms have equal widths.
        turned = np.einsum("...i,ij->...j", rows, Q)
        squares: Array = np.einsum("...j,...j->...", turned, turned)
        return np.sqrt(squares)


def triangle(rows: Array) -> Array:
    """Return the upper triangular factor of a matrix with at least as many rows as columns."""
    qr, _, _, _ = dgeqrf(rows, overwrite_a=True)
    n = rows.shape[1]
    return np.asarray(qr[:n] * _upper(n))


@lru_cache(maxsize=64)
def _penalty_rows(d: int, penalty: float) -> Array:
    """Return the rows sqrt(lambda) I, below room for a factor."""
    return np.vstack([np.zeros((d + 1, d + 1)), math.sqrt(penalty) * np.eye(d, d + 1)])


@lru_cache(maxsize=64)
def _upper(n: int) -> Array:
    return np.triu(np.ones((n, n)))
