"""The Parquet file of a log, written piece by piece."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from projbandits._files import whole
from projbandits.deciding.log_table import ATTRIBUTE, about, frame, label_kind, pieces
from projbandits.ledger.history import History
from projbandits.ledger.labels import read_label

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


def write(target: Path, history: History) -> int:
    """Write a log to a Parquet file, and return how many rows it has."""
    with whole(target) as part, open(part, "wb") as file:
        return sum(written(file, history))


def written(file: Any, history: History) -> Iterator[int]:
    """Write a log to an open file, and yield how many rows each piece had; the end comes last.

    If all labels are whole numbers, so is the column `label`; otherwise it has texts.
    """
    import pyarrow as pa
    from pyarrow import parquet as pq

    arms = history.arms()
    labels = (arms.label(row) for row in range(len(arms)))
    called = label_kind(None if label is None else read_label(label) for label in labels)
    types, kinds, writer = _types(), {**COLUMN_KINDS, "label": called}, None
    for table in chain(pieces(history), [frame([], history.belief())]):
        if called == "text":
            texts = [None if label is None else str(label) for label in table["label"]]
            table = table.assign(label=np.array(texts, dtype=object))
        if writer is None:
            fields = [(name, types[kinds.get(name, "number")]) for name in table.columns]
            # Where pandas keeps and finds a table's attrs.
            attrs = {b"PANDAS_ATTRS": json.dumps({ATTRIBUTE: about(history)}).encode()}
            writer = pq.ParquetWriter(file, pa.schema(fields, metadata=attrs))
        arrow = pa.Table.from_pandas(table, schema=writer.schema, preserve_index=False)
        writer.write_table(arrow, row_group_size=GROUP)
        yield len(table)
    if writer is not None:
        writer.close()
