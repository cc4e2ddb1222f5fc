"""The Parquet file of a log: written and read piece by piece, and believed in nothing.

A file is read only if it has a log's columns and is not too large, and each decision in it is
checked before it is used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from projbandits._files import whole
from projbandits._validation import Array, real
from projbandits.decisions.decision import LARGEST_COUNT, Decision, Grounds, check_sound
from projbandits.decisions.footer import declared
from projbandits.decisions.limits import LARGEST_ENTRY, check_estimate, check_outcome
from projbandits.decisions.log_table import ATTRIBUTE, TIME, label_kind
from projbandits.decisions.offers import Offer
from projbandits.decisions.readings import Account
from projbandits.ledger.fold import Known
from projbandits.ledger.labels import Label, write_label
from projbandits.ledger.protocol import EVENTS_AT_ONCE
from projbandits.ridge import Ridge
from projbandits.strategies.open import OpenRows

if TYPE_CHECKING:
    import pandas as pd

GROUP = 256
"""How many rows of a file are read together at least."""

CELL = 100
"""About how many bytes a cell of a table takes beside its numbers."""

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
}
"""What a log has beside its features, x[...]."""

LATER_KINDS = {
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
"""What logs of earlier versions lack."""


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
    types, kinds, writer = _types(), {**COLUMN_KINDS, **LATER_KINDS, "label": called}, None
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


def tables(source: str, d: int, largest: float, only: str | None = None) -> Iterator[pd.DataFrame]:
    """Yield the log of a decider with d features piece by piece, from a local file.

    With `only`, the row of the decision with this id, if it is there; hardly any other is read.

    A file that would take more than `largest` bytes in memory is refused: a few bytes can say
    that a value comes again a billion times.
    """
    if not Path(source).is_file():
        raise FileNotFoundError(f"the log needs the file {source!r}, which is not there")
    with open(source, "rb") as file:
        pieces = _pieces(file, d, largest, only)
        while True:
            with named(source):
                piece = next(pieces, None)
            if piece is None:
                return
            yield piece


@contextmanager
def named(source: str) -> Iterator[None]:
    """Put the name of a file before what its content is found to lack."""
    try:
        yield
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{source!r} must be a log that spill wrote: {error}") from error


def _pieces(file: Any, d: int, largest: float, only: str | None) -> Iterator[pd.DataFrame]:
    import pyarrow as pa
    from pyarrow import parquet as pq

    types, kinds = _types(), {**COLUMN_KINDS, **LATER_KINDS}
    rows, values, size = declared(file)
    size = max(size, 8 * values) + CELL * rows * (len(COLUMN_KINDS) + d)
    if size > largest:
        raise ValueError(
            f"it would take some {float(size):.2g} bytes of memory, more than {largest:.2g}: if it "
            "is yours, pass Decider.load(path, largest=...)"
        )
    try:
        stored = pq.ParquetFile(file)
        names = stored.schema_arrow.names
        features = [name for name in names if name not in kinds]
        if not all(name.startswith("x[") for name in features) or len(features) != d:
            raise ValueError(f"it must have {d} features x[...], got {features}")
        if len(set(names)) != len(names) or not {*COLUMN_KINDS} <= {*names}:
            raise ValueError(f"it must have the columns {[*COLUMN_KINDS]}, got {names}")
        if "label" in names and pa.types.is_integer(stored.schema_arrow.field("label").type):
            kinds["label"] = "whole"
        schema = pa.schema([(name, types[kinds.get(name, "number")]) for name in names])
        for batch in _batches(stored, only):
            table = pa.Table.from_batches([batch])
            table.validate(full=True)
            table = table.cast(schema)
            for name, kind in COLUMN_KINDS.items():
                if kind in ("text", "count") and table[name].null_count:
                    raise ValueError(f"its {name} must not be missing")
            # What the file says of pandas is not asked for.
            frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
            if "label" in names:  # whole numbers would become floats beside a missing one
                frame["label"] = np.array(table["label"].to_pylist(), dtype=object)
            yield _completed(frame).astype({"id": object, "asked": TIME, "told": TIME})
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"it cannot be read as Parquet, {error}") from error


def _batches(stored: Any, only: str | None) -> Iterator[Any]:
    """Yield all rows in batches, or the row of one decision."""
    if only is None:
        yield from stored.iter_batches(EVENTS_AT_ONCE)
        return
    for group in range(stored.num_row_groups):
        ids = stored.read_row_group(group, columns=["id"])["id"].to_pylist()
        if only in ids:
            yield from stored.read_row_group(group).slice(ids.index(only), 1).to_batches()
            return


def _completed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the columns that earlier versions did not write."""
    for name, kind in LATER_KINDS.items():
        if kind == "count" and name not in frame:
            frame[name] = -1
        elif kind == "number" and name not in frame:
            frame[name] = 0.0
        elif kind == "numbers" and name not in frame:
            frame[name] = None
        elif kind == "text":
            given = [*frame[name]] if name in frame else [None] * len(frame)
            allowed = (str, int) if name == "label" else str
            texts = [text if isinstance(text, allowed) else None for text in given]
            frame[name] = np.array(texts, dtype=object)
    rows = zip(frame["label"], frame["labels"], frame["position"], strict=True)
    frame["label"] = np.array([_label(*row) for row in rows], dtype=object)
    return frame


