"""U from pairs: twins differ in what must not count."""

import numpy as np
import pytest

import projbandits as pb
from projbandits.finding.pairs import Twins, longest
from tests.naive import Array


def twins(m: int, seed: int, sizes: tuple[float, ...] = (1.0, 1.0)) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.normal(size=(8, len(sizes))))[0]
    X = rng.normal(size=(m, 8))
    apart = (rng.normal(size=(m, len(sizes))) * sizes) @ V.T
    return X, X + apart + 0.3 * rng.normal(size=(m, 8)), V


def test_the_leading_singular_vectors_of_the_differences_are_left_out() -> None:
    X1, X2, _ = twins(50, seed=0)
    found = pb.find_subspace(pairs=(X1, X2), leave_out=2)
    _, sizes, rows = np.linalg.svd(X1 - X2)
    np.testing.assert_allclose(found.left_out.matrix, rows[:2].T @ rows[:2], atol=1e-10)
    np.testing.assert_allclose(found.tested.sizes, sizes / np.sqrt(50), atol=1e-10)


def test_twins_that_differ_exactly_show_it_exactly() -> None:
    X = np.random.default_rng(0).normal(size=(20, 5))
    found = pb.find_subspace(pairs=(X, X * [1, 1, -1, 1, 1]))
    np.testing.assert_allclose(found.left_out.matrix, np.diag([0, 0, 1.0, 0, 0]), atol=1e-12)
    assert found.angle == pytest.approx(0.0, abs=1e-5)


def test_a_short_direction_is_found_beside_a_long_one() -> None:
    X1, X2, _ = twins(300, seed=1, sizes=(20.0, 0.6))
    assert pb.find_subspace(pairs=(X1, X2)).left_out.dim == 2


def test_noise_alone_is_left_out_at_the_level_only() -> None:
    # At level 0.05, of 100 tests 5 are expected; more than 13 have a chance of 0.05 %.
    wrong = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        held = Twins.of(np.zeros((30, 4)), rng.normal(size=(30, 4)))
        wrong += held.tested(rng).beyond > 0
    assert 1 <= wrong <= 13


def test_noise_drawn_as_a_triangle_is_noise() -> None:
    rng = np.random.default_rng(0)
    direct = [np.linalg.svd(rng.normal(size=(12, 4)), compute_uv=False) for _ in range(2000)]
    shares = [s[0] / np.linalg.norm(s) for s in direct]
    drawn = longest(12, 4, 2000, rng)
    # Two means of 2,000 draws each: 5 standard errors of their difference.
    apart = 5 * np.sqrt((np.var(shares) + np.var(drawn)) / 2000)
    assert abs(np.mean(shares) - np.mean(drawn)) < apart


def test_pairs_must_be_pairs() -> None:
    with pytest.raises(ValueError, match="X2 must have as many rows as X1, got 2 and 3"):
        pb.find_subspace(pairs=(np.eye(3), np.eye(3)[:2]))
    with pytest.raises(TypeError, match=r"pairs must be \(X1, X2\), got a tuple of length 3"):
        pb.SideInformation().update(pairs=(np.eye(2), np.eye(2), np.eye(2)))  # type: ignore[arg-type]
