"""Results as files: one Parquet table, with what is not a curve in its metadata.

A row is a strategy, a trial and a checkpoint. How often each arm was played belongs to a trial, not
to a checkpoint, so the row of a trial's last checkpoint has it as a list, and the others have none.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projbandits._parquet import UNREADABLE, read_table, write_table
from projbandits._validation import Array

RESULT_FORMAT = 3
PLAIN_FIELDS = ("strategies", "engines", "parameters", "problem", "horizon", "seed", "identities")
"""The fields that are no arrays."""


def write(path: Path, fields: Mapping[str, Any], frame: Any) -> None:
    """Write a result, given by its fields and its tidy frame."""
    import pyarrow as pa

    found = fields["found_best"]
    about = {
        "format": RESULT_FORMAT,
        "shape": fields["regret"].shape,
        **{name: fields[name] for name in PLAIN_FIELDS},
        "found_best": None if found is None else found.tolist(),
    }
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if fields["pulls"] is not None:
        table = table.append_column("pulls", pulls_column(fields["pulls"], len(fields["steps"])))
    write_table(path, table, about)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields of a result that `write` wrote.

    Raises
    ------
    ValueError
        If there is none, or its checksum does not match.
    """
    try:
        table, about, verified = read_table(Path(path))
        found = about.get("format")
        if found != RESULT_FORMAT:
            raise ValueError(f"has format {found}, not {RESULT_FORMAT}")
        if not verified:
            raise ValueError("is damaged: it has lost its checksum")
        return _fields(table, about)
    except UNREADABLE as error:
        raise ValueError(
            f"path must be a saved result, {str(path)!r} {error}: use a copy, or delete it and "
            "simulate again"
        ) from error


def _fields(table: Any, about: Mapping[str, Any]) -> dict[str, Any]:
    shape = tuple(about["shape"])
    listed = {name: tuple(about[name]) for name in ("strategies", "engines", "parameters")}
    if {len(each) for each in listed.values()} != {shape[0]}:
        raise ValueError(f"does not have as many strategies as its shape {shape} says")

    def column(name: str) -> Array:
        return np.asarray(table[name].to_numpy(), dtype=np.float64).reshape(shape)

    found = about["found_best"]
    return {
        **listed,
        "steps": np.asarray(table["step"].to_numpy()[: shape[2]], dtype=np.int64),
        "regret": column("regret"),
        "return_regret": column("return_regret"),
        "best_share": None if found is None else column("best_share"),
        "found_best": None if found is None else np.array(found, np.bool_).reshape(shape[:2]),
        "trial_numbers": table["trial"]
        .to_numpy()[: math.prod(shape[1:]) : shape[2]]
        .astype(np.int64),
        "problem": about["problem"],
        "horizon": about["horizon"],
        "seed": about["seed"],
        "identities": tuple(about["identities"]),
        "pulls": pulls_of(table["pulls"], shape) if "pulls" in table.column_names else None,
    }


def pulls_column(pulls: NDArray[np.int64], checkpoints: int) -> Any:
    """Return a column that has the counts of each trial in its last row, and nothing in others."""
    import pyarrow as pa

    rows, K = math.prod(pulls.shape[:2]), pulls.shape[2]
    last = np.arange(rows * checkpoints) % checkpoints == checkpoints - 1
    ends = np.concatenate([[0], np.cumsum(np.where(last, K, 0))])
    offsets = pa.array(ends, mask=np.append(~last, False))  # a row without a list has no offset
    return pa.LargeListArray.from_arrays(offsets, pa.array(pulls.ravel()))


def pulls_of(column: Any, shape: Sequence[int]) -> NDArray[np.int64]:
    """Return the counts that `pulls_column` made a column of."""
    lists = column.drop_null()
    lengths = set(lists.combine_chunks().value_lengths().to_pylist())
    if len(lists) != math.prod(shape[:2]) or len(lengths) != 1:
        raise ValueError(f"has pulls of {len(lists)} trials that do not fit its shape {shape}")
    counts = lists.combine_chunks().flatten().to_numpy()
    return np.array(counts, dtype=np.int64).reshape(*shape[:2], *lengths)
