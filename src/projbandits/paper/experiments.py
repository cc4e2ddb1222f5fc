"""The paper's experiments as data: what is simulated, and how large beside the paper's size."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projbandits._format import name_of
from projbandits.arms import Ball, Ellipsoid
from projbandits.problems import Problem, entropy_ball, random_arms, random_theta, wine
from projbandits.results import Result
from projbandits.strategies import CURSE, EIIDS, GENTRY, REGRET, UE, ProjectedUE, Strategy

TRIALS = 2000
HORIZON = 10_000
TUNING = 100
"""How far the seed on which alphas are chosen lies from the first on which they are judged."""
SURELY = 0.99
"""The level at which an alpha must be worse than another to be left out of a sweep's rest."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A problem, the strategies that meet it, and the number and length of the trials.

    Parameters
    ----------
    name : str
        What its data is called.
    problem : callable
        Returns the problem; called when it is needed, as the wine data may not be installed.
    strategies : tuple of Strategy
        What is run, or what is chosen from.
    trials, horizon : float
        Multiples of the trials, over all seeds, and of the horizon asked for.
    seeds : int
        How many seeds the trials are spread over.
    offset : int
        Which seed comes first, counted from the one asked for.
    tuned_on : Experiment, optional
        A sweep: of each family, only the strategy with the least regret there is run.
    closes_in_on : Experiment, optional
        A sweep over fewer trials: only what may be best of its family by these is run.
    ends_of : Experiment, optional
        A sweep: of each family, only both ends of the range and the best alpha between them is run.
    worlds_of : str
        Experiments of one name meet the same worlds, and what one has played the others do not
        play again; by default its own.
    curve : bool
        Whether the whole curve is recorded, or the last step alone.
    convex : bool
        Whether it is played on convex sets.
    cost : float
        About how many seconds it takes at full size; only the progress bar uses it.
    """

    name: str
    problem: Callable[[], Problem]
    strategies: tuple[Strategy, ...]
    trials: float = 1.0
    horizon: float = 1.0
    seeds: int = 1
    offset: int = 0
    tuned_on: Experiment | None = None
    closes_in_on: Experiment | None = None
    ends_of: Experiment | None = None
    worlds_of: str = ""
    curve: bool = True
    convex: bool = False
    cost: float = 1.0

    def trials_of(self, asked: int) -> int:
        """Return the number of trials of each seed when `asked` are asked for."""
        return max(math.ceil(self.trials * asked / self.seeds), 1)

    def horizon_of(self, asked: int) -> int:
        """Return the horizon when `asked` steps are asked for."""
        return max(round(self.horizon * asked), 1)

    def seeds_of(self, asked: int) -> range:
        """Return the seeds that the trials come from when `asked` is asked for."""
        return range(asked + self.offset, asked + self.offset + self.seeds)

    def chosen(self, results: Mapping[str, Result]) -> tuple[Strategy, ...]:
        """Return what is run: all strategies, or of each family the best, the close, the ends."""
        if self.tuned_on is not None:
            sweep = results[self.tuned_on.name].against("alpha")
            kept = set(sweep.loc[sweep.groupby("family")["mean"].idxmin(), "strategy"])
        elif self.closes_in_on is not None:
            kept = close(results[self.closes_in_on.name])
        elif self.ends_of is not None:
            kept = ends(self.strategies, results[self.ends_of.name])
        else:
            return self.strategies
        return tuple(strategy for strategy in self.strategies if repr(strategy) in kept)

    @property
    def follows(self) -> Experiment | None:
        """The experiment by which it is known what is run."""
        return self.tuned_on or self.closes_in_on or self.ends_of

    @property
    def families(self) -> tuple[Strategy, ...]:
        """At least as many strategies as are run, before it is known which."""
        if self.tuned_on is None:
            return self.strategies
        return tuple({family_of(strategy): strategy for strategy in self.strategies}.values())

    def checkpoints(self, horizon: int) -> NDArray[np.int64]:
        """Return the steps to record: spread over both kinds of axis, or the last alone."""
        if not self.curve:
            return np.array([horizon])
        spread = np.concatenate([np.geomspace(1, horizon, 61), np.linspace(0, horizon, 51)[1:]])
        return np.unique(np.clip(np.rint(spread), 1, horizon).astype(np.int64))


def family_of(strategy: Strategy) -> str:
    """Return a strategy's label without its alpha."""
    alike: Any = strategy
    return name_of(repr(replace(alike, alpha=type(alike).alpha)))


def close(sweep: Result) -> set[str]:
    """Return the labels of what may be best of its family: by its trials, the rest surely is not.

    A strategy is left out if its regret exceeds that of the family's best in the same worlds, by
    the mean difference and its interval of level `SURELY`.
    """
    kept = set()
    for _, rows in sweep.against("alpha").groupby("family"):
        labels = rows["strategy"].tolist()
        best = labels[int(rows["mean"].argmin())]
        more = sweep.only(*labels).paired(best, level=SURELY)
        kept |= set(labels) - set(more.index[more["low"] > 0])
    return kept


