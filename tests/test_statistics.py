"""Estimates and their intervals, against definitions and against known truth."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import projbandits as pb
from projbandits import statistics


def test_the_mean_has_the_textbook_interval() -> None:
    values = np.random.default_rng(0).exponential(size=50)
    value, low, high = statistics.mean(values, level=0.9)
    expected = stats.t.interval(0.9, df=49, loc=values.mean(), scale=stats.sem(values))
    assert (value, low, high) == pytest.approx((values.mean(), *expected))


@pytest.mark.parametrize("estimate", [statistics.exponent, statistics.steadiness])
def test_few_trials_have_no_bootstrap_interval(estimate: Any) -> None:
    steps = np.arange(1, 101)
    for n, known in ((1, False), (19, False), (20, True)):
        _, low, high = estimate(steps, np.tile(np.sqrt(steps), (n, 1)))
        assert np.isfinite([low, high]).all() == known


def test_a_single_trial_has_no_interval() -> None:
    value, low, high = statistics.mean(np.array([3.0]))
    assert value == 3.0
    assert np.isnan([low, high]).all()


@pytest.mark.parametrize(("n", "k"), [(20, 0), (20, 7), (300, 300)])
def test_a_share_has_wilsons_interval(n: int, k: int) -> None:
    expected = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
    value, low, high = statistics.share(np.arange(n) < k)
    assert (value, low, high) == pytest.approx((k / n, expected.low, expected.high), abs=1e-12)


def test_a_quantile_lies_in_its_interval_as_often_as_it_says() -> None:
    # 2,000 samples of 60: the shares of intervals that hold the median and the 0.9 quantile of
    # the exponential are binomial, 95 % nominal; order statistics cover a little more.
    rng = np.random.default_rng(1)
    samples = rng.exponential(size=(60, 2000))
    for q in (0.5, 0.9):
        _, low, high = statistics.quantile(samples, q)
        truth = stats.expon.ppf(q)
        assert 0.94 < ((low <= truth) & (truth <= high)).mean() < 0.985


def test_a_power_law_has_its_exponent() -> None:
    steps = np.arange(1, 5001)
    regret = 7.0 * steps**0.61
    value, low, high = statistics.exponent(steps, np.tile(regret, (20, 1)))
    assert (value, low, high) == pytest.approx((0.61, 0.61, 0.61), abs=1e-9)


def test_the_exponent_is_fitted_to_the_last_decade_alone() -> None:
    steps = np.arange(1, 10_001)
    regret = np.where(steps < 1000, 1e3 * steps, 1e6 * (steps / 1000.0) ** 0.5)
    assert statistics.exponent(steps, regret[None, :]).value == pytest.approx(0.5, abs=1e-9)


def test_the_exponents_interval_covers_the_truth_as_often_as_it_says() -> None:
    # Trials share the shape n^b times lognormal factors and have noise of their own; of 300
    # intervals at 90 %, between 85 % and 95 % hold b (binomial, four standard errors and less
    # than the bootstrap's known shortfall at 60 trials).
    rng = np.random.default_rng(2)
    steps = np.unique(np.geomspace(10, 1000, 30).astype(np.int64))
    held = 0
    for _ in range(300):
        slopes = 0.7 + 0.1 * rng.standard_normal((60, 1))
        regret = (steps / 100.0) ** slopes * np.exp(0.1 * rng.standard_normal((60, len(steps))))
        exact = (steps / 100.0) ** 0.7 * np.exp(0.5 * (0.1 * np.log(steps / 100.0)) ** 2)
        truth = statistics.exponent(steps, exact[None, :]).value
        _, low, high = statistics.exponent(steps, regret, level=0.9, resamples=200)
        held += low <= truth <= high
    assert 0.82 < held / 300 < 0.96


def test_linear_growth_is_steady_whatever_the_start_cost() -> None:
    steps = np.arange(1, 1001)
    for start, b in ((0.0, 1.0), (500.0, 1.0), (30.0, 0.5)):
        regret = start + steps**b
        value, low, high = statistics.steadiness(steps, np.tile(regret, (20, 1)))
        expected = (1000**b - 500**b) / 500 / ((500**b - 250**b) / 250)
        assert (value, low, high) == pytest.approx((expected,) * 3)


def test_no_regret_has_no_exponent() -> None:
    assert np.isnan(statistics.steadiness(np.arange(1, 101), np.zeros((3, 100))).value)
    assert np.isnan(statistics.exponent(np.arange(1, 101), np.zeros((3, 100))).value)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_must_be_a_probability(level: float) -> None:
    with pytest.raises(ValueError, match=f"level must lie strictly between 0 and 1, got {level}"):
        statistics.mean(np.ones(3), level)


def test_a_result_gives_the_exponent_of_each_strategy() -> None:
    result = pb.simulate(
        pb.problems.random_arms(), [pb.GENTRY(), pb.UE()], trials=5, horizon=200, progress=False
    )
    for i, label in enumerate(result.strategies):
        assert result.exponent(label) == statistics.exponent(result.steps, result.regret[i])
