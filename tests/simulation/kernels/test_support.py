"""Compiled support points."""

import numpy as np
import pytest

from projbandits.arms import ConvexSet
from projbandits.simulation.kernels.support import REGIONS, support
from tests.worlds import CONVEX


@pytest.mark.parametrize("name", CONVEX)
def test_compiled_support_points_are_those_of_the_set(name: str) -> None:
    arms = CONVEX[name].world(np.random.default_rng(0)).arms
    assert isinstance(arms, ConvexSet)
    region = REGIONS[type(arms)](arms)
    rng = np.random.default_rng(1)
    x = np.empty(arms.d)
    for i in range(2000):
        c = rng.normal(size=arms.d) * 10 ** rng.uniform(-6, 6, size=arms.d)
        c = -np.abs(c) if i % 3 == 0 else c
        c[rng.integers(arms.d)] *= i % 5 > 0
        support(region, c, x)
        np.testing.assert_allclose(x, arms.maximize(c), rtol=1e-8, atol=1e-10)
