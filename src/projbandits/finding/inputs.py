"""Features that callers pass in, read piece by piece and by the names of their columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from projbandits._validation import (
    Array,
    did_you_mean,
    is_table,
    real_array,
    short,
    table_columns,
)
from projbandits.finding.sums import pieces

Names = tuple[str, ...] | None


def length(name: str, X: Any) -> int:
    """Return how many rows a table or a matrix has."""
    shape = getattr(X, "shape", None)
    shape = np.shape(X) if shape is None else shape
    if len(shape) != 2:
        raise ValueError(
            f"{name} must be a matrix or a table with one row per item, got {short(X)}"
        )
    if shape[0] == 0 or shape[1] == 0:
        raise ValueError(f"{name} must have at least one row and one column, got shape {shape}")
    return int(shape[0])


def names_of(X: Any) -> Names:
    """Return the names of the columns of a table."""
    return tuple(map(str, table_columns("X", X)[0])) if is_table(X) else None


def matrices(name: str, X: Any, names: Names, d: int | None) -> Iterator[tuple[slice, Array]]:
    """Yield the rows piece by piece, with the columns in the order of `names`."""
    found = names_of(X)
    order = None
    if found is not None and names is not None and found != names:
        for column in names:
            if column not in found:
                hint = did_you_mean(column, found)
                raise ValueError(f"{name} must have a column {column!r}, it is missing{hint}")
        for column in found:
            if column not in names:
                raise ValueError(f"{name} has a column {column!r} that others lack: drop it")
        order = [found.index(column) for column in names]
    whole = X if is_table(X) or hasattr(X, "shape") else np.asarray(X)
    for rows in pieces(length(name, X)):
        matrix = real_array(name, whole[rows], ndim=2)
        if d is not None and matrix.shape[1] != d:
            raise ValueError(f"{name} must have {d} columns, as before, got {matrix.shape[1]}")
        yield rows, matrix if order is None else matrix[:, order]
