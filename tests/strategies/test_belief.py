"""Beliefs, and Thompson sampling from them."""

import math
from collections import Counter

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


def test_thompson_sampling_tells_its_probabilities_on_request() -> None:
    strategy = pb.ProjectedTS()
    rng = np.random.default_rng(0)
    arms, U = pb.FiniteArms(rng.normal(size=(4, 3))), pb.Subspace.coordinates([0, 1], d=3)
    state = strategy.init(arms, U)
    for i in (0, 1, 2):
        state = strategy.update(state, arms.arm(i), rng.normal())
    shares = strategy.shares(state, arms, rng, draws=4000)
    counts = Counter(strategy.select(state, arms, rng).index for _ in range(4000))
    assert shares.sum() == pytest.approx(1.0)
    assert math.isnan(strategy.select(state, arms, rng).probability)
    for i, share in enumerate(shares):  # five standard errors of a difference
        assert abs(counts[i] / 4000 - share) < 5 * math.sqrt(2 * 0.25 / 4000)
