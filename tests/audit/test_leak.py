"""The leak: what moved into the kept part, against slow and obvious computations."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

import projbandits as pb
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
    audit = fooled.honest(pb.GENTRY(), steps=8).audit()
    assert audit.leak.found is None
    assert audit.influence == "unclear"
    assert "outcomes in the log are too few" in audit.leak.verdict


def test_a_leak_into_the_levels_of_a_category_is_found() -> None:
    leaky, honest = (fooled.levels(leaky=which).audit() for which in (True, False))
    assert leaky.leak.table.loc[["genre=d", "genre=s"], "z"].isna().all()  # by themselves
    assert leaky.leak.found is True
    assert leaky.influence == "found"
    assert honest.leak.found is False


def test_a_leak_is_found_from_where_nine_of_ten_logs_show_it() -> None:
    leak = fooled.honest(pb.GENTRY(), steps=60, d=4).audit().leak
    free = leak.outcomes - 5
    errors = (leak.table["high"] - leak.table["low"]) / 2 / student.ppf(0.975, free)
    beyond = leak.table["found_from"] / errors - leak.critical
    np.testing.assert_allclose(beyond, student.ppf(0.9, free), rtol=1e-6)
