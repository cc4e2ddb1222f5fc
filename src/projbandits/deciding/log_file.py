"""The Parquet file of a log, written piece by piece."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from projbandits._files import whole
from projbandits.deciding.log_table import ATTRIBUTE, label_kind
from projbandits.ledger.labels import Label

if TYPE_CHECKING:
    import pandas as pd

GROUP = 256
"""How many rows of a file are written together."""

COLUMN_KINDS = {
    "id": "text",
    "step": "count",
    "asked": "time",
    "told": "time",
    "outcome_position": "count",
    "index": "count",
    "propensity": "number",
    "outcome": "number",
    "estimate": "number",
    "standard_error": "number",
    "position": "count",
    "taken": "numbers",
    "offered": "numbers",
    "probabilities": "numbers",
    "observations": "count",
    "belief": "numbers",
    "known": "count",
    "told_at": "count",
    "meta": "text",
    "forgotten": "number",
    "label": "text",
    "context": "text",
    "ledger": "text",
    "labels": "text",
    "open": "numbers",
}
"""What a log has beside its features, x[...]."""


def _types() -> dict[str, Any]:
    import pyarrow as pa

    return {
        "text": pa.string(),
        "count": pa.int64(),
        "whole": pa.int64(),
        "time": pa.timestamp("us", tz="UTC"),
        "number": pa.float64(),
        "numbers": pa.list_(pa.float64()),
    }


def write(
    target: Path, tables: Iterable[pd.DataFrame], about: str, labels: Iterable[Label | None] = ()
) -> int:
    """Write tables one after another to one Parquet file, and return how many rows it has."""
    with whole(target) as part, open(part, "wb") as file:
        return sum(written(file, tables, about, labels))


def written(
    file: Any, tables: Iterable[pd.DataFrame], about: str, labels: Iterable[Label | None] = ()
) -> Iterator[int]:
    """Write tables one after another, and yield how many rows each had; the end comes last.

    Parameters
    ----------
    file : file
        Where to write.
    tables : iterable of DataFrame
        The pieces of a log.
    about : str
        What holds for the whole log, as JSON.
    labels : iterable of str, int or None
        All labels of the log. If they are whole numbers, so is the column `label`; otherwise it
        has texts.
    """
    import pyarrow as pa
    from pyarrow import parquet as pq

    called = label_kind(labels)
    types, kinds, writer = _types(), {**COLUMN_KINDS, "label": called}, None
    for table in tables:
        if called == "text":
            texts = [None if label is None else str(label) for label in table["label"]]
            table = table.assign(label=np.array(texts, dtype=object))
        if writer is None:
            fields = [(name, types[kinds.get(name, "number")]) for name in table.columns]
            # Where pandas keeps and finds a table's attrs.
            attrs = {b"PANDAS_ATTRS": json.dumps({ATTRIBUTE: about}).encode()}
            writer = pq.ParquetWriter(file, pa.schema(fields, metadata=attrs))
        arrow = pa.Table.from_pandas(table, schema=writer.schema, preserve_index=False)
        writer.write_table(arrow, row_group_size=GROUP)
        yield len(table)
    if writer is not None:
        writer.close()
