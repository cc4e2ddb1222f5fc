"""`reproduce`: run the experiments, draw the figures, check the claims, write the report."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from projbandits._validation import LARGEST_SEED, did_you_mean, integer, short
from projbandits.paper.claims import CLAIMS
from projbandits.paper.drawing import drawings
from projbandits.paper.experiments import HORIZON, SMOOTH, TRIALS, TUNING, Experiment
from projbandits.paper.figures import FIGURES
from projbandits.paper.folder import Folder, opened
from projbandits.paper.report import render
from projbandits.paper.running import bytes_of, forget_trials, kept, pooled, run, size_of
from projbandits.paper.settings import C
from projbandits.paper.verdicts import Claim, Verdict
from projbandits.results import Result
from projbandits.simulation import prepare, simulate
from projbandits.simulation.progress import Progress

QUICK = {"trials": 20, "horizon": 500}
"""A size that finishes in seconds; most verdicts are undecided at it."""

NOT_RUN = "not run: needs pip install 'projbandits[wine]'"
"""The verdict on claims about the wines where their data, the only that is apart, is missing."""

COMPILE = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(1)), daemon=True).start()
from projbandits.paper.run import compile_convex
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
    not_run : dict of Claim to str
        The claims that could not be checked because their data is not installed, and the remedy.
    out, report : Path
        The folder and the report in it.
    """

    results: dict[str, Result]
    verdicts: dict[Claim, Verdict]
    not_run: dict[Claim, str]
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

    Without the wine data (extra `wine`) all the rest is run, and the report says what is missing.

    Parameters
    ----------
    figures : iterable of str
        Names among `projbandits.paper.FIGURES`. A figure that is named must have its data.
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
    named = list(figures)
    chosen = named or list(FIGURES)
    for name in chosen:
        if name not in FIGURES:
            raise ValueError(
                f"figure must be one of {', '.join(FIGURES)}; got {short(name)}"
                f"{did_you_mean(name, FIGURES)}"
            )
    settings = {
        "trials": integer("trials", trials, least=1),
        "horizon": integer("horizon", horizon, least=1),
        "seed": integer("seed", seed, least=0, most=LARGEST_SEED - TUNING),
    }
    missing = _without_data(_needed(list(FIGURES)))
    for x in _needed(named):
        if x.name in missing:
            raise missing[x.name]
    with opened(out, settings) as folder:
        return _reproduced(folder, chosen, set(missing), executor, progress)


def _reproduced(
    folder: Folder,
    chosen: list[str],
    missing: set[str],
    executor: Executor | None,
    progress: bool,
) -> Reproduction:
    results = _finished(folder, missing)
    experiments = [x for x in _needed(chosen) if x.name not in missing]
    left = [experiment for experiment in experiments if experiment.name not in results]
    problems = {x.name: x.problem() for x in left}
    for x in left:  # and so does what is too large
        prepare(problems[x.name], x.families, **size_of(x, folder.settings))
    folder.check_room(sum(bytes_of(experiment, folder.settings) for experiment in left))
    left.sort(key=lambda x: x.convex)  # last: their kernels are compiled meanwhile
    with (
        Progress(sum(x.cost for x in left), shown=progress, text="", unit="") as bar,
        _compiled_ahead(any(x.convex for x in left) and not left[0].convex) as compiled,
        drawings(folder, missing) as drawn,
    ):
        for experiment in left:
            if experiment.convex:
                drawn.begin(results)  # their kernels run long, and leave Python to the drawing
                compiled()
            shown = next(name for name in chosen if experiment in FIGURES[name].experiments)
            bar.say(f"{shown}: {experiment.name}")
            problem = problems[experiment.name]
            results[experiment.name] = run(experiment, problem, folder, results, executor, bar)
        bar.say("drawing")
        drawn.begin(results)
        verdicts = {
            claim: claim.check(results)
            for claim in CLAIMS
            if all(experiment.name in results for experiment in claim.experiments)
        }
        pictures = drawn.finished()
    for experiment in left:
        forget_trials(experiment, folder)
    asked = {x.name for x in _needed(chosen)}
    not_run = {
        claim: NOT_RUN
        for claim in CLAIMS
        if any(x.name in missing and x.name in asked for x in claim.experiments)
    }
    page = render(results, verdicts, pictures, folder, not_run)
    report = folder.write("report.html", page.encode())
    return Reproduction(results, verdicts, not_run, folder.path, report)


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
    for experiment in (C.sweep, *SMOOTH):
        simulate(experiment.problem(), experiment.strategies, trials=1, horizon=1, progress=False)


def _needed(figures: list[str]) -> list[Experiment]:
    """Return the experiments behind some figures, each once, in the figures' order."""
    found = {x.name: x for name in figures for x in FIGURES[name].experiments}
    return list(found.values())


def _without_data(experiments: list[Experiment]) -> dict[str, ModuleNotFoundError]:
    """Return the experiments whose data is not installed, by name, with the error that says so."""
    found = {}
    for experiment in experiments:
        try:
            experiment.problem()
        except ModuleNotFoundError as error:
            found[experiment.name] = error
    return found


def _finished(folder: Folder, missing: set[str]) -> dict[str, Result]:
    """Return what an earlier run has finished, whichever figures it was asked for."""
    found: dict[str, Result] = {}
    for experiment in _needed(list(FIGURES)):
        if experiment.name in missing:
            continue
        if experiment.follows is None or experiment.follows.name in found:
            seeds = experiment.seeds_of(folder.settings["seed"])
            parts = [kept(experiment, seed, folder, experiment.chosen(found)) for seed in seeds]
            if all(part is not None for part in parts):
                found[experiment.name] = pooled([part for part in parts if part is not None])
    return found
