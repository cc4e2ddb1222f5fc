"""The folder that a reproduction writes: what is in it, and whether it is ours to write to."""

from __future__ import annotations

import errno
import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from projbandits._files import UNFINISHED, read_json, remove_leftovers, write_json, write_whole
from projbandits._locks import locked, unwritable
from projbandits._version import __version__
from projbandits.results import Result
from projbandits.simulation.sources import CODE

MANIFEST = "reproduction.json"
FOLDER_FORMAT = 3
PACKAGES = ("numpy", "scipy", "numba", "pandas", "pyarrow", "matplotlib")


@contextmanager
def opened(path: str | os.PathLike[str], settings: dict[str, int]) -> Iterator[Folder]:
    """Yield the folder of a reproduction, and keep other runs out of it meanwhile."""
    with locked(Path(path), "out") as held:
        folder = Folder(path, settings)
        for place in (folder.path, folder.path / "data"):
            remove_leftovers(place, locked=held)
        yield folder


class Folder:
    """Results, figures and report of one reproduction; made for one size and seed.

    Parameters
    ----------
    path : path
        The folder, which exists.
    settings : dict
        Trials, horizon and seed. A folder that was made for others, or that other code of the
        library made, is refused.
    """

    def __init__(self, path: str | os.PathLike[str], settings: dict[str, int]) -> None:
        self.path = Path(path)
        self.settings = settings
        self.seconds: dict[str, float] = {}
        self.made_with: dict[str, str] = {}
        if self._manifest.is_file():
            self._read()
        elif any(not file.name.startswith(UNFINISHED) for file in self.path.iterdir()):
            raise ValueError(
                f"out {str(path)!r} holds other files; nothing was changed. Choose another folder"
            )
        try:
            self._write()
            (self.path / "data").mkdir(exist_ok=True)
        except OSError as error:
            raise unwritable("out", self.path, error) from error

    def _read(self) -> None:
        try:
            found = read_json(self._manifest)
            seconds, made_with = dict(found["seconds"]), dict(found["made_with"])
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"out has a file that cannot be read: {str(self._manifest)!r} {error}; delete it "
                "and what is beside it, or choose another folder"
            ) from error
        for name, value in {
            "format": FOLDER_FORMAT,
            "code": CODE,
            **self.settings,
        }.items():
            if found.get(name) != value:
                raise ValueError(
                    f"out {str(self.path)!r} holds another run: its {name} is "
                    f"{found.get(name)!r}, not {value!r}; nothing was changed. Choose another "
                    "folder"
                )
        self.seconds, self.made_with = seconds, made_with

    @property
    def _manifest(self) -> Path:
        return self.path / MANIFEST

    def data(self, name: str) -> Path:
        """Return where the result of an experiment is kept."""
        return self.path / "data" / f"{name}.parquet"

    def store(self, name: str) -> Path:
        """Return where the trials of unfinished experiments in the same worlds are kept."""
        return self.path / "unfinished" / name

    def forget(self, name: str) -> None:
        """Remove these trials, when all experiments in their worlds are finished."""
        shutil.rmtree(self.store(name), ignore_errors=True)

    def load(self, name: str) -> Result | None:
        """Return the result of an experiment, if it is finished."""
        return Result.load(self.data(name)) if self.data(name).is_file() else None

    def keep(self, name: str, result: Result) -> None:
        """Write the result of a finished experiment.

        The table comes first, so that a run killed in between is done again.
        """
        table = result.summary().to_csv(lineterminator="\n").encode()
        self.write(f"data/{name}.csv", table)
        result.save(self.data(name))
        self.made_with[name] = environment()
        self._write()

    def count(self, name: str, seconds: float) -> None:
        """Add to the time spent on an experiment, interrupted runs included."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self._write()

    def write(self, name: str, content: bytes) -> Path:
        """Write a file that appears whole or not at all."""
        target = self.path / name
        write_whole(target, content)
        return target

    def check_room(self, needed: int) -> None:
        """Raise unless the disk has `needed` bytes free."""
        free = shutil.disk_usage(self.path).free
        if free < needed:
            raise OSError(
                errno.ENOSPC,
                f"about {needed / 1e6:,.0f} MB are needed and {free / 1e6:,.0f} MB are free; "
                "nothing was simulated",
                str(self.path),
            )

    def _write(self) -> None:
        content: dict[str, Any] = {
            "format": FOLDER_FORMAT,
            "code": CODE,
            **self.settings,
            "seconds": self.seconds,
            "made_with": self.made_with,
        }
        write_json(self._manifest, content)


@cache
def environment() -> str:
    """Return the versions that a number may depend on."""
    versions = {"projbandits": __version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in PACKAGES}
    return ", ".join(f"{name} {number}" for name, number in versions.items())
