"""Checks on what a user passes in; each error names the argument, the value and the remedy."""

from __future__ import annotations

import difflib
import math
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

PACKAGE = "projbandits."
MISSING = ("NoneType", "NAType", "NaTType")
"""The types of the values that mark missing entries in tables."""

Array = NDArray[np.float64]

EXACT = 2**53
"""Up to here every whole number is a float, so that counts mean the same in every engine."""
LARGEST_SEED = 2**128 - 1


def real_array(name: str, value: Any, ndim: int, *, finite: bool = True) -> Array:
    """Return a copy of `value` as a float array of `ndim` dimensions with only finite entries.

    The caller who says `finite=False` looks at that. What a mask hides is missing.
    """
    if is_table(value):  # missing values become nan, and are named below
        value = table_array(name, value)
    elif hasattr(value, "to_frame"):  # one column of a table
        value = table_array(name, value.to_frame())[:, 0]
    elif isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(np.float64), np.nan)
    try:
        array = np.array(value)
        if array.dtype.kind == "O" and any(isinstance(entry, str) for entry in array.flat):
            array = array.astype(str)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"its entries are of the type {array.dtype}")
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"{name} must hold numbers only, in rows of equal length, got "
            f"{_culprit(value) or short(value)}: convert or drop what is not a number"
        ) from error
    if array.ndim != ndim:
        kind = {1: "a vector", 2: "a matrix"}.get(ndim, f"{ndim}-dimensional")
        raise ValueError(f"{name} must be {kind}, got an array of shape {array.shape}")
    # The sum of squares is quicker to ask; it may overflow where every entry is finite.
    if finite and not math.isfinite(np.vdot(array, array)) and not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        place = f"{name}[{', '.join(map(str, where))}]"
        raise ValueError(
            f"{name} must be finite, got {place} = {array[where]}: drop or fill such entries"
        )
    return array


def is_table(value: Any) -> bool:
    """Tell whether a value is a DataFrame or an Arrow table."""
    return hasattr(value, "column_names") or (
        hasattr(value, "columns") and hasattr(value, "to_numpy")
    )


def table_columns(name: str, table: Any) -> tuple[tuple[Any, ...], int, Callable[[Any], Any]]:
    """Return the columns of a DataFrame or an Arrow table, its length, and how to get a column."""
    columns = getattr(table, "column_names", None)
    names = tuple(table.columns if columns is None else columns)
    if len(set(names)) < len(names):
        twice = next(column for column in names if names.count(column) > 1)
        raise ValueError(f"{name} must have distinct columns, got {twice!r} more than once")
    if hasattr(table, "iloc"):  # as it is: a detour takes longer than most decisions
        return names, len(table), lambda column: np.asarray(table[column].to_numpy())
    import narwhals

    frame = narwhals.from_native(table, eager_only=True)

    def get(column: str) -> Any:
        native = frame[column].to_native()
        kind: Any = getattr(native, "type", None)
        if hasattr(kind, "index_type"):  # of a missing entry, Arrow would give the last one
            native = native.cast(kind.value_type)
        return narwhals.from_native(native, series_only=True).to_numpy()

    return names, len(frame), get


def table_array(name: str, table: Any) -> Array:
    """Return a table as a new float array; missing entries become NaN."""
    if hasattr(table, "iloc"):
        whole = np.asarray(table.to_numpy())
        if whole.dtype.kind in "biuf":
            return np.array(whole, dtype=np.float64)
    columns, rows, get = table_columns(name, table)
    array = np.empty((rows, len(columns)))
    for j, column in enumerate(columns):
        entries = get(column)
        if entries.dtype.kind in "biuf":
            array[:, j] = entries
            continue
        dates = entries.dtype.kind in "mM"
        found = [None if dates else as_number(entry) for entry in entries.tolist()]
        if None in found:
            row = found.index(None)
            what = f"{entries.dtype} in" if dates else f"{short(entries[row])} in row {row},"
            raise TypeError(
                f"{name} must hold numbers only, got {what} column {column!r}: convert or drop "
                "what is not a number"
            )
        array[:, j] = found
    return array


def is_missing(entry: Any) -> bool:
    """Tell whether an entry marks a missing value: None, NaN, NA, NaT, or an empty text."""
    if isinstance(entry, str):
        return not entry
    nan = isinstance(entry, float) and math.isnan(entry)
    return nan or type(entry).__name__ in MISSING


def as_number(entry: Any) -> float | None:
    """Return an entry as a number, NaN if it is missing, and None if it is no number."""
    if not isinstance(entry, float | int):  # most are, and what follows takes longer
        if is_missing(entry):
            return math.nan
        if isinstance(entry, str | bytes) or np.ndim(entry) or np.iscomplexobj(entry):
            return None
    try:
        return float(entry)
    except (TypeError, ValueError, OverflowError):
        return None