def ends(strategies: Sequence[Strategy], sweep: Result) -> set[str]:
    """Return the labels of the smallest, the best and the largest alpha of each family.

    The best is that between the ends with the least regret in the sweep, which holds what may be
    best of its family; if none of them may be, the middle of the range is taken.
    """
    families: dict[str, list[str]] = {}
    for strategy in strategies:
        families.setdefault(family_of(strategy), []).append(repr(strategy))
    means = dict(zip(sweep.strategies, sweep.regret[:, :, -1].mean(axis=1), strict=True))
    kept = set()
    for labels in families.values():
        between = [label for label in labels[1:-1] if label in means]
        middle = labels[len(labels) // 2]
        kept |= {labels[0], min(between, key=means.__getitem__, default=middle), labels[-1]}
    return kept


FINITE = (
    GENTRY(alpha=1.0),
    GENTRY(alpha=1.0, basis="first"),
    CURSE(alpha=1.0),
    REGRET(alpha=1.0),
    UE(alpha=0.1),
    ProjectedUE(alpha=0.1),
)
"""The strategies on finitely many arms, with the alphas of the paper."""

INFINITE = (
    GENTRY(alpha=0.01),
    CURSE(alpha=0.01),
    REGRET(alpha=0.1),
    UE(alpha=0.01),
)
"""The strategies on setting c, with the alphas of the paper; its sweep has UE as printed."""

FINITE_FAMILIES: tuple[Callable[[float], Strategy], ...] = (
    lambda alpha: GENTRY(alpha=alpha),
    lambda alpha: GENTRY(alpha=alpha, basis="first"),
    lambda alpha: CURSE(alpha=alpha),
    lambda alpha: REGRET(alpha=alpha),
    lambda alpha: UE(alpha=alpha),
    lambda alpha: ProjectedUE(alpha=alpha),
)
INFINITE_FAMILIES = (FINITE_FAMILIES[0], *FINITE_FAMILIES[2:])
FINITE_ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
INFINITE_ALPHAS = (0.001, 0.01, 0.03, 0.1, 1.0, 10.0)
"""The paper does not print the grids of its Fig. 1; these hold every alpha that it names."""

STILL = (0.0, 0.0, 0.0, 0.0)
"""The other reading of setting c: while theta-hat is 0, play 0."""


def _setting_b() -> Problem:
    return random_arms(subspace="coordinates")


SETTING_A = Experiment(
    name="setting-a", problem=random_arms, strategies=FINITE, trials=2, seeds=4, cost=6
)
SETTING_B = Experiment(name="setting-b", problem=_setting_b, strategies=FINITE, seeds=4, cost=3)
SETTING_C = Experiment(
    name="setting-c", problem=entropy_ball, strategies=INFINITE, seeds=4, convex=True, cost=18
)
COMPARED_C = replace(SETTING_C, name="compared-c", trials=0.25, worlds_of=SETTING_C.name, cost=1)
"""As many trials of setting c as there are with the best alphas, where a choice of UE is dear."""
WINE = Experiment(name="wine", problem=wine, strategies=FINITE, seeds=4, cost=6)

STILL_C = Experiment(
    name="still-c",
    problem=lambda: entropy_ball(tie=STILL),
    strategies=INFINITE,
    trials=0.1,
    seeds=4,
    convex=True,
    cost=2,
)
"""Setting c with the other reading; the worlds are those of `SETTING_C`."""

WINE_READINGS = tuple(
    Experiment(name=f"wine-{name}", problem=problem, strategies=FINITE, trials=0.2, cost=1)
    for name, problem in (
        ("without-noise", lambda: wine(noise=0.0)),
        ("raw", lambda: wine(scale=None)),
    )
)
"""The other readings of the wine experiment: no noise added, and features in their own units."""

LONG = Experiment(
    name="long",
    problem=random_arms,
    strategies=tuple(GENTRY(alpha=alpha) for alpha in (0.3, 1.0, 3.0, 10.0)),
    horizon=1e5,
    cost=4,
)
LONG_UE = replace(
    LONG, name="long-ue", strategies=(UE(alpha=0.1), ProjectedUE(alpha=0.1)), trials=0.2, cost=2
)
"""To 10^9 steps, which only the event engine can do; no claim is about UE there."""

LIMITS = Experiment(
    name="limits",
    problem=random_arms,
    strategies=(EIIDS(), GENTRY(alpha=1.0)),
    trials=0.01,
    horizon=10,
    cost=2,
)
"""To 10^5 steps, in few worlds: EIIDS decides anew at each of them."""

ORDER = Experiment(
    name="order-c",
    problem=entropy_ball,
    strategies=(GENTRY(alpha=1.0),),
    trials=0.02,
    horizon=10,
    convex=True,
    cost=1,
)
"""Setting c where exploration dominates, so that the order of Theorem 2 is at stake."""

SMOOTH = tuple(
    Experiment(
        name=name,
        problem=problem,
        strategies=(GENTRY(alpha=1.0, schedule="smooth"), GENTRY(alpha=1.0, schedule="infinite")),
        trials=0.02,
        horizon=10,
        convex=True,
        cost=3,
    )
    for name, problem in (
        ("smooth-ball", lambda: random_theta(Ball(4), u=2)),
        ("smooth-ellipsoid", lambda: random_theta(Ellipsoid(np.diag([1.0, 2.0, 3.0, 4.0])), u=2)),
    )
)
