"""The Parquet file of a log, which is read only if it has a log's columns and is not too large."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from projbandits.online.contents import named
from projbandits.online.footer import declared

if TYPE_CHECKING:
    import pandas as pd

TIME: Final = "datetime64[us, UTC]"

CELL = 100
"""About how many bytes a cell of a table takes beside its numbers."""

COLUMNS = {
    "id": "text",
    "step": "count",
    "asked": "time",
    "told": "time",
    "told_after": "count",
    "index": "count",
    "propensity": "number",
    "reward": "number",
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


def parquet(table: pd.DataFrame) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    sink = io.BytesIO()
    # By pandas, which every version since 2.1 writes the attrs of.
    table.to_parquet(sink, engine="pyarrow", index=False)
    return sink.getvalue()


def read(source: str | bytes, d: int, largest: float) -> pd.DataFrame:
    """Return the log of a decider with d features, from a local file or from its content.

    A file that would take more than `largest` bytes in memory is refused: a few bytes can say
    that a value comes again a billion times.
    """
    if isinstance(source, bytes):
        return _table(io.BytesIO(source), d, largest)
    if not Path(source).is_file():
        raise FileNotFoundError(f"the log needs the file {source!r}, which is not there")
    with named(f"{source!r} must be a log that spill wrote"), open(source, "rb") as file:
        return _table(file, d, largest)


def _table(file: Any, d: int, largest: float) -> pd.DataFrame:
    import pyarrow as pa
    from pyarrow import parquet as pq

    types = {
        "text": pa.string(),
        "count": pa.int64(),
        "time": pa.timestamp("us", tz="UTC"),
        "number": pa.float64(),
        "numbers": pa.list_(pa.float64()),
    }
    rows, values, size = declared(file)
    size = max(size, 8 * values) + CELL * rows * (len(COLUMNS) + d)
    if size > largest:
        raise ValueError(
            f"it would take some {float(size):.2g} bytes of memory, more than {largest:.2g}: if it "
            "is yours, pass Decider.load(path, largest=...)"
        )
    try:
        stored = pq.ParquetFile(file)
        names = stored.schema_arrow.names
        features = [name for name in names if name not in COLUMNS]
        if not all(name.startswith("x[") for name in features) or len(features) != d:
            raise ValueError(f"it must have {d} features x[...], got {features}")
        if len(set(names)) != len(names) or not {*COLUMNS} <= {*names}:
            raise ValueError(f"it must have the columns {[*COLUMNS]}, got {names}")
        table = stored.read()
        table.validate(full=True)
        kinds = [types[COLUMNS.get(name, "number")] for name in names]
        table = table.cast(pa.schema([*zip(names, kinds, strict=True)]))
        for name, kind in COLUMNS.items():
            if kind in ("text", "count") and table[name].null_count:
                raise ValueError(f"its {name} must not be missing")
        # What the file says of pandas is not asked for.
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"it cannot be read as Parquet, {error}") from error
    return frame.astype({"id": object, "asked": TIME, "told": TIME})
