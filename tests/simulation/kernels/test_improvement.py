"""Expected improvement in the compiled loops."""

import math

import numpy as np
import pytest

import projbandits as pb
from projbandits.simulation.kernels import improvement
from projbandits.simulation.kernels.posterior import work_room
from tests.kernels import opened

hidden = opened(improvement.hidden)
falling = opened(improvement.falling)
weigh = opened(improvement.weigh)


def test_where_all_is_sure_both_engines_are_greedy() -> None:
    # Without noise the chances of other arms fall below the smallest numbers.
    problem = pb.problems.random_arms(d=3, arms=6, u=1, noise=0.0)
    size = {"trials": 20, "horizon": 300, "checkpoints": np.arange(1, 301), "progress": False}
    strategies = [pb.EIRatio(horizon=300), pb.EIIDS()]
    slow, fast = (
        pb.simulate(problem, strategies, engine=engine, **size)  # type: ignore[arg-type]
        for engine in ("reference", "compiled")
    )
    np.testing.assert_allclose(fast.regret, slow.regret, atol=1e-9)
    assert (np.diff(slow.regret[:, :, 100:]) == 0).mean() > 0.95


def test_the_kernel_polynomial_is_the_expected_improvement() -> None:
    for u in np.linspace(0, 6, 200):
        phi = math.exp(-u * u / 2) / math.sqrt(2 * math.pi)
        exact = 1 - u * 0.5 * math.erfc(u / math.sqrt(2)) / phi
        assert hidden(u) == pytest.approx(exact, rel=1e-13 * (1 + 40 * u * u))
    for u in (20.0, 35.0):  # its series for large u
        assert hidden(u) == pytest.approx((1 - 3 / u**2 + 15 / u**4 - 105 / u**6) / u**2, rel=1e-6)


def test_the_kernel_exponential_is_the_exponential() -> None:
    for x in [*np.linspace(0, 700, 2001), 0.5 * improvement.SURE_BEYOND**2, math.log(2) / 2]:
        assert falling(x) == pytest.approx(math.exp(-x), rel=1e-15)


@pytest.mark.parametrize("K", [1, 3, 16, 45])
def test_weighted_squares_are_summed_whatever_the_number_of_arms(K: int) -> None:
    rng = np.random.default_rng(K)
    room = work_room(K, 5, 3)
    C, weights = rng.normal(size=(3, K)), rng.random(K)
    room.beyond[:, :K] = C
    weigh(weights, room)
    exact = (C * weights) @ C.T
    np.testing.assert_allclose(np.triu(room.matrix[:3, :3]), np.triu(exact), rtol=1e-12, atol=1e-12)
