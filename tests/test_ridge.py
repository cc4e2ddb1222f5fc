"""The ridge estimate against direct solves."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import projbandits as pb
from tests import naive
from tests.naive import Array


@given(st.integers(1, 6), st.integers(0, 40), st.floats(0.01, 100), st.integers(0, 10_000))
@settings(max_examples=60)
def test_rank_one_updates_equal_the_direct_solution(
    d: int, n: int, penalty: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X, r = rng.normal(size=(n, d)), rng.normal(size=n)
    ridge = pb.Ridge.prior(d, penalty)
    for x, y in zip(X, r, strict=True):
        ridge = ridge.update(x, y)
    V, theta = naive.ridge(X, r, penalty)
    np.testing.assert_allclose(ridge.theta, theta, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ridge.inverse, np.linalg.inv(V), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ridge.precision, V, rtol=1e-12)
    batch = pb.Ridge.prior(d, penalty).update_many(X, r)
    assert batch.n == ridge.n == n
    np.testing.assert_allclose(batch.theta, theta, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(batch.inverse, ridge.inverse, rtol=1e-8, atol=1e-10)
    for x in rng.normal(size=(3, d)):
        expected = np.sqrt(x @ np.linalg.inv(V) @ x)
        assert ridge.width(x) == pytest.approx(expected, rel=1e-8)


def test_features_far_larger_than_the_penalty_do_no_harm() -> None:
    ridge = pb.Ridge.prior(2).update([1e8, 1.0], 1.0)
    assert ridge.inverse[0, 0] == pytest.approx(2e-16, rel=1e-9)
    for _ in range(3):
        ridge = ridge.update([1e9, 1e9], 1.0)
    assert np.isfinite(ridge.theta).all()


def test_the_inverse_is_symmetric() -> None:
    rng = np.random.default_rng(3)
    ridge = pb.Ridge.prior(5)
    for x in rng.normal(size=(200, 5)):
        ridge = ridge.update(x, 1.0)
    np.testing.assert_allclose(ridge.inverse, ridge.inverse.T, rtol=1e-15, atol=0)


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match=r"penalty must be positive, got 0\.0"):
        pb.Ridge.prior(2, penalty=0)
    with pytest.raises(ValueError, match=r"x must have shape \(2,\), got \(3,\)"):
        pb.Ridge.prior(2).update([1.0, 2.0, 3.0], 1.0)
    with pytest.raises(ValueError, match="x and observed must be finite"):
        pb.Ridge.prior(2).update([np.nan, 0.0], 1.0)
    with pytest.raises(ValueError, match="X must have 2 columns, got 3"):
        pb.Ridge.prior(2).update_many(np.ones((1, 3)), [1.0])
    with pytest.raises(ValueError, match="observed must have length 1"):
        pb.Ridge.prior(2).update_many(np.ones((1, 2)), [1.0, 2.0])


def test_the_residual_is_the_penalised_sum_of_squares_at_its_least() -> None:
    rng = np.random.default_rng(5)
    X, r = rng.normal(size=(30, 4)), rng.normal(size=30)
    _, theta = naive.ridge(X, r, 0.7)
    expected = ((r - X @ theta) ** 2).sum() + 0.7 * (theta**2).sum()
    assert pb.Ridge.prior(4, 0.7).update_many(X, r).residual == pytest.approx(expected, rel=1e-12)
    one = pb.Ridge.prior(4, 0.7)
    grown = 0.0
    for x, y in zip(X, r, strict=True):
        grown += (y - x @ one.theta) ** 2 / (1 + one.width(x) ** 2)
        one = one.update(x, y)
        assert one.residual == pytest.approx(grown, rel=1e-10)


def test_the_root_is_a_triangle_whose_square_is_the_inverse() -> None:
    rng = np.random.default_rng(0)
    for n in (0, 2, 30):
        ridge = pb.Ridge.prior(4, 0.5).update_many(rng.normal(size=(n, 4)), rng.normal(size=n))
        Q = ridge.root
        assert (np.tril(Q, -1) == 0).all()
        assert (Q.diagonal() > 0).all()
        np.testing.assert_allclose(Q @ Q.T, ridge.inverse, rtol=1e-12, atol=1e-14)


def any_scales(rng: np.random.Generator, n: int, d: int, kind: str) -> Array:
    X: Array = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-12, 12, d)
    if kind == "with a time stamp":
        X[:, 0] = 1.7e9 + rng.integers(0, 10**6, n)
    if kind == "with arms repeated":
        X = X[rng.integers(0, n, n)]
    return X


@pytest.mark.parametrize("kind", ["spread", "with a time stamp", "with arms repeated"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9])
def test_what_is_free_does_not_cancel(n: int, kind: str) -> None:
    rng = np.random.default_rng(n)
    for _ in range(20):
        X = any_scales(rng, n, 4, kind)
        expected = naive.free(X, 0.1)
        ridge = pb.Ridge.prior(4, 0.1)
        for x in X:
            ridge = ridge.update(x, 1.0)
        batch = pb.Ridge.prior(4, 0.1).update_many(X, np.ones(n))
        np.testing.assert_allclose([ridge.free, batch.free], expected, rtol=1e-4)


def test_one_return_of_an_arm_of_any_size_says_how_large_the_noise_may_be() -> None:
    # With r alone, residual / free is r^2 whatever the arm.
    for size in 10.0 ** np.arange(-12, 13):
        ridge = pb.Ridge.prior(3, 0.1).update([size, 1.0, 0.0], -2.0)
        assert math.sqrt(ridge.residual / ridge.free) == pytest.approx(2.0, rel=1e-3)
        assert math.isnan(ridge.noise)
        assert ridge.cautious_noise > 2.0


@pytest.mark.parametrize("noise", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("n", [4, 30, 1000])
def test_the_noise_is_estimated_on_the_high_side(noise: float, n: int) -> None:
    # The squared estimate, less the standard error that is added, averages at least sigma^2
    # whatever theta is; 300 worlds leave an error of 12 % at n = 4 and less later.
    rng = np.random.default_rng(0)
    squares = []
    for _ in range(300):
        X, theta = rng.uniform(-1, 1, size=(n, 3)), rng.uniform(-1, 1, size=3)
        ridge = pb.Ridge.prior(3, 0.1).update_many(X, X @ theta + noise * rng.normal(size=n))
        squares.append(ridge.cautious_noise**2)
    assert np.mean(squares) > noise**2
    if n == 1000:
        assert np.sqrt(np.mean(squares)) == pytest.approx(noise, rel=0.05)
