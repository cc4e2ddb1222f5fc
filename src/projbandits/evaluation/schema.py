"""What the columns of a log mean, and rows checked against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import (
    Array,
    as_number,
    check_distinct_labels,
    did_you_mean,
    real_array,
    short,
)
from projbandits.arms import FiniteArms
from projbandits.tables import Columns

Ints = NDArray[np.int64]
SUM = 1e-6
"""How far probabilities may be from adding up to one."""


class Chunk(NamedTuple):
    """Some rows of a log, checked.

    Parameters
    ----------
    first : int
        The number of the first row.
    arms : ndarray of shape (K, d)
        Vectors of arms.
    action : ndarray of shape (n,)
        The row of the chosen arm in `arms`.
    outcome, propensity : ndarray of shape (n,)
        What it returned, and how likely it was chosen; propensities may be None.
    chances : ndarray of shape (n, K) or (1, K), or None
        How likely each arm was chosen: of all arms, or of those in `offered`.
    offered : ndarray of shape (n, m) or None
        The rows in `arms` of what was on offer, -1 where there was less; None if all arms were.
    position : ndarray of shape (n,)
        The place of the chosen arm among those on offer.
    context : dict
        Columns that describe each row.
    columns : dict
        Columns that hold the probabilities of a policy.
    time : ndarray or None
        When the rows happened.
    complete : bool
        Whether it is known what was on offer.
    """

    first: int
    arms: Array
    action: Ints
    outcome: Array
    propensity: Array | None
    chances: Array | None = None
    offered: Ints | None = None
    position: Ints | None = None
    context: Mapping[str, NDArray[Any]] = {}
    columns: Mapping[str, Array] = {}
    time: NDArray[Any] | None = None
    complete: bool = True

    def take(self, some: slice | Ints) -> Chunk:
        """Return some of the rows."""

        def of(values: Any) -> Any:
            return None if values is None else values[some]

        chances = self.chances
        every = chances is not None and len(chances) == len(self.outcome)
        return self._replace(
            first=self.first + some.start if isinstance(some, slice) else 0,
            action=self.action[some],
            outcome=self.outcome[some],
            propensity=of(self.propensity),
            chances=of(chances) if every else chances,
            offered=of(self.offered),
            position=of(self.position),
            context={name: values[some] for name, values in self.context.items()},
            columns={name: values[some] for name, values in self.columns.items()},
            time=of(self.time),
        )

    @property
    def place(self) -> Ints:
        """The place of the chosen arm among those on offer."""
        return self.action if self.position is None else self.position


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The arms that a log speaks of, by their labels."""

    labels: NDArray[Any]
    vectors: Array
    columns: tuple[str, ...] | None

    @classmethod
    def of(cls, arms: Any, action: str, features: Sequence[str] | None) -> Catalogue:
        """Return a catalogue: an array, a table with labels in its column `action` or its index."""
        if isinstance(arms, FiniteArms):
            return cls(np.arange(arms.size), arms.vectors, arms.columns)
        if isinstance(arms, np.ndarray):
            vectors = real_array("arms", arms, ndim=2)
            return cls(np.arange(len(vectors)), vectors, None)
        table = Columns("arms", arms)
        if action in table.names:
            labels = table.values(action)
        else:
            labels = np.asarray(arms.index) if hasattr(arms, "iloc") else np.arange(len(table))
        names = [name for name in table.names if name != action] if features is None else features
        vectors = np.column_stack([table.numbers(name) for name in names])
        bad = np.argwhere(~np.isfinite(vectors))
        if len(bad):
            row, column = bad[0]
            raise ValueError(
                f"arms must be finite, got {vectors[row, column]} in row {row}, column "
                f"{names[column]!r}: drop or fill such entries"
            )
        check_distinct_labels("arms", labels.tolist())
        return cls(labels, vectors, tuple(names))

    @cached_property
    def _index(self) -> Any:
        import pandas as pd

        return pd.Index(self.labels)

    @cached_property
    def _counted(self) -> bool:
        whole = self.labels.dtype.kind in "iu"
        return whole and bool((self.labels == np.arange(len(self.labels))).all())

    def rows(self, values: NDArray[Any], column: str, first: int) -> Ints:
        """Return the row of each label, or raise and name the one that is not there."""
        size = len(self.labels)
        if self._counted and values.dtype.kind in "iu":
            found = values.astype(np.int64, copy=False)
            if len(found) and found.min() >= 0 and found.max() < size:
                return found
            wrong = (found < 0) | (found >= size)
        else:
            found = np.asarray(self._index.get_indexer(values), dtype=np.int64)
            wrong = found < 0
        if wrong.any():
            value = values[int(wrong.argmax())]
            near = did_you_mean(value, self.labels[:1000]) if isinstance(value, str) else ""
            _refuse(wrong, values, "name an arm of the catalogue", column, first, near)
        return found