def real_vector(name: str, value: Any, length: int) -> Array:
    """Return `value` as a finite vector of the given length."""
    vector = real_array(name, value, ndim=1)
    if len(vector) != length:
        raise ValueError(f"{name} must have length {length}, got length {len(vector)}")
    return vector


def real(name: str, value: Any) -> float:
    """Return `value` as a finite float."""
    if isinstance(value, bool | np.bool_ | str | bytes | np.complexfloating):
        raise TypeError(f"{name} must be a number, got {short(value)}")
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a number, got {short(value)}") from error
    except OverflowError as error:
        raise ValueError(f"{name} must fit a float, got {short(value)}") from error
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    return number


def positive(name: str, value: Any) -> float:
    """Return `value` as a float above zero."""
    number = real(name, value)
    if number <= 0:
        raise ValueError(f"{name} must be positive, got {number}")
    return number


def not_negative(name: str, value: Any) -> float:
    """Return `value` as a float of at least zero."""
    number = real(name, value)
    if number < 0:
        raise ValueError(f"{name} must not be negative, got {number}")
    return number


def integer(name: str, value: Any, *, least: int, most: int = EXACT) -> int:
    """Return `value` as an int within [least, most]."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError("a truth value is no number")
        number = operator.index(value)
    except TypeError as error:
        raise TypeError(f"{name} must be a whole number, got {short(value)}") from error
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {short(number)}")
    if number > most:
        reason = ", as larger counts are not exact" if most == EXACT else ""
        raise ValueError(f"{name} must be at most {most}{reason}, got {short(number)}")
    return number


def one_of(name: str, value: Any, allowed: Sequence[str]) -> str:
    """Return `value` if it is one of the allowed words."""
    if isinstance(value, str) and value in allowed:
        return value
    choices = ", ".join(map(repr, allowed))
    raise ValueError(
        f"{name} must be one of {choices}, got {short(value)}{did_you_mean(value, allowed)}"
    )


def did_you_mean(value: Any, known: Iterable[Any]) -> str:
    """Return a suggestion to append to an error, or nothing if no name is near."""
    if isinstance(value, str) and len(value) > 100:
        return ""  # no name is near, and it takes long to find out
    names = {str(name): name for name in known}
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(str(value).casefold(), folded, n=1, cutoff=0.5)
    return f": did you mean {names[folded[near[0]]]!r}?" if near else ""


def _culprit(value: Any) -> str | None:
    """Return the first entry that is no number, or the first row of another length, and where."""
    rows = value if isinstance(value, list | tuple | np.ndarray) else ()
    for i, row in enumerate(rows):
        if not isinstance(row, list | tuple | np.ndarray):
            if _no_number(row):
                return f"{short(row)} in row {i}"
            continue
        for j, entry in enumerate(row):
            if _no_number(entry):
                return f"{short(entry)} in row {i}, column {j}"
        if len(row) != np.size(rows[0]):
            return f"{len(row)} entries in row {i} and {np.size(rows[0])} in row 0"
    return None


def _no_number(entry: Any) -> bool:
    try:
        real("entry", entry)
    except TypeError:
        return True
    except ValueError:  # not finite, which is another matter
        return False
    return False


def storable(name: str, text: str) -> str:
    """Return a text that every file and database can keep.

    Examples
    --------
    >>> from projbandits._validation import storable
    >>> storable("id", "a film")
    'a film'
    """
    if not text.isprintable():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"{name} must be valid Unicode, got {short(text)}") from error
        if "\0" in text:
            raise ValueError(f"{name} must not have a zero character, got {short(text)}")
    return text


def short(value: Any, room: int = 60) -> str:
    """Return what an error may quote of a value.

    Examples
    --------
    >>> from projbandits._validation import short
    >>> short("x" * 10**7, room=12), short(2**20000), short([1, 2])
    ("'xxxxxxxx...", 'what is too long to print', '[1, 2]')
    """
    try:
        text = repr(value[:room] if isinstance(value, str | bytes) else value)
    except (ValueError, RecursionError):  # numbers of thousands of digits, or lists as deep
        return "what is too long to print"
    return text if len(text) <= room else text[: room - 3] + "..."


def check_distinct_labels(name: str, labels: Iterable[Any]) -> None:
    """Raise if two entries are called the same.

    Examples
    --------
    >>> from projbandits._validation import check_distinct_labels
    >>> check_distinct_labels("items", ["a", "b", "a"])
    Traceback (most recent call last):
    ValueError: items must have distinct labels, got 'a' in rows 0 and 2: leave one out
    """
    seen = dict[Any, int]()
    for row, label in enumerate(labels):
        if seen.setdefault(label, row) != row:
            raise ValueError(
                f"{name} must have distinct labels, got {short(label)} in rows {seen[label]} and "
                f"{row}: leave one out"
            )


def outside() -> int:
    """Return the stack level at which a warning speaks to whoever called the library.

    A thread of the library's own has nobody above it; its warnings name the thread's beginning.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    return level
