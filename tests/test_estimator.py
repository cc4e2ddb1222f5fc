"""ProjectedRidge: an estimator of scikit-learn that predicts the part that counts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import estimator_checks_generator

import projbandits as pb
from tests import naive

CHECKS = [check for _, check in estimator_checks_generator(pb.ProjectedRidge())]


@pytest.mark.filterwarnings("ignore")  # some of the checks provoke warnings on purpose
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.func.__name__)
def test_it_passes_scikit_learns_own_checks(check: Callable[[Any], None]) -> None:
    check(pb.ProjectedRidge())


def test_it_predicts_the_part_that_counts_with_its_standard_error() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 2))
    X, theta = rng.normal(size=(60, 4)), rng.normal(size=4)
    y = X @ theta + rng.normal(size=60)
    model = pb.ProjectedRidge(pb.Subspace.span(A), penalty=2.0).fit(X, y)
    V, estimate = naive.ridge(X, y, 2.0)
    P = naive.projection_matrix(A)
    np.testing.assert_allclose(model.coef_, P @ estimate, rtol=1e-10)
    np.testing.assert_allclose(model.theta_, estimate, rtol=1e-10)
    f = np.trace(np.linalg.solve(V, X.T @ X))
    left = ((y - X @ estimate) ** 2).sum() + 2.0 * estimate @ estimate
    held_back = P @ (np.linalg.lstsq(X, y)[0] - estimate)
    covariance = left / (60 - f) * P @ np.linalg.inv(X.T @ X) @ P + np.outer(held_back, held_back)
    np.testing.assert_allclose(model.standard_errors_, np.sqrt(np.diag(covariance)), rtol=1e-10)
    values, errors = model.predict(X, return_std=True)
    np.testing.assert_allclose(values, X @ P @ estimate, rtol=1e-10)
    np.testing.assert_allclose(errors, np.sqrt(np.einsum("ij,jk,ik->i", X, covariance, X)))


def test_in_parts_it_learns_the_same() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    whole = pb.ProjectedRidge().fit(X, y)
    parts = pb.ProjectedRidge().partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-12)
    np.testing.assert_allclose(parts.fit(X[:20], y[:20]).ridge_.n, 20)


def test_weights_count_observations_several_times() -> None:
    rng = np.random.default_rng(2)
    X, y, weights = rng.normal(size=(30, 3)), rng.normal(size=30), rng.integers(0, 4, size=30)
    U = pb.Subspace.span(rng.normal(size=(3, 2)))
    weighted = pb.ProjectedRidge(U, penalty=0.5).fit(X, y, sample_weight=weights)
    repeated = pb.ProjectedRidge(U, penalty=0.5).fit(X.repeat(weights, 0), y.repeat(weights))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-10)
    assert weighted.ridge_.n == (weights > 0).sum()
    with pytest.raises(ValueError, match="sample_weight must not be negative, got -1"):
        pb.ProjectedRidge().fit(X, y, sample_weight=-np.ones(30))


def test_a_search_over_penalties_does_not_choose_the_one_that_leaks() -> None:
    rng = np.random.default_rng(3)
    kept = rng.normal(size=(400, 2))
    protected = 0.8 * kept[:, 0] + 0.6 * rng.normal(size=400)
    X = np.column_stack([kept, protected])
    y = X @ [0.0, 0.3, 1.0] + 0.1 * rng.normal(size=400)
    U = pb.Subspace.coordinates([0, 1], d=3)
    search = GridSearchCV(pb.ProjectedRidge(U), {"penalty": [0.1, 1.0, 100.0, 1000.0]}).fit(X, y)
    assert search.best_params_["penalty"] <= 1.0
    np.testing.assert_allclose(search.best_estimator_.coef_, [0.0, 0.3, 0.0], atol=0.03)
    # Compared with returns, the prediction of the part that counts does best where it leaks most.
    leaking = pb.ProjectedRidge(U, penalty=1000.0).fit(X, y)
    fits = [r2_score(y, model.predict(X)) for model in (leaking, search.best_estimator_)]
    assert fits[0] > fits[1] + 0.05


def test_a_subspace_that_does_not_fit_is_named() -> None:
    U = pb.Subspace.without("race", columns=["race", "price"])
    model = pb.ProjectedRidge(U)
    with pytest.raises(ValueError, match="arms must have 2 features"):
        model.fit(np.ones((2, 3)), [1.0, 2.0])
    with pytest.raises(ValueError, match="same order"):
        model.fit(pd.DataFrame(np.eye(2), columns=["price", "race"]), [1.0, 2.0])


def test_a_fit_that_fails_leaves_the_estimator_as_it_was() -> None:
    X, y = np.eye(3), [1.0, 2.0, 3.0]
    model = pb.ProjectedRidge(pb.Subspace.coordinates([0], d=3)).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="features"):
        model.fit(np.eye(2), [1.0, 2.0])
    with pytest.raises(ValueError, match="penalty must be positive"):
        model.set_params(penalty=-1.0).fit(X, y)
    np.testing.assert_array_equal(model.set_params(penalty=1.0).predict(X), before)
    with pytest.raises(TypeError, match="subspace must be a Subspace"):
        pb.ProjectedRidge(np.eye(3)).fit(X, y)  # type: ignore[arg-type]


def test_a_new_penalty_holds_for_all_observations() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 3)), rng.normal(size=8)
    later = pb.ProjectedRidge(penalty=1.0).fit(X[:4], y[:4]).set_params(penalty=5.0)
    at_once = pb.ProjectedRidge(penalty=5.0).fit(X, y)
    np.testing.assert_allclose(later.partial_fit(X[4:], y[4:]).coef_, at_once.coef_, atol=1e-12)
