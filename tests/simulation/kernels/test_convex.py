"""The compiled loop on convex sets, against the reference loop."""

import numpy as np
import pytest

import projbandits as pb
from tests.worlds import ALL, CONVEX, run, world_of

ANYWHERE = [strategy for strategy in ALL if not strategy.same_arms]


@pytest.mark.parametrize("name", CONVEX)
def test_compiled_plays_the_same_points_as_reference(name: str) -> None:
    size = {"trials": 2, "horizon": 50}
    one = run(CONVEX[name], ANYWHERE, "reference", **size)
    other = run(CONVEX[name], ANYWHERE, "compiled", **size)
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
