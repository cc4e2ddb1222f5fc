"""The catalogue of a decider: what can be on offer, sent once and named afterwards."""

from __future__ import annotations

import io
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._checks import Array, did_you_mean, short
from projbandits.accounts.footer import declared
from projbandits.service.refusals import Refused

if TYPE_CHECKING:
    import pandas as pd

LABEL = "label"
LONGEST_LABEL = 200
"""How many characters a label may have."""

REMEMBERED_FILTERS = 256
"""How many filters are remembered with what they chose."""

FORMATS = {
    "application/json": "json",
    "application/x-www-form-urlencoded": "json",  # as curl says if it is not told
    "text/csv": "csv",
    "application/vnd.apache.parquet": "parquet",
    "application/x-parquet": "parquet",
    "application/vnd.apache.arrow.stream": "arrow",
    "application/vnd.apache.arrow.file": "arrow",
}
"""How a catalogue may be written, by its media type."""

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

    def __len__(self) -> int:
        return len(self.labels)

    def named(self, labels: Sequence[str]) -> Chosen:
        """Return items by their labels, in that order."""
        twice = len(set(labels)) < len(labels)
        if twice:
            again = next(label for i, label in enumerate(labels) if label in labels[:i])
            raise ValueError(f"items must be distinct, got {short(again)} more than once")
        unknown = [i for i, label in enumerate(labels) if label not in self._at]
        if unknown:
            label = labels[unknown[0]]
            hint = did_you_mean(label, self.labels) if len(self) <= 10_000 else ""
            raise KeyError(
                f"items must be in the catalogue, got {short(label)} in row {unknown[0]}{hint}: "
                "put it there, or send rows with all features"
            )
        return self._at_positions(np.array([self._at[label] for label in labels], dtype=np.int64))

    def where(self, wanted: Mapping[str, Any]) -> Chosen:
        """Return the items that a filter lets through, in the order of the catalogue."""
        key = json.dumps(wanted, sort_keys=True)
        found = self._chosen.get(key)
        if found is None:
            inside = np.ones(len(self), dtype=bool)
            for column, value in wanted.items():
                inside &= self._inside(column, value)
            found = self._chosen[key] = self._at_positions(np.flatnonzero(inside))
            while len(self._chosen) > REMEMBERED_FILTERS:
                self._chosen.popitem(last=False)
        if not found.labels:
            raise ValueError(f"filter must let an item through, got none for {short(key, 200)}")
        return found

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
        if isinstance(value, Mapping):
            if not value or not set(value) <= {"least", "most"}:
                raise ValueError(
                    f"filter: {short(column)} must be a value, a list of values, or "
                    f'{{"least": 1, "most": 2}}, got {short(value)}'
                )
            inside = np.ones(len(self), dtype=bool)
            try:
                if "least" in value:
                    inside &= np.asarray(values >= value["least"], dtype=bool)
                if "most" in value:
                    inside &= np.asarray(values <= value["most"], dtype=bool)
            except TypeError as error:
                raise ValueError(
                    f"filter: {short(column)} cannot be compared with {short(value)}: {error}"
                ) from error
            return inside
        listed = value if isinstance(value, list) else [value]
        if any(isinstance(each, list | dict) for each in listed):
            raise ValueError(f"filter: {short(column)} must list plain values, got {short(value)}")
        return np.asarray(values.isin(listed), dtype=bool)


def read(kind: str, body: bytes, label: str, most: int) -> pd.DataFrame:
    """Return a catalogue as a table whose index is the label.

    Parameters
    ----------
    kind : str
        One of the values of `FORMATS`.
    body : bytes
        What was sent.
    label : str
        Which column says what an item is called.
    most : int
        How many rows it may have.
    """
    import pyarrow as pa

    try:
        table = {"json": _json, "csv": _csv, "parquet": _parquet, "arrow": _arrow}[kind](
            body, label, most
        )
    except (pa.ArrowException, OSError, LookupError, ArithmeticError) as error:
        raise ValueError(f"items cannot be read as {kind}: {error}") from error
    if len(table) > most:
        raise _too_many(len(table), most)
    return _labelled(table, label)


