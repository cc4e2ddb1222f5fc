"""The entropy ball of the paper's setting (c)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import lambertw, xlogy

from projbandits._validation import Array, integer, real, real_vector
from projbandits.arms.convex import ConvexSet


class EntropyBall(ConvexSet):
    """The set {x >= 0 : sum x log x <= bound}, with 0 log 0 = 0.

    Parameters
    ----------
    d : int
        The dimension.
    bound : float
        The bound on the negative entropy; the paper takes 5. It must exceed -d/e, the smallest
        possible value.
    tie : array of shape (d,), optional
        The point to play in direction 0; see `ConvexSet.tie`.

    Notes
    -----
    By the first-order conditions the support point of c has x_i = exp(c_i s - 1), where s solves
    h(s) = sum_i exp(c_i s - 1) (c_i s - 1) = bound. As h'(s) = s sum_i c_i^2 exp(c_i s - 1), h
    climbs from -d/e at s = 0 and the root is unique. If every c_i <= 0 and bound >= 0 the
    constraint does not bind and the maximiser is 0.

    Examples
    --------
    >>> import projbandits as pb
    >>> ball = pb.EntropyBall(d=2, bound=5.0)
    >>> ball.maximize([1.0, 1.0]).round(4)
    array([2.608, 2.608])
    >>> ball.maximize([-1.0, 0.0])
    array([0., 0.])
    """

    def __init__(self, d: int, bound: float = 5.0, *, tie: npt.ArrayLike | None = None) -> None:
        self._d = integer("d", d, least=1)
        self.bound = real("bound", bound)
        if self.bound <= -d / math.e:
            raise ValueError(
                f"bound must exceed -d/e = {-d / math.e:.6g}, got {self.bound}: "
                "below it the set is empty"
            )
        self._break_ties(tie)

    @property
    def d(self) -> int:
        """The number of features of an arm."""
        return self._d

    @cached_property
    def longest(self) -> float:
        """The largest |x|, Z of Assumption 2."""
        return float(np.linalg.norm(self.best_convex(_Length(self.d)).x))

    def supports(self, directions: Array) -> Array:
        """Return exp(c s - 1) at the root s of h(s) = bound; see the notes of the class."""
        largest = directions.max(axis=1)
        zeros = (directions == 0).sum(axis=1)
        flat = (largest <= 0) & (self.bound >= -zeros / math.e)  # the best <c, x> is 0
        points = np.where((directions == 0) & (self.bound < 0), math.exp(-1), 0.0)
        if not flat.all():
            C = directions[~flat]
            # The entry that grows, or shrinks, first sets the scale of s.
            scale = np.where(largest > 0, largest, _nearest_below_zero(directions))[~flat]
            with np.errstate(over="ignore"):
                C = np.maximum(C / scale[:, None], -np.finfo(np.float64).max)
            points[~flat] = np.exp(_exponents(C, self._roots(C)))
        return points

    def contains(self, x: npt.ArrayLike, tolerance: float = 1e-9) -> bool:
        """Tell whether x lies in the set, up to a tolerance relative to the set's size."""
        point = real_vector("x", x, self.d)
        slack = tolerance * self.longest
        above = np.maximum(point, 0.0)
        entropy = float(xlogy(above, above).sum())
        steepest = 1 + math.log1p(self.longest)
        return bool((point >= -slack).all() and entropy <= self.bound + self.d * slack * steepest)

    def _roots(self, C: Array) -> Array:
        """Return s with h(s) = bound for each row, by Newton steps kept inside a bracket."""
        s = np.ones(len(C))
        # Here an entry with c_i = 1 reaches the bound alone; each other takes 1/e at most.
        s[C.max(axis=1) > 0] += lambertw(self.bound + (self.d - 1) / math.e).real
        low, high = np.zeros(len(C)), np.full(len(C), math.inf)
        for _ in range(200):
            U = _exponents(C, s)
            terms = np.exp(U)
            excess = (terms * U).sum(axis=1) - self.bound
            high = np.where(excess > 0, s, high)
            low = np.where(excess > 0, low, s)
            step = excess / (s * (terms * C * C).sum(axis=1))
            newton = s - step
            inside = (low <= newton) & (newton <= high)
            s = np.where(inside, newton, np.where(high < math.inf, (low + high) / 2, 2 * low))
            # Each Newton step squares the error, so after one this small only round-off is left.
            if (np.abs(step) <= 1e-9 * s).all():
                break
        return s

    def __repr__(self) -> str:
        return f"EntropyBall(d={self.d}, bound={self.bound}{self._tie_text})"


def _exponents(C: Array, s: Array) -> Array:
    """Return c s - 1, kept above the underflow of exp so that 0 log 0 stays 0."""
    with np.errstate(over="ignore"):
        exponents: Array = np.maximum(C * s[:, None] - 1, -800.0)
    return exponents


def _nearest_below_zero(directions: Array) -> Array:
    nearest: Array = -np.where(directions < 0, directions, -math.inf).max(axis=1)
    return nearest


@dataclass(frozen=True)
class _Length:
    """|x|^2; at its maximum entries take two values, so starts with equal entries find it."""

    d: int

    def value(self, X: Array) -> Array:
        return np.asarray((X * X).sum(axis=1))

    def gradient(self, X: Array) -> Array:
        return 2 * X

    def directions(self) -> Array:
        return np.tril(np.ones((self.d, self.d)))
