"""Triangular factors of rows that come piece by piece."""

import numpy as np
import pytest

import projbandits as pb


@pytest.mark.parametrize("intercept", [True, False])
def test_errors_are_unknown_while_all_returns_are_equal(intercept: bool) -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    U = pb.Subspace.coordinates([0, 1], d=3)
    decider = pb.Decider(pb.GENTRY(), subspace=U, intercept=intercept, seed=0)
    for _ in range(50):
        decider.tell(decider.ask(X), 7.0 if intercept else 0.0)
    assert pb.Log.from_ledger(decider).fit().table()["standard_error"].isna().all()
    for _ in range(50):
        decision = decider.ask(X)
        decider.tell(decision, float(decision.arm[0]))
    fit = pb.Log.from_ledger(decider).fit()
    expected = fit.ridge.noise * np.sqrt(fit.ridge.inverse.diagonal())
    np.testing.assert_allclose(fit.table()["standard_error"], expected, rtol=1e-12)
    assert (expected > 0.0).all()
