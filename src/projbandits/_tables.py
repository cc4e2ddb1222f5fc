"""Tables of any library (pandas, polars) as arrays of numbers."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

MISSING = ("NoneType", "NAType", "NaTType")
"""The types of the values that mark missing entries in tables."""


def is_missing(entry: Any) -> bool:
    """Tell whether an entry marks a missing value: None, NaN, NA, NaT, or an empty text."""
    if isinstance(entry, str):
        return not entry
    nan = isinstance(entry, float) and math.isnan(entry)
    return nan or type(entry).__name__ in MISSING


def missing_entries(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which entries of a column are missing.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits._tables import missing_entries
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


def is_table(value: Any) -> bool:
    """Tell whether a value is a DataFrame of some kind."""
    return hasattr(value, "columns") and hasattr(value, "to_numpy")


def table_array(name: str, table: Any) -> NDArray[np.float64]:
    """Return a table as a new float array; missing entries become nan.

    A table of plain numbers is converted at once. If that fails, it is converted column by column,
    and a column that is no plain array of numbers entry by entry.
    """
    if isinstance(table.dtypes, list):  # polars silently turns dates into numbers
        for column, dtype in zip(table.columns, table.dtypes, strict=True):
            if dtype.is_temporal():
                raise _no_number(name, str(dtype), f"column {column!r}")
    whole = np.asarray(table.to_numpy())
    if whole.dtype.kind in "biuf":
        return np.array(whole, dtype=np.float64)
    columns = list(table.columns)
    array = np.empty((len(table), len(columns)))
    for j, column in enumerate(columns):
        entries = whole[:, j] if columns.count(column) > 1 else np.asarray(table[column].to_numpy())
        where = f"column {column!r}"
        if entries.dtype.kind in "biuf":
            array[:, j] = entries
        elif entries.dtype.kind in "mM":
            raise _no_number(name, str(entries.dtype), where)
        else:
            array[:, j] = [_number(name, x, i, where) for i, x in enumerate(entries.tolist())]
    return array


def as_number(entry: Any) -> float | None:
    """Return an entry as a number, nan if it is missing, and None if it is no number."""
    if not isinstance(entry, float | int):  # most are, and what follows takes longer
        if is_missing(entry):
            return math.nan
        if isinstance(entry, str | bytes) or np.ndim(entry) or np.iscomplexobj(entry):
            return None
    try:
        return float(entry)
    except (TypeError, ValueError, OverflowError):
        return None


def read_csv(content: bytes, texts: Collection[str] = ()) -> pd.DataFrame:
    r"""Return a CSV file as a table: an empty cell is missing, and dates stay as they are written.

    Among numbers, words such as NA and NaN are missing too; among texts they are texts.

    Parameters
    ----------
    content : bytes
        The content of the file.
    texts : collection of str
        Columns that are texts, whatever stands in them.

    Examples
    --------
    >>> from projbandits._tables import read_csv
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


def _number(name: str, entry: Any, row: int, where: str) -> float:
    number = as_number(entry)
    if number is None:
        raise _no_number(name, repr(entry)[:60], f"row {row}, {where}")
    return number


def _no_number(name: str, what: str, where: str) -> TypeError:
    return TypeError(
        f"{name} must hold numbers only, got {what} in {where}: "
        "convert or drop what is not a number"
    )


def aligned(name: str, value: Any, table: Any, of: str) -> Any:
    """Return a Series or table in the order of another table's rows, by the indexes of both.

    Where one of them has no index, or both have the same, rows go by their places.

    Parameters
    ----------
    name : str
        What to call the value in an error.
    value : Series, DataFrame or other
        One row for each row of the table.
    table : DataFrame or other
        Whose order counts.
    of : str
        What to call the table in an error.

    Examples
    --------
    >>> import pandas as pd
    >>> from projbandits._tables import aligned
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
