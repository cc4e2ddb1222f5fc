"""What a long benchmark has measured so far, kept in a folder so that it continues after a stop.

A measurement is one JSON file with a checksum, which appears whole or not at all. It is found again
by all that its numbers depend on: what was run, and the sources of the library that run it. Those
that only draw, print or save are left out, so that a mended figure does not cost hours.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import projbandits as pb
from projbandits._files import read_json, write_json
from projbandits.problems import Problem
from projbandits.simulation.plan import identities

PACKAGE = Path(pb.__file__).parent
PARTS = ("_linalg.py", "ridge.py", "schedules.py", "subspace.py")
FOLDERS = ("arms", "problems", "simulation", "strategies")
Measured = dict[str, Any]


def sources() -> str:
    """Return a digest of the sources that numbers depend on."""
    files = [PACKAGE / part for part in PARTS]
    files += [file for folder in FOLDERS for file in sorted((PACKAGE / folder).rglob("*.py"))]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


class Kept:
    """Measurements in a folder, or nowhere.

    Parameters
    ----------
    folder : Path or None
        Where they are kept; None to make each of them anew.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.found = 0
        self._sources = sources()

    def get(
        self,
        problem: Problem,
        strategy: pb.Strategy,
        size: Measured,
        measure: Callable[[], Measured],
    ) -> Measured:
        """Return what is kept of a strategy in a problem, or measure it and keep that.

        Parameters
        ----------
        problem, strategy : Problem and Strategy
            What is run.
        size : dict
            What else the numbers depend on, as JSON.
        measure : callable
            Makes the measurement, as JSON.
        """
        if self.folder is None:
            return measure()
        known = [self._sources, *identities(problem, [strategy])]
        text = json.dumps([known, repr(problem), repr(strategy), size], sort_keys=True)
        file = self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
        try:
            kept: Measured = read_json(file)
            self.found += 1
            return kept
        except (FileNotFoundError, ValueError):  # a damaged one is measured again
            self.folder.mkdir(parents=True, exist_ok=True)
            measured = measure()
            write_json(file, measured)
            return measured

    def forget(self) -> None:
        """Remove what is kept."""
        for file in [] if self.folder is None else [*self.folder.glob("*.json")]:
            file.unlink()