def _label(label: Label | None, labels: str | None, position: int) -> Label | None:
    """Return the label as it was given: a file that has texts too has whole numbers as texts."""
    if not isinstance(label, str) or labels is None or not label.removeprefix("-").isdecimal():
        return label
    listed = json.loads(labels)
    sound = isinstance(listed, list) and 0 <= position < len(listed)
    return int(label) if sound and type(listed[position]) is int else label


def accounts(table: pd.DataFrame, known: Known) -> list[Account]:
    """Return the decisions in a log, or raise if one cannot be used."""
    features = [name for name in table.columns if name.startswith("x[")]
    arms = table[features].to_numpy(dtype=np.float64)
    return [_account(x, row, known) for x, row in zip(arms, table.to_dict("records"), strict=True)]


def _offer(vectors: Array, row: dict[Any, Any], known: Known) -> Offer:
    labels = None if row["labels"] is None else json.loads(row["labels"])
    if labels is not None and not (
        isinstance(labels, list)
        and len(labels) == len(vectors)
        and all(type(label) in (str, int) for label in labels)
    ):
        raise ValueError(f"decision {row['id']!r} has no sound labels")
    return Offer(
        vectors, known.columns, None if labels is None else tuple(map(write_label, labels))
    )


def _account(x: Array, row: dict[Any, Any], known: Known) -> Account:
    d, penalty, offered = len(x), known.state.ridge.penalty, row["offered"]
    steps = known.state.step - 1
    n, forgotten = int(row["observations"]), float(row["forgotten"])
    ridge = Ridge.from_log(penalty, n, row["belief"], forgotten, d)
    if ridge.n > LARGEST_COUNT or not 0.0 <= ridge.forgotten <= max(ridge.n, 0):
        raise ValueError(f"decision {row['id']!r} has no sound observations")
    check_estimate(ridge.factor, ridge.n, penalty, ridge.intercept)
    state = known.state._replace(step=int(row["step"]), ridge=ridge)
    if row["open"] is not None:
        rows = np.asarray(row["open"], dtype=np.float64).reshape(-1, d + 1)
        most = 1.001 * math.sqrt(steps * (d + 1)) * LARGEST_ENTRY * math.sqrt(penalty)
        if not 0 < len(rows) <= d + 1 or not (np.abs(rows) <= most).all():
            raise ValueError(f"decision {row['id']!r} has no sound open decisions")
        learnt = partial(known.strategy.learnt, state)
        state = state._replace(ridge=ridge.counting(OpenRows(rows, learnt)))
    # Sets that are infinite are not in the log.
    vectors = None if offered is None else np.asarray(offered, dtype=np.float64)
    grounds = Grounds(
        known.strategy,
        state,
        None if vectors is None else _offer(vectors.reshape(-1, d), row, known),
        tuple(int(taken) for taken in row["taken"]),
        known.columns,
    )
    x.flags.writeable = False
    decision = Decision(
        row["id"],
        None if row["index"] < 0 else int(row["index"]),
        x,
        row["propensity"],
        row["estimate"],
        row["standard_error"],
        int(row["step"]),
        row["asked"].timestamp(),
        row["label"],
        row["meta"],
        grounds,
        row["context"],
    )
    check_sound(decision, LARGEST_ENTRY * math.sqrt(penalty), steps)
    after, outcome, told = int(row["outcome_position"]), row["outcome"], np.nan
    if after > steps:
        raise ValueError(f"decision {decision.id!r} has no sound outcome_position")
    if after >= 0:
        told = real(f"when {decision.id!r} was told", row["told"].timestamp())
        name = f"the outcome of {decision.id!r}"
        check_outcome(name, real(name, outcome))
    return Account(decision, outcome, told, after, int(row["known"]), int(row["told_at"]))
