"""What the kernels share, against numpy."""

import numpy as np
import pytest

from projbandits.problems import Bernoulli, Gaussian, Noise, Uniform
from projbandits.simulation.kernels import common
from projbandits.simulation.kernels.common import LANES, NOISE_CODES
from tests.kernels import opened

argmax, direction, move = opened(common.argmax), opened(common.direction), opened(common.move)
observe, products = opened(common.observe), opened(common.products)


def test_argmax_is_the_first_of_the_largest() -> None:
    rng, lanes = np.random.default_rng(0), np.empty(LANES)
    for n in range(1, 4 * LANES):
        for values in (rng.normal(size=n), rng.integers(3, size=n).astype(float), np.zeros(n)):
            assert argmax(values, lanes) == np.argmax(values)


@pytest.mark.parametrize("d", [1, 3, 4, 5, 11])
def test_a_move_is_the_rank_one_update_of_the_inverse(d: int) -> None:
    rng = np.random.default_rng(d)
    B, f, theta = rng.normal(size=(d, d)), rng.normal(size=d), rng.normal(size=d)
    V = B @ B.T + np.eye(d)
    inverse, moved = np.linalg.inv(V), theta.copy()
    inverse = (inverse + inverse.T) / 2
    v, scratch = np.empty(d), np.empty(d)
    q, p = direction(inverse, theta, f, v)
    np.testing.assert_allclose(v, np.linalg.solve(V, f), rtol=1e-9)
    assert (q, p) == pytest.approx((f @ np.linalg.solve(V, f), f @ theta), rel=1e-9)
    move(inverse, moved, 0.3, 1 / (1 + q), v, scratch)
    assert (inverse == inverse.T).all()
    np.testing.assert_allclose(inverse, np.linalg.inv(V + np.outer(f, f)), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(moved, theta + 0.3 * v, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 4, 7, 8])
def test_products_are_those_of_a_matrix_and_a_vector(d: int) -> None:
    rng = np.random.default_rng(d)
    X, v, out = rng.normal(size=(9, d)), rng.normal(size=d), np.full(9, np.nan)
    products(np.ascontiguousarray(X.T), v, out)
    np.testing.assert_allclose(out, X @ v, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("noise", [Gaussian(0.7), Uniform(0.7), Bernoulli(0.7)], ids=repr)
def test_what_is_observed_is_what_the_noise_draws(noise: Noise) -> None:
    one, other = (np.random.default_rng(3) for _ in range(2))
    for mean in np.random.default_rng(4).normal(size=200):
        seen = observe(NOISE_CODES[type(noise)], mean, noise.scale, one)
        assert seen == pytest.approx(noise.observe(mean, other), rel=1e-12)
