"""What is on offer: arrays, tables and decision sets read into one form, with names matched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from projbandits._cached import cached_property
from projbandits._validation import Array, did_you_mean, is_table, real_array, table_array
from projbandits.arms import Arm, DecisionSet, FiniteArms
from projbandits.arms.base import independent_rows
from projbandits.arms.finite import ARMS_DEPENDENT
from projbandits.decisions.labels import read_labels
from projbandits.decisions.limits import LARGEST_ENTRY
from projbandits.subspace import Subspace
from projbandits.tables import Columns, is_records

MANY_ARMS = 4096
"""From more arms than this, D_k is sought among `SAMPLED` d of them first."""

SAMPLED = 16

WEIGHED = 100_000
"""From more arms than this, a strategy weighs some: the best by the belief and its draws, and D_k.

Which it weighs is determined by the belief, so whoever decides again weighs the same.
"""


FEW_NUMBERS = 10_000
"""Of fewer numbers than this, BLAS adds up products in one thread."""


class Offer(FiniteArms):
    """Finitely many arms that were checked already; a view, not a copy.

    D_k may be any k independent arms that span all of them (Assumption 1). Where there are more
    than `MANY_ARMS` arms it is sought among 16 d of them: evenly spread ones for "pivoted-qr", the
    first ones for "first". If those have full rank they span what all arms do. Otherwise the arm
    farthest from their span is added, until none lies outside.

    `labels` are what the arms are called, as the ledger writes it.
    """

    def __init__(
        self,
        vectors: Array,
        columns: tuple[str, ...] | None = None,
        labels: tuple[str, ...] | None = None,
    ) -> None:
        self.vectors = vectors.view()
        self.vectors.flags.writeable = False
        self.columns = columns
        self.labels = labels
        self._rows: dict[str, list[int]] = {}
        self.numbers: Any = None  # how the ledger refers to them, once it has them

    @property
    def vast(self) -> bool:
        """Whether there are more arms than a strategy can weigh one by one."""
        return self.size > WEIGHED

    @cached_property
    def longest(self) -> float:
        """The length of the longest arm."""
        return float(np.sqrt(np.einsum("ij,ij->i", self.vectors, self.vectors).max()))

    def basis_rows(self, method: str = "pivoted-qr") -> list[int]:
        """Return the rows of D_k."""
        if method not in self._rows:
            self._rows[method] = self._seek(method)
        return self._rows[method]

    def _seek(self, method: str) -> list[int]:
        if self.size > MANY_ARMS:
            some = np.arange(min(SAMPLED * self.d, self.size))
            if method == "pivoted-qr":
                some = some * (self.size - 1) // (len(some) - 1)
            found = independent_rows(self.vectors[some], method, ARMS_DEPENDENT)
            rows: list[int] = some[found].tolist()
            return rows if len(rows) == self.d else self._complete(rows)
        return independent_rows(self.vectors, method, ARMS_DEPENDENT)

    def _complete(self, rows: list[int]) -> list[int]:
        """Return rows with those added that lie outside of their span, each column at one scale."""
        X = self.vectors
        scale = np.maximum(X.max(axis=0), -X.min(axis=0))
        scale[scale == 0.0] = 1.0
        while len(rows) < self.d:
            inside = X[rows] / scale
            _, sizes, turned = np.linalg.svd(inside, full_matrices=True)
            outside = (turned[len(sizes) :] / scale).T
            far = np.concatenate(
                [
                    np.abs(X[start : start + MANY_ARMS] @ outside).max(axis=1)
                    for start in range(0, self.size, MANY_ARMS)
                ]
            )
            row = int(far.argmax())
            if far[row] <= ARMS_DEPENDENT * sizes.max(initial=1.0):
                break
            rows = [*rows, row]
        return rows

    def best(self, direction: npt.ArrayLike) -> Arm:
        """Return the arm with the largest score; ties go to the lowest index."""
        return self.arm(int(self.scores(np.asarray(direction)).argmax()))

    def holds(self, vectors: NDArray[Any], labels: tuple[str, ...] | None = None) -> bool:
        """Tell whether these are its arms, in the same order."""
        return self.labels == labels and self.has_rows(vectors)

    def has_rows(self, vectors: NDArray[Any]) -> bool:
        """Tell whether these are its arms, whatever they are called."""
        mine = self.vectors
        if mine.shape != vectors.shape or mine[0, 0] != vectors[0, 0]:
            return False
        return bool((mine == vectors).all())

    def own(self) -> None:
        """Take a copy of the arms, which no one else can change."""
        self.vectors = self.vectors.copy()
        self.vectors.flags.writeable = False

    def without(self, taken: Sequence[int]) -> tuple[Offer, NDArray[np.int64]]:
        """Return the offer without some arms, and the rows that are left."""
        left = np.delete(np.arange(self.size), taken)
        labels = self.labels
        if labels is not None:
            labels = tuple(labels[i] for i in left.tolist())
        return Offer(self.vectors[left], self.columns, labels), left


def read(
    name: str,
    arms: Any,
    subspace: Subspace,
    columns: tuple[str, ...] | None,
    penalty: float,
    ids: Any = None,
    needed: bool = False,
) -> tuple[DecisionSet, tuple[str, ...] | None]:
    """Return arms as a decision set with features in the known order, and the columns' names.

    Parameters
    ----------
    name : str
        What to call the arms in an error.
    arms : array, DataFrame, list of dicts or DecisionSet
        A float64 array is not copied.
    subspace : Subspace
        What the features must fit.
    columns : tuple of str or None
        The names of the features, where they are known already.
    penalty : float
        lambda, against which no feature may be too large.
    ids, needed : sequence and bool
        What the arms are called, and whether they must be called something; see `read_labels`.
    """
    plain = type(arms) is np.ndarray
    if not plain and isinstance(arms, DecisionSet) and not isinstance(arms, FiniteArms):
        if ids is not None or needed:
            raise ValueError(f"{name} must be finitely many where they have ids, got {arms!r}")
        subspace.check_width(name, arms.d, columns)
        _check_sizes(name, arms.basis(), columns, penalty)
        return arms, columns
    vectors, names = read_rows(name, arms, columns, penalty)
    subspace.check_width(name, vectors.shape[1], columns)
    if len(vectors) == 0:
        raise ValueError(f"{name} must hold at least one arm, got none")
    if plain and ids is None and not needed:
        return Offer(vectors, names), names
    return Offer(vectors, names, read_labels(ids, arms, len(vectors), needed)), names


def read_rows(
    name: str, value: Any, columns: tuple[str, ...] | None, penalty: float
) -> tuple[Array, tuple[str, ...] | None]:
    """Return features in the known order, one arm a row, and the columns' names, if any."""
    named: tuple[Any, ...] | None
    if isinstance(value, FiniteArms):
        named, vectors = value.columns, value.vectors
    else:
        named, vectors = read_matrix(name, value, columns)
    _check_sizes(name, vectors, named or columns, penalty)
    if named is None or columns is None:
        return vectors, columns or (None if named is None else tuple(map(str, named)))
    order = match(name, named, columns)
    return (vectors if order is None else vectors[:, order]), columns


