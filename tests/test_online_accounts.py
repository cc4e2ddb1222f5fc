"""What a decider can answer for: explanations, the log, the audit."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits.online.journal import read
from projbandits.online.probabilities import probabilities

COLUMNS = ["drama", "length", "group", "age"]
U = pb.Subspace.without(["group", "age"], columns=COLUMNS)
THETA = np.array([1.0, -0.5, 2.0, 0.3])


def constant(t: int) -> float:
    return 0.4


def world(rng: np.random.Generator, arms: int = 6) -> pd.DataFrame:
    """Arms whose length leans on their age; the group is 0 or 1."""
    table = pd.DataFrame(rng.normal(size=(arms, 4)), columns=COLUMNS)
    table["group"] = rng.integers(2, size=arms)
    table["length"] = 0.9 * table["age"] + 0.1 * table["length"]
    return table


def played(strategy: Any = None, steps: int = 60, count: int = 1) -> pb.Decider:
    rng = np.random.default_rng(0)
    decider = pb.Decider(strategy or pb.GENTRY(schedule=constant), subspace=U, seed=0, log=True)
    for _ in range(steps):
        for decision in decider.ask(world(rng), count=count):
            decider.tell(decision.id, float(decision.arm @ THETA + rng.normal()))
    return decider


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


def test_without_a_log_an_id_is_not_enough() -> None:
    decider = pb.Decider(subspace=U, seed=0)
    decision = decider.ask(np.eye(4))
    for call in (lambda: decider.explain(decision.id), decider.log, decider.audit):
        with pytest.raises(ValueError, match=r"make it with Decider\(\.\.\., log=True\)"):
            call()
    with pytest.raises(ValueError, match="rested on was not kept"):
        decider.explain(decider.pending[0])


def test_later_choices_of_one_call_are_explained_among_what_was_left() -> None:
    decider = played()
    decisions = decider.ask(world(np.random.default_rng(2)), count=3)
    for given in (decisions[2], decisions[2].id):
        table = decider.explain(given).table
        taken = {d.index for d in decisions[:2]}
        assert set(table.index) == set(range(6)) - taken
        assert table.index[table["chosen"]].tolist() == [decisions[2].index]


def test_the_log_has_a_row_for_each_decision() -> None:
    decider = played(steps=10, count=2)
    pending = decider.ask(world(np.random.default_rng(5)))
    log = decider.log()
    assert log["step"].tolist() == list(range(1, 22))
    assert log["reward"].isna().tolist() == [False] * 20 + [True]
    assert log["id"].iloc[-1] == pending.id
    assert (log["told"][:20] >= log["asked"][:20]).all()
    for row in log.to_dict("records"):
        offered = np.asarray(row["offered"]).reshape(-1, 4)
        x = [row[f"x[{name}]"] for name in COLUMNS]
        np.testing.assert_array_equal(offered[row["position"]], x)
        assert row["probabilities"][row["position"]] == pytest.approx(row["propensity"])
    assert len(log["offered"][1]) == 5 * 4  # what the first choice left


def test_the_log_goes_to_parquet_and_back(tmp_path: Path) -> None:
    decider = played(steps=12)
    decider.ask(world(np.random.default_rng(5)))
    whole = decider.log()
    whole.to_parquet(tmp_path / "log.parquet")
    pd.testing.assert_frame_equal(read(tmp_path / "log.parquet"), whole, check_dtype=False)
    audit, explanation = decider.audit(), decider.explain(whole["id"][3])
    decider.spill(tmp_path / "told.parquet")
    assert len(decider._logged().entries) == 1
    pd.testing.assert_frame_equal(decider.log(), whole)
    assert str(decider.audit()) == str(audit)
    assert str(decider.explain(whole["id"][3])) == str(explanation)
    with pytest.raises(ValueError, match="path must be a new file"):
        decider.spill(tmp_path / "told.parquet")
    with pytest.raises(KeyError, match="must be in the log"):
        decider.explain("nobody-1")


@pytest.mark.parametrize("strategy", [pb.GENTRY(schedule=constant), pb.UE()], ids=repr)
def test_probabilities_of_all_arms_agree_with_choices(strategy: Any) -> None:
    rng = np.random.default_rng(3)
    arms = pb.FiniteArms(rng.normal(size=(7, 4)))
    state = strategy.init(arms, U)
    for i in range(7):
        state = strategy.update(state, arms.arm(i), float(rng.normal()))
    stated = probabilities(strategy, state, arms)
    assert stated is not None
    counts = np.zeros(7)
    for _ in range(3000):
        choice = strategy.select(state, arms, rng)
        assert choice.probability == pytest.approx(stated[choice.index])
        counts[choice.index] += 1
    assert (np.abs(counts / 3000 - stated) <= 5 * np.sqrt(stated / 3000)).all()


def test_the_protected_part_moves_no_score_and_no_best_guess() -> None:
    audit = played().audit()
    value = audit.table["value"]
    assert value["decisions audited"] == 60
    assert value["largest change of a score"] == 0.0
    assert value["best guesses that changed"] == 0
    # Which arms are explored depends on whole arms, and the audit says so.
    assert value["choice probabilities that changed"] > 0
    assert 0 < audit.shifts.max() <= 0.4 + 1e-12  # epsilon is all that can move
    careless = played(pb.CURSE(schedule=constant)).audit().table["value"]
    assert careless["largest change of a score"] > 0.1
    assert careless["best guesses that changed"] > 0


def test_an_audit_of_greedy_choices_finds_no_change_at_all() -> None:
    audit = played(pb.GENTRY(schedule=lambda t: 0.0)).audit()
    assert audit.table["value"]["choice probabilities that changed"] == 0


def test_an_audit_counts_what_was_given_up() -> None:
    decider = played(steps=25)
    value = decider.audit().table["value"]
    theta, lost, explored = decider.ridge.theta, [], []
    for row in decider.log().to_dict("records"):
        X = np.asarray(row["offered"]).reshape(-1, 4)
        known = np.asarray(row["belief"]).reshape(5, 5)
        R, z = known[:4, :4], known[:4, 4]
        then = np.linalg.solve(R.T @ R + np.eye(4), R.T @ z)
        guess = int((X[:, :2] @ then[:2]).argmax())
        lost.append((X @ theta).max() - X[guess] @ theta)
        explored.append((X[guess] - X[row["position"]]) @ theta)
    assert value["return given up by the projection"] == pytest.approx(np.mean(lost))
    assert value["return given up by exploring"] == pytest.approx(np.mean(explored))


def test_groups_and_proxies_are_counted() -> None:
    decider = played(steps=200)
    audit = decider.audit()
    groups = audit.groups.set_index(["column", "group"])
    log = decider.log()
    offered = np.vstack([np.asarray(x).reshape(-1, 4) for x in log["offered"]])
    assert groups.loc[("group", "1"), "offered"] == pytest.approx(offered[:, 2].mean())
    assert groups.loc[("group", "1"), "chosen"] == pytest.approx(log["x[group]"].mean())
    np.testing.assert_allclose(audit.groups.groupby("column")["explored"].sum(), 1.0)
    assert (audit.groups["column"] == "age").sum() == 3
    X = np.column_stack([np.ones(len(offered)), offered[:, :2]])
    fit = X @ np.linalg.inv(X.T @ X) @ X.T @ offered[:, 3]
    r2 = (
        1 - ((offered[:, 3] - fit) ** 2).sum() / ((offered[:, 3] - offered[:, 3].mean()) ** 2).sum()
    )
    assert audit.proxies.loc["age", "r2"] == pytest.approx(r2)
    assert len(audit.warnings) == 1
    assert "of the variance of 'age'" in audit.warnings[0]
    assert audit.warnings[0] in str(audit)


def test_any_subspace_can_be_audited() -> None:
    rng = np.random.default_rng(0)
    decider = pb.Decider(subspace=pb.Subspace.span(rng.normal(size=(3, 2))), seed=0, log=True)
    for _ in range(10):
        decision = decider.ask(rng.normal(size=(5, 3)))
        decider.tell(decision.id, float(rng.normal()))
    audit = decider.audit()
    assert audit.table["value"]["largest change of a score"] < 1e-12
    assert audit.table["value"]["best guesses that changed"] == 0
    assert len(audit.proxies) == 1
    assert len(audit.groups) == 0
    plt.close(audit.plot())


def test_an_audit_is_drawn() -> None:
    figure = played().audit().plot()
    titles = [ax.get_title() for ax in figure.axes]
    assert len(titles) == 3
    assert all(titles)
    plt.close(figure)
