"""Beliefs."""

import math

import numpy as np
import pytest

import projbandits as pb


def test_draws_have_the_belief_as_their_distribution() -> None:
    # 40,000 draws: covariances to five standard errors of the largest, and the mean likewise.
    strategy = pb.ProjectedTS(noise=0.5)
    arms, U = pb.FiniteArms([[1.0, 0.2], [0.3, 2.0]]), pb.Subspace.coordinates([0], d=2)
    state = strategy.init(arms, U)
    for i, r in ((0, 1.0), (1, -1.0), (0, 0.5)):
        state = strategy.update(state, arms.arm(i), r)
    normals = np.random.default_rng(0).standard_normal((40_000, 2))
    drawn = strategy.belief(state).directions(normals)[1:]
    deviation = 0.5 * math.sqrt(state.ridge.inverse[0, 0])
    assert drawn[:, 0].mean() == pytest.approx(state.ridge.theta[0], abs=5 * deviation / 200)
    assert drawn[:, 0].std() == pytest.approx(deviation, rel=5 / math.sqrt(2 * 40_000))
    assert (drawn[:, 1] == 0).all()
