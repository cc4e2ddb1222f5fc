"""`reproduce`: run the experiments, draw the figures, check the claims, write the report."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from projbandits import plots
from projbandits._checks import LARGEST_SEED, did_you_mean, integer, short
from projbandits.paper.claims import CLAIMS
from projbandits.paper.experiments import ALPHA_INFINITE, HORIZON, SMOOTH, TRIALS, Experiment
from projbandits.paper.figures import FIGURES
from projbandits.paper.folder import Folder, opened
from projbandits.paper.report import render
from projbandits.paper.verdicts import Claim, Verdict
from projbandits.problems import Problem
from projbandits.results import Result
from projbandits.simulation import prepare, simulate
from projbandits.simulation.progress import Part, Progress
from projbandits.simulation.request import identities

QUICK = {"trials": 20, "horizon": 500}
"""A size that finishes in seconds; most verdicts are undecided at it."""

BYTES = 40
"""A generous estimate of the bytes that one number of a trial's curves takes on disk."""


COMPILE = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(1)), daemon=True).start()
from projbandits.paper.reproduce import compile_convex
compile_convex()
os._exit(0)
"""
"""Compiles ahead; its input ends with the process that asked for it, and it ends with its input."""


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What a reproduction found, and where it put it.

    Parameters
    ----------
    results : dict of str to Result
        By experiment.
    verdicts : dict of Claim to Verdict
        For every claim that the results cover.
    out, report : Path
        The folder and the report in it.
    """

    results: dict[str, Result]
    verdicts: dict[Claim, Verdict]
    out: Path
    report: Path


def reproduce(
    figures: Iterable[str] = (),
    *,
    trials: int = TRIALS,
    horizon: int = HORIZON,
    seed: int = 0,
    out: str | os.PathLike[str] = "out",
    executor: Executor | None = None,
    progress: bool = True,
) -> Reproduction:
    """Reproduce figures of the paper, all by default, and write a report on what holds.

    Parameters
    ----------
    figures : iterable of str
        Names among `projbandits.paper.FIGURES`.
    trials, horizon, seed : int
        The size and the seed; by default the paper's size.
    out : path
        The folder to write. The same call again continues where it stopped and keeps what is
        there; a folder that holds something else is refused.
    executor : concurrent.futures.Executor, optional
        Where to run; threads of this process by default.
    progress : bool
        Show a progress bar if the output is a terminal.

    Examples
    --------
    >>> import tempfile
    >>> from projbandits.paper import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = reproduce(["fig-a"], trials=4, horizon=50, out=folder)
    ...     done.report.name, sorted(done.results)
    ('report.html', ['setting-a'])
    """
    chosen = list(figures) or list(FIGURES)
    for name in chosen:
        if name not in FIGURES:
            raise ValueError(
                f"figure must be one of {', '.join(FIGURES)}; got {short(name)}"
                f"{did_you_mean(name, FIGURES)}"
            )
    settings = {
        "trials": integer("trials", trials, least=1),
        "horizon": integer("horizon", horizon, least=1),
        "seed": integer("seed", seed, least=0, most=LARGEST_SEED),
    }
    with opened(out, settings) as folder:
        return _reproduced(folder, chosen, executor, progress)


def _reproduced(
    folder: Folder, chosen: list[str], executor: Executor | None, progress: bool
) -> Reproduction:
    results = _finished(folder)
    experiments = _needed(chosen)
    left = [experiment for experiment in experiments if experiment.name not in results]
    problems = {x.name: x.problem() for x in left}  # fails now if data is not installed
    for experiment in left:  # and so does what is too large
        prepare(problems[experiment.name], **_arguments(experiment, folder.settings))
    folder.check_room(sum(_size(experiment, folder.settings) for experiment in left))
    pictures: dict[str, bytes] = {}
    left.sort(key=lambda x: x.convex)  # last: their kernels are compiled meanwhile
    with (
        Progress(sum(x.cost for x in left), shown=progress, text="", unit="") as bar,
        _compiled_ahead(any(x.convex for x in left) and not left[0].convex) as compiled,
    ):
        for experiment in left:
            if experiment.convex:
                _draw(folder, results, pictures)  # rather than wait idly
                compiled()
            bar.say(f"{_figure_of(experiment, chosen)}: {experiment.name}")
            problem = problems[experiment.name]
            results[experiment.name] = _run(experiment, problem, folder, executor, bar)
        bar.say("drawing")
        _draw(folder, results, pictures)
    verdicts = {
        claim: claim.check(results)
        for claim in CLAIMS
        if all(experiment.name in results for experiment in claim.experiments)
    }
    ordered = {name: pictures[name] for name in FIGURES if name in pictures}
    page = render(results, verdicts, ordered, folder)
    report = folder.write("report.html", page.encode())
    return Reproduction(results, verdicts, folder.path, report)


