"""Finitely many arms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from operator import is_
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from projbandits._validation import Array, real_array, real_vector
from projbandits.arms.base import Arm, ConvexFunction, DecisionSet, independent_rows

if TYPE_CHECKING:
    import pandas as pd

Found = TypeVar("Found")

ARMS_DEPENDENT = 1e-11
"""An arm this close to the span of others, relative to the longest, counts as dependent on them."""


ROWS_AT_ONCE = 1024
"""How many arms are scored at a time when there are very many."""


class ArmRows(Sequence[Arm]):
    """Some arms of a finite set, each made when it is accessed."""

    def __init__(self, arms: FiniteArms, rows: list[int]) -> None:
        self.arms = arms
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, position: int) -> Arm: ...
    @overload
    def __getitem__(self, position: slice) -> ArmRows: ...
    def __getitem__(self, position: int | slice) -> Arm | ArmRows:
        if isinstance(position, slice):
            return ArmRows(self.arms, self.rows[position])
        return self.arms.arm(self.rows[position])

    def __contains__(self, arm: object) -> bool:
        return isinstance(arm, Arm) and arm.index in self.rows


class FiniteArms(DecisionSet):
    """Finitely many arms, one per row.

    Parameters
    ----------
    X : array of shape (K, d), or DataFrame
        The arms' features. A DataFrame's column names are kept in `columns`.

    Examples
    --------
    >>> import projbandits as pb
    >>> arms = pb.FiniteArms([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> arms.maximize([1.0, 0.1])
    array([1., 1.])
    >>> arms.rank
    2
    """

    _found: tuple[tuple[object, ...], Any] = (), None

    def __init__(self, X: npt.ArrayLike | pd.DataFrame) -> None:
        vectors = real_array("X", X, ndim=2)
        if vectors.shape[0] == 0 or vectors.shape[1] == 0:
            raise ValueError(
                f"X must have at least one arm and one feature, got shape {vectors.shape}"
            )
        self.vectors: Array = vectors.view()
        self.vectors.flags.writeable = False
        names = getattr(X, "columns", None)
        self.columns: tuple[str, ...] | None = None if names is None else tuple(names)
        self._rows: dict[str, list[int]] = {}

    @property
    def d(self) -> int:
        """The number of features of an arm."""
        return int(self.vectors.shape[1])

    @property
    def size(self) -> int:
        """The number of arms |D|."""
        return int(self.vectors.shape[0])

    @cached_property
    def longest(self) -> float:
        """The length of the longest arm, Z of Assumption 2."""
        rows = self.basis_rows()  # QR with pivoting begins with the longest
        return float(np.linalg.norm(self.vectors[rows[0]])) if rows else 0.0

    @cached_property
    def shared(self) -> NDArray[np.bool_]:
        """Whether each feature is the same for all arms."""
        return np.asarray((self.vectors == self.vectors[0]).all(axis=0))

    def arm(self, index: int) -> Arm:
        """Return the arm in row `index`."""
        return Arm(self.vectors[index], index)

    def scores(self, direction: Array) -> Array:
        """Return <direction, x> of every arm."""
        # einsum sums each row in the same order, so equal arms have equal scores and tie; a BLAS
        # product may round the same row differently at another position.
        scores: Array = np.einsum("ij,j->i", self.vectors, direction)
        return scores

    def best(self, direction: npt.ArrayLike) -> Arm:
        """Return the arm with the largest score; ties go to the lowest index."""
        c = real_vector("direction", direction, self.d)
        return self.arm(int(self.scores(c).argmax()))

    def best_rows(self, directions: Array) -> list[int]:
        """Return the row of the arm with the largest score in each direction.

        Arms are scored in blocks: scores stay in the cache, and BLAS starts no threads for them.
        """
        largest, rows = np.full(len(directions), -np.inf), np.zeros(len(directions), dtype=np.int64)
        for start in range(0, self.size, ROWS_AT_ONCE):
            scores = directions @ self.vectors[start : start + ROWS_AT_ONCE].T
            there = scores.argmax(axis=1)
            found = scores[np.arange(len(directions)), there]
            rows = np.where(found > largest, start + there, rows)
            largest = np.maximum(found, largest)
        return [int(row) for row in rows]

    def best_convex(self, function: ConvexFunction) -> Arm:
        """Return the arm with the largest value, found by looking at each."""
        return self.arm(int(function.value(self.vectors).argmax()))

    def basis_arms(self, method: str = "pivoted-qr") -> ArmRows:
        """Return D_k, the k independent arms of Assumption 1."""
        return ArmRows(self, self.basis_rows(method))

    def basis_rows(self, method: str = "pivoted-qr") -> list[int]:
        """Return the rows of D_k."""
        if method not in self._rows:
            self._rows[method] = independent_rows(self.vectors, method, ARMS_DEPENDENT)
        return self._rows[method]

    def once(self, by: tuple[object, ...], find: Callable[[], Found]) -> Found:
        """Return what is found of these arms, again as long as it is sought by the same objects.

        Examples
        --------
        >>> import projbandits as pb
        >>> arms, belief = pb.FiniteArms([[1.0, 0.0], [0.0, 2.0]]), object()
        >>> arms.once((belief,), lambda: "found"), arms.once((belief,), lambda: "sought again")
        ('found', 'found')
        """
        before, found = self._found
        if len(before) != len(by) or not all(map(is_, before, by)):
            found = find()
            self._found = by, found
        return found  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy is made of: by whom something was found stays behind."""
        return {name: value for name, value in vars(self).items() if name != "_found"}

    @property
    def rank(self) -> int:
        """The dimension k of span(D)."""
        return len(self.basis_rows())

    def contains(self, x: npt.ArrayLike, tolerance: float = 1e-9) -> bool:
        """Tell whether x is one of the arms, up to a tolerance relative to the longest."""
        point = real_vector("x", x, self.d)
        nearest = np.abs(self.vectors - point).max(axis=1).min()
        return bool(nearest <= tolerance * max(self.longest, np.finfo(np.float64).tiny))

    def __len__(self) -> int:
        return self.size

    def __identity__(self) -> tuple[Any, ...]:
        return self.vectors, self.columns

    def __repr__(self) -> str:
        return f"FiniteArms({self.size} arms, d={self.d})"
