"""`simulate`: strategies in the worlds of a problem, trial by trial."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from projbandits._checks import integer, one_of
from projbandits.problems import Problem
from projbandits.results import Result
from projbandits.simulation import reference
from projbandits.simulation.progress import Progress
from projbandits.simulation.records import Record
from projbandits.simulation.streams import stream
from projbandits.strategies import Strategy

ENGINES = ("auto", "reference")
CHUNK = 16


def simulate(
    problem: Problem,
    strategies: Strategy | Iterable[Strategy],
    *,
    trials: int = 100,
    horizon: int = 10_000,
    seed: int | None = 0,
    engine: str = "auto",
    executor: Executor | None = None,
    checkpoints: npt.ArrayLike | None = None,
    progress: bool = True,
) -> Result:
    """Run each strategy in the same worlds and return what it cost.

    Parameters
    ----------
    problem : Problem
        Where the worlds come from, one for each trial.
    strategies : Strategy or iterable of Strategy
        What to run; each needs a label (`repr`) of its own.
    trials, horizon : int
        How many worlds, and how many steps in each.
    seed : int or None
        Trial i of a seed has its own random streams, so its numbers are the same whatever else
        is run beside it. None takes a fresh seed, which the result records.
    engine : {"auto", "reference"}
        "auto" takes the fastest engine that is exact.
    executor : concurrent.futures.Executor, optional
        Where to run chunks of trials; in this process by default.
    checkpoints : array of int, optional
        The steps to record, increasing, from 1 to the horizon. By default about 200 of them,
        spread evenly on both a linear and a logarithmic axis.
    progress : bool
        Show a progress bar, where the output is a terminal.

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
    if not isinstance(problem, Problem):
        raise TypeError(
            f"problem must be a problem, such as pb.problems.random_arms(), got {problem!r}"
        )
    chosen, labels = _labelled(strategies)
    trials = integer("trials", trials, least=1)
    horizon = integer("horizon", horizon, least=1)
    seed = secrets.randbits(64) if seed is None else integer("seed", seed, least=0)
    one_of("engine", engine, ENGINES)
    steps = _checkpoints(checkpoints, horizon)

    records: dict[int, list[Record]] = {}
    with Progress(trials * len(chosen) * horizon, shown=progress) as bar:
        chunks = [range(i, min(i + CHUNK, trials)) for i in range(0, trials, CHUNK)]
        if executor is None:
            for trial in range(trials):
                records[trial] = list(_trial(problem, chosen, seed, trial, horizon, steps, bar))
        else:
            work = {
                executor.submit(_chunk, problem, chosen, seed, chunk, horizon, steps): chunk
                for chunk in chunks
            }
            for done in as_completed(work):
                chunk = work[done]
                records.update(zip(chunk, done.result(), strict=True))
                bar.advance(len(chunk) * len(chosen) * horizon)
    return _result(
        problem, chosen, labels, steps, horizon, seed, [records[i] for i in range(trials)]
    )


def _trial(
    problem: Problem,
    strategies: Sequence[Strategy],
    seed: int,
    trial: int,
    horizon: int,
    steps: NDArray[np.int64],
    bar: Progress | None = None,
) -> Iterator[Record]:
    """Yield what each strategy did in the world of one trial."""
    world = problem.world(stream(seed, trial, "world"))
    for strategy in strategies:
        noise, coins = stream(seed, trial, "noise"), stream(seed, trial, "strategy")
        yield reference.run(world, strategy, steps, horizon, noise, coins)
        if bar is not None:
            bar.advance(horizon)


def _chunk(
    problem: Problem,
    strategies: Sequence[Strategy],
    seed: int,
    trials: range,
    horizon: int,
    steps: NDArray[np.int64],
) -> list[list[Record]]:
    return [list(_trial(problem, strategies, seed, trial, horizon, steps)) for trial in trials]


def _labelled(strategies: Any) -> tuple[list[Strategy], tuple[str, ...]]:
    chosen = [strategies] if isinstance(strategies, Strategy) else list(strategies)
    if not chosen:
        raise ValueError("strategies must hold at least one strategy, got none")
    for strategy in chosen:
        if not isinstance(strategy, Strategy) or isinstance(strategy, type):
            hint = ": did you forget the brackets?" if isinstance(strategy, type) else ""
            raise TypeError(f"strategies must hold strategies only, got {strategy!r}{hint}")
    labels = tuple(repr(strategy) for strategy in chosen)
    for label in labels:
        if labels.count(label) > 1:
            raise ValueError(
                f"strategies must have distinct labels, got {label!r} twice: change a parameter, "
                "or give schedule functions names of their own"
            )
    return chosen, labels


def _checkpoints(checkpoints: npt.ArrayLike | None, horizon: int) -> NDArray[np.int64]:
    if checkpoints is None:
        spread = np.concatenate([np.geomspace(1, horizon, 100), np.linspace(0, horizon, 101)[1:]])
        return np.unique(np.clip(np.rint(spread), 1, horizon).astype(np.int64))
    given = np.asarray(checkpoints)
    if given.ndim != 1 or given.size == 0 or not np.issubdtype(given.dtype, np.number):
        raise ValueError(f"checkpoints must be a list of steps, got {checkpoints!r}")
    steps = given.astype(np.int64)
    if (steps != given).any():
        raise ValueError(f"checkpoints must be whole steps, got {given[steps != given][0]}")
    if steps.min() < 1 or steps.max() > horizon:
        wrong = steps[(steps < 1) | (steps > horizon)][0]
        raise ValueError(f"checkpoints must lie in 1 to the horizon {horizon}, got {wrong}")
    if (np.diff(steps) <= 0).any():
        i = int((np.diff(steps) <= 0).argmax())
        raise ValueError(
            f"checkpoints must increase, got {steps[i]} before {steps[i + 1]}: sort them"
        )
    return steps


def _result(
    problem: Problem,
    strategies: Sequence[Strategy],
    labels: tuple[str, ...],
    steps: NDArray[np.int64],
    horizon: int,
    seed: int,
    records: list[list[Record]],
) -> Result:
    def gather(name: str) -> Any:
        rows = [[getattr(record, name) for record in trial] for trial in records]
        if rows[0][0] is None:
            return None
        return np.array(rows).swapaxes(0, 1)

    return Result(
        strategies=labels,
        steps=steps,
        regret=gather("regret"),
        return_regret=gather("return_regret"),
        best_share=gather("best_share"),
        found_best=gather("found_best"),
        engines=("reference",) * len(labels),
        parameters=tuple(_describe(strategy) for strategy in strategies),
        problem=repr(problem),
        horizon=horizon,
        seed=seed,
    )


def _describe(strategy: Strategy) -> dict[str, Any]:
    """Return a strategy's name and fields as plain values, for tables and files."""
    fields: tuple[dataclasses.Field[Any], ...] = ()
    if dataclasses.is_dataclass(strategy):
        fields = dataclasses.fields(strategy)
    return {
        "strategy": type(strategy).__name__,
        "defaults": {f.name: f.default for f in fields if f.default is not dataclasses.MISSING},
        **{f.name: _plain(getattr(strategy, f.name)) for f in fields},
    }


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return getattr(value, "__qualname__", None) or repr(value)
