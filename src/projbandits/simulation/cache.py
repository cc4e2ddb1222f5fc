"""A folder that keeps what is finished, so that long work can be interrupted, continued and grown.

It holds `manifest.json`, which says what is simulated: everything but the trials, with every
strategy that was ever asked for. Each finished chunk is a Parquet part, which repeats it for its
own strategies and says its trials. So a run with more trials, or with further strategies, finds
what is there and adds what is missing. Trials that other code of the library played are left where
they are and are played anew. Every file appears whole or not at all, and carries a checksum.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from projbandits._files import UNFINISHED, read_json, remove_leftovers, write_json
from projbandits._identity import identity
from projbandits._locks import locked, unwritable
from projbandits._parquet import UNREADABLE, read_table, write_table
from projbandits._saved import pulls_column, pulls_of
from projbandits._validation import short
from projbandits.exceptions import UnknownIdentityError
from projbandits.simulation.pending import Job
from projbandits.simulation.plan import Spec
from projbandits.simulation.progress import Bar
from projbandits.simulation.records import Records
from projbandits.simulation.sources import CODE

STORE_FORMAT = 5
ARRAYS = ("regret", "return_regret", "best_share")
PART = re.compile(r"part-(\d{9,})-(\d{9,})-[0-9a-f]{8}\.parquet")
"""The name of a part: its first trial, its last, and a digest of its strategies and the code."""
Said = dict[str, Any]


class Store:
    """The finished chunks of one simulation, locked against other runs while it is entered.

    Parameters
    ----------
    path : path
        The folder; made if it does not exist.
    spec : Spec
        What is simulated. A folder that was made for something else is refused; one with fewer
        or other trials and strategies is not.
    bar : Bar
        Where to say that another run is waited for.
    """

    def __init__(self, path: str | os.PathLike[str], spec: Spec, bar: Bar) -> None:
        self.path = Path(path)
        self._bar = bar
        self._told = False
        try:
            problem, (_, *identities) = identity(spec.problem), spec.identities
        except UnknownIdentityError as error:
            raise ValueError(
                f"cache_dir could not recognise this simulation later: {error}"
            ) from error
        self._common: Said = {
            "format": STORE_FORMAT,
            "code": CODE,
            "problem": repr(spec.problem),
            "horizon": spec.horizon,
            "seed": spec.seed,
            "checkpoints": spec.steps.tolist(),
            "identity": problem,
        }
        self._players: list[Said] = [
            {"strategy": label, "engine": engine, "identity": identity}
            for label, engine, identity in zip(spec.labels, spec.engines, identities, strict=True)
        ]

    def __enter__(self) -> Store:
        """Keep other runs out, or wait until they are done, then look at what is there."""
        self._check_manifest()
        with ExitStack() as until_done:
            held = until_done.enter_context(locked(self.path, "cache_dir", self._wait))
            self._begin()
            remove_leftovers(self.path, locked=held)
            self._until_done = until_done.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._until_done.close()

    def _wait(self) -> None:
        """Say once that another run is waited for, in a warning if there is no bar to say it.

        Raises
        ------
        ValueError
            As soon as the folder turns out to hold another simulation, so of no use.
        """
        self._check_manifest()
        if self._told:
            return
        self._told = True
        self._tell(f"waiting for another run to finish with cache_dir {str(self.path)!r} ...", 8)

    def _tell(self, text: str, stacklevel: int) -> None:
        if self._bar.visible:
            self._bar.note(text)
        else:
            warnings.warn(text, stacklevel=stacklevel)

    def _check_manifest(self) -> Said:
        """Return the manifest, without strategies if there is none.

        Raises
        ------
        ValueError
            If the folder holds another simulation.
        """
        manifest = self.path / "manifest.json"
        try:
            found = read_json(manifest)
        except (FileNotFoundError, NotADirectoryError):
            return {"strategies": []}
        except ValueError as error:
            raise ValueError(
                f"cache_dir has a manifest that cannot be read: {str(manifest)!r} {error}; use "
                "another folder, or delete this one"
            ) from error
        difference = self._difference(found)
        if difference is not None:
            raise ValueError(
                f"cache_dir {str(self.path)!r} holds another simulation: {difference}; nothing "
                "was changed. Use another folder, or the same arguments to continue; only trials "
                "and further strategies may differ"
            )
        there: Said = found
        return there

    def _begin(self) -> None:
        """Write into the manifest what is new."""
        there, manifest = self._check_manifest(), self.path / "manifest.json"
        players = there["strategies"]
        if (other := there.get("code", CODE)) != CODE:
            players = []
            self._tell(
                f"cache_dir {str(self.path)!r} was last written by other code of projbandits "
                f"({short(other)}, this is {CODE}): trials that other code played are not used, "
                "but left there",
                5,
            )
        if not manifest.exists() and any(
            not file.name.startswith(UNFINISHED) for file in self.path.iterdir()
        ):
            raise ValueError(
                f"cache_dir must be an empty or a new folder, or one made by simulate; "
                f"{str(self.path)!r} holds other files"
            )
        if new := [player for player in self._players if player not in players]:
            try:
                write_json(manifest, {**self._common, "strategies": [*players, *new]})
            except OSError as error:
                raise unwritable("cache_dir", self.path, error) from error

    def parts(self, trials: range) -> Iterator[tuple[range, dict[int, Records]]]:
        """Yield what is finished: trials, and the records of strategies by their positions.

        Parts that have none of the given trials are not looked at.
        """
        for file in sorted(self.path.iterdir()):
            if match := PART.fullmatch(file.name):
                chunk = range(int(match[1]), int(match[2]) + 1)
                if chunk.start < trials.stop and trials.start < chunk.stop:
                    yield chunk, self._read(file, chunk)

    def keep(self, job: Job, records: list[Records]) -> None:
        """Write what is finished."""
        import pyarrow as pa

        columns: Said = {}
        for name in ARRAYS if records[0].best_share is not None else ARRAYS[:2]:
            columns[name] = np.concatenate([getattr(of_one, name).ravel() for of_one in records])
        players, checkpoints = [self._players[i] for i in job.players], self._common["checkpoints"]
        about = {
            **self._common,
            "strategies": players,
            "trials": [job.trials[0], job.trials[-1]],
            "shape": [len(players), len(job.trials), len(checkpoints)],
            "found_best": [
                None if one.found_best is None else one.found_best.tolist() for one in records
            ],
        }
        pulls = [one.pulls for one in records if one.pulls is not None]
        if pulls:
            columns["pulls"] = pulls_column(np.array(pulls), len(checkpoints))
        digest = hashlib.sha256(json.dumps([CODE, players]).encode()).hexdigest()[:8]
        name = f"part-{job.trials[0]:09d}-{job.trials[-1]:09d}-{digest}.parquet"
        try:
            write_table(self.path / name, pa.table(columns), about)
        except OSError as error:  # it may have been removed meanwhile
            raise unwritable("cache_dir", self.path, error) from error

    def _read(self, file: Path, chunk: range) -> dict[int, Records]:
        try:
            table, about, verified = read_table(file)
            if about.get("code", CODE) != CODE:
                return {}
            difference = self._difference(about)
            if difference is None and about["trials"] != [chunk[0], chunk[-1]]:
                difference = f"its trials are {about['trials']}, not {[chunk[0], chunk[-1]]}"
            if difference is not None or not verified:
                raise ValueError(f"is of another run: {difference or 'it has no checksum'}")
            shape = [len(about["strategies"]), len(chunk), len(self._common["checkpoints"])]
            nothing = np.full(shape[0], None)
            arrays = [
                np.reshape(table[name].to_numpy(), shape) if name in table.column_names else nothing
                for name in ARRAYS  # no share of best plays where arms are infinitely many
            ]
            found = [None if best is None else np.array(best) for best in about["found_best"]]
            counted = "pulls" in table.column_names
            pulls = pulls_of(table["pulls"], shape) if counted else nothing
            records = [Records(*one) for one in zip(*arrays, found, pulls, strict=True)]
        except UNREADABLE as error:
            raise ValueError(
                f"cache_dir has a part that cannot be read: {str(file)!r} {error}; delete it and "
                "run again"
            ) from error
        at = {player["strategy"]: i for i, player in enumerate(self._players)}
        labels = [player["strategy"] for player in about["strategies"]]
        return {at[x]: one for x, one in zip(labels, records, strict=True) if x in at}

    def _difference(self, found: Said) -> str | None:
        """Return the first thing in which a file is of another simulation, or None."""
        other = "has the same label, but other numbers or other code"
        alike = found.get("code", CODE) == CODE
        for name, value in self._common.items():
            there = found.get(name)
            if name in ("code", "identity") and not alike:
                continue  # other code makes the same of other parts
            if there != value:
                same_label = name == "identity"
                return (
                    f"its problem {other}"
                    if same_label
                    else f"its {name} is {short(there, 200)}, not {short(value, 200)}"
                )
        players = {player["strategy"]: player for player in found["strategies"]}
        for player in self._players if alike else ():
            label, there = player["strategy"], players.get(player["strategy"], player)
            if there["identity"] != player["identity"]:
                return f"its {label} {other}"
            if there["engine"] != player["engine"]:
                return f"its engine for {label} is {there['engine']!r}, not {player['engine']!r}"
        return None
