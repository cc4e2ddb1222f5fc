"""The lower bound on three arms, and on their hull: no strategy is below it, but one that cheats.

With theta+- = (1 +- e, 1 -+ e, -+ e) / 2 and e^3 = 12 exp(1/2) sigma^2 / n, the larger of the two
regrets is at least 0.205 sigma^(2/3) n^(2/3) (docs/limits.md, section 1). Levels: a strategy that
is exactly on the bound fails with probability 3e-5, as four standard errors are allowed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.problems import Gaussian, World
from tests.everyone import anywhere, everyone

SIGMA = 0.5
ARMS = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])


def difference(n: int) -> float:
    return math.cbrt(12 * math.exp(0.5) * SIGMA**2 / n)


def bound(n: int) -> float:
    return float(1.5 * 12 ** (-2 / 3) * math.exp(-1 / 3) * (SIGMA * n) ** (2 / 3))


class Hull(pb.DecisionSet):
    """The triangle of the three arms; linear and convex functions are largest at a corner."""

    d, size, longest, rank = 3, math.inf, math.sqrt(3), 3

    def best(self, direction: Any) -> pb.Arm:
        return pb.Arm(ARMS[int((ARMS @ direction).argmax())])

    def best_convex(self, function: pb.ConvexFunction) -> pb.Arm:
        return pb.Arm(ARMS[int(function.value(ARMS).argmax())])

    def basis_arms(self, method: str = "pivoted-qr") -> Sequence[pb.Arm]:
        return [pb.Arm(x) for x in ARMS]

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        w = np.linalg.solve(ARMS.T, x)
        return bool(w.min() >= -tolerance and abs(w.sum() - 1) <= tolerance)

    def __repr__(self) -> str:
        return "Hull()"


@dataclass(frozen=True)
class Game:
    """One of the two worlds."""

    e: float
    hull: bool = False

    def world(self, rng: np.random.Generator) -> World:
        theta = np.array([1 + self.e, 1 - self.e, -self.e]) / 2
        arms = Hull() if self.hull else pb.FiniteArms(ARMS)
        return World(arms, pb.Subspace.coordinates([0, 1], d=3), Gaussian(SIGMA), theta=theta)


@dataclass(frozen=True)
class Cheat:
    """Plays the best arm of a theta that it is given."""

    theta: tuple[float, ...]

    def init(self, arms: pb.DecisionSet, subspace: pb.Subspace) -> Any:
        return subspace.project(np.array(self.theta))

    def select(self, state: Any, arms: pb.DecisionSet, rng: np.random.Generator) -> pb.Choice:
        return pb.Choice(arms.best(state), 1.0)

    def update(self, state: Any, arm: pb.Arm, observed: float) -> Any:
        return state


def regrets(game: Game, strategies: Any, n: int, trials: int) -> tuple[Any, Any]:
    """Means and standard errors of the regret of each strategy in a world."""
    size = {"trials": trials, "horizon": n, "checkpoints": [n], "progress": False}
    found = pb.simulate(game, strategies, seed=0, **size).regret[:, :, -1]  # type: ignore[arg-type]
    return found.mean(axis=1), found.std(axis=1, ddof=1) / math.sqrt(trials)


def for_horizon(n: int, made: list[Any]) -> list[Any]:
    return [dataclasses.replace(s, horizon=n) if hasattr(s, "horizon") else s for s in made]


@pytest.mark.parametrize(("hull", "n", "trials"), [(False, 1500, 60), (True, 40, 5)])
def test_nobody_is_below_the_bound(hull: bool, n: int, trials: int) -> None:
    # On the hull the readable loop plays, hence few and short trials; the bound holds from
    # n = 0.74 sigma^2 on.
    strategies = for_horizon(n, anywhere() if hull else everyone())
    e = difference(n)
    means, errors = zip(
        *(regrets(Game(s * e, hull), strategies, n, trials) for s in (1, -1)), strict=True
    )
    worst = (np.array(means) + 4 * np.array(errors)).max(axis=0)
    for strategy, most in zip(strategies, worst, strict=True):
        assert most >= bound(n), strategy
    for sign in (1, -1):
        game = Game(sign * e, hull)
        theta = game.world(np.random.default_rng(0)).theta
        assert theta is not None
        mean, error = regrets(game, [Cheat(tuple(theta))], n, 2)
        assert mean[0] + 4 * error[0] < bound(n)