def written(table: pd.DataFrame) -> bytes:
    """Return a catalogue as it is stored: a Parquet file."""
    import pyarrow as pa

    sink = io.BytesIO()
    try:
        table.to_parquet(sink)
    except pa.ArrowException as error:
        raise ValueError(f"items must have one type of value per column: {error}") from error
    return sink.getvalue()


def stored(body: bytes) -> pd.DataFrame:
    """Return a catalogue that `written` wrote."""
    import pandas as pd

    return pd.read_parquet(io.BytesIO(body))


def _json(body: bytes, label: str, most: int) -> pd.DataFrame:
    import pandas as pd

    try:
        said = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body must be JSON: {error}") from error
    rows = said.get("items") if isinstance(said, dict) else said
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(
            f'items must be a list of objects, or {{"items": [...]}}, got {short(said)}'
        )
    if len(rows) > most:
        raise _too_many(len(rows), most)
    for i, row in enumerate(rows):
        for name, value in row.items():
            if isinstance(value, list | dict) and not _numbers(value):
                raise ValueError(
                    f"items must hold numbers, texts or lists of numbers, got {short(value)} in "
                    f"row {i}, column {short(name)}"
                )
    return pd.DataFrame(rows)


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, int | float) for each in value)


def _csv(body: bytes, label: str, most: int) -> pd.DataFrame:
    from pyarrow import csv

    options = csv.ConvertOptions(column_types={label: "string"}, strings_can_be_null=False)
    table: pd.DataFrame = csv.read_csv(io.BytesIO(body), convert_options=options).to_pandas()
    return table


def _parquet(body: bytes, label: str, most: int) -> pd.DataFrame:
    from pyarrow import parquet as pq

    rows, values, size = declared(io.BytesIO(body))
    if rows > most:
        raise _too_many(rows, most)
    if max(size, 8 * values) > 2**31:
        raise Refused(413, f"items must take at most 2 GiB in memory, these take {size:,} bytes")
    table: pd.DataFrame = pq.read_table(io.BytesIO(body)).to_pandas(ignore_metadata=True)
    return table


def _arrow(body: bytes, label: str, most: int) -> pd.DataFrame:
    import pyarrow as pa

    opened = pa.ipc.open_file if body[:6] == b"ARROW1" else pa.ipc.open_stream
    table: pd.DataFrame = opened(pa.BufferReader(body)).read_all().to_pandas(ignore_metadata=True)
    return table


def _too_many(rows: int, most: int) -> Refused:
    return Refused(413, f"items must have at most {most:,} rows, got {rows:,}")


def _labelled(table: pd.DataFrame, label: str) -> pd.DataFrame:
    """Return a table with its labels, checked, as the index."""
    named = [str(column) for column in table.columns]
    if len(set(named)) < len(named):
        raise ValueError(f"items must have distinct columns, got {short(named, 200)}")
    table.columns = named
    if not len(table):
        raise ValueError("items must have at least one row, got none")
    if label not in named:
        raise ValueError(
            f"items must have a column {label!r} that says what each is called, got "
            f"{short(named, 200)}: name yours in the query, as ?label={short(named[0])[1:-1]}"
        )
    labels = list[str]()
    seen = dict[str, int]()
    for i, value in enumerate(table[label].tolist()):
        text = value if isinstance(value, str) else str(value) if type(value) is int else ""
        if not 0 < len(text) <= LONGEST_LABEL or "\0" in text:
            raise ValueError(
                f"items must have labels of 1 to {LONGEST_LABEL} characters, got {short(value)} in "
                f"row {i}, column {label!r}"
            )
        if seen.setdefault(text, i) != i:
            raise ValueError(
                f"items must have distinct labels, got {short(text)} in rows {seen[text]} and {i}"
            )
        labels.append(text)
    table = table.drop(columns=label)
    table.index = _index(labels)
    return table


def _index(labels: list[str]) -> pd.Index[Any]:
    import pandas as pd

    return pd.Index(labels, name=LABEL, dtype=object)