@contextmanager
def _compiled_ahead(wanted: bool) -> Iterator[Callable[[], object]]:
    """Compile the kernels of convex sets in another process; yield a function that waits for it.

    Compilation uses one core of a process, however many it has, and its result is cached on disk.
    If it fails here, it is tried again when the kernels are used.
    """
    if not wanted:
        yield lambda: None
        return
    command, quiet = [sys.executable, "-c", COMPILE], subprocess.DEVNULL
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet) as other:
        try:
            yield other.wait
        finally:
            other.kill()


def compile_convex() -> None:
    """Compile the kernels that the experiments on convex sets need."""
    for experiment in (ALPHA_INFINITE, *SMOOTH):
        simulate(experiment.problem(), experiment.strategies, trials=1, horizon=1, progress=False)


def _needed(figures: list[str]) -> list[Experiment]:
    """Return the experiments behind some figures, each once, in the figures' order."""
    found = {x.name: x for name in figures for x in FIGURES[name].experiments}
    return list(found.values())


def _finished(folder: Folder) -> dict[str, Result]:
    """Return what an earlier run has finished, whichever figures it was asked for."""
    found = {}
    for experiment in _needed(list(FIGURES)):
        result = folder.load(experiment.name)
        if result is not None:
            if not _is_of(result, experiment, folder.settings):
                raise ValueError(
                    f"out holds another run: {str(folder.data(experiment.name))!r} is not "
                    f"{experiment.name} of these trials, horizon and seed; nothing was changed. "
                    "Delete it, or choose another folder"
                )
            found[experiment.name] = result
    return found


def _is_of(result: Result, experiment: Experiment, settings: dict[str, int]) -> bool:
    """Tell whether a result is that of an experiment as it would run now with these settings."""
    horizon = experiment.horizon_of(settings["horizon"])
    return (
        result.identities == identities(experiment.problem(), experiment.strategies)
        and result.trials == experiment.trials_of(settings["trials"])
        and (result.horizon, result.seed) == (horizon, settings["seed"])
        and np.array_equal(result.steps, experiment.checkpoints(horizon))
    )


def _figure_of(experiment: Experiment, chosen: list[str]) -> str:
    return next(name for name in chosen if experiment in FIGURES[name].experiments)


def _size(experiment: Experiment, settings: dict[str, int]) -> int:
    points = len(experiment.checkpoints(experiment.horizon_of(settings["horizon"])))
    trials = experiment.trials_of(settings["trials"])
    return BYTES * trials * len(experiment.strategies) * points


def _run(
    experiment: Experiment,
    problem: Problem,
    folder: Folder,
    executor: Executor | None,
    bar: Progress,
) -> Result:
    arguments = _arguments(experiment, folder.settings)
    steps = arguments["trials"] * len(experiment.strategies) * arguments["horizon"]
    start = time.perf_counter()
    try:
        result = simulate(
            problem,
            **arguments,
            executor=executor,
            store=folder.store(experiment.name),
            progress=Part(bar, experiment.cost / steps),
        )
        folder.keep(experiment.name, result)
    finally:
        folder.count(experiment.name, time.perf_counter() - start)
    return result


def _arguments(experiment: Experiment, settings: dict[str, int]) -> dict[str, Any]:
    steps = experiment.horizon_of(settings["horizon"])
    horizon = integer(f"horizon of {experiment.name}", steps, least=1)
    return {
        "strategies": experiment.strategies,
        "trials": experiment.trials_of(settings["trials"]),
        "horizon": horizon,
        "seed": settings["seed"],
        "checkpoints": experiment.checkpoints(horizon),
    }


def _draw(folder: Folder, results: dict[str, Result], pictures: dict[str, bytes]) -> None:
    """Write every figure that the results suffice for, and add its picture if it is new."""
    for name, figure in FIGURES.items():
        known = all(experiment.name in results for experiment in figure.experiments)
        if known and name not in pictures:
            drawn = figure.draw(results, figure.title)
            pictures[name] = _image(drawn, "png")
            drawn.set_layout_engine("none")  # laid out already, which takes half of the time
            folder.write(f"{name}.png", pictures[name])
            folder.write(f"{name}.pdf", _image(drawn, "pdf"))
            plots.close(drawn)


def _image(figure: Any, kind: str) -> bytes:
    sink = io.BytesIO()
    figure.savefig(sink, format=kind)
    return sink.getvalue()
