"""Thompson sampling."""

import math
from collections import Counter

import numpy as np
import pytest

import projbandits as pb


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
