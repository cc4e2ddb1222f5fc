"""Compiled support points."""

import numpy as np
import pytest

import projbandits as pb
from projbandits.arms import ConvexSet
from projbandits.simulation.kernels import support as supporting
from projbandits.simulation.kernels.support import REGIONS
from tests.kernels import opened
from tests.sets import POLYTOPES
from tests.worlds import CONVEX

support = opened(supporting.support)


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
        c *= i % 50 > 0
        support(region, c, x, 0)
        np.testing.assert_allclose(x, arms.maximize(c), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", POLYTOPES)
def test_the_best_vertex_is_that_of_the_set_and_as_high_as_a_linear_program(name: str) -> None:
    arms = POLYTOPES[name]()
    region = REGIONS[pb.Polytope](arms)
    rng = np.random.default_rng(0)
    x, c = np.empty(arms.d), np.zeros(arms.d)
    for i in range(300):
        c += rng.normal(size=arms.d) * 10.0 ** rng.integers(-4, 2)
        along = c * (rng.random(arms.d) < 0.7) if i % 3 == 0 else c
        support(region, along, x, 0)
        np.testing.assert_allclose(x, arms.maximize(along), rtol=1e-9, atol=1e-9)
        if i % 10 == 0:
            best = along @ arms._solved(along)
            assert along @ x == pytest.approx(best, rel=1e-9, abs=1e-9 * np.abs(along).sum())
