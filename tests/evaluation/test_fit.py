"""Triangular factors of rows that come piece by piece."""

import numpy as np
import pytest

import projbandits as pb
from projbandits.evaluation import fit
from projbandits.evaluation.fit import fold, merged


@pytest.mark.parametrize("width", [1, 3, 6])
def test_a_factor_has_the_squares_of_all_rows(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole blocks, a part of one and none at all; what was folded before is left as it was."""
    monkeypatch.setattr(fit, "BLOCK_ROWS", 7)
    rng = np.random.default_rng(width)
    for n in (0, 1, 7, 24):
        rows, before = rng.normal(size=(n, width)), rng.normal(size=(9, width))
        start = fold(np.zeros((width, width)), list(before.T))
        kept = start.copy()
        found = fold(start, list(rows.T))
        every = np.vstack([before, rows])
        np.testing.assert_allclose(found.T @ found, every.T @ every, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(np.tril(found, -1), 0.0)
        np.testing.assert_array_equal(start, kept)
        together = merged([start, fold(np.zeros((width, width)), list(rows.T))], width - 1)
        np.testing.assert_allclose(np.abs(together), np.abs(found), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_errors_are_unknown_while_all_returns_are_equal(intercept: bool) -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    U = pb.Subspace.coordinates([0, 1], d=3)
    decider = pb.Decider(pb.GENTRY(), subspace=U, intercept=intercept, seed=0, log=True)
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
