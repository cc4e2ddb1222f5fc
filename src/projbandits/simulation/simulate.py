"""`simulate`: strategies in the worlds of a problem, trial by trial."""

from __future__ import annotations

import dataclasses
import os
import secrets
from collections.abc import Iterable
from concurrent.futures import Executor
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from projbandits._blas import single_threaded_blas
from projbandits._joined import BY_TRIAL
from projbandits._validation import LARGEST_SEED, integer
from projbandits.exceptions import UnknownIdentityError
from projbandits.problems import Problem
from projbandits.results import SEARCH, Result
from projbandits.simulation import engines, executors
from projbandits.simulation.cache import Store
from projbandits.simulation.memory import check_memory
from projbandits.simulation.plan import Spec, checked_steps, checked_strategies, checked_trials
from projbandits.simulation.progress import Bar, Progress
from projbandits.simulation.records import Records, kept_pulls
from projbandits.simulation.streams import stream
from projbandits.strategies import Strategy
from projbandits.strategies.compiled import over_steps


def simulate(
    problem: Problem,
    strategies: Strategy | Iterable[Strategy],
    *,
    trials: int | range = 2000,
    horizon: int = 10_000,
    seed: int | None = 0,
    engine: str = "auto",
    executor: Executor | None = None,
    checkpoints: npt.ArrayLike | None = None,
    progress: bool | Bar = True,
    cache_dir: str | os.PathLike[str] | None = None,
) -> Result:
    """Run each strategy in the same worlds and return what it cost.

    Parameters
    ----------
    problem : Problem
        Where the worlds come from, one for each trial.
    strategies : Strategy or iterable of Strategy
        What to run; each needs a label (`repr`) of its own.
    trials : int or range
        How many worlds, or the numbers of their trials: range(1000, 2000) is the second thousand.
    horizon : int
        How many steps in each.
    seed : int or None
        Trial i of a seed has its own random streams, so its numbers are the same whatever else
        is run beside it. None takes a fresh seed, which the result records.
    engine : {"auto", "events", "compiled", "reference"}
        "auto" takes, for each strategy, the fastest engine that plays as the reference engine
        does; the result records which. An engine that cannot serve is refused, with the reason.
        On convex sets `UE` and `ProjectedUE` maximise a convex function, which every engine does
        by a search: the result says so. With the paper's alphas the compiled search in setting c
        ended below one from all starts in up to 2.3 % of the steps, by 1e-6 of the score on
        average over all steps and by at most 3e-4; docs/numerics.md has the table.
    executor : concurrent.futures.Executor, optional
        Where to run chunks of trials: threads of this process by default.
    checkpoints : array of int, optional
        The steps to record, increasing, from 1 to the horizon. By default about 200 of them,
        spread evenly on both a linear and a logarithmic axis.
    progress : bool or Bar
        Show a progress bar if the output is a terminal, or report to one of your own.
    cache_dir : path, optional
        A folder to keep finished trials in. The same call again continues where it stopped,
        however it was stopped. With other trials or strategies it uses what is there and runs what
        is missing. A folder that holds another simulation is refused; other numbers or code of
        your own make it another, whatever the labels. Trials that other code of this library
        played, such as another version's, are left there but not used, and a note says so. A
        folder that another run is writing to is waited for.

    Returns
    -------
    Result

    Examples
    --------
    >>> import projbandits as pb
    >>> result = pb.simulate(pb.problems.random_arms(), [pb.GENTRY(), pb.UE()], trials=3,
    ...                      horizon=50, checkpoints=[10, 50])
    >>> result.strategies, result.regret.shape
    (('GENTRY()', 'UE()'), (2, 3, 2))
    """
    spec = prepare(
        problem,
        strategies,
        trials=trials,
        horizon=horizon,
        seed=seed,
        engine=engine,
        checkpoints=checkpoints,
    )
    total = spec.trials * len(spec.strategies) * spec.horizon
    over_steps.cache_clear()  # what a schedule refers to may have changed since the last call
    with (
        Progress(total, shown=progress)
        if isinstance(progress, bool)
        else nullcontext(progress) as bar,
        nullcontext() if cache_dir is None else Store(cache_dir, spec, bar) as kept,
    ):
        known = _known_identities(spec)
        records = executors.run(spec, executor, kept, bar)
    return _result(spec, records, known)


def prepare(
    problem: Problem,
    strategies: Strategy | Iterable[Strategy],
    *,
    trials: int | range,
    horizon: int,
    seed: int | None = 0,
    engine: str = "auto",
    checkpoints: npt.ArrayLike | None = None,
) -> Spec:
    """Return what `simulate` is asked for, or raise if it is sure to fail."""
    if not isinstance(problem, Problem) or isinstance(problem, type):
        raise TypeError(
            f"problem must be a problem, such as pb.problems.random_arms(), got {problem!r}"
        )
    chosen = checked_strategies(strategies)
    first, trials = checked_trials(trials)
    horizon = integer("horizon", horizon, least=1)
    if seed is None:
        seed = secrets.randbits(64)
    seed = integer("seed", seed, least=0, most=LARGEST_SEED)
    steps = checked_steps(checkpoints, horizon)
    with single_threaded_blas():
        world = problem.world(stream(seed, 0, "world"))
        names = tuple(engines.choose(engine, world, strategy) for strategy in chosen)
        searches = tuple(engines.searches(world, strategy) for strategy in chosen)
    spec = Spec(problem, chosen, names, trials, horizon, seed, steps, first, searches)
    check_memory(spec, world.size)
    return spec


def _known_identities(spec: Spec) -> tuple[str, ...]:
    try:
        return spec.identities
    except UnknownIdentityError:  # a store would refuse it
        return ()


def _result(spec: Spec, records: list[Records], known: tuple[str, ...]) -> Result:
    def gather(name: str) -> Any:
        found = [getattr(of_one, name) for of_one in records]
        return None if found[0] is None else np.array(found)

    return Result(
        strategies=spec.labels,
        steps=spec.steps,
        **{name: gather(name) for name in BY_TRIAL},
        engines=tuple(
            f"{name} ({SEARCH})" if search else name
            for name, search in zip(spec.engines, spec.searches, strict=True)
        ),
        parameters=tuple(_describe(strategy) for strategy in spec.strategies),
        problem=repr(spec.problem),
        horizon=spec.horizon,
        seed=spec.seed,
        trial_numbers=np.array(spec.numbers),
        identities=known,
        pulls=kept_pulls(records),
    )


def _describe(strategy: Strategy) -> dict[str, Any]:
    """Return a strategy's name and fields as plain values, for tables and files."""
    fields: tuple[dataclasses.Field[Any], ...] = ()
    if dataclasses.is_dataclass(strategy):
        fields = dataclasses.fields(strategy)
    return {
        "strategy": type(strategy).__name__,
        "defaults": {
            f.name: _plain(f.default) for f in fields if f.default is not dataclasses.MISSING
        },
        **{f.name: _plain(getattr(strategy, f.name)) for f in fields},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return getattr(value, "__qualname__", None) or repr(value)
