"""The figures of a reproduction, drawn beside the simulation and written as PNG and PDF."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from projbandits import plots
from projbandits.paper.figures import FIGURES
from projbandits.paper.folder import Folder
from projbandits.plots.style import pictures
from projbandits.results import Result


class Drawings:
    """Figures that are drawn one after the other, in a thread of their own.

    Drawing holds Python's lock and long kernels do not, so it costs them nothing.

    Parameters
    ----------
    folder : Folder
        Where they are written.
    artist : Executor
        A pool of one thread.
    missing : set of str
        The experiments that cannot be run, by name; figures are drawn without them.
    """

    def __init__(self, folder: Folder, artist: ThreadPoolExecutor, missing: set[str]) -> None:
        self._folder = folder
        self._missing = missing
        self._artist = artist
        self._begun: dict[str, Future[bytes]] = {}

    def begin(self, results: dict[str, Result]) -> None:
        """Draw every figure that the results suffice for and that is not drawn yet."""
        for name, figure in FIGURES.items():
            needed = {experiment.name for experiment in figure.experiments} - self._missing
            if needed and needed <= results.keys() and name not in self._begun:
                self._begun[name] = self._artist.submit(_draw, name, dict(results), self._folder)

    def finished(self) -> dict[str, bytes]:
        """Return the pictures in the order of the report, when all are drawn."""
        return {name: self._begun[name].result() for name in FIGURES if name in self._begun}


@contextmanager
def drawings(folder: Folder, missing: set[str]) -> Iterator[Drawings]:
    """Yield what draws the figures of a folder; it stops after the current one if that fails."""
    with plots.offscreen():
        artist = ThreadPoolExecutor(1)
        try:
            yield Drawings(folder, artist, missing)
        finally:
            artist.shutdown(cancel_futures=True)


def _draw(name: str, results: dict[str, Result], folder: Folder) -> bytes:
    drawn = FIGURES[name].draw(results, FIGURES[name].title)
    png, pdf = pictures(drawn)
    folder.write(f"{name}.png", png)
    folder.write(f"{name}.pdf", pdf)
    plots.close(drawn)
    return png
