"""The paper's experiments as data: what is simulated, and how large beside the paper's size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projbandits.arms import Ball, Ellipsoid
from projbandits.problems import Problem, entropy_ball, random_arms, random_theta, wine
from projbandits.strategies import CURSE, GENTRY, REGRET, UE, ProjectedUE, Strategy

TRIALS = 2000
HORIZON = 10_000


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
        What is run.
    trials, horizon : float
        Multiples of the trials and the horizon asked for.
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
    curve: bool = True
    convex: bool = False
    cost: float = 1.0

    def trials_of(self, asked: int) -> int:
        """Return the number of trials when `asked` are asked for."""
        return max(math.ceil(self.trials * asked), 1)

    def horizon_of(self, asked: int) -> int:
        """Return the horizon when `asked` steps are asked for."""
        return max(round(self.horizon * asked), 1)

    def checkpoints(self, horizon: int) -> NDArray[np.int64]:
        """Return the steps to record: spread over both kinds of axis, or the last alone."""
        if not self.curve:
            return np.array([horizon])
        spread = np.concatenate([np.geomspace(1, horizon, 61), np.linspace(0, horizon, 51)[1:]])
        return np.unique(np.clip(np.rint(spread), 1, horizon).astype(np.int64))


def _sweep(
    alphas: tuple[float, ...], *families: Callable[[float], Strategy]
) -> tuple[Strategy, ...]:
    return tuple(family(alpha) for family in families for alpha in alphas)


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
"""The strategies on setting c, with the alphas of the paper; `ALPHA_INFINITE` has UE as printed."""

SETTING_A = Experiment(name="setting-a", problem=random_arms, strategies=FINITE, cost=10)
SETTING_B = Experiment(
    name="setting-b",
    problem=lambda: random_arms(subspace="coordinates"),
    strategies=FINITE,
    cost=10,
)
SETTING_C = Experiment(
    name="setting-c", problem=entropy_ball, strategies=INFINITE, convex=True, cost=55
)
ALPHA_FINITE = Experiment(
    name="alpha-finite",
    problem=random_arms,
    strategies=_sweep(
        (0.01, 0.1, 0.3, 1.0, 3.0, 10.0),
        lambda alpha: GENTRY(alpha=alpha),
        lambda alpha: GENTRY(alpha=alpha, basis="first"),
        lambda alpha: CURSE(alpha=alpha),
        lambda alpha: REGRET(alpha=alpha),
        lambda alpha: UE(alpha=alpha),
        lambda alpha: ProjectedUE(alpha=alpha),
    ),
    curve=False,
    cost=56,
)
ALPHA_INFINITE = Experiment(
    name="alpha-infinite",
    problem=entropy_ball,
    strategies=_sweep(
        (0.001, 0.01, 0.1, 1.0, 10.0),
        lambda alpha: GENTRY(alpha=alpha),
        lambda alpha: CURSE(alpha=alpha),
        lambda alpha: REGRET(alpha=alpha),
        lambda alpha: UE(alpha=alpha),
        lambda alpha: ProjectedUE(alpha=alpha),
    ),
    trials=0.05,
    curve=False,
    convex=True,
    cost=45,
)
WINE = Experiment(name="wine", problem=wine, strategies=FINITE, cost=20)
WINE_READINGS = tuple(
    Experiment(name=name, problem=problem, strategies=FINITE, trials=0.1, cost=2)
    for name, problem in (
        ("wine-without-noise", lambda: wine(noise=0.0)),
        ("wine-raw", lambda: wine(scale=None)),
    )
)
"""The other readings of the wine experiment: no noise added, and features in their own units."""

LONG = Experiment(
    name="long",
    problem=random_arms,
    strategies=tuple(GENTRY(alpha=alpha) for alpha in (0.3, 1.0, 3.0, 10.0, 100.0)),
    trials=0.5,
    horizon=1e5,
    cost=14,
)
"""To 10^9 steps, which only the event engine can do."""

SMOOTH = tuple(
    Experiment(
        name=name,
        problem=problem,
        strategies=(GENTRY(alpha=1.0, schedule="smooth"), GENTRY(alpha=1.0, schedule="infinite")),
        trials=0.1,
        horizon=10,
        convex=True,
        cost=6,
    )
    for name, problem in (
        ("smooth-ball", lambda: random_theta(Ball(4), u=2)),
        ("smooth-ellipsoid", lambda: random_theta(Ellipsoid(np.diag([1.0, 2.0, 3.0, 4.0])), u=2)),
    )
)
