"""Strategies that cannot decide where the arms on offer change."""

from typing import Any

import numpy as np
import pytest

import projbandits as pb
from tests.worlds import U3


def test_a_strategy_that_needs_the_same_arms_is_refused() -> None:
    with pytest.raises(ValueError, match="strategy must take arms that change"):
        pb.Decider(pb.ProjectedElimination(horizon=100), subspace=U3)
    decider = pb.Decider(subspace=U3, seed=0)
    decider.tell(decider.ask(np.eye(3)).id, 1.0)
    with pytest.raises(ValueError, match="policy must do without arm_effects"):
        pb.replay(decider.log(), pb.GENTRY(arm_effects=0.4), subspace=U3)


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (pb.EIIDS(noise=1e160), r"noise must be between 1e-50 and 1e\+50, got 1e\+160"),
        (pb.GENTRY(penalty=1e-60), "penalty must be between 1e-50"),
    ],
    ids=repr,
)
def test_parameters_that_would_overflow_are_refused(strategy: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pb.Decider(strategy, subspace=U3)
