"""The decision set D: what every set of arms can be asked."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy.linalg

from projbandits._linalg import distances, pivots, surely_full
from projbandits._validation import Array, one_of
from projbandits.subspace import Subspace

IN_PLANE = 1e-6
"""Arms this near to a hyperplane <n, x> = 1 lie in it."""

BASIS_METHODS = ("pivoted-qr", "first")
OUTSIDE = 1e-10
"""A row this far from the span of others, relative to the longest, is clearly independent."""


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """One arm of a decision set.

    Parameters
    ----------
    x : ndarray of shape (d,)
        Its features.
    index : int or None
        Its row in a finite set; None in an infinite one.
    label : str, optional
        The label of its item in a decider.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> arm = pb.FiniteArms(np.eye(3)).best([0.1, 0.7, 0.2])
    >>> arm.index, arm.x
    (1, array([0., 1., 0.]))
    """

    x: Array
    index: int | None = None
    label: str | None = None


class ConvexFunction(Protocol):
    """A convex function of the arm, such as an optimistic score.

    Examples
    --------
    The distance from a point: its maximiser is the farthest arm.

    >>> import numpy as np, projbandits as pb
    >>> class Distance:
    ...     def __init__(self, point):
    ...         self.point = np.asarray(point)
    ...     def value(self, X):
    ...         return np.linalg.norm(X - self.point, axis=1)
    ...     def gradient(self, X):
    ...         return (X - self.point) / self.value(X)[:, None]
    ...     def directions(self):
    ...         return -self.point[None]
    >>> pb.Box([0.0, 0.0], [1.0, 2.0]).best_convex(Distance([0.9, 0.5])).x
    array([0., 2.])
    """

    def value(self, X: Array) -> Array:
        """Return the function at each row of X."""
        ...

    def gradient(self, X: Array) -> Array:
        """Return a subgradient at each row of X."""
        ...

    def directions(self) -> Array:
        """Return directions, one per row, whose support points are good places to start from."""
        ...


class DecisionSet(ABC):
    """A compact set D in R^d from which arms are chosen.

    Sets never change. A subclass says what its support points are, how to maximise a convex
    function, and which independent arms it has; the rest follows from these.

    Examples
    --------
    >>> import projbandits as pb
    >>> ball = pb.Ball(3)
    >>> isinstance(ball, pb.DecisionSet), ball.d, ball.rank, ball.size
    (True, 3, 3, inf)
    >>> ball.maximize([0.0, 0.0, 2.0])
    array([0., 0., 1.])
    """

    @property
    @abstractmethod
    def d(self) -> int:
        """The number of features of an arm."""

    @property
    @abstractmethod
    def size(self) -> float:
        """The number of arms |D|, infinite for a convex set."""

    @property
    def vast(self) -> bool:
        """Whether there are more arms than a strategy can weigh one by one."""
        return math.isinf(self.size)

    @property
    @abstractmethod
    def longest(self) -> float:
        """A bound Z on the length of every arm (Assumption 2)."""

    @abstractmethod
    def best(self, direction: npt.ArrayLike) -> Arm:
        """Return the arm with the largest <direction, x>; ties go to the lowest index."""

    @abstractmethod
    def best_convex(self, function: ConvexFunction) -> Arm:
        """Return the arm with the largest value of a convex function."""

    @abstractmethod
    def basis_arms(self, method: str = "pivoted-qr") -> Sequence[Arm]:
        """Return D_k, the k independent arms of Assumption 1, as a sequence."""

    @abstractmethod
    def contains(self, x: npt.ArrayLike, tolerance: float = 1e-9) -> bool:
        """Tell whether x lies in the set, up to a tolerance relative to its size."""

    def maximize(self, direction: npt.ArrayLike) -> Array:
        """Return the support point, argmax over D of <direction, x>."""
        return self.best(direction).x

    def basis(self, method: str = "pivoted-qr") -> Array:
        """Return D_k as a k x d matrix.

        Parameters
        ----------
        method : {"pivoted-qr", "first"}
            At each turn take the arm farthest from the span of those already taken (QR with
            column pivoting), or go through the arms in order and take each that is independent.
        """
        arms = self.basis_arms(method)
        return np.array([arm.x for arm in arms]).reshape(len(arms), self.d)

    def level_arms(self, method: str = "pivoted-qr") -> tuple[Arm, ...]:
        """Return D_k, and one more arm if it takes one to tell a level of all returns too.

        The k arms of D_k lie in a hyperplane <n, x> = 1, whose normal n a level cannot be told
        from by their returns. So the arm farthest from it is added, unless all arms lie in it, as
        they do if a feature is constant.

        Examples
        --------
        >>> import projbandits as pb
        >>> arms = pb.FiniteArms([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
        >>> [arm.index for arm in arms.level_arms()]
        [1, 2, 0]
        """
        if method not in self._level_arms:
            self._level_arms[method] = tuple(self._with_level(method))
        return self._level_arms[method]

    @cached_property
    def _level_arms(self) -> dict[str, tuple[Arm, ...]]:
        return {}

    def _with_level(self, method: str) -> list[Arm]:
        arms = [*self.basis_arms(method)]
        if not arms:
            return [self.best(np.zeros(self.d))]
        X = np.array([arm.x for arm in arms])
        sizes = np.abs(X).max(axis=0)
        scale = np.where(sizes > 0, sizes, 1.0)
        normal = np.linalg.lstsq(X / scale, np.ones(len(X)), rcond=None)[0] / scale
        ends = [self.best(normal), self.best(-normal)]
        far = max(ends, key=lambda arm: abs(float(arm.x @ normal) - 1.0))
        return [*arms, far] if abs(float(far.x @ normal) - 1.0) > IN_PLANE else arms

    @property
    def rank(self) -> int:
        """The dimension k of span(D)."""
        return len(self.basis_arms())

    def span(self) -> Subspace:
        """Return span(D), which must contain U for U to be learnt (Assumption 1)."""
        if self.rank == 0:
            return Subspace(np.zeros((self.d, 0)))
        return Subspace.span(self.basis().T)


def independent_rows(X: Array, method: str, tolerance: float) -> list[int]:
    """Return the positions of linearly independent rows of X that span all of its rows.

    The rank is decided with all columns on the same scale, so it does not depend on the units of
    the features: a pivot below `tolerance` times the first is round-off.
    """
    one_of("method", method, BASIS_METHODS)
    R, order = pivots(X)
    farthest_first: list[int] = order.tolist()
    k = X.shape[1]
    full = surely_full(R, 10 * tolerance)
    if method == "pivoted-qr" and full:
        return farthest_first[:k]
    largest = np.abs(X).max(axis=0)
    unit_free = X / np.where(largest > 0, largest, 1.0)
    if not full:
        sizes = np.abs(np.diag(pivots(unit_free)[0]))
        k = int((sizes > tolerance * sizes[0]).sum())
    if method == "pivoted-qr":
        return farthest_first[:k]
    longest = float(np.linalg.norm(unit_free, axis=1).max())
    if distances(unit_free[:k]).min(initial=np.inf) > 10 * OUTSIDE * longest:
        return list(range(k))  # by far the most common case, and the others take long
    taken = _independent_in_order(unit_free, range(len(X)), k, [])
    return _independent_in_order(unit_free, farthest_first, k, taken)


def _independent_in_order(X: Array, order: Iterable[int], k: int, taken: list[int]) -> list[int]:
    """Return `taken` plus the next clearly independent rows in order, k in all."""
    taken = list(taken)
    longest = np.linalg.norm(X, axis=1).max()
    for i in order:
        if len(taken) == k:
            break
        Q = scipy.linalg.qr(X[taken].T, mode="economic")[0].T if taken else X[:0]
        rest = X[i] - (X[i] @ Q.T) @ Q
        rest -= (rest @ Q.T) @ Q  # again, as a single pass leaves round-off
        if np.linalg.norm(rest) > OUTSIDE * longest:
            taken.append(i)
    return taken
