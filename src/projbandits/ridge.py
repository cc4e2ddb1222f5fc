"""The L2-regularised least squares estimate, and every formula about it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dgeqrf, dtrtri

from projbandits._blas import while_small
from projbandits._linalg import pivots
from projbandits._validation import Array, integer, positive, real, real_array, real_vector

CANCELLED = 0.01
"""A difference of whole numbers below this may be nothing but round-off."""
NOISE_MARGIN = 1.0
"""How many standard errors are added to a cautious estimate of the noise's variance."""
UNTOLD = 1e-7
"""A direction told less than this, relative to the best told, may be nothing but round-off."""
NOWHERE = 1e-6
"""A smaller part of a direction, relative to its length, may be nothing but round-off."""
SAME = 1e-12
"""Returns that differ from their mean by less than this part of it differ by round-off alone."""
LEAST_FREE = 1e-9
"""Round-off in the number of free observations, when that is computed from V^-1."""


class HasFactor(Protocol):
    """Decisions whose outcome is open, as `Ridge.counting` takes them."""

    @property
    def factor(self) -> Array:
        """A factor of the rows [1, x]: the products of its columns are those of the rows'."""
        ...


@dataclass(frozen=True, eq=False)
class Ridge:
    """What is known of theta: theta-hat_t = V_t^-1 sum r x, V_t = lambda I + sum x x^T.

    It is equation 7 of the paper.

    The observations are kept as a triangular factor: an upper triangular [R, z] with
    R^T R = sum x x^T and R^T z = sum r x. Each observation is one more row, folded in by a QR
    factorisation. V and its inverse lose digits with the square of the features' scales, the
    factor only with the scales themselves; docs/numerics.md shows the difference.

    With an intercept, a level that all returns share, the rows are [1, x, r], and the column of
    ones has no penalty. Below its first row, their triangular factor is that of the centred
    observations, and so are theta-hat, V and the residual. The returns are kept as differences from
    the first one: a constant in all of them changes the level and nothing else.

    Parameters
    ----------
    penalty : float
        lambda.
    n : int
        t, the number of observations.
    factor : ndarray of shape (d + 1, d + 1), or (d + 2, d + 2) with an intercept
        [R, z], and below it what the estimate cannot explain.
    forgotten : float
        How much of the n observations was forgotten: the weight that they have lost.
    intercept : bool
        Whether it has an intercept.
    first : float
        The first return, which is subtracted from all where there is an intercept; nan before it.
    equal : bool
        Whether all returns so far were the same number: then sigma is unknown.
    open : HasFactor, optional
        Decisions whose outcome is open; see `counting`.

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
    intercept: bool = False
    first: float = 0.0
    equal: bool = False
    open: HasFactor | None = None

    @classmethod
    def prior(cls, d: int, penalty: float = 1.0, intercept: bool = False) -> Ridge:
        """Return the estimate before any observation: theta-hat = 0, V = lambda I."""
        size = integer("d", d, least=1) + 1 + intercept
        empty = np.zeros((size, size))
        return cls(positive("penalty", penalty), 0, empty, 0.0, bool(intercept), math.nan, True)

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.factor) - 1 - self.intercept

    @property
    def slopes(self) -> Array:
        """The factor [R, z] of the observations, centred where there is an intercept."""
        return self.factor[1:, 1:] if self.intercept else self.factor

    @property
    def weight(self) -> float:
        """The weight of all observations: n, but for what was forgotten."""
        return self.n - self.forgotten

    @cached_property
    def _posterior(self) -> tuple[Array, Array, float]:
        """Q = L^-1 with L^T L = V, L theta-hat, and the root of `residual`, by what was told."""
        if self.open is not None:
            return self.told._posterior
        d = self.d
        rows = _penalty_rows(d, self.penalty).copy(order="F")
        rows[: d + 1] = self.slopes
        L = triangle(rows)
        Q, _ = dtrtri(L[:d, :d])
        return Q, L[:d, d], float(L[d, d])

    @cached_property
    def theta(self) -> Array:
        """theta-hat_t, the estimate."""
        Q, target, _ = self._posterior
        return Q @ target

    def counting(self, rows: HasFactor) -> Ridge:
        """Return the estimate with decisions counted whose outcome is open.

        Each counts in V as one observation: `inverse`, `root`, `width`, `precision`, `mass` and
        `centre` are those that there will be once it is told. What depends on outcomes stays as
        told: theta-hat, the level, the residual and sigma.

        Examples
        --------
        >>> import numpy as np
        >>> from projbandits.ridge import Ridge
        >>> from projbandits.strategies.open import OpenRows
        >>> told = Ridge.prior(d=1).update([1.0], 4.0)
        >>> counted = told.counting(OpenRows(np.array([[1.0, 1.0]])))
        >>> [float(r.theta.round(6)[0]) for r in (told, counted)]
        [2.0, 2.0]
        >>> [float(r.inverse.round(6)[0, 0]) for r in (told, counted)]
        [0.5, 0.333333]
        """
        counted = replace(self.told, open=rows)
        counted.__dict__["told"] = self.told
        return counted

    @cached_property
    def told(self) -> Ridge:
        """The estimate by what was told alone."""
        return self if self.open is None else replace(self, open=None)

    @cached_property
    def _information(self) -> tuple[Array, Array, float]:
        """Q with Q Q^T = V^-1, `centre` and the root of `mass`, with what is open."""
        d, first = self.d, int(self.intercept)
        if self.open is None:
            Q, _, _ = self._posterior
            lead = abs(float(self.factor[0, 0])) if first else math.inf
            centre = self.factor[0, 1:-1] / self.factor[0, 0] if first and lead else np.zeros(d)
            return Q, centre, lead
        counted = np.array(self.open.factor, ndmin=2)[:, 1 - first :]
        size = d + first
        rows = np.zeros((size + len(counted) + d, size), order="F")
        rows[:size] = self.factor[:size, :size]
        rows[size : size + len(counted)] = counted
        rows[size + len(counted) :, first:] = math.sqrt(self.penalty) * np.eye(d)
        with while_small(*rows.shape):
            L = triangle(rows)
            Q, _ = dtrtri(L[first:, first:])
        if not first:
            return Q, np.zeros(d), math.inf
        lead = abs(float(L[0, 0]))
        return Q, L[0, 1:] / L[0, 0] if lead else np.zeros(d), lead

    @cached_property
    def inverse(self) -> Array:
        """V_t^-1."""
        Q, _, _ = self._information
        return Q @ Q.T

    @property
    def root(self) -> Array:
        """Q, upper triangular with a positive diagonal, such that Q Q^T = V_t^-1."""
        Q, _, _ = self._information
        return np.asarray(Q * np.sign(Q.diagonal()))

    @property
    def centre(self) -> Array:
        """The mean of the features behind V_t; zeros without an intercept, and before any."""
        return self._information[1]

    @property
    def mass(self) -> float:
        """The weight of the observations behind V_t; infinite without an intercept.

        The variance of the mean return at the centre is sigma^2 / mass.
        """
        lead = self._information[2]
        return lead * lead

    @property
    def logged(self) -> Array:
        """The factor of what was told, with returns as they are and not as differences."""
        if not (self.intercept and self.first):
            return self.factor
        factor = self.factor.copy()
        if self.first == self.first:
            factor[0, -1] += self.first * factor[0, 0]
        return factor

    @classmethod
    def from_log(
        cls, penalty: float, n: int, factor: npt.ArrayLike, forgotten: float, d: int
    ) -> Ridge:
        """Return the estimate whose `logged` factor this is, of d features."""
        flat = np.asarray(factor, dtype=np.float64).ravel()
        intercept = flat.size == (d + 2) ** 2
        whole = flat.reshape(d + 1 + intercept, d + 1 + intercept)
        returns = whole[:, -1]
        equal = np.linalg.norm(returns[int(intercept) :]) <= SAME * np.linalg.norm(returns)
        return cls(penalty, n, whole, forgotten, intercept, 0.0, bool(equal))

    @cached_property
    def level(self) -> float:
        """The intercept: the return of an arm of zeros; nan while nothing is known of it.

        Examples
        --------
        >>> from projbandits.ridge import Ridge
        >>> ridge = Ridge.prior(d=1, penalty=1e-9, intercept=True)
        >>> ridge = ridge.update([1.0], 9.0).update([2.0], 11.0)
        >>> round(ridge.level, 6), ridge.theta.round(6)
        (7.0, array([2.]))
        """
        if not self.intercept:
            return 0.0
        lead, away = self.factor[0, 0], self.factor[0, 1:-1] @ self.theta
        return float(self.first + (self.factor[0, -1] - away) / lead) if lead else math.nan

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
        """An estimate of sigma, the noise's standard deviation; nan while it is unknown.

        It is the root of residual / free. The residual includes lambda |theta-hat|^2, so while
        data are few it errs upwards. It is unknown while all observations are the same number.

        Examples
        --------
        >>> from projbandits.ridge import Ridge
        >>> ridge = Ridge.prior(d=1, penalty=1e-9).update([1.0], 1.0).update([1.0], 3.0)
        >>> round(ridge.noise, 6)
        1.414214
        """
        if self.weight <= 0.0 or self.equal:
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
        return math.sqrt(cautious_variance(self.residual, self.free)) if self.residual > 0 else 1.0

    @cached_property
    def free(self) -> float:
        """The number of observations, out of n, that the estimate has not adapted to.

        It has adapted to tr(V^-1 sum x x^T) = d - lambda tr V^-1 of them, and to one more with an
        intercept. While n < d, unseen
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
        used = self.d + self.intercept
        free = self.weight - used + self.penalty * float(np.vdot(Q, Q))  # tr V^-1 = |Q|^2
        if self.forgotten:
            return max(free, LEAST_FREE)
        if free >= CANCELLED or self.n >= used:
            return free
        lines = max(self.n - self.intercept, 0)
        seen = np.linalg.svd(self.slopes[:-1, :-1], compute_uv=False)[:lines]
        return float((self.penalty / (seen * seen + self.penalty)).sum())

    @property
    def precision(self) -> Array:
        """V_t = lambda I + sum x x^T."""
        if self.open is not None:
            inverse = np.linalg.inv(self._information[0])
            return np.asarray(inverse.T @ inverse)
        R = self.slopes[: self.d, : self.d]
        return R.T @ R + self.penalty * np.eye(self.d)

    def update(self, x: npt.ArrayLike, observed: float) -> Ridge:
        """Return the estimate after one more observation."""
        features = np.asarray(x, dtype=np.float64)
        size, intercept = len(self.factor), self.intercept
        d = size - 1 - intercept
        if features.shape != (d,):
            raise ValueError(f"x must have shape ({d},), got {features.shape}")
        first = self.first if self.first == self.first else observed
        stacked = np.empty((size + 1, size), order="F")
        stacked[:-1] = self.factor
        row = stacked[-1]
        row[0] = 1.0
        row[intercept:-1] = features
        row[-1] = observed - first if intercept else observed
        if not math.isfinite(row.dot(row)) and not np.isfinite(row).all():  # the first is quicker
            raise ValueError(f"x and observed must be finite, got {features} and {observed}")
        equal = self.equal and observed == first
        folded = triangle(stacked)
        return Ridge(
            self.penalty, self.n + 1, folded, self.forgotten, intercept, first, equal, self.open
        )

    def update_many(self, X: npt.ArrayLike, observed: npt.ArrayLike) -> Ridge:
        """Return the estimate after a batch of observations, one per row of X."""
        rows = real_array("X", X, ndim=2)
        if rows.shape[1] != self.d:
            raise ValueError(f"X must have {self.d} columns, got {rows.shape[1]}")
        r = real_vector("observed", observed, len(rows))
        if not len(r):
            return self
        first = self.first if self.first == self.first else float(r[0])
        size = len(self.factor)
        stacked = np.ones((size + len(rows), size), order="F")
        stacked[:size] = self.factor
        stacked[size:, int(self.intercept) : -1] = rows
        stacked[size:, -1] = r - first if self.intercept else r
        return replace(
            self,
            n=self.n + len(rows),
            factor=triangle(stacked),
            first=first,
            equal=self.equal and bool((r == first).all()),
        )

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
        faded = replace(self, factor=math.sqrt(by) * self.factor, forgotten=forgotten)
        return replace(faded, first=math.nan, equal=True) if by == 0.0 else faded

    def __reduce__(self) -> tuple[type[Ridge], tuple[Any, ...]]:
        kept = (getattr(self, field) for field in self.__dataclass_fields__)
        return Ridge, tuple(kept)  # without what is cached

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Whether each feature was the same in all observations: the level has its effect."""
        if not self.intercept:
            return np.zeros(self.d, dtype=np.bool_)
        spread = np.sqrt(np.square(self.slopes[:-1, :-1]).sum(axis=0))
        sizes = np.abs(self.factor[0, 1:-1])
        return np.asarray((spread <= UNTOLD * sizes) & (sizes > 0.0))

    def projected(
        self,
        projection: Array,
        X: Array,
        designed: bool = False,
        shared: NDArray[np.bool_] | None = None,
    ) -> tuple[Array, Array]:
        """Return <P_U x, P_U theta-hat> for x or each row of X, and its standard error.

        The error is that of `errors`, with sigma from the residuals. Neither has the level.
        Where `shared` says that a feature is the same for all arms on offer, and it was the same in
        all observations too, its effect is the level's, and no reason for doubt.

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
        doubted = kept
        if shared is not None and shared.any():
            doubted = np.where(shared & self.constant, 0.0, X) @ projection
        return np.asarray(kept @ self.theta), self.errors(doubted, designed)

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
        along = np.column_stack([rows[:k], theta[:k]])
        if k:
            along = dtrsm(1.0, T[:, :k], along, trans_a=1)  # dtrtrs starts threads for it
        along, believed = along[:, :-1].reshape(k, *size.shape), along[:, -1]
        if not (designed and k < self.d):
            missing = rows[k:] - np.tensordot(T[:, k:], along, (0, 0)) if k < self.d else rows[k:]
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
        """Return the width of the ellipsoid along the mean return of x, or of each row of X.

        It is |x|_{V^-1}, and with an intercept the root of 1 / mass + |x - centre|^2_{V^-1}, since
        the level is not known either: infinite before any observation.

        Examples
        --------
        >>> from projbandits.ridge import Ridge
        >>> ridge = Ridge.prior(d=1, intercept=True)
        >>> for r in (4.0, 4.0, 5.0, 3.0):  # the arm is told, and no difference to another
        ...     ridge = ridge.update([2.0], r)
        >>> ridge.width([[2.0], [1.0]]).round(4)
        array([0.5  , 1.118])
        """
        Q, centre, _ = self._information
        rows = np.asarray(X, dtype=np.float64)
        if self.intercept:
            rows = rows - centre
        if not self.mass:
            return np.full(rows.shape[:-1], math.inf)
        level = 1.0 / self.mass  # 0 without an intercept
        if rows.ndim == 1:
            turned = rows @ Q
            return np.asarray(math.sqrt(level + turned @ turned))
        # einsum sums every row in the same order, so equal arms have equal widths.
        turned = np.einsum("...i,ij->...j", rows, Q)
        squares: Array = np.einsum("...j,...j->...", turned, turned)
        return np.sqrt(level + squares)


def cautious_variance(residual: float, free: float) -> float:
    """Return sigma^2 on the high side, from a residual and the number of free observations."""
    return residual / free * (1.0 + NOISE_MARGIN * math.sqrt(2.0 / free))


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
