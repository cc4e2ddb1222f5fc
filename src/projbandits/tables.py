"""Read tables of any library, files, lists of dicts and plain matrices by the names of columns."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import (
    Array,
    as_number,
    did_you_mean,
    is_missing,
    is_table,
    short,
    table_columns,
)

if TYPE_CHECKING:
    import pandas as pd

Column = NDArray[Any]

MANY_COLUMNS = 16
"""This many columns of a table take less time to read together than one by one."""
MOST_LEVELS = 1000
"""A column with more categories than this is an id, or numbers that were read as text."""
ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
"""How a date is written."""
EPOCH = datetime(1970, 1, 1)
SECONDS_A_DAY = 86_400.0


class Columns:
    """A table, read column by column.

    Parameters
    ----------
    name : str
        The name of the table in errors.
    table : DataFrame, Arrow table, list of dicts, dict of columns, or matrix
        A DataFrame of pandas, polars or any other library that narwhals knows. The columns of a
        matrix are called x0, x1 and so on.

    Examples
    --------
    >>> from projbandits.tables import Columns
    >>> rows = Columns("items", [{"length": 90, "genre": "drama"}, {"length": 120}])
    >>> rows.names, len(rows)
    (('length', 'genre'), 2)
    >>> rows.numbers("length")
    array([ 90., 120.])
    """

    def __init__(self, name: str, table: Any) -> None:
        self.name = name
        self._frame: Any = None
        self._get: Callable[[str], Any]
        if hasattr(table, "collect_schema") and not hasattr(table, "to_numpy"):
            raise TypeError(f"{name} must be a table at hand, got a lazy one: collect() it first")
        if hasattr(table, "toarray"):  # some are mappings too
            raise TypeError(f"{name} must be a table, got a sparse matrix: pass its toarray()")
        if is_table(table):
            given, self._length, self._get = table_columns(name, table)
            self.names = tuple(map(str, given))
            if self.names != given:
                known = dict(zip(self.names, given, strict=True))
                read, self._get = self._get, lambda column: read(known[column])
            elif hasattr(table, "iloc"):
                self._frame = table
        elif isinstance(table, Mapping):
            columns = {str(key): _entries(value) for key, value in table.items()}
            self.names, self._get = tuple(map(str, table)), columns.__getitem__
            self._length = max(map(len, columns.values()), default=0)
            for key, entries in columns.items():
                if len(entries) != self._length:
                    raise ValueError(
                        f"{name} must have columns of one length, got {len(entries)} in {key!r} "
                        f"and {self._length} in others"
                    )
        elif is_records(table):
            self.names = tuple(dict.fromkeys(str(key) for row in table for key in row))
            self._length = len(table)
            self._get = lambda column: _entries([row.get(column) for row in table])
        else:
            matrix = _matrix(name, table)
            self._length, width = matrix.shape
            self.names = tuple(f"x{j}" for j in range(width))
            self._get = lambda column: matrix[:, int(column[1:])]
        self._known = frozenset(self.names)
        if len(self._known) < len(self.names):
            twice = min(column for column, times in Counter(self.names).items() if times > 1)
            raise ValueError(f"{name} must have distinct columns, got {twice!r} more than once")

    def __len__(self) -> int:
        return self._length

    def values(self, column: str) -> Column:
        """Return a column as it is."""
        if column not in self._known:
            raise ValueError(
                f"{self.name} must have a column {column!r}, it is missing"
                f"{did_you_mean(column, self.names)}"
            )
        return np.asarray(self._get(column))

    def numbers(self, column: str) -> Array:
        """Return a column of numbers; missing entries are NaN."""
        values = self.values(column)
        if values.dtype.kind in "biuf":
            return values.astype(np.float64)
        if values.dtype.kind != "O":
            raise TypeError(
                f"{self.name} must hold numbers in column {column!r}, got {values.dtype}: declare "
                "it categorical, or convert it"
            )
        return self._each(
            values,
            as_number,
            f"numbers in column {column!r}",
            "declare the column categorical, or convert it (an argument must be a string or a "
            "number)",
        )

    def days(self, column: str) -> Array:
        """Return a column of dates in days since 1970; missing entries are NaN."""
        values = self.values(column)
        if values.dtype.kind == "M":
            micro = values.astype("datetime64[us]")
            return np.where(np.isnat(micro), np.nan, micro.astype(np.int64) / 86_400e6)
        remedy = "write them as 2026-01-31, or declare the column categorical"
        return self._each(values, days_of, f"dates in column {column!r}", remedy)

    def _each(
        self, values: Column, read: Callable[[Any], float | None], what: str, remedy: str
    ) -> Array:
        found = np.empty(len(values))
        for row, entry in enumerate(values.tolist()):
            number = read(entry)
            if number is None:
                raise TypeError(
                    f"{self.name} must hold {what}, got {short(entry)} in row {row}: {remedy}"
                )
            found[row] = number
        return found

    def block(self, columns: Sequence[str]) -> Array:
        """Return columns of numbers side by side; missing entries are NaN."""
        many = len(columns) >= MANY_COLUMNS and self._known.issuperset(columns)
        if many and self._frame is not None:
            whole = np.asarray(self._frame[list(columns)].to_numpy())
            if whole.dtype.kind in "biuf":
                return np.asarray(whole, dtype=np.float64)
        return np.array([self.numbers(column) for column in columns]).T

    def vectors(self, column: str) -> Array:
        """Return a column of vectors of one length, a row each; a missing one is all NaN."""
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


def missing_entries(values: Column) -> NDArray[np.bool_]:
    """Return which entries of a column are missing.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.tables import missing_entries
    >>> missing_entries(np.array(["a", "", None, np.nan, "NA"], dtype=object)).tolist()
    [False, True, True, True, False]
    """
    if values.dtype.kind in "fmM":
        return np.asarray(np.isnan(values) if values.dtype.kind == "f" else np.isnat(values))
    if values.dtype.kind in "OUS":
        import pandas as pd

        gone = np.asarray(pd.isna(values))
        gone[~gone] = values[~gone] == ""
        return gone
    return np.zeros(len(values), dtype=bool)


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


def read_csv(content: bytes, texts: Collection[str] = ()) -> pd.DataFrame:
    r"""Return a CSV file as a table: an empty cell is missing, and dates stay as they are written.

    Among numbers, words such as NA and NaN are missing too; among texts they are texts.

    Parameters
    ----------
    content : bytes
        The content of the file.
    texts : collection of str
        Columns to read as texts, numbers included.

    Examples
    --------
    >>> from projbandits.tables import read_csv
    >>> read_csv(b"film,length,out\nUp,96,2009-05-29\nNA,,\n").isna().values.tolist()
    [[False, False, False], [False, True, True]]
    """
    import pandas as pd
    import pyarrow as pa
    from pyarrow import csv

    types = dict.fromkeys(texts, pa.string())
    while True:
        options = csv.ConvertOptions(column_types=types, strings_can_be_null=False)
        # By its own threads, older versions wait for ever now and then.
        reading = csv.ReadOptions(use_threads=False)
        table = csv.read_csv(pa.BufferReader(content), reading, convert_options=options)
        times = [field.name for field in table.schema if pa.types.is_temporal(field.type)]
        if not times:
            break
        types |= dict.fromkeys(times, pa.string())
    for field in table.schema:
        if pa.types.is_binary(field.type):
            raise ValueError(
                f"items must hold texts in UTF-8, got other bytes in column {field.name!r}"
            )
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    for at, column in enumerate(frame.columns):  # by their places: two may have one name
        entries = frame.iloc[:, at]
        if not pd.api.types.is_numeric_dtype(entries) and column not in texts:
            gone = missing_entries(entries.to_numpy(dtype=object))
            frame.isetitem(at, entries.mask(gone).array)
    return frame


def aligned(name: str, value: Any, table: Any, of: str) -> Any:
    """Return a Series or table in the order of another table's rows, by the indexes of both.

    Where one of them has no index, or both have the same, rows go by their places.

    Parameters
    ----------
    name : str
        The name of the value in errors.
    value : Series, DataFrame or other
        One row for each row of the table.
    table : DataFrame or other
        The table whose order counts.
    of : str
        The name of the table in errors.

    Examples
    --------
    >>> import pandas as pd
    >>> from projbandits.tables import aligned
    >>> films = pd.DataFrame({"length": [90, 120]}, index=["Up", "Heat"])
    >>> aligned("rewards", pd.Series({"Heat": 1.0, "Up": 0.0}), films, "features").tolist()
    [0.0, 1.0]
    """
    mine, theirs = _index(value), _index(table)
    if mine is None or theirs is None or mine.equals(theirs):
        return value
    if len(mine) == len(theirs) and mine.is_unique and theirs.is_unique:
        rows = mine.get_indexer(theirs)
        if (rows >= 0).all():
            return value.iloc[rows]
    odd = [entry for entry in mine if entry not in theirs]
    why = f"{odd[0]!r} in {name} is not in {of}" if odd else "it has other rows, or some twice"
    raise ValueError(
        f"{name} must have the index of {of}, {why}: pass {name}.loc[{of}.index], or "
        f"{name}.to_numpy() if the rows are in the same order"
    )


def _index(value: Any) -> Any:
    """Return the index of a pandas object, None if there is none."""
    return value.index if hasattr(value, "iloc") and hasattr(value, "index") else None


def days_of(entry: Any) -> float | None:
    """Return a date in days since 1970, nan if it is missing, and None if it is no date.

    A time of day counts as part of a day; where it has no zone, it is taken to be UTC.

    Examples
    --------
    >>> from datetime import date
    >>> from projbandits.tables import days_of
    >>> days_of("1970-01-03"), days_of(date(1970, 1, 3)), days_of("1970-01-02T06:00+06:00")
    (2.0, 2.0, 1.0)
    >>> days_of("03/01/1970"), days_of("")
    (None, nan)
    """
    if is_missing(entry):
        return math.nan
    if isinstance(entry, np.datetime64):
        entry = entry.astype("datetime64[us]").item()
    if isinstance(entry, str):
        if ISO.fullmatch(entry) is None:
            return None
        try:
            entry = datetime.fromisoformat(entry)
        except ValueError:
            return None
    if isinstance(entry, datetime):
        if entry.tzinfo is not None:
            entry = entry.astimezone(UTC).replace(tzinfo=None)
        return float((entry - EPOCH).total_seconds() / SECONDS_A_DAY)
    return float(entry.toordinal() - EPOCH.toordinal()) if isinstance(entry, date) else None


def date_text(days: float) -> str:
    """Return a number of days since 1970 as a date, with the time if there is one.

    Examples
    --------
    >>> from projbandits.tables import date_text
    >>> date_text(2.0), date_text(2.25)
    ('1970-01-03', '1970-01-03T06:00:00')
    """
    moment = EPOCH + timedelta(seconds=round(days * SECONDS_A_DAY, 6))
    return moment.date().isoformat() if days.is_integer() else moment.isoformat()


Level = tuple[int, Any]
"""A column of numbers: which attribute, and which of its categories (None: it is a number)."""


class Attributes(NamedTuple):
    """Attributes of items, read piece by piece: their names, and the columns that stand for them.

    A number is one column. A category is one column for each of its values, 1 where it has that
    value and else 0; a value that first appears in a later piece adds a column at the end.

    Parameters
    ----------
    names : tuple of str
        The attributes.
    numbers : tuple of bool
        Whether each is a number.
    keys : tuple of (int, value)
        The columns.
    """

    names: tuple[str, ...] = ()
    numbers: tuple[bool, ...] = ()
    keys: tuple[Level, ...] = ()

    def read(self, name: str, value: Any) -> tuple[Attributes, Array]:
        """Return the attributes with one more piece, and that piece as columns.

        Examples
        --------
        >>> from projbandits.tables import Attributes
        >>> known, columns = Attributes().read("z", ["f", "m", "f"])
        >>> known.labels
        ('z=f', 'z=m')
        >>> columns
        array([[1., 0.],
               [0., 1.],
               [1., 0.]])
        """
        given = _attribute_columns(name, value)
        names = tuple(given)
        numbers = tuple(_is_number(column) for column in given.values())
        if self.names and (names, numbers) != (self.names, self.numbers):
            raise ValueError(
                f"{name} must have the same attributes in every piece, got {_said(names, numbers)} "
                f"after {_said(self.names, self.numbers)}"
            )
        places = {key: j for j, key in enumerate(self.keys)}
        parts: list[tuple[Any, Any]] = []
        for a, (column, values) in enumerate(given.items()):
            entries: Any = values.astype(np.float64) if numbers[a] else 1.0
            gone = ~np.isfinite(entries) if numbers[a] else missing_entries(values)
            if gone.any():
                raise ValueError(
                    f"{name} must be known for every row, got a missing value in column "
                    f"{column!r}, row {int(gone.argmax())}: leave the row out, or pass it as items="
                )
            codes: Any = places.setdefault((a, None), len(places)) if numbers[a] else 0
            if not numbers[a]:
                codes = [places.setdefault((a, v), len(places)) for v in values.tolist()]
            parts.append((codes, entries))
            levels = sum(key[0] == a for key in places)
            if levels > MOST_LEVELS:
                raise ValueError(
                    f"{name} must have at most {MOST_LEVELS} categories, got {levels} in column "
                    f"{column!r}: is it an id, or are they numbers?"
                )
        coded = np.zeros((len(next(iter(given.values()))), len(places)))
        for codes, entries in parts:
            coded[np.arange(len(coded)), codes] = entries
        return Attributes(names, numbers, tuple(places)), coded

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.names[a] if v is None else f"{self.names[a]}={v}" for a, v in self.keys)

    def columns_of(self, attribute: int) -> list[int]:
        """Return the columns of an attribute."""
        return [j for j, (a, _) in enumerate(self.keys) if a == attribute]


def _attribute_columns(name: str, value: Any) -> dict[str, Column]:
    """Return the attributes in a table, a column or an array by their names."""
    if is_table(value) or isinstance(value, Mapping):
        table = Columns(name, value)
        given = {column: table.values(column) for column in table.names}
    else:
        array = np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else value)
        if array.ndim not in (1, 2):
            raise ValueError(
                f"{name} must have one row per item, got an array of shape {array.shape}"
            )
        if array.ndim == 1:
            given = {str(getattr(value, "name", None) or "z"): array}
        else:
            given = {f"z{j}": column for j, column in enumerate(array.T)}
    for column, entries in given.items():
        if entries.dtype.kind in "mM":
            raise TypeError(
                f"{name} must hold numbers or categories, got {entries.dtype} in column "
                f"{column!r}: convert dates to years, days or names of months"
            )
    if not any(map(len, given.values())):
        raise ValueError(f"{name} must have at least one row and one column, got {short(value)}")
    return given


def _is_number(column: Column) -> bool:
    if column.dtype.kind != "O":
        return column.dtype.kind in "iuf"
    known = [entry for entry in column.tolist() if not is_missing(entry)]
    return bool(known) and all(
        isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in known
    )


def _said(names: tuple[str, ...], numbers: tuple[bool, ...]) -> str:
    kinds = (f"{n} ({'number' if k else 'category'})" for n, k in zip(names, numbers, strict=True))
    return ", ".join(kinds)
