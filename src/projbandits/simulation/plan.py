"""What is to be simulated, checked and complete: a result depends on this and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from projbandits._identity import identity
from projbandits._validation import EXACT, integer, short
from projbandits.problems import Problem
from projbandits.simulation.sources import CODE
from projbandits.strategies import Strategy


@dataclass(frozen=True, eq=False)
class Spec:
    """A problem, strategies with their engines, and the size of the simulation."""

    problem: Problem
    strategies: tuple[Strategy, ...]
    engines: tuple[str, ...]
    trials: int
    horizon: int
    seed: int
    steps: NDArray[np.int64]
    first: int = 0
    searches: tuple[bool, ...] = ()
    """Whether the arms of each strategy are found by a search."""

    @property
    def numbers(self) -> range:
        """The numbers of the trials."""
        return range(self.first, self.first + self.trials)

    def only(self, players: tuple[int, ...]) -> Spec:
        """Return the same of some of the strategies, given by their positions."""
        strategies = tuple(self.strategies[i] for i in players)
        engines = tuple(self.engines[i] for i in players)
        return replace(self, strategies=strategies, engines=engines)

    @property
    def labels(self) -> tuple[str, ...]:
        """The strategies' labels."""
        return tuple(repr(strategy) for strategy in self.strategies)

    @cached_property
    def identities(self) -> tuple[str, ...]:
        """The identities of the problem and of each strategy."""
        return identities(self.problem, self.strategies)


def identities(problem: Problem, strategies: Iterable[Strategy]) -> tuple[str, ...]:
    """Return digests of a problem, played by this code of the library, and of each strategy."""
    return identity((CODE, problem)), *map(identity, strategies)


def checked_trials(trials: int | range) -> tuple[int, int]:
    """Return the number of the first trial, and how many there are."""
    if not isinstance(trials, range):
        return 0, integer("trials", trials, least=1)
    if not trials or trials.step != 1 or not 0 <= trials.start < trials.stop <= EXACT:
        raise ValueError(
            f"trials must be a number, or a range of consecutive numbers from 0 on, got {trials!r}"
        )
    return trials.start, len(trials)


def checked_strategies(strategies: Strategy | Iterable[Strategy]) -> tuple[Strategy, ...]:
    """Return the strategies, each with a label of its own."""
    if isinstance(strategies, Strategy) and not isinstance(strategies, type):
        strategies = [strategies]
    if not isinstance(strategies, Iterable):
        raise TypeError(f"strategies must be a strategy or several, got {strategies!r}")
    chosen = list(strategies)
    if not chosen:
        raise ValueError("strategies must hold at least one strategy, got none")
    for strategy in chosen:
        if not isinstance(strategy, Strategy) or isinstance(strategy, type):
            hint = ": did you forget the brackets?" if isinstance(strategy, type) else ""
            raise TypeError(f"strategies must hold strategies only, got {strategy!r}{hint}")
    labels = tuple(repr(strategy) for strategy in chosen)
    for label in labels:
        if " at 0x" in label:
            raise ValueError(
                f"strategies must have labels that last, got {label!r}: give the class, or its "
                "schedule, a __repr__"
            )
        if labels.count(label) > 1:
            raise ValueError(
                f"strategies must have distinct labels, got {label!r} twice: change a parameter, "
                "or give schedule functions names of their own"
            )
    return tuple(chosen)


def checked_steps(checkpoints: npt.ArrayLike | None, horizon: int) -> NDArray[np.int64]:
    """Return the steps to record, by default about 200 spread over both kinds of axis."""
    if checkpoints is None:
        spread = np.concatenate([np.geomspace(1, horizon, 100), np.linspace(0, horizon, 101)[1:]])
        return np.unique(np.clip(np.rint(spread), 1, horizon).astype(np.int64))
    try:
        given = np.asarray(checkpoints)
    except ValueError:  # rows of several lengths
        given = np.empty(0)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iuf":
        raise ValueError(f"checkpoints must be a list of steps, got {short(checkpoints)}")
    if not np.isfinite(given).all() or (given != np.rint(given)).any():
        wrong = given[~np.isfinite(given) | (given != np.rint(given))][0]
        raise ValueError(f"checkpoints must be whole steps, got {wrong}")
    if given.min() < 1 or given.max() > horizon:
        wrong = given[(given < 1) | (given > horizon)][0]
        raise ValueError(f"checkpoints must lie in 1 to the horizon {horizon}, got {wrong:.17g}")
    steps = given.astype(np.int64)
    if (np.diff(steps) <= 0).any():
        i = int((np.diff(steps) <= 0).argmax())
        raise ValueError(
            f"checkpoints must increase, got {steps[i]} before {steps[i + 1]}: sort them"
        )
    return steps
