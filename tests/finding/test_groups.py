"""U from groups: a mixed model on sums is the mixed model on rows."""

import numpy as np
import pytest

import projbandits as pb
from projbandits.finding.groups import Panel
from projbandits.finding.mixed import GroupSums, Mixed, drawn, fitted
from tests import naive

Array = naive.Array


def panel(n: int, seed: int, d: int = 4, groups: int = 6) -> tuple[Array, Array, Array, Array]:
    """Return arms, returns, who returned them, and where the groups differ."""
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.normal(size=(d, 1)))[0]
    X = rng.uniform(-1, 1, size=(n, d))
    group = rng.integers(groups, size=n)
    thetas = rng.normal(size=d) + rng.normal(size=(groups, 1)) @ V.T
    r = np.einsum("ij,ij->i", X, thetas[group]) + 0.3 * rng.normal(size=n)
    return X, np.asarray(r), group.astype(float), V


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_em_on_sums_is_em_on_rows(rank: int) -> None:
    X, r, group, _ = panel(60, seed=0)
    A = np.linalg.qr(np.random.default_rng(1).normal(size=(4, rank)))[0]
    held = Panel.of(X, r, group)
    start = Mixed(np.zeros(4), 0.5 * np.eye(rank), 0.2, -np.inf)
    for rounds in (1, 2, 7):
        model = fitted(GroupSums.of(held.sums), A, start, rounds)
        begin = X, r, group, start.mu, 0.5 * A @ A.T, 0.2
        _, sigma, noise = naive.mixed_em(*begin, rounds)
        mu, _, _ = naive.mixed_em(*begin, rounds + 1)  # which begins with mu for this sigma
        # What keeps mu where the data say nothing of it is 1e-9 of the curvature.
        np.testing.assert_allclose(A @ model.S @ A.T, sigma, atol=1e-7)
        assert model.noise == pytest.approx(noise, rel=1e-7)
        np.testing.assert_allclose(model.mu, mu, rtol=1e-6)


def test_the_likelihood_on_sums_is_that_of_the_rows() -> None:
    X, r, group, _ = panel(50, seed=2)
    sums = GroupSums.of(Panel.of(X, r, group).sums)
    model = fitted(sums, np.eye(4))
    dense = naive.mixed_likelihood(X, r, group, model.mu, model.S, model.noise)
    assert model.likelihood == pytest.approx(dense, rel=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(20):  # it is the largest one around
        M = np.eye(4) + 0.05 * rng.normal(size=(4, 4))
        other = naive.mixed_likelihood(
            X, r, group, model.mu + 0.03 * rng.normal(size=4), M @ model.S @ M.T, 1.05 * model.noise
        )
        assert other < dense


def test_fresh_returns_have_the_moments_of_the_model() -> None:
    X, r, group, V = panel(40, seed=3, groups=2)
    sums = GroupSums.of(Panel.of(X, r, group).sums)
    model = Mixed(np.arange(4.0), np.array([[2.0]]), 0.25, 0.0)
    rng = np.random.default_rng(0)
    draws = [drawn(sums, V, model, rng) for _ in range(4000)]
    xr, rr = np.array([s.xr[0] for s in draws]), np.array([s.rr[0] for s in draws])
    G = sums.xx[0]
    covariance = G @ (2 * V @ V.T) @ G + 0.25 * G
    error = np.sqrt(covariance.diagonal() / 4000)
    assert (np.abs(xr.mean(axis=0) - G @ model.mu) < 5 * error).all()
    np.testing.assert_allclose(np.cov(xr.T), covariance, rtol=0.2, atol=0.1 * covariance.max())
    expected = model.mu @ G @ model.mu + 2 * float((V.T @ G @ V).item()) + 0.25 * sums.n[0]
    assert abs(rr.mean() - expected) < 5 * rr.std() / np.sqrt(4000)


def test_where_groups_disagree_is_left_out() -> None:
    X, r, group, V = panel(3000, seed=4)
    found = pb.find_subspace(groups=(X, r, group))
    assert found.left_out.dim == 1
    assert naive.degrees(V, found.left_out.basis) < min(5.0, 2 * found.angle)
    assert found.rows == 3000
    assert "returns of groups" in found.report()
    assert found.predictable.empty


def test_returns_without_noise_show_it_exactly() -> None:
    X, _, group, _ = panel(80, seed=7)
    r = X[:, 1] + (group - 2.5) * X[:, 0]
    found = pb.find_subspace(groups=(X, r, group))
    np.testing.assert_allclose(found.left_out.matrix, np.diag([1.0, 0, 0, 0]), atol=1e-3)


def test_groups_that_agree_leave_everything() -> None:
    X, _, group, _ = panel(600, seed=5)
    everyone = X @ np.ones(4) + 0.3 * np.random.default_rng(5).normal(size=600)
    found = pb.find_subspace(groups=(X, everyone, group))
    assert found.subspace.dim == 4


def test_groups_that_cannot_tell_are_refused() -> None:
    X, r, _, _ = panel(20, seed=6)
    with pytest.raises(ValueError, match="at least 2 groups, got 1"):
        pb.find_subspace(groups=(X, r, ["one"] * 20))
    with pytest.raises(ValueError, match="returns must have length 20, got length 19"):
        pb.find_subspace(groups=(X, r[:-1], ["one"] * 20))
    with pytest.raises(ValueError, match="group must have as many rows as X, got 2 and 20"):
        pb.find_subspace(groups=(X, r, ["one", "two"]))
