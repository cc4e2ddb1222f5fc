"""Uncertainty ellipsoids: the radius, and the most optimistic arm."""

import math

import numpy as np
import pytest

import projbandits as pb
from tests.worlds import taught


@pytest.mark.parametrize("t", [1, 2, 50, 10**6])
def test_the_ellipsoid_radius_is_as_printed(t: int) -> None:
    strategy = pb.UE(alpha=0.3)
    few, ball = pb.FiniteArms(np.eye(3)[:2]), pb.Ball(d=3)
    log = math.log(t)
    assert strategy.radius(t, few) == pytest.approx(0.3 * math.sqrt(log * min(3 * log, 2)))
    assert strategy.radius(t, ball) == pytest.approx(0.3 * math.sqrt(3) * log)


@pytest.mark.parametrize("seed", range(5))
def test_ue_plays_the_most_optimistic_arm(seed: int) -> None:
    for strategy in (pb.UE(alpha=0.5), pb.ProjectedUE(alpha=0.5)):
        arms, state = taught(strategy, seed)
        P = state.projection if isinstance(strategy, pb.ProjectedUE) else np.eye(4)
        radius = strategy.radius(10**6, arms)
        scores = [
            x @ P @ state.ridge.theta + radius * math.sqrt(x @ state.ridge.inverse @ x)
            for x in arms.vectors
        ]
        choice = strategy.select(state, arms, np.random.default_rng(0))
        assert choice.index == int(np.argmax(scores))
        assert choice.probability == 1.0


@pytest.mark.parametrize("seed", range(20))
def test_ue_takes_the_first_of_equal_arms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 5))
    arms = pb.FiniteArms(np.vstack([X, X, X]))
    strategy = pb.UE(alpha=1.0)
    state = strategy.init(arms, pb.Subspace.coordinates([0], d=5))
    for i in rng.integers(21, size=15):
        state = strategy.update(state, arms.arm(int(i)), rng.normal())
    index = strategy.select(state, arms, rng).index
    assert index is not None
    assert index < 7
