"""The catalogue of a decider: what can be on offer, sent once and named afterwards."""

from __future__ import annotations

import json
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array, check_distinct_labels, did_you_mean, short
from projbandits.service.item_files import LABEL

if TYPE_CHECKING:
    import pandas as pd

REMEMBERED_FILTERS = 256
"""How many filters are remembered with what they chose."""

REMEMBERED_NUMBERS = 4_000_000
"""How many numbers those may hold between them: 32 MB."""

HINTED = 300
"""Among how many items the nearest to an unknown label is looked for; others wait meanwhile."""

Positions = NDArray[np.int64]


class Chosen(NamedTuple):
    """Items on offer.

    Parameters
    ----------
    labels : list of str
        What they are called.
    table : DataFrame
        Their columns, the label left out.
    vectors : ndarray or None
        Their features, where the decider takes columns of numbers.
    """

    labels: list[str]
    table: pd.DataFrame
    vectors: Array | None

    @property
    def arms(self) -> Any:
        """What to ask with."""
        return self.table if self.vectors is None else self.vectors


class Items:
    """A catalogue at hand.

    Parameters
    ----------
    table : DataFrame
        A row per item, with the labels as its index.
    columns : sequence of str or None
        Which columns are features, in their order; None where the decider makes features itself.
    """

    def __init__(self, table: pd.DataFrame, columns: Sequence[str] | None) -> None:
        self.table = table
        self.labels: list[str] = table.index.tolist()
        self._at = {label: i for i, label in enumerate(self.labels)}
        self._vectors: Array | None = None
        if columns is not None:
            self._vectors = np.ascontiguousarray(table[list(columns)].to_numpy(dtype=np.float64))
        self._chosen: OrderedDict[str, Chosen] = OrderedDict()
        self._numbers = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.labels)

    def knows(self, labels: Sequence[str]) -> bool:
        """Tell whether all these items are in the catalogue."""
        return all(label in self._at for label in labels)

    def named(self, labels: Sequence[str], *, distinct: bool = True) -> Chosen:
        """Return items by their labels, in that order."""
        if distinct and len(set(labels)) < len(labels):
            check_distinct_labels("items", labels)
        if not self.knows(labels):
            row, label = next((i, each) for i, each in enumerate(labels) if each not in self._at)
            hint = did_you_mean(label, self.labels) if len(self) <= HINTED else ""
            raise KeyError(
                f"items must be in the catalogue, got {short(label)} in row {row}{hint}: "
                "put it there, or send rows with all features"
            )
        return self._at_positions(np.array([self._at[label] for label in labels], dtype=np.int64))

    def where(
        self, wanted: Mapping[str, Any], check: Callable[[int], None] | None = None
    ) -> Chosen:
        """Return the items that a filter lets through, in the order of the catalogue.

        Parameters
        ----------
        wanted : mapping
            A value, a list of values, bounds, or what it is not, by column.
        check : callable, optional
            Is told how many there are before they are put together, and raises if too many.
        """
        key = json.dumps(wanted, sort_keys=True)
        found = self._chosen.get(key)
        if found is None:
            inside = np.ones(len(self), dtype=bool)
            for column, value in wanted.items():
                inside &= self._inside(column, value)
            positions = np.flatnonzero(inside)
            if check is not None:
                check(len(positions))
            found = self._at_positions(positions)
            self._remember(key, found)
        elif check is not None:
            check(len(found.labels))
        if not found.labels:
            raise ValueError(f"filter must let an item through, got none for {short(key, 200)}")
        return found

    def _remember(self, key: str, found: Chosen) -> None:
        """Keep what a filter chose, and forget the oldest where that takes too much memory."""
        with self._lock:
            if key in self._chosen:
                return
            self._chosen[key] = found
            self._numbers += self._size(key, found)
            while self._chosen and (
                len(self._chosen) > REMEMBERED_FILTERS or self._numbers > REMEMBERED_NUMBERS
            ):
                self._numbers -= self._size(*self._chosen.popitem(last=False))

    def _size(self, key: str, found: Chosen) -> int:
        """Return how much memory a filter takes with what it chose, in numbers of 8 bytes."""
        return len(key) // 8 + (len(self.table.columns) + 1) * len(found.labels)

    def _at_positions(self, positions: Positions) -> Chosen:
        labels = [self.labels[i] for i in positions.tolist()]
        vectors = None if self._vectors is None else self._vectors[positions]
        table = self.table if vectors is not None else self.table.iloc[positions]
        return Chosen(labels, table, vectors)

    def _inside(self, column: str, value: Any) -> NDArray[np.bool_]:
        """Return which items a condition on one column lets through."""
        if column == LABEL and column not in self.table:
            values: Any = self.table.index
        elif column not in self.table:
            hint = did_you_mean(column, self.table.columns)
            raise ValueError(
                f"filter must name columns of the catalogue, got {short(column)}{hint}"
            )
        else:
            values = self.table[column]
        if not isinstance(value, Mapping):
            return _among(column, values, value)
        if not value or not set(value) <= {"min", "max", "not"}:
            raise ValueError(
                f"filter: {short(column)} must be a value, a list of values, or "
                f'{{"min": 1, "max": 2, "not": [3]}}, got {short(value)}'
            )
        inside = np.ones(len(self), dtype=bool)
        for bound, limit in value.items():
            if bound == "not":
                inside &= ~_among(column, values, limit)
            else:
                inside &= _beyond(column, values, bound, limit)
        return inside


def _among(column: str, values: Any, value: Any) -> NDArray[np.bool_]:
    """Return which values are one of those wanted."""
    listed = value if isinstance(value, list) else [value]
    if any(isinstance(each, list | dict) for each in listed):
        raise ValueError(f"filter: {short(column)} must list plain values, got {short(value)}")
    return np.asarray(values.isin(listed), dtype=bool)


def _beyond(column: str, values: Any, bound: str, limit: Any) -> NDArray[np.bool_]:
    """Return which values are at least, or at most, a number or a text."""
    plain = isinstance(limit, str | int | float) and not isinstance(limit, bool)
    if not plain or (isinstance(limit, float) and not math.isfinite(limit)):
        raise ValueError(
            f"filter: {short(column)} must have a number or a text as {bound!r}, got {short(limit)}"
        )
    try:
        float(0 if isinstance(limit, str) else limit)  # a whole number may be beyond floats
        inside = values >= limit if bound == "min" else values <= limit
        return np.asarray(inside, dtype=bool)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"filter: {short(column)} cannot be compared with {short(limit)}: {error}"
        ) from error
