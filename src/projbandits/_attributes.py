"""Attributes of items, numbers or categories, as columns of numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._columns import Columns
from projbandits._tables import is_missing, is_table
from projbandits._validation import Array, short

MOST_LEVELS = 1000
"""A column with more categories than this is an id, or numbers that were read as text."""

Key = tuple[int, Any]
"""A column of numbers: which attribute, and which of its categories (None: it is a number)."""


class Attributes(NamedTuple):
    """What is known of attributes so far: their names, and the columns that stand for them.

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
    keys: tuple[Key, ...] = ()

    def read(self, name: str, value: Any) -> tuple[Attributes, Array]:
        """Return what is known with one more piece, and that piece as columns.

        Examples
        --------
        >>> from projbandits._attributes import Attributes
        >>> known, columns = Attributes().read("z", ["f", "m", "f"])
        >>> known.labels
        ('z=f', 'z=m')
        >>> columns
        array([[1., 0.],
               [0., 1.],
               [1., 0.]])
        """
        names, columns = _columns(name, value)
        numbers = tuple(_is_number(column) for column in columns)
        if self.names and (names, numbers) != (self.names, self.numbers):
            raise ValueError(
                f"{name} must have the same attributes in every piece, got {_said(names, numbers)} "
                f"after {_said(self.names, self.numbers)}"
            )
        keys = list(self.keys)
        places = {key: j for j, key in enumerate(keys)}
        parts: list[tuple[NDArray[np.int64], Array]] = []
        for a, column in enumerate(columns):
            where = (
                f"{name} must be known for every row, got a missing value in column {names[a]!r}"
            )
            if numbers[a]:
                entries = column.astype(np.float64)
                _complete(where, np.isfinite(entries))
                codes = np.full(len(entries), _place(places, keys, (a, None)))
            else:
                listed = column.tolist()
                _complete(where, [_known(entry) for entry in listed])
                codes = np.array([_place(places, keys, (a, v)) for v in listed], dtype=np.int64)
                entries = np.ones(len(listed))
                if (levels := sum(key[0] == a for key in keys)) > MOST_LEVELS:
                    raise ValueError(
                        f"{name} must have at most {MOST_LEVELS} categories, got {levels} in "
                        f"column {names[a]!r}: is it an id, or are they numbers?"
                    )
            parts.append((codes, entries))
        coded = np.zeros((len(columns[0]), len(keys)))
        for codes, entries in parts:
            coded[np.arange(len(coded)), codes] = entries
        return Attributes(names, numbers, tuple(keys)), coded

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.names[a] if v is None else f"{self.names[a]}={v}" for a, v in self.keys)

    def columns_of(self, attribute: int) -> list[int]:
        """Return the columns of an attribute."""
        return [j for j, (a, _) in enumerate(self.keys) if a == attribute]


def _place(places: dict[Key, int], keys: list[Key], key: Key) -> int:
    if key not in places:
        places[key] = len(keys)
        keys.append(key)
    return places[key]


def _columns(name: str, value: Any) -> tuple[tuple[str, ...], list[NDArray[Any]]]:
    """Return the names and the values of the attributes in a table, a column or an array."""
    if is_table(value) or hasattr(value, "column_names") or isinstance(value, dict):
        table = Columns(name, value)
        columns = [table.values(column) for column in table.names]
        names = table.names
    else:
        array = np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else value)
        if array.ndim not in (1, 2):
            raise ValueError(
                f"{name} must have one row per item, got an array of shape {array.shape}"
            )
        single = array.ndim == 1
        columns = [array] if single else list(array.T)
        given = getattr(value, "name", None)
        names = (str(given or "z"),) if single else tuple(f"z{j}" for j in range(len(columns)))
    for column, entries in zip(names, columns, strict=True):
        if entries.dtype.kind in "mM":
            raise TypeError(
                f"{name} must hold numbers or categories, got {entries.dtype} in column "
                f"{column!r}: convert dates to years, days or names of months"
            )
    if not columns or not len(columns[0]):
        raise ValueError(f"{name} must have at least one row and one column, got {short(value)}")
    return names, columns


def _is_number(column: NDArray[Any]) -> bool:
    if column.dtype.kind != "O":
        return column.dtype.kind in "iuf"
    known = [entry for entry in column.tolist() if _known(entry)]
    return bool(known) and all(
        isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in known
    )


def _known(entry: Any) -> bool:
    return not is_missing(entry) and entry == entry  # no kind of nan is itself


def _complete(where: str, known: Any) -> None:
    if not np.all(known):
        row = int(np.argmin(known))
        raise ValueError(f"{where}, row {row}: leave the row out, or pass it as items=")


def _said(names: tuple[str, ...], numbers: tuple[bool, ...]) -> str:
    kinds = (f"{n} ({'number' if k else 'category'})" for n, k in zip(names, numbers, strict=True))
    return ", ".join(kinds)