def check_slots(arms: DecisionSet, count: int) -> None:
    """Raise unless that many distinct arms can be chosen."""
    if count > arms.size:
        raise ValueError(
            f"count must be at most the number of arms on offer, {arms.size}, got {count}"
        )
    if count > 1 and not isinstance(arms, FiniteArms):
        raise ValueError(
            f"count must be 1 where arms are infinitely many, got {count}: pass finitely many"
        )


def read_matrix(
    name: str, value: Any, columns: Sequence[str] | None
) -> tuple[tuple[Any, ...] | None, Array]:
    """Return the names of a table's columns, or None, and its numbers."""
    if hasattr(value, "collect_schema") and not hasattr(value, "to_numpy"):
        raise TypeError(f"{name} must be a table at hand, got a lazy one: collect() it first")
    if hasattr(value, "column_names"):  # Arrow's tables
        value = value.to_pandas()
    if is_records(value):
        table = Columns(name, value)
        if columns is not None:
            match(name, table.names, columns)  # a column too many is named, whatever it holds
        elif not table.names:
            raise ValueError(f"{name} must have features by name, got rows without any")
        return table.names, np.column_stack([table.numbers(column) for column in table.names])
    named = tuple(value.columns) if is_table(value) else None
    if named is not None:
        twice = [column for column in named if named.count(column) > 1]
        if twice:
            raise ValueError(f"{name} must have distinct columns, got {twice[0]!r} more than once")
        if columns is not None:
            match(name, named, columns)  # a column too many is named, whatever it holds
        return named, table_array(name, value)
    if type(value) is np.ndarray and value.dtype == np.float64 and value.ndim == 2:
        return None, value
    if isinstance(value, Sequence) and len(value) == 0:
        raise ValueError(f"{name} must hold at least one arm, got none")
    return None, real_array(name, value, ndim=2, finite=False)


def match(name: str, named: Sequence[Any], columns: Sequence[str]) -> list[int] | None:
    """Return where each known column stands among the given ones, or None if as it is."""
    given = tuple(map(str, named))
    if given == tuple(columns):
        return None
    missing = [column for column in columns if column not in given]
    extra = [column for column in given if column not in columns]
    if missing:
        instead = f"; got {extra!r} instead" if extra else ""
        hints = "".join(did_you_mean(column, extra) for column in missing)
        raise ValueError(
            f"{name} must have the columns {missing!r}, they are missing{instead}{hints}"
        )
    if extra:
        hint = did_you_mean(extra[0], columns)
        raise ValueError(
            f"{name} must have the columns known so far, got {extra!r} beside them{hint}"
            if hint
            else f"{name} must have the columns known so far, got {extra!r} beside them: drop them"
        )
    return [given.index(column) for column in columns]


def _check_sizes(name: str, matrix: Array, columns: Sequence[Any] | None, penalty: float) -> None:
    """Raise unless all entries are finite and small enough to stand beside the penalty."""
    # One sum tells for all entries. Of many, a BLAS product would start threads for it, and wait
    # for them where others are at work.
    with np.errstate(over="ignore", invalid="ignore"):  # too large is what is looked for
        if matrix.flags.forc:
            flat = matrix.ravel(order="K")
            total = flat.dot(flat) if flat.size < FEW_NUMBERS else np.einsum("i,i->", flat, flat)
        else:
            total = np.einsum("ij,ij->", matrix, matrix)
    largest = LARGEST_ENTRY * math.sqrt(penalty)
    if total <= largest * largest:
        return
    bad = ~np.isfinite(matrix)
    sizes = bad if bad.any() else np.abs(matrix)
    row, column = (int(i) for i in np.unravel_index(sizes.argmax(), matrix.shape))
    if not bad.any() and sizes[row, column] <= largest:
        return
    names: Sequence[Any] = range(matrix.shape[1])
    if columns is not None and len(columns) == len(names):
        names = [*map(str, columns)]
    what, remedy = "finite", "drop or fill such entries"
    if not bad.any():
        what = f"at most {largest:.3g} in size, {LARGEST_ENTRY:g} times the root of the ridge"
        remedy = "rescale that column"
    raise ValueError(
        f"{name} must be {what}, got {matrix[row, column]} in row {row}, column "
        f"{names[column]!r}: {remedy}"
    )
