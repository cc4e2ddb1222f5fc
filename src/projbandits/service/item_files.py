"""A catalogue as it is sent, in one of four formats, and as it is stored."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from projbandits._validation import check_distinct_labels, short
from projbandits.service.errors import Refused
from projbandits.service.footer import declared
from projbandits.service.schemas import parsed
from projbandits.tables import read_csv

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

LABEL = "label"
LONGEST_LABEL = 200
"""How many characters a label may have."""

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


def label_of(value: Any, where: str) -> str | int:
    """Return what an item is called, checked; `where` says in which row."""
    text = value if isinstance(value, str) else str(value) if type(value) is int else ""
    if not 0 < len(text) <= LONGEST_LABEL or "\0" in text:
        raise ValueError(
            f"items must have labels of 1 to {LONGEST_LABEL} characters, got {short(value)} in "
            f"{where}"
        )
    return text if isinstance(value, str) else int(value)


def row_label(row: dict[str, Any], at: int) -> str:
    """Return the label of a row, as a text."""
    return str(label_of(row.get(LABEL), f"row {at}, column {LABEL!r}"))


def table_of(rows: list[dict[str, Any]], label: str, most: int) -> pd.DataFrame:
    """Return rows as a catalogue."""
    return _labelled(_framed(rows, most), label)


def _json(body: bytes, label: str, most: int) -> pd.DataFrame:
    said: Any = parsed(body)
    rows = said.get("items") if isinstance(said, dict) else said
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(
            f'items must be a list of objects, or {{"items": [...]}}, got {short(said)}'
        )
    return _framed(rows, most)


def _framed(rows: list[dict[str, Any]], most: int) -> pd.DataFrame:
    import pandas as pd

    if len(rows) > most:
        raise _too_many(len(rows), most)
    for i, row in enumerate(rows):
        for name, value in row.items():
            if isinstance(value, list | dict) and not _numbers(value):
                raise ValueError(
                    f"items must hold numbers, texts or lists of numbers, got {short(value)} in "
                    f"row {i}, column {short(name)}"
                )
            if type(value) is int and not -(2**63) <= value < 2**63:
                raise ValueError(
                    "items must hold whole numbers of 64 bits at most, got "
                    f"{short(value)} in row {i}, column {short(name)}"
                )
    return pd.DataFrame(rows)


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, int | float) for each in value)


def _csv(body: bytes, label: str, most: int) -> pd.DataFrame:
    return read_csv(body, [label])


def _parquet(body: bytes, label: str, most: int) -> pd.DataFrame:
    import pyarrow as pa
    from pyarrow import parquet as pq

    try:
        rows, values, size = declared(io.BytesIO(body))
    except ValueError as error:
        raise ValueError(f"items cannot be read as parquet: {error}") from error
    if rows > most:
        raise _too_many(rows, most)
    if max(size, 8 * values) > 2**31:
        raise Refused(413, f"items must take at most 2 GiB in memory, these take {size:,} bytes")
    return _frame(pq.read_table(pa.BufferReader(body), use_threads=False))


def _arrow(body: bytes, label: str, most: int) -> pd.DataFrame:
    import pyarrow as pa

    opened = pa.ipc.open_file if body[:6] == b"ARROW1" else pa.ipc.open_stream
    return _frame(opened(pa.BufferReader(body)).read_all())


def _frame(table: pa.Table) -> pd.DataFrame:
    """Return a table of numbers and texts; JSON has no times, so filters find them as texts."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        kind, where = field.type, f"column {short(field.name)}"
        if pa.types.is_temporal(kind):
            table = table.set_column(i, field.name, table.column(i).cast(pa.string()))
        elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            raise ValueError(f"items must hold texts in UTF-8, got other bytes in {where}")
        elif pa.types.is_struct(kind) or pa.types.is_map(kind):
            raise ValueError(f"items must hold numbers, texts or lists of numbers, not {where}")
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    return frame


def _too_many(rows: int, most: int) -> Refused:
    return Refused(413, f"items must have at most {most:,} rows, got {rows:,}")


def _labelled(table: pd.DataFrame, label: str) -> pd.DataFrame:
    """Return a table with its labels, checked, as the index."""
    import pandas as pd

    named = [str(column) for column in table.columns]
    if len(set(named)) < len(named):
        raise ValueError(f"items must have distinct columns, got {short(named, 200)}")
    table.columns = named
    if not table.size:
        raise ValueError("items must have at least one row with columns, got none")
    if label not in named:
        raise ValueError(
            f"items must have a column {label!r} that says what each is called, got "
            f"{short(named, 200)}: name yours in the query, as ?label={short(named[0])[1:-1]}"
        )
    labels = [
        str(label_of(value, f"row {i}, column {label!r}"))
        for i, value in enumerate(table[label].tolist())
    ]
    check_distinct_labels("items", labels)
    table = table.drop(columns=label)
    table.index = pd.Index(labels, name=LABEL, dtype=object)
    return table
