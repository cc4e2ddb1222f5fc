"""What would have had to be different for another arm to be the best guess."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import projbandits as pb
from projbandits.accounts.counterfactual import counterfactual, smallest
from tests.films import COLUMNS, constant, played, world


@pytest.mark.parametrize("seed", range(3))
def test_the_smallest_change_is_what_a_solver_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    U = pb.Subspace.span(rng.normal(size=(4, 2 + seed % 2)))
    sizes, aim = rng.uniform(0.5, 2.0, size=4), U.project(rng.normal(size=4))
    delta, distance = smallest(aim, sizes, U.matrix, -0.7)
    assert aim @ delta == pytest.approx(-0.7)
    np.testing.assert_allclose(U.project(delta), delta, atol=1e-9)
    assert np.linalg.norm(delta / sizes) == pytest.approx(distance)

    def length(y: Any) -> float:
        return float(np.sum((U.basis @ y / sizes) ** 2))

    bound: Any = {"type": "eq", "fun": lambda y: aim @ (U.basis @ y) + 0.7}
    best: Any = minimize(length, np.ones(U.dim), constraints=bound, tol=1e-12)
    assert distance == pytest.approx(np.sqrt(best.fun), rel=1e-4)


def test_after_the_change_the_best_guess_is_another() -> None:
    decider, rng = played(), np.random.default_rng(1)
    kinds = set()
    for _ in range(20):
        arms = world(rng)
        decision = decider.ask(arms)
        explanation = decider.explain(decision)
        found = explanation.counterfactual
        assert found is not None
        aim = decider.subspace.project(decider.ridge.theta)
        X = arms[COLUMNS].to_numpy()
        explored = found.gap < 0
        kinds.add(explored)
        assert explored == (decision.index != int((X @ aim).argmax()))
        beyond = found.table["value"] + 1.001 * (found.table["together"] - found.table["value"])
        X[decision.index] = beyond
        best = int((X @ aim).argmax())
        assert best == (decision.index if explored else found.other)
        alone = X[decision.index].copy()
        alone[:] = found.table["value"]
        alone[0] = found.table["alone"].iloc[0]
        assert alone @ aim == pytest.approx(X[found.other] @ aim)
        assert found.protected == np.inf
        assert "no change of its protected features would" in str(explanation)
        assert found.table["alone"].isna().tolist() == [False, False, True, True]
    assert kinds == {True, False}


def test_where_the_return_counts_protected_features_would_do_it() -> None:
    decider = played(pb.CURSE(schedule=constant))
    found = decider.explain(decider.ask(world(np.random.default_rng(1)))).counterfactual
    assert found is not None
    assert np.isfinite(found.protected)
    assert "of its protected features, " in found.text


def test_one_arm_has_no_other() -> None:
    decider = played()
    decision = decider.ask(world(np.random.default_rng(1), arms=1))
    assert decider.explain(decision).counterfactual is None
    assert decider.explain(decider.ask(pb.Ball(d=4))).counterfactual is None


def test_words_show_the_changes_that_matter() -> None:
    X = np.array([[1.0, 2.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 5.0]])
    aim = np.array([1.0, 1.0, 0.0])
    U = np.diag([1.0, 1.0, 0.0])
    found = counterfactual(X, X @ aim, aim, U, 0, [*"abc"], ["x", "y", "age"])
    assert found is not None
    # Two features that vary by s and t, of equal worth: they change by s^2 and t^2 over the sum.
    s, t = X[:, 0].var(), X[:, 1].var()
    assert f"(y 2 to {2 - t / (s + t):.3g}, x 1 to {1 - s / (s + t):.3g})" in found.text
    assert "; of one alone, y 2 to 1; no change of its protected" in found.text
    close = counterfactual(X, np.array([1e-7, 0.0, -1.0]), aim, U, 0, [*"abc"], ["x", "y", "age"])
    assert close is not None
    assert "y 2 to 1.9999999" in close.text  # in digits that tell the values apart
    many = np.vstack([np.ones(9), np.zeros(9)])
    text = counterfactual(
        many, many @ np.ones(9), np.ones(9), np.eye(9), 0, [0, 1], [*"abcdefghi"]
    ).text  # type: ignore[union-attr]
    assert "and 5 others by less" not in text
    assert "and 5 others" in text
