"""A folder that keeps what is finished, so that long work can be interrupted and continued.

It holds `manifest.json`, which says what is simulated, and a Parquet part for each finished chunk
of trials. Every file appears whole or not at all.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from projbandits._files import UNFINISHED, write_whole
from projbandits._version import __version__
from projbandits.simulation.records import Record
from projbandits.simulation.request import Spec

fcntl: ModuleType | None
try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None

FORMAT = 1


class Store:
    """The finished chunks of one simulation.

    Parameters
    ----------
    path : path
        The folder; made if it does not exist.
    spec : Spec
        What is simulated. A folder that was made for something else is refused.
    """

    def __init__(self, path: str | os.PathLike[str], spec: Spec) -> None:
        self.path = Path(path)
        for label in spec.labels:
            if "<lambda>" in label:
                raise ValueError(
                    f"store needs strategies that can be told apart later, got {label!r}: give the "
                    "schedule a function with a name"
                )
        self.path.mkdir(parents=True, exist_ok=True)
        manifest = self.path / "manifest.json"
        wanted = _manifest(spec)
        if manifest.exists():
            _check_same(json.loads(manifest.read_text(encoding="utf-8")), wanted, self.path)
        elif any(not file.name.startswith(UNFINISHED) for file in self.path.iterdir()):
            raise ValueError(
                f"store must be an empty or a new folder, or one made by simulate; {str(path)!r} "
                "holds other files"
            )
        else:
            write_whole(manifest, json.dumps(wanted, indent=2).encode())

    def __enter__(self) -> Store:
        """Keep other runs out, until the end of this one or of its process."""
        self._folder = _locked(self.path)
        return self

    def __exit__(self, *error: object) -> None:
        if fcntl is not None and self._folder is not None:
            # Worker processes may hold copies of the descriptor, so closing it is not enough.
            fcntl.flock(self._folder, fcntl.LOCK_UN)
            os.close(self._folder)

    def finished(self) -> dict[range, list[list[Record]]]:
        """Return the records of every finished chunk."""
        chunks = {}
        for part in sorted(self.path.glob("part-*.parquet")):
            first, last = (int(number) for number in part.stem.split("-")[1:])
            chunks[range(first, last + 1)] = _read(part, last - first + 1)
        return chunks

    def keep(self, chunk: range, records: list[list[Record]]) -> None:
        """Write a finished chunk."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        flat = [record for trial in records for record in trial]
        table = pa.table(
            {
                "trial": [i for i, trial in zip(chunk, records, strict=True) for _ in trial],
                **{name: [getattr(record, name) for record in flat] for name in _FIELDS},
            }
        )
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        name = f"part-{chunk[0]:09d}-{chunk[-1]:09d}.parquet"
        write_whole(self.path / name, sink.getvalue().to_pybytes())


_FIELDS = ("regret", "return_regret", "best_share", "found_best")


def _read(part: Path, trials: int) -> list[list[Record]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(part).to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(
            f"store has a part that cannot be read, {str(part)!r}: delete it and run again"
        ) from error
    records = [Record(*(_array(row[name]) for name in _FIELDS)) for row in rows]
    strategies = len(records) // trials
    return [records[i * strategies : (i + 1) * strategies] for i in range(trials)]


def _array(value: Any) -> Any:
    return np.array(value, dtype=np.float64) if isinstance(value, list) else value


def _manifest(spec: Spec) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": __version__,
        "problem": repr(spec.problem),
        "strategies": list(spec.labels),
        "engines": list(spec.engines),
        "trials": spec.trials,
        "horizon": spec.horizon,
        "seed": spec.seed,
        "checkpoints": spec.steps.tolist(),
    }


def _check_same(found: dict[str, Any], wanted: dict[str, Any], path: Path) -> None:
    for name, value in wanted.items():
        if found.get(name) != value:
            raise ValueError(
                f"store {str(path)!r} holds another simulation: its {name} is "
                f"{_short(found.get(name))}, not {_short(value)}; nothing was changed. Use another "
                "folder, or the same arguments to continue"
            )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


def _locked(path: Path) -> int | None:
    """Return a descriptor that locks the folder, or None where there are no such locks."""
    if fcntl is None:
        return None
    folder = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(folder)
        if not isinstance(error, BlockingIOError):
            return None  # some network file systems cannot lock folders
        raise ValueError(
            f"store {str(path)!r} is in use by another run: wait until it is done, stop it, or use "
            "another folder"
        ) from error
    return folder
