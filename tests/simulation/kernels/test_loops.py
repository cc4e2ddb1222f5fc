"""The compiled loop against the reference loop: the same streams, so the same choices."""

from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.problems import Jump, Problem, Uniform, Wander
from tests.everyone import WITH_EFFECTS, anywhere
from tests.worlds import ALL, CONVEX, FINITE, FORMS, run, world_of

ON_OFFERS = [
    *FORMS,
    pb.REGRET(alpha=40.0),
    *(s for s in anywhere() if type(s) not in {type(form) for form in FORMS}),
]
OFFERS: dict[str, Problem] = {
    "plain": pb.problems.offers(),
    "viewers": pb.problems.offers(context=2, d=4, u=2, effects=0.3, drift=Jump(every=40)),
    "fewer-than-d": pb.problems.offers(
        catalogue=50, offered=6, noise=Uniform(0.3), drift=Wander(rate=0.1)
    ),
    "single-item": pb.problems.offers(catalogue=3, offered=1, d=3, u=3),
}
EFFECTS: dict[str, Problem] = {
    "effects": pb.problems.random_arms(d=4, arms=9, u=2),
    "wine-effects": pb.problems.wine(arms=30),
}
GAMES: dict[str, tuple[Problem, list[Any], int, int]] = {
    **{name: (problem, ALL, 3, 250) for name, problem in FINITE.items()},
    **{name: (problem, WITH_EFFECTS, 3, 120) for name, problem in EFFECTS.items()},
    **{name: (problem, ON_OFFERS, 2, 130) for name, problem in OFFERS.items()},
}
"""Worlds, who plays in them, trials and steps."""


@pytest.mark.parametrize("name", GAMES)
def test_compiled_plays_the_same_arms_as_reference(name: str) -> None:
    # With distinct gaps, equal regret at each step.
    problem, strategies, trials, horizon = GAMES[name]
    size = {"trials": trials, "horizon": horizon, "checkpoints": range(1, horizon + 1)}
    one = run(problem, strategies, "reference", **size)
    other = run(problem, strategies, "compiled", **size)
    np.testing.assert_allclose(other.regret, one.regret, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(other.return_regret, one.return_regret, rtol=1e-10, atol=1e-10)
    for counted in ("best_share", "found_best", "pulls"):
        assert np.array_equal(getattr(other, counted), getattr(one, counted))
    assert set(other.engines) == {"compiled"}


@pytest.mark.parametrize("name", CONVEX)
def test_compiled_plays_the_same_points_as_reference(name: str) -> None:
    size = {"trials": 2, "horizon": 50}
    anyhow = [strategy for strategy in ALL if not strategy.same_arms]
    one = run(CONVEX[name], anyhow, "reference", **size)
    other = run(CONVEX[name], anyhow, "compiled", **size)
    # A maximum known to 1e-10 in height is known to about 1e-5 in place.
    tolerance = 1e-4 * np.abs(one.regret).max()
    np.testing.assert_allclose(other.regret, one.regret, atol=tolerance)
    np.testing.assert_allclose(other.return_regret, one.return_regret, atol=2 * tolerance)


@pytest.mark.parametrize("tie", [None, [0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 2.0, 0.5]])
def test_without_data_both_loops_play_the_same_tie(tie: list[float] | None) -> None:
    # So little exploration that the first steps are played with an estimate of 0.
    problem, strategy = pb.problems.entropy_ball(tie=tie), pb.GENTRY(alpha=1e-3)
    size = {"trials": 3, "horizon": 50, "checkpoints": range(1, 51)}
    one, other = (run(problem, strategy, engine, **size) for engine in ("reference", "compiled"))
    np.testing.assert_allclose(other.regret, one.regret, rtol=1e-8)
    worlds = [world_of(problem, i) for i in range(3)]
    played = worlds[0].arms.maximize(np.zeros(4))
    first = [w.best_reward - w.reward(pb.Arm(played)) for w in worlds]
    np.testing.assert_allclose(one.regret[0, :, 0], first)
