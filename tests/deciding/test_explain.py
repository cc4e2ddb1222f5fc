"""Why an arm was chosen, in numbers and in words."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from tests.films import COLUMNS, THETA, U, constant, played, world


def test_an_explanation_splits_each_score_in_two() -> None:
    decider = played()
    rng = np.random.default_rng(1)
    reasons = set()
    for _ in range(30):
        arms = world(rng)
        decision = decider.ask(arms)
        explanation = decider.explain(decision)
        table = explanation.table
        theta = decider.ridge.theta
        X = arms[COLUMNS].to_numpy()
        np.testing.assert_array_equal(table[COLUMNS], X)
        np.testing.assert_allclose(table["counted"], X[:, :2] @ theta[:2], atol=1e-12)
        np.testing.assert_allclose(table["ignored"], X[:, 2:] @ theta[2:], atol=1e-12)
        assert table.index[table["chosen"]].tolist() == [decision.index]
        assert table["probability"].sum() == pytest.approx(1.0)
        assert table["probability"][table["chosen"]].item() == pytest.approx(decision.propensity)
        best = int(table["counted"].argmax())
        kind = "best guess" if decision.index == best else "exploration"
        assert explanation.reason.startswith(kind)
        assert f"probability {decision.propensity:.4g}" in str(explanation)
        reasons.add(kind)
    assert reasons == {"best guess", "exploration"}


def test_a_strategy_that_aims_at_the_return_ignores_nothing() -> None:
    decider = played(pb.CURSE(schedule=constant))
    explanation = decider.explain(decider.ask(world(np.random.default_rng(1))))
    np.testing.assert_allclose(explanation.table["ignored"], 0.0, atol=1e-12)
    assert "the return" in explanation.reason


def test_a_point_of_a_convex_set_is_explained_beside_the_best_guess() -> None:
    decider = pb.Decider(pb.GENTRY(schedule=lambda t: 0.0), subspace=U, seed=0)
    decider.learn(np.eye(4), THETA)
    table = decider.explain(decider.ask(pb.Ball(d=4))).table
    assert table.index.tolist() == ["chosen", "best guess"]
    assert table["counted"].nunique() == 1


def test_exploring_a_convex_set_is_told_in_words_that_fit() -> None:
    decider = pb.Decider(pb.GENTRY(schedule=lambda t: 1.0), subspace=U, seed=0)
    cold = decider.explain(decider.ask(pb.Box(-np.ones(4), np.ones(4)))).reason
    assert "all estimates of the projection reward tie at 0" in cold
    decider.learn(np.eye(4), THETA)
    reason = decider.explain(decider.ask(pb.Ball(d=4))).reason
    assert reason.startswith("exploration: this point was chosen to learn from")
    assert "The best guess was another point, with " in reason


class Own(pb.Ball):
    """A set that a file cannot hold."""


def test_an_infinite_set_is_kept_unless_a_file_cannot_hold_it(tmp_path: Path) -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0)
    decider.learn(np.eye(4), THETA)
    own, decision = decider.ask(Own(d=4)), decider.ask(pb.Ball(d=4))
    expected = str(decider.explain(decision))
    decider.tell_many([(own, 1.0), (decision, 1.0)])
    decider.save(tmp_path / "decider")
    loaded = pb.Decider.load(tmp_path / "decider")
    with pytest.raises(ValueError, match=r"in an infinite set, .* explain\(decision, arms"):
        loaded.explain(own.id)
    assert str(loaded.explain(decision.id)) == expected
    assert str(loaded.explain(decision.id, arms=pb.Ball(d=4))) == expected
    for wrong in (pb.Ball(d=4, radius=0.1), np.eye(4)):
        with pytest.raises(ValueError, match="arms must be what was on offer to decision"):
            loaded.explain(decision.id, arms=wrong)


def test_where_estimates_tie_the_best_guess_is_the_first() -> None:
    decider = pb.Decider(pb.GENTRY(schedule=lambda t: 1.0), subspace=U, seed=0)
    kinds = []
    for _ in range(12):  # nothing is told, so all estimates are zero
        decision = decider.ask(np.eye(4))
        reason = decider.explain(decision).reason
        assert reason.startswith("best guess" if decision.index == 0 else "exploration")
        assert "all estimates of the projection reward tie at 0" in reason
        kinds.append(decision.index != 0)
    assert {*kinds} == {True, False}
    # The audit counts the same: arms 2 and 3 are (1, 0) and (0, 1) in the protected columns.
    explored = decider.audit().exposure.table.set_index(["attribute", "group"])["explored"]
    thirds = [d.index == 2 for d in decider.pending if d.index != 0]
    assert explored["group", "1"] == pytest.approx(np.mean(thirds))
    learnt = pb.Decider(pb.GENTRY(schedule=lambda t: 0.0), subspace=U, seed=0)
    learnt.learn(np.eye(4), THETA)
    twice = np.eye(4)[[1, 0, 0]]
    assert "first of 2 that tie" in learnt.explain(learnt.ask(twice)).reason


def test_an_unknown_probability_is_said_to_be_so() -> None:
    decider = played(pb.ProjectedTS(), steps=3)
    reason = decider.explain(decider.ask(world(np.random.default_rng(1)))).reason
    assert "its probability is unknown" in reason


def test_of_many_arms_those_that_were_left_are_explained(tmp_path: Path) -> None:
    big = np.random.default_rng(0).normal(size=(30_000, 4))
    decider = pb.Decider(pb.GENTRY(schedule="smooth"), subspace=U, seed=2)
    decider.learn(big[:50], big[:50] @ THETA)
    first, second = decider.ask(big, count=2)
    decider.save(tmp_path / "decider")
    table = decider.explain(second).table
    assert len(table) == len(big) - 1
    assert first.index not in table.index
    assert table.index[table["chosen"]].tolist() == [second.index]
    assert first.index in decider.explain(first).table.index
    loaded = pb.Decider.load(tmp_path / "decider")
    pd.testing.assert_frame_equal(loaded.explain(second.id).table, table)


def test_features_may_be_called_as_the_parts_of_an_explanation() -> None:
    names = ["counted", "ignored", "chosen", "probability"]
    decider = pb.Decider(subspace=pb.Subspace.without("chosen", columns=names), seed=0)
    table = decider.explain(decider.ask(pd.DataFrame(np.eye(4), columns=names))).table
    np.testing.assert_array_equal(table[[f"x[{name}]" for name in names]], np.eye(4))
    assert table["chosen"].sum() == 1


def test_only_a_decision_or_its_id_can_be_explained() -> None:
    with pytest.raises(TypeError, match="decision must be a Decision or its id, got 3"):
        played(steps=1).explain(3)  # type: ignore[arg-type]


def test_later_choices_of_one_call_are_explained_among_what_was_left() -> None:
    decider = played()
    decisions = decider.ask(world(np.random.default_rng(2)), count=3)
    for given in (decisions[2], decisions[2].id):
        table = decider.explain(given).table
        taken = {d.index for d in decisions[:2]}
        assert set(table.index) == set(range(6)) - taken
        assert table.index[table["chosen"]].tolist() == [decisions[2].index]


def test_arms_that_were_not_on_offer_are_refused_where_those_were_kept() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 3))
    decider = pb.Decider(pb.GENTRY(), subspace=pb.Subspace.coordinates([0, 1], d=3), seed=0)
    decision = decider.ask(X)
    others = np.full((5, 3), 9.0)
    others[decision.index] = X[decision.index]
    for wrong in (others, np.vstack([X, [[50.0, 0.0, 0.0]]])):
        with pytest.raises(ValueError, match="in the same order, got others"):
            decider.explain(decision, arms=wrong)
    assert decider.explain(decision, arms=X).reason == decider.explain(decision).reason


def test_after_the_smallest_change_of_one_feature_the_best_guess_is_another() -> None:
    decider, rng = played(), np.random.default_rng(1)
    kinds = set()
    for _ in range(20):
        arms = world(rng)
        decision = decider.ask(arms)
        said = decider.explain(decision).otherwise
        found = re.search(r"after which (.*) is (\w+) (\S+) to (\S+)$", said)
        assert found is not None
        aim = decider.subspace.project(decider.ridge.theta)
        X = arms[COLUMNS].to_numpy(copy=True)
        index = decision.index
        assert index is not None
        explored = index != int((X @ aim).argmax())
        kinds.add(explored)
        assert ("instead of" in said) == explored
        rival = int(np.argsort(X @ aim)[-1 if explored else -2])
        steps = (X[rival] - X[index]) @ aim / np.where(aim == 0, np.nan, aim)
        sizes = np.abs(steps) / np.where(X.std(axis=0) > 0, X.std(axis=0), np.nan)
        j = int(np.nanargmin(sizes))
        assert found[2] == COLUMNS[j]
        assert float(found[4]) == pytest.approx(X[index, j] + steps[j], rel=0.01, abs=0.01)
        assert f"arm {rival}" in found[1]
    assert kinds == {True, False}


def test_where_no_single_feature_can_change_nothing_is_said() -> None:
    decider = played()
    assert decider.explain(decider.ask(world(np.random.default_rng(1), arms=1))).otherwise == ""
    assert decider.explain(decider.ask(pb.Ball(d=4))).otherwise == ""
    tilted = pb.Decider(pb.GENTRY(), subspace=pb.Subspace.span(np.ones((2, 1))), seed=0)
    decision = tilted.ask(np.eye(2))
    tilted.tell(decision, 1.0)
    assert tilted.explain(tilted.ask(np.eye(2))).otherwise == ""
