"""Tables of any library, lists of dicts and plain matrices, read by the names of their columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from projbandits._dates import days_of
from projbandits._tables import as_number, is_missing, is_table
from projbandits._validation import Array, did_you_mean, short

Column = npt.NDArray[Any]

MANY_COLUMNS = 16
"""This many columns of a table take less time to read together than one by one."""


class Columns:
    """What a table holds, column by column.

    Parameters
    ----------
    name : str
        What to call the table in an error.
    table : DataFrame, Arrow table, list of dicts, dict of columns, or matrix
        Pandas and polars will do. The columns of a matrix are called x0, x1 and so on.

    Examples
    --------
    >>> from projbandits._columns import Columns
    >>> rows = Columns("items", [{"length": 90, "genre": "drama"}, {"length": 120}])
    >>> rows.names, len(rows)
    (('length', 'genre'), 2)
    >>> rows.numbers("length")
    array([ 90., 120.])
    """

    def __init__(self, name: str, table: Any) -> None:
        self.name = name
        self._frame: Callable[[Sequence[str]], Any] | None = None
        if hasattr(table, "collect_schema") and not hasattr(table, "to_numpy"):
            raise TypeError(f"{name} must be a table at hand, got a lazy one: collect() it first")
        if hasattr(table, "toarray"):  # some are mappings too
            raise TypeError(f"{name} must be a table, got a sparse matrix: pass its toarray()")
        if hasattr(table, "column_names"):  # Arrow
            self.names = tuple(map(str, table.column_names))
            self._length, self._get = table.num_rows, self._of_arrow(table)
        elif is_table(table):
            self.names = tuple(map(str, table.columns))
            given = dict(zip(self.names, table.columns, strict=True))
            self._length = len(table)
            self._get = lambda column: np.asarray(table[given[column]].to_numpy())
            self._frame = lambda some: table[[given[column] for column in some]]
        elif isinstance(table, Mapping):
            self.names = tuple(map(str, table))
            columns = {str(key): _entries(value) for key, value in table.items()}
            lengths = {key: len(value) for key, value in columns.items()}
            self._length = max(lengths.values(), default=0)
            for key, length in lengths.items():
                if length != self._length:
                    raise ValueError(
                        f"{name} must have columns of one length, got {length} in {key!r} and "
                        f"{self._length} in others"
                    )
            self._get = columns.__getitem__
        elif is_records(table):
            self.names = tuple(dict.fromkeys(str(key) for row in table for key in row))
            self._length = len(table)
            self._get = lambda column: _entries([row.get(column) for row in table])
        else:
            matrix = _matrix(name, table)
            self.names = tuple(f"x{j}" for j in range(matrix.shape[1]))
            self._length = len(matrix)
            self._get = lambda column: matrix[:, int(column[1:])]
        self._known = frozenset(self.names)
        if len(self._known) < len(self.names):
            twice = min(column for column, times in Counter(self.names).items() if times > 1)
            raise ValueError(f"{name} must have distinct columns, got {twice!r} more than once")

    def __len__(self) -> int:
        return int(self._length)

    @staticmethod
    def _of_arrow(table: Any) -> Any:
        def get(column: str) -> Column:
            values = table.column(column)
            if hasattr(values.type, "index_type"):  # of a missing entry it would give the last one
                values = values.cast(values.type.value_type)
            return np.asarray(values.to_numpy(zero_copy_only=False))

        return get

    def values(self, column: str) -> Column:
        """Return a column as it is."""
        if column not in self._known:
            raise ValueError(
                f"{self.name} must have a column {column!r}, it is missing"
                f"{did_you_mean(column, self.names)}"
            )
        return np.asarray(self._get(column))

    def numbers(self, column: str) -> Array:
        """Return a column of numbers; what is missing is nan."""
        values = self.values(column)
        if values.dtype.kind in "biuf":
            return values.astype(np.float64)
        if values.dtype.kind == "O":
            return np.array(
                [self._number(entry, row, column) for row, entry in enumerate(values.tolist())],
                dtype=np.float64,
            )
        raise TypeError(
            f"{self.name} must hold numbers in column {column!r}, got {values.dtype}: declare it "
            "categorical, or convert it"
        )

    def days(self, column: str) -> Array:
        """Return a column of dates in days since 1970; what is missing is nan."""
        values = self.values(column)
        if values.dtype.kind == "M":
            micro = values.astype("datetime64[us]")
            return np.where(np.isnat(micro), np.nan, micro.astype(np.int64) / 86_400e6)
        found = [days_of(entry) for entry in values.tolist()]
        for row, (entry, day) in enumerate(zip(values.tolist(), found, strict=True)):
            if day is None:
                raise TypeError(
                    f"{self.name} must hold dates in column {column!r}, got {short(entry)} in row "
                    f"{row}: write them as 2026-01-31, or declare the column categorical"
                )
        return np.array(found, dtype=np.float64)

    def block(self, columns: Sequence[str]) -> Array:
        """Return columns of numbers side by side; what is missing is nan."""
        many = len(columns) >= MANY_COLUMNS and self._known.issuperset(columns)
        if many and self._frame is not None:
            frame = self._frame(columns)
            dtypes = frame.dtypes
            # Polars would turn dates into numbers.
            if not isinstance(dtypes, list) or all(dtype.is_numeric() for dtype in dtypes):
                whole = np.asarray(frame.to_numpy())
                if whole.dtype.kind in "biuf":
                    return np.asarray(whole, dtype=np.float64)
        return np.array([self.numbers(column) for column in columns]).T

    def vectors(self, column: str) -> Array:
        """Return a column of vectors of one length, a row each; a missing one is all nan."""
        entries = self.values(column)
        there = [entry for entry in entries if not is_missing(entry)]
        try:
            gap = np.full(len(there[0]) if there else 1, np.nan)
            rows = [gap if is_missing(e) else np.asarray(e, dtype=np.float64) for e in entries]
        except (TypeError, ValueError):
            rows = []
        if len(rows) != len(entries) or {row.ndim for row in rows} - {1}:
            raise TypeError(
                f"{self.name} must hold vectors of numbers in column {column!r}, got "
                f"{short(entries[0])} in row 0"
            )
        for i, row in enumerate(rows):
            if len(row) != len(rows[0]):
                raise ValueError(
                    f"{self.name} must hold vectors of one length in column {column!r}, got "
                    f"{len(row)} numbers in row {i} and {len(rows[0])} in row 0"
                )
        return np.array(rows).reshape(len(rows), -1)

    def _number(self, entry: Any, row: int, column: str) -> float:
        number = as_number(entry)
        if number is None:
            raise TypeError(
                f"{self.name} must hold numbers in column {column!r}, got {short(entry)} in row "
                f"{row}: declare the column categorical, or convert it (an argument must be a "
                "string or a number)"
            )
        return number


def is_records(table: Any) -> bool:
    """Tell whether a table is a list of dicts."""
    return (
        isinstance(table, Sequence)
        and not isinstance(table, str | bytes)
        and len(table) > 0
        and all(isinstance(row, Mapping) for row in table)
    )


def _entries(value: Any) -> Column:
    """Return a column given as a list, an array or one value."""
    if isinstance(value, np.ndarray) and value.ndim:
        return value
    if hasattr(value, "to_numpy") and hasattr(value, "__len__"):  # a time stamp has no rows
        return np.asarray(value.to_numpy())
    listed = list(value) if isinstance(value, list | tuple) else [value]
    if all(isinstance(entry, int | float) for entry in listed):
        return np.array(listed)
    column = np.empty(len(listed), dtype=object)
    for i, entry in enumerate(listed):
        column[i] = entry
    return column


def _matrix(name: str, table: Any) -> Column:
    matrix = np.asarray(table)
    if matrix.dtype.kind == "c":
        raise ValueError(f"{name} must hold real numbers. Complex data not supported")
    if matrix.ndim != 2:
        hint = ". Reshape your data: one item per row" if matrix.ndim == 1 else ""
        raise ValueError(
            f"{name} must be a table or a matrix, got {short(table)} of {matrix.ndim} dimensions"
            f"{hint}"
        )
    return matrix
