"""The decision set D: what every set of arms can be asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy.linalg

from projbandits._checks import Array, one_of
from projbandits.subspace import Subspace

BASIS_METHODS = ("pivoted-qr", "first")


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """One arm: its features, and its row in a finite set (None in an infinite one)."""

    x: Array
    index: int | None = None


class ConvexFunction(Protocol):
    """A convex function of the arm, such as an optimistic score."""

    def value(self, X: Array) -> Array:
        """Return the function at each row of X."""
        ...

    def gradient(self, X: Array) -> Array:
        """Return a subgradient at each row of X."""
        ...

    def directions(self) -> Array:
        """Return directions, one a row, whose support points are good places to start from."""
        ...


class DecisionSet(ABC):
    """A compact set D in R^d from which arms are chosen.

    Sets never change. A subclass says what its support points are, how to maximise a convex
    function, and which independent arms it has; the rest follows from these.
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
    @abstractmethod
    def radius(self) -> float:
        """A bound Z on the length of every arm (Assumption 2)."""

    @abstractmethod
    def best(self, direction: npt.ArrayLike) -> Arm:
        """Return the arm with the largest <direction, x>; ties go to the lowest index."""

    @abstractmethod
    def best_convex(self, function: ConvexFunction) -> Arm:
        """Return the arm with the largest value of a convex function."""

    @abstractmethod
    def basis_arms(self, method: str = "pivoted-qr") -> tuple[Arm, ...]:
        """Return D_k, the k independent arms of Assumption 1, as arms."""

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
            Take each time the arm that lies farthest from the span of those taken before (QR
            with column pivoting), or go through the arms in order and take each that is
            independent.
        """
        arms = self.basis_arms(method)
        return np.array([arm.x for arm in arms]).reshape(len(arms), self.d)

    @property
    def rank(self) -> int:
        """The dimension k of span(D)."""
        return len(self.basis_arms())

    def span(self) -> Subspace:
        """Return span(D), which must hold U for U to be learnt (Assumption 1)."""
        if self.rank == 0:
            return Subspace(np.zeros((self.d, 0)))
        return Subspace.span(self.basis().T)


def independent_rows(X: Array, method: str, tolerance: float) -> list[int]:
    """Return the positions of linearly independent rows of X that span all of its rows.

    A row counts as dependent when what is left of it outside the span of those taken is shorter
    than `tolerance` times the longest row.
    """
    one_of("method", method, BASIS_METHODS)
    if method == "pivoted-qr":
        R, order = scipy.linalg.qr(X.T, mode="r", pivoting=True)
        pivots = np.abs(np.diag(R))
        return [int(i) for i in order[: len(pivots)][pivots > tolerance * pivots[0]]]
    longest = np.linalg.norm(X, axis=1).max()
    Q = np.zeros((0, X.shape[1]))
    taken: list[int] = []
    for i, x in enumerate(X):
        rest = x - (x @ Q.T) @ Q
        rest -= (rest @ Q.T) @ Q  # once more: a single pass loses orthogonality
        length = np.linalg.norm(rest)
        if length > tolerance * longest:
            Q = np.vstack([Q, rest / length])
            taken.append(i)
        if len(taken) == X.shape[1]:
            break
    return taken
