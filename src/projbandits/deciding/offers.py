"""What is on offer: arrays, tables and decision sets read into one form, with names matched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from projbandits._validation import Array, did_you_mean, is_table, real_array, table_array
from projbandits.arms import DecisionSet, FiniteArms
from projbandits.deciding.labels import read_labels
from projbandits.deciding.limits import LARGEST_ENTRY
from projbandits.ledger.offer import Offer
from projbandits.subspace import Subspace
from projbandits.tables import Columns, is_records

FEW_NUMBERS = 10_000
"""Of fewer numbers than this, BLAS adds up products in one thread."""


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
