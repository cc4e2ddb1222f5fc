"""Noise: sub-Gaussian with its stated parameter."""

import math

import numpy as np
import pytest

from projbandits.problems import Bernoulli, Gaussian, Noise, Uniform


@pytest.mark.parametrize("noise", [Gaussian(0.7), Uniform(0.7), Bernoulli(0.7)], ids=repr)
@pytest.mark.parametrize("mean", [0.0, 0.31, -2.7])
def test_noise_is_sub_gaussian_with_its_stated_parameter(noise: Noise, mean: float) -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    eta = np.array([noise.observe(mean, rng) for _ in range(n)]) - mean
    for xi in (-2.0, -1.0, -0.3, 0.3, 1.0, 2.0):
        values = np.exp(xi * eta)
        bound = math.exp(xi**2 * noise.scale**2 / 2)
        assert values.mean() <= bound + 5 * values.std() / math.sqrt(n)
    assert abs(eta.mean()) <= 5 * noise.scale / math.sqrt(n)
    assert isinstance(noise, Bernoulli) or eta.std() == pytest.approx(0.7, rel=0.03)


def test_bernoulli_noise_with_means_in_the_unit_interval_is_clicks() -> None:
    rng = np.random.default_rng(2)
    clicks = [Bernoulli().observe(0.3, rng) for _ in range(10_000)]
    assert set(clicks) == {0.0, 1.0}
    assert np.mean(clicks) == pytest.approx(0.3, abs=5 * math.sqrt(0.21 / 10_000))
    assert {Bernoulli().observe(1.0, rng) for _ in range(50)} == {1.0}


def test_no_noise_is_exact() -> None:
    rng = np.random.default_rng(3)
    assert Gaussian(0.0).observe(1.5, rng) == Uniform(0.0).observe(1.5, rng) == 1.5
