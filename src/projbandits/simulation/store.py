"""A folder that keeps what is finished, so that long work can be interrupted and continued.

It holds `manifest.json`, which says what is simulated, and for each finished chunk of trials a
Parquet part, which repeats it. Every file appears whole or not at all, and carries a checksum.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from projbandits._checks import short
from projbandits._files import UNFINISHED, read_json, remove_leftovers, write_json
from projbandits._identity import UnknownIdentityError
from projbandits._locks import locked, unwritable
from projbandits._parquet import UNREADABLE, read_table, write_table
from projbandits._version import __version__
from projbandits.simulation.records import Records
from projbandits.simulation.request import Spec

FORMAT = 2
ARRAYS = ("regret", "return_regret", "best_share")


class Store:
    """The finished chunks of one simulation, locked against other runs while it is entered.

    Parameters
    ----------
    path : path
        The folder; made if it does not exist.
    spec : Spec
        What is simulated. A folder that was made for something else is refused.
    """

    def __init__(self, path: str | os.PathLike[str], spec: Spec) -> None:
        self.path = Path(path)
        try:
            self.about = _about(spec)
        except UnknownIdentityError as error:
            raise ValueError(f"store could not recognise this simulation later: {error}") from error
        self.trials = spec.trials

    def __enter__(self) -> Store:
        """Keep other runs out, then look at what is there."""
        with ExitStack() as until_done:
            held = until_done.enter_context(locked(self.path, "store"))
            self._check_manifest()
            remove_leftovers(self.path, locked=held)
            self._until_done = until_done.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._until_done.close()

    def _check_manifest(self) -> None:
        """Raise unless the folder is new or holds this simulation."""
        manifest, wanted = self.path / "manifest.json", {**self.about, "trials": self.trials}
        if manifest.exists():
            try:
                found = read_json(manifest)
            except ValueError as error:
                raise ValueError(
                    f"store has a manifest that cannot be read: {str(manifest)!r} {error}; use "
                    "another folder, or delete this one"
                ) from error
            difference = _difference(found, wanted)
            if difference is not None:
                raise ValueError(
                    f"store {str(self.path)!r} holds another simulation: {difference}; nothing "
                    "was changed. Use another folder, or the same arguments to continue"
                )
        elif any(not file.name.startswith(UNFINISHED) for file in self.path.iterdir()):
            raise ValueError(
                f"store must be an empty or a new folder, or one made by simulate; "
                f"{str(self.path)!r} holds other files"
            )
        else:
            try:
                write_json(manifest, wanted)
            except OSError as error:
                raise unwritable("store", self.path, error) from error

    def finished(self, chunks: Iterable[range]) -> dict[range, list[Records]]:
        """Return the records of those chunks that are finished."""
        return {chunk: self._read(chunk) for chunk in chunks if self._part(chunk).exists()}

    def keep(self, chunk: range, records: list[Records]) -> None:
        """Write a finished chunk."""
        import pyarrow as pa

        columns: dict[str, Any] = {}
        for name in ARRAYS if records[0].best_share is not None else ARRAYS[:2]:
            columns[name] = np.concatenate([getattr(of_one, name).ravel() for of_one in records])
        found = [None if one.found_best is None else one.found_best.tolist() for one in records]
        about = {**self._about_part(chunk), "found_best": found}
        try:
            write_table(self._part(chunk), pa.table(columns), about)
        except OSError as error:  # it may have been removed meanwhile
            raise unwritable("store", self.path, error) from error

    def _part(self, chunk: range) -> Path:
        return self.path / f"part-{chunk[0]:09d}-{chunk[-1]:09d}.parquet"

    def _about_part(self, chunk: range) -> dict[str, Any]:
        shape = [len(self.about["strategies"]), len(chunk), len(self.about["checkpoints"])]
        return {**self.about, "trials": [chunk[0], chunk[-1]], "shape": shape}

    def _read(self, chunk: range) -> list[Records]:
        try:
            table, about, verified = read_table(self._part(chunk))
            difference = _difference(about, self._about_part(chunk))
            if difference is not None or not verified:
                raise ValueError(f"is of another run: {difference or 'it has no checksum'}")
            shape = about["shape"]
            arrays = [np.reshape(table[n].to_numpy(), shape) for n in table.column_names]
            found = [None if best is None else np.array(best) for best in about["found_best"]]
            if len(arrays) == 2:  # no share of best plays where arms are infinitely many
                arrays.append(np.full(shape[:1], None))
            return [Records(*one) for one in zip(*arrays, found, strict=True)]
        except UNREADABLE as error:
            raise ValueError(
                f"store has a part that cannot be read: {str(self._part(chunk))!r} {error}; delete "
                "it and run again"
            ) from error


def _about(spec: Spec) -> dict[str, Any]:
    """Return what every part of a simulation has in common."""
    return {
        "format": FORMAT,
        "version": __version__,
        "problem": repr(spec.problem),
        "strategies": list(spec.labels),
        "engines": list(spec.engines),
        "horizon": spec.horizon,
        "seed": spec.seed,
        "checkpoints": spec.steps.tolist(),
        "identities": list(spec.identities),
    }


def _difference(found: dict[str, Any], wanted: dict[str, Any]) -> str | None:
    """Return the first thing in which two descriptions differ, or None."""
    for name, value in wanted.items():
        there = found.get(name)
        if there == value:
            continue
        if name == "identities" and isinstance(there, list) and len(there) == len(value):
            labels = ["problem", *wanted["strategies"]]
            label = next(
                x for x, one, other in zip(labels, there, value, strict=True) if one != other
            )
            return f"its {label} has the same label, but other numbers or other code"
        return f"its {name} is {short(there, 200)}, not {short(value, 200)}"
    return None
