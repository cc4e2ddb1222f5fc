"""One experiment of a reproduction: its trials, seed by seed, kept in the folder."""

from __future__ import annotations

import time
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import numpy as np

from projbandits._joined import BY_TRIAL
from projbandits._validation import integer
from projbandits.paper.experiments import Experiment
from projbandits.paper.folder import Folder
from projbandits.problems import Problem
from projbandits.results import Result
from projbandits.simulation import simulate
from projbandits.simulation.plan import identities
from projbandits.simulation.progress import Part, Progress
from projbandits.strategies import Strategy

BYTES_PER_NUMBER = 40
"""A generous estimate of the bytes that one number of a trial's curves takes on disk."""


def kept(
    experiment: Experiment, seed: int, folder: Folder, strategies: tuple[Strategy, ...]
) -> Result | None:
    """Return the finished trials of one seed, if they are those that would be run now."""
    name = _part_name(experiment, seed, folder)
    result = folder.load(name)
    if result is None:
        return None
    size = size_of(experiment, folder.settings)
    same = (
        result.identities == identities(experiment.problem(), strategies)
        and (result.trials, result.horizon, result.seed) == (size["trials"], size["horizon"], seed)
        and np.array_equal(result.steps, size["checkpoints"])
    )
    if not same:
        raise ValueError(
            f"out holds another run: {str(folder.data(name))!r} is not {experiment.name} of these "
            "trials, horizon and seed; nothing was changed. Delete it, or choose another folder"
        )
    return result


def _part_name(experiment: Experiment, seed: int, folder: Folder) -> str:
    """Return what the trials of one seed are called; those of the first are the experiment's."""
    extra = seed - experiment.seeds_of(folder.settings["seed"])[0]
    return f"{experiment.name}-{extra + 1}" if extra else experiment.name


def _worlds_name(experiment: Experiment, seed: int) -> str:
    """Return what the worlds of one seed are called, by all experiments that meet them."""
    return f"{experiment.worlds_of or experiment.name}-{seed}"


def forget_trials(experiment: Experiment, folder: Folder) -> None:
    """Remove the trials that were kept in case of a stop, and for others in the same worlds."""
    for seed in experiment.seeds_of(folder.settings["seed"]):
        folder.forget(_worlds_name(experiment, seed))


def bytes_of(experiment: Experiment, settings: dict[str, int]) -> int:
    """Return about how much room the results of an experiment take on disk."""
    size = size_of(experiment, settings)
    trials: int = size["trials"] * experiment.seeds
    return BYTES_PER_NUMBER * trials * len(experiment.families) * len(size["checkpoints"])


def run(
    experiment: Experiment,
    problem: Problem,
    folder: Folder,
    results: dict[str, Result],
    executor: Executor | None,
    bar: Progress,
) -> Result:
    """Simulate what is missing of an experiment, seed by seed, and return all of its trials."""
    strategies, size = experiment.chosen(results), size_of(experiment, folder.settings)
    steps = size["trials"] * experiment.seeds * len(strategies) * size["horizon"]
    parts = []
    for seed in experiment.seeds_of(folder.settings["seed"]):
        part = kept(experiment, seed, folder, strategies)
        if part is None:
            name = _part_name(experiment, seed, folder)
            start = time.perf_counter()
            try:
                part = simulate(
                    problem,
                    strategies,
                    **size,
                    seed=seed,
                    executor=executor,
                    cache_dir=folder.store(_worlds_name(experiment, seed)),
                    progress=Part(bar, experiment.cost / steps),
                )
                folder.keep(name, part)
            finally:
                folder.count(experiment.name, time.perf_counter() - start)
        parts.append(part)
    return pooled(parts)


def pooled(parts: list[Result]) -> Result:
    """Return the trials of several seeds as one result, which has the first seed's number."""

    def joined(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        return None if arrays[0] is None else np.concatenate(arrays, axis=1)

    if len(parts) == 1:
        return parts[0]
    numbers = np.concatenate([part.trial_numbers for part in parts])
    arrays = {name: joined(name) for name in BY_TRIAL}
    return replace(parts[0], **arrays, trial_numbers=numbers, pulls=None)


def size_of(experiment: Experiment, settings: dict[str, int]) -> dict[str, Any]:
    """Return the size of the simulation of one seed, as arguments of `simulate`."""
    steps = experiment.horizon_of(settings["horizon"])
    horizon = integer(f"horizon of {experiment.name}", steps, least=1)
    return {
        "trials": experiment.trials_of(settings["trials"]),
        "horizon": horizon,
        "checkpoints": experiment.checkpoints(horizon),
    }
