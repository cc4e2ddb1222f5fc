"""The compiled loop where arms have effects, against the reference loop."""

import numpy as np
import pytest

import projbandits as pb
from tests.everyone import WITH_EFFECTS


@pytest.mark.parametrize(
    "problem",
    [pb.problems.random_arms(d=4, arms=9, u=2), pb.problems.wine(arms=30)],
    ids=["setting a", "wine"],
)
def test_both_engines_choose_the_same_arms(problem: pb.problems.Problem) -> None:
    size = {"trials": 3, "horizon": 120, "checkpoints": np.arange(1, 121), "progress": False}
    slow = pb.simulate(problem, WITH_EFFECTS, engine="reference", **size)  # type: ignore[arg-type]
    fast = pb.simulate(problem, WITH_EFFECTS, engine="compiled", **size)  # type: ignore[arg-type]
    np.testing.assert_allclose(fast.regret, slow.regret, atol=1e-9)
