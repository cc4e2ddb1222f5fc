"""The leak: what moved into the kept part, against slow and obvious computations."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

import projbandits as pb
from projbandits.audit.answers import sized
from projbandits.audit.leak import LeastSquares
from projbandits.ridge import Ridge
from tests import naive
from tests.audit import fooled


def data(decider: pb.Decider) -> tuple[Any, Any]:
    log = decider.log()
    X = log[[c for c in log.columns if c.startswith("x[")]].to_numpy()
    return X, log["outcome"].to_numpy()


@pytest.mark.parametrize("history", [0, 80])
def test_a_leak_is_what_the_protected_effect_adds_to_the_belief(history: int) -> None:
    decider = fooled.honest(pb.GENTRY(), steps=50, history=history, d=4)
    X, r = data(decider)
    if history:
        rng = np.random.default_rng(0)
        theta = rng.normal(size=4)
        past = rng.normal(size=(history, 4))
        outcomes = past @ theta + 0.3 * rng.normal(size=history)
    else:
        past, outcomes = np.empty((0, 4)), np.empty(0)
    A, b = np.vstack([past, X]), np.append(outcomes, r)
    found = decider.audit().leak.table
    for j in (0, 1):
        expected, error = naive.leak(A, b, X, r, 1.0, kept=[0, 1], j=j)
        assert found["leak"].iloc[j] == pytest.approx(expected, abs=1e-9)
        assert found["z"].iloc[j] == pytest.approx(expected / error, abs=1e-6)


def test_a_strategy_on_projections_leaks_the_effect_of_what_it_left_out() -> None:
    decider = fooled.honest(pb.REGRET(), steps=80, d=4)
    X, r = data(decider)
    X, r = X - X.mean(axis=0), r - r.mean()
    whole = np.linalg.lstsq(X, r, rcond=None)[0]
    omitted = np.linalg.lstsq(X[:, :2], X[:, 2:] @ whole[2:], rcond=None)[0]
    np.testing.assert_allclose(decider.audit().leak.table["leak"], omitted, atol=1e-9)


def test_what_the_outcomes_cannot_tell_is_not_told() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    X[:, 2] = X[:, 1]  # only their sum has an effect that shows
    fit = LeastSquares.of(Ridge.prior(3).update_many(X, X @ [1.0, 2.0, 0.0]))
    assert fit.tells(np.array([1.0, 0.0, 0.0]))
    assert fit.tells(np.array([0.0, 1.0, 1.0]))
    assert not fit.tells(np.array([0.0, 1.0, 0.0]))
    audit = fooled.honest(pb.GENTRY(), steps=8).audit()
    assert audit.leak.found is None
    assert audit.influence == "unclear"
    assert "outcomes in the log are too few" in audit.leak.verdict


def test_contrasts_are_told_where_no_level_of_a_category_is() -> None:
    # A constant and two levels that add up to it: only q and the levels' difference are told.
    X = np.array([[1.0, 1.0, 0.0, 0.3], [1.0, 0.0, 1.0, -0.2], [1.0, 1.0, 0.0, 1.0]])
    fit = LeastSquares.of(Ridge.prior(4).update_many(X, np.ones(3)))
    found = fit.told(np.eye(4))
    span = np.linalg.qr(np.vstack([X]).T)[0]
    np.testing.assert_allclose(found - (found @ span) @ span.T, 0.0, atol=1e-9)
    assert len(found) == 3
    assert fit.leaves_out(X.T @ X) < 1e-12
    assert fit.leaves_out(np.diag([0.0, 1.0, 0.0, 0.0])) > 0.1


def test_a_leak_into_the_levels_of_a_category_is_found() -> None:
    leaky, honest = (fooled.levels(leaky=which).audit() for which in (True, False))
    assert leaky.leak.table.loc[["genre=d", "genre=s"], "z"].isna().all()  # by themselves
    assert leaky.leak.found is True
    assert leaky.influence == "found"
    assert honest.leak.found is False


def test_a_fit_does_not_depend_on_units() -> None:
    rng = np.random.default_rng(0)
    X, units = rng.normal(size=(50, 3)), np.array([1e-6, 1.0, 1e6])
    r = X @ [1.0, 2.0, 3.0] + rng.normal(size=50)
    fit = LeastSquares.of(Ridge.prior(3).update_many(X * units, r))
    np.testing.assert_allclose(fit.theta * units, np.linalg.lstsq(X, r, rcond=None)[0], rtol=1e-8)


@pytest.mark.parametrize("beyond", [False, True])
def test_the_interval_of_a_size_holds_as_often_as_it_says(beyond: bool) -> None:
    """200 errors; 95 % intervals miss in at most 10 % of them, five of whose errors are 1.5 %."""
    rng = np.random.default_rng(0)
    effect = np.array([1.0, -0.5, 0.0]) * (5.0 if beyond else 0.3)
    covariance, spread = np.diag([0.04, 0.01, 0.25]), np.diag([1.0, 2.0, 0.1])
    truth = float(np.sqrt(effect @ spread @ effect))
    missed = 0
    for _ in range(200):
        seen = rng.multivariate_normal(effect, covariance)
        size, _ = sized(seen, covariance, spread, 1.0, beyond=beyond)
        missed += not size.low <= truth <= size.high
    assert missed <= 20


def test_a_leak_is_found_from_where_nine_of_ten_logs_show_it() -> None:
    leak = fooled.honest(pb.GENTRY(), steps=60, d=4).audit().leak
    free = leak.outcomes - 5
    errors = (leak.table["high"] - leak.table["low"]) / 2 / student.ppf(0.975, free)
    beyond = leak.table["found_from"] / errors - leak.critical
    np.testing.assert_allclose(beyond, student.ppf(0.9, free), rtol=1e-6)