@dataclass(frozen=True, eq=False)
class Schema:
    """Which columns of a table are what."""

    outcome: str
    action: str | None = None
    propensity: str | tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    context: tuple[str, ...] = ()
    id: str | None = None
    time: str | None = None
    catalogue: Catalogue | None = None
    extra: tuple[str, ...] = ()

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns to read."""
        own = (self.action, self.outcome, self.id, self.time)
        chances = (self.propensity,) if isinstance(self.propensity, str) else self.propensity or ()
        features = () if self.catalogue is not None else self.features or ()
        wanted = (*own, *chances, *features, *self.context, *self.extra)
        return tuple(dict.fromkeys(name for name in wanted if name is not None))

    def check(self, names: Sequence[str]) -> None:
        """Raise unless a table has the columns."""
        for name in self.needed:
            if name not in names:
                raise ValueError(
                    f"log must have a column {name!r}, it is missing{did_you_mean(name, names)}"
                )

    def read(self, first: int, table: Columns) -> Chunk:
        """Return rows of a table, checked."""
        import pandas as pd

        outcomes = finite(table, self.outcome, first)
        n = len(outcomes)
        if self.id is not None:
            ids = table.values(self.id)
            twice = pd.Index(ids).duplicated()
            _refuse(twice, ids, "have each decision once", self.id, first, how=" again")
        times = None if self.time is None else table.values(self.time)
        if self.time is not None and times is not None:
            _refuse(pd.isna(times), times, "have a time in each row", self.time, first)
        if self.catalogue is not None and self.action is not None:
            arms = self.catalogue.vectors
            action = self.catalogue.rows(table.values(self.action), self.action, first)
        else:
            features = self.features or ()
            arms = np.column_stack([finite(table, name, first) for name in features])
            action = np.arange(n)
        propensity, chances = self._propensities(table, first, action, len(arms))
        return Chunk(
            first,
            arms,
            action,
            outcomes,
            propensity,
            chances,
            context={name: table.values(name) for name in self.context},
            columns={name: _stacked(table, name, first) for name in self.extra},
            time=times,
            complete=self.catalogue is not None,
        )

    def _propensities(
        self, table: Columns, first: int, action: Ints, size: int
    ) -> tuple[Array | None, Array | None]:
        if self.propensity is None:
            return None, None
        name, chances = str(self.propensity), None
        if isinstance(self.propensity, str):
            propensity = _stacked(table, self.propensity, first)
            if propensity.ndim == 2:
                chances = propensity
        else:
            chances = np.column_stack([finite(table, c, first) for c in self.propensity])
        if chances is not None:
            if chances.shape[1] != size:
                raise ValueError(
                    f"log must have a probability for each of the {size} arms, got "
                    f"{chances.shape[1]} in row {first}, column {name!r}"
                )
            off = (np.abs(chances.sum(axis=1) - 1) > SUM) | (chances < 0).any(axis=1)
            wanted = "have probabilities that are not negative and add up to one"
            _refuse(off, chances, wanted, name, first)
            propensity = chances[np.arange(len(action)), action]
        if len(propensity) and not (propensity.min() > 0 and propensity.max() <= 1 + SUM):
            off, why = ~((propensity > 0) & (propensity <= 1 + SUM)), ": what was chosen had one"
            _refuse(off, propensity, "have propensities above 0 and at most 1", name, first, why)
        return propensity, chances


def chunks_of(schema: Schema | None, piece: Any) -> Iterator[Chunk]:
    """Yield the rows of a piece, checked; what has no columns is read as chunks."""
    if schema is None:
        yield from piece.chunks()
    else:
        for first, table in piece.tables(schema.needed):
            yield schema.read(first, table)


def _refuse(
    wrong: NDArray[np.bool_],
    values: NDArray[Any],
    wanted: str,
    column: str,
    first: int,
    remedy: str = "",
    how: str = "",
) -> None:
    """Raise if a row is wrong, and name the first that is, in a chunk whose first has a number."""
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"log must {wanted}, got {short(_plain(values[row]))}{how} in row {first + row}, "
            f"column {column!r}{remedy}"
        )


def finite(table: Columns, name: str, first: int) -> Array:
    """Return a column of finite numbers, or raise and name the row."""
    values = table.values(name)
    if values.dtype.kind not in "biuf":
        listed = values.tolist()
        if all(isinstance(value, str) for value in listed):  # a CSV file with a word among numbers
            start = next((i for i, value in enumerate(listed) if not _reads(value)), 0)
            _number(listed[start], first + start, name)
        values = np.array([_number(v, first + i, name) for i, v in enumerate(listed)])
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(np.add.reduce(numbers)):
        off, remedy = ~np.isfinite(numbers), ": drop or fill such rows"
        _refuse(off, numbers, "hold finite numbers", name, first, remedy)
    return numbers


def _stacked(table: Columns, name: str, first: int) -> Array:
    """Return a column of numbers, or of vectors of one length as a matrix."""
    values = table.values(name)
    if values.dtype.kind != "O" or not len(values) or np.ndim(values[0]) == 0:
        return finite(table, name, first)
    length = len(values[0])
    for i, each in enumerate(values):
        if np.shape(each) != (length,):
            raise ValueError(
                f"log must hold vectors of {length} numbers in column {name!r}, got "
                f"{short(each)} in row {first + i}"
            )
    return np.array([np.asarray(each, dtype=np.float64) for each in values])


def _reads(text: str) -> bool:
    """Tell whether a text is that of a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(value: Any, row: int, column: str) -> float:
    number = as_number(value)
    if number is None:
        raise TypeError(
            f"log must hold numbers, got {short(_plain(value))} in row {row}, column {column!r}"
        )
    return number


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
