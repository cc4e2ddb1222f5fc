"""What a decider can answer for: explanations, the log, the audit."""

import itertools
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits.online.audit import Audit
from projbandits.online.journal import read
from projbandits.online.probabilities import probabilities
from projbandits.online.protected import Protected, groups
from projbandits.online.proxies import predicted

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


def test_exploring_a_convex_set_is_told_in_words_that_fit() -> None:
    decider = pb.Decider(pb.GENTRY(schedule=lambda t: 1.0), subspace=U, seed=0)
    cold = decider.explain(decider.ask(pb.Box(-np.ones(4), np.ones(4)))).reason
    assert "all estimates of the projection reward tie at 0" in cold
    decider.learn(np.eye(4), THETA)
    reason = decider.explain(decider.ask(pb.Ball(d=4))).reason
    assert reason.startswith("exploration: this point was chosen to learn from")
    assert "The best guess was another point, with " in reason


@pytest.mark.parametrize("spilt", [False, True])
def test_after_a_file_an_infinite_set_must_be_passed_again(tmp_path: Path, spilt: bool) -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0, log=True)
    decider.learn(np.eye(4), THETA)
    decision = decider.ask(pb.Ball(d=4))
    expected = str(decider.explain(decision))
    decider.tell(decision.id, 1.0)
    if spilt:
        decider.spill(tmp_path / "told.parquet")
    decider.save(tmp_path / "decider")
    loaded = pb.Decider.load(tmp_path / "decider")
    with pytest.raises(ValueError, match=r"made in an infinite set, .* explain\(decision, arms"):
        loaded.explain(decision.id)
    assert str(loaded.explain(decision.id, arms=pb.Ball(d=4))) == expected
    for wrong in (pb.Ball(d=4, radius=0.1), np.eye(4)):
        with pytest.raises(ValueError, match="arms must be what was on offer to decision"):
            loaded.explain(decision.id, arms=wrong)


def test_where_estimates_tie_the_best_guess_is_the_first() -> None:
    decider = pb.Decider(pb.GENTRY(schedule=lambda t: 1.0), subspace=U, seed=0, log=True)
    kinds = []
    for _ in range(12):  # nothing is told, so all estimates are zero
        decision = decider.ask(np.eye(4))
        reason = decider.explain(decision).reason
        assert reason.startswith("best guess" if decision.index == 0 else "exploration")
        assert "all estimates of the projection reward tie at 0" in reason
        kinds.append(decision.index != 0)
    assert {*kinds} == {True, False}
    # The audit counts the same: arms 2 and 3 are (1, 0) and (0, 1) in the protected columns.
    explored = decider.audit().groups.set_index(["column", "group"])["explored"]
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


def test_arms_too_many_to_keep_are_explained_among_what_was_left(tmp_path: Path) -> None:
    big = np.random.default_rng(0).normal(size=(30_000, 4))
    decider = pb.Decider(pb.GENTRY(schedule="smooth"), subspace=U, seed=0, log=True)
    decider.learn(big[:50], big[:50] @ THETA)
    first, second = decider.ask(big, count=2)
    assert second.index is not None
    decider.save(tmp_path / "decider")
    with pytest.raises(ValueError, match="among too many arms to keep"):
        decider.explain(second)
    for explain in (decider.explain, pb.Decider.load(tmp_path / "decider").explain):
        table = explain(second.id, arms=big).table
        assert len(table) == len(big) - 1
        assert first.index not in table.index
        assert table.index[table["chosen"]].tolist() == [second.index]
        assert first.index in explain(first.id, arms=big).table.index
    for wrong in (big[:5], big[::-1], big[: second.index + 1], pb.Ball(d=4, radius=9.0)):
        with pytest.raises(ValueError, match="arms must be what was on offer to decision"):
            decider.explain(second, arms=wrong)


def test_features_may_be_called_as_the_parts_of_an_explanation() -> None:
    names = ["counted", "ignored", "chosen", "probability"]
    decider = pb.Decider(subspace=pb.Subspace.without("chosen", columns=names), seed=0)
    table = decider.explain(decider.ask(pd.DataFrame(np.eye(4), columns=names))).table
    np.testing.assert_array_equal(table[[f"x[{name}]" for name in names]], np.eye(4))
    assert table["chosen"].sum() == 1


def test_only_a_decision_or_its_id_can_be_explained() -> None:
    with pytest.raises(TypeError, match="decision must be a Decision or its id, got 3"):
        played(steps=1).explain(3)  # type: ignore[arg-type]


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


class Worst(pb.GENTRY):
    """GENTRY that plays the arm it thinks least of."""

    def greedy(self, state: pb.State, arms: pb.DecisionSet) -> pb.Arm:
        return arms.best(-self.aim(state))


class Firm(pb.GENTRY):
    """Chooses otherwise than the probabilities of its family say."""

    def select(self, state: pb.State, arms: pb.DecisionSet, rng: np.random.Generator) -> pb.Choice:
        return pb.Choice(arms.basis_arms()[2], 1.0)


@pytest.mark.parametrize(
    "strategy",
    [pb.GENTRY(schedule=constant), pb.UE(), Worst(schedule=constant), Firm(schedule=constant)],
    ids=repr,
)
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
    assert audit.role is False
    assert audit.verdict.startswith("The protected part played no role in what was wanted")
    # Which arms are explored depends on whole arms, and the audit says so.
    assert value["choice probabilities that changed"] > 0
    assert 0 < audit.shifts.max() <= 0.4 + 1e-12  # epsilon is all that can move
    assert "It did in exploring" in audit.verdict
    assert "exploration, which looks at whole arms" in str(audit)
    assert str(audit).startswith(audit.verdict)


def test_an_audit_warns_of_a_strategy_that_aims_at_the_return() -> None:
    audit = played(pb.CURSE(schedule=constant)).audit()
    value = audit.table["value"]
    assert value["largest change of a score"] > 0.1
    assert value["best guesses that changed"] > 0
    assert audit.role is True
    assert audit.verdict.startswith("The protected part played a role in what was wanted")
    assert f"{value['best guesses that changed']} of 60 best guesses changed" in audit.verdict
    assert "aims at the return, so the protected part counts" in audit.warnings[0]
    assert "which looks at whole arms" not in str(audit)


def test_an_audit_warns_of_a_strategy_that_learns_on_projections() -> None:
    audit = played(pb.REGRET(schedule=constant)).audit()
    assert audit.table["value"]["best guesses that changed"] == 0
    assert audit.role is None
    assert "learns on projected arms" in audit.verdict
    assert "its scores may rest on it" in audit.warnings[0]


def test_where_nothing_varies_or_is_known_an_audit_concludes_nothing() -> None:
    for strategy in (pb.CURSE(), pb.GENTRY()):
        decider = pb.Decider(strategy, subspace=U, seed=0, log=True)
        rng = np.random.default_rng(0)
        decider.ask(world(rng).assign(group=1.0))
        assert "no outcome was known" in decider.audit().verdict
        for _ in range(20):
            decision = decider.ask(world(rng).assign(group=1.0))
            decider.tell(decision.id, float(decision.arm @ THETA))
        assert (decider.audit().role is True) == isinstance(strategy, pb.CURSE)  # by age
        assert "'group' never varied in what was offered" in str(decider.audit())
    decider = pb.Decider(pb.CURSE(), subspace=U, seed=0, log=True)
    for _ in range(20):
        decision = decider.ask(world(rng).assign(group=1.0, age=0.5))
        decider.tell(decision.id, float(decision.arm @ THETA))
    audit = decider.audit()
    assert audit.role is None
    assert "the protected part never varied" in audit.verdict
    assert sum("nothing can be concluded about it" in text for text in audit.warnings) == 2


@pytest.mark.parametrize("A", [np.eye(3), np.random.default_rng(3).normal(size=(3, 3))])
def test_where_nothing_is_protected_an_audit_raises_no_alarm(A: Any) -> None:
    rng = np.random.default_rng(0)
    decider = pb.Decider(pb.GENTRY(), subspace=pb.Subspace.span(A), seed=0, log=True)
    arms = rng.normal(size=(4, 3))
    arms = np.vstack([arms, -arms, arms[:, ::-1]])  # many pivots tie up to rounding
    for _ in range(40):
        decision = decider.ask(rng.permutation(arms))
        decider.tell(decision.id, float(rng.normal()))
    audit = decider.audit()
    value = audit.table["value"]
    assert audit.role is None
    assert audit.verdict == "Nothing is protected: the subspace is the whole space."
    assert value["choice probabilities that changed"] == 0
    assert value["return given up by the projection"] == pytest.approx(0, abs=1e-12)
    assert audit.warnings == []
    plt.close(audit.plot())


def test_an_audit_says_what_it_left_out(tmp_path: Path) -> None:
    decider = played(steps=5)
    decider.ask(np.random.default_rng(0).normal(size=(30_000, 4)))
    other = pb.Decider(pb.GENTRY(), subspace=U, log=True)
    other.ask(pb.Ball(d=4))
    with pytest.raises(ValueError, match="0 among too many arms to keep and 1 on infinite sets"):
        other.audit()
    decider.ask(pb.Ball(d=4))
    decider.save(tmp_path / "decider")
    for one in (decider, pb.Decider.load(tmp_path / "decider", decider.strategy)):
        table = one.audit().table
        assert table["value"]["decisions audited"] == 5
        assert table["meaning"]["decisions audited"] == "of 7 in the log"
        assert table["value"]["decisions left out"] == 2
        assert "1 among too many arms to keep, 1 on" in table["meaning"]["decisions left out"]


def test_an_audit_of_greedy_choices_finds_no_change_at_all() -> None:
    audit = played(pb.GENTRY(schedule=lambda t: 0.0)).audit()
    assert audit.table["value"]["choice probabilities that changed"] == 0


@pytest.mark.parametrize("strategy", [pb.GENTRY, pb.CURSE, pb.REGRET])
def test_an_audit_counts_what_was_given_up(strategy: Any) -> None:
    decider = played(strategy(schedule=constant), steps=25)
    value = decider.audit().table["value"]
    log = decider.log()
    arms = log[[f"x[{name}]" for name in COLUMNS]].to_numpy()
    theta = np.linalg.solve(arms.T @ arms + np.eye(4), arms.T @ log["reward"])
    kept = 4 if strategy is pb.CURSE else 2
    lost = []
    for row in log.to_dict("records"):
        X = np.asarray(row["offered"]).reshape(-1, 4)
        known = np.asarray(row["belief"]).reshape(5, 5)
        R, z = known[:4, :4], known[:4, 4]
        then = np.linalg.solve(R.T @ R + np.eye(4), R.T @ z)
        wanted = X[(X[:, :kept] @ theta[:kept]).argmax()] @ theta
        guess = X[(X[:, :kept] @ then[:kept]).argmax()] @ theta
        chosen = X[row["position"]] @ theta
        lost.append(((X @ theta).max() - wanted, wanted - guess, guess - chosen))
    parts = [value[f"return given up by {x}"] for x in ("the projection", "learning", "exploring")]
    np.testing.assert_allclose(parts, np.mean(lost, axis=0), atol=1e-12)
    assert value["return given up"] == pytest.approx(sum(parts))
    if strategy is pb.CURSE:  # it projects nothing
        assert parts[0] == 0


def test_groups_and_proxies_are_counted() -> None:
    decider = played(steps=200)
    audit = decider.audit()
    shares = audit.groups.set_index(["column", "group"])
    log = decider.log()
    offered = np.vstack([np.asarray(x).reshape(-1, 4) for x in log["offered"]])
    assert shares.loc[("group", "1"), "offered"] == pytest.approx(offered[:, 2].mean())
    assert shares.loc[("group", "1"), "chosen"] == pytest.approx(log["x[group]"].mean())
    np.testing.assert_allclose(audit.groups.groupby("column")["explored"].sum(), 1.0)
    assert (audit.groups["column"] == "age").sum() == 3
    assert len(audit.warnings) == 1
    assert "of the variance of 'age'" in audit.warnings[0]
    assert "'length' alone" in audit.warnings[0]
    assert audit.warnings[0] in str(audit)


def test_a_proxy_predicts_arms_that_were_left_out() -> None:
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    Z[:, 2] = Z[:, 0] - Z[:, 1]  # adds nothing
    y += Z[:, 0]
    design = np.column_stack([np.ones(30), Z[:, :2]])
    errors, spread = 0.0, 0.0
    for i in range(30):
        others = np.arange(30) != i
        fit = np.linalg.lstsq(design[others], y[others], rcond=None)[0]
        errors += (y[i] - design[i] @ fit) ** 2
        spread += (y[i] - y[others].mean()) ** 2
    assert predicted(Z, y) == pytest.approx(1 - errors / spread)
    assert predicted(rng.normal(size=(30, 5)), rng.normal(size=30)) < 0.1
    alone = np.zeros((30, 1))
    alone[7] = 1.0  # an arm that decides a coefficient by itself
    assert predicted(alone, y) == pytest.approx(0.0, abs=0.1)


def audited(arms: Any, protected: str, steps: int = 3) -> Audit:
    subspace = pb.Subspace.without(protected, columns=arms.columns)
    decider = pb.Decider(pb.GENTRY(), subspace=subspace, seed=0, log=True)
    for _ in range(steps):
        decider.tell(decider.ask(arms).id, 1.0)
    return decider.audit()


def test_few_arms_cannot_tell_a_proxy() -> None:
    names = [f"f{j}" for j in range(8)]
    arms = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 9)), columns=[*names, "race"])
    audit = audited(arms, "race", steps=50)  # the same nine each time
    assert audit.proxies["r2"].isna().all()
    assert audit.warnings == [
        "9 distinct arms are too few to tell whether the kept features stand in for 'race'"
    ]


def test_a_proxy_may_stand_in_by_its_square() -> None:
    rng = np.random.default_rng(0)
    arms = pd.DataFrame(rng.normal(size=(2000, 3)), columns=["a", "b", "race"])
    arms["race"] = (arms["a"].abs() > 0.67).astype(float)
    audit = audited(arms, "race")
    row = audit.proxies.loc["race"]
    assert row["r2"] < 0.01
    assert row["r2_squares"] > 0.3
    assert row["closest"] == "a"
    assert "with squares, 'a' alone" in audit.warnings[0]


def test_any_subspace_can_be_audited() -> None:
    rng = np.random.default_rng(0)
    decider = pb.Decider(subspace=pb.Subspace.span(rng.normal(size=(3, 2))), seed=0, log=True)
    for _ in range(10):
        decision = decider.ask(rng.normal(size=(5, 3)))
        decider.tell(decision.id, float(rng.normal()))
    audit = decider.audit()
    assert audit.role is False
    assert audit.table["value"]["largest change of a score"] == 0  # what rounding made is none
    assert audit.table["value"]["best guesses that changed"] == 0
    assert len(audit.proxies) == 1
    assert audit.groups["column"].tolist() == [audit.proxies.index[0]] * 3
    np.testing.assert_allclose(audit.groups[["offered", "chosen"]].sum(), 1.0)
    plt.close(audit.plot())


def test_an_audit_changes_all_that_is_protected_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    X, others = rng.normal(size=(2, 20, 5))
    for subspace in (
        pb.Subspace.span(rng.normal(size=(5, 3))),
        pb.Subspace.coordinates([0, 3], d=5),
    ):
        swapped = Protected.of(subspace, None, X).swapped(X, others)
        rest = subspace.complement()
        np.testing.assert_allclose(subspace.project(swapped), subspace.project(X), atol=1e-12)
        np.testing.assert_allclose(rest.project(swapped), rest.project(others), atol=1e-12)


def test_groups_of_a_column_hold_each_arm_once() -> None:
    rng = np.random.default_rng(0)
    mostly = np.where(rng.random(100) < 0.8, 0.0, rng.normal(size=100))
    for values in (mostly, -np.abs(mostly), rng.normal(size=100), np.arange(3) / 3):
        found = groups(values)
        assert (sum(inside(values).astype(int) for _, inside in found) == 1).all()
        assert all(inside(values).any() for _, inside in found)
        assert len({label for label, _ in found}) == len(found)
    assert [label for label, _ in groups(np.array([-0.2585731, 1.0]))] == ["-0.259", "1"]
    assert [label for label, _ in groups(np.array([0.12341, 0.12342]))] == ["0.12341", "0.12342"]


def texts(ax: Any) -> list[str]:
    return [text.get_text().strip() for text in ax.texts]


def test_an_audit_is_drawn() -> None:
    audit = played().audit()
    figure = audit.plot()
    assert " ".join(figure.get_suptitle().split()) == audit.verdict
    changes, costs, carried, shares = figure.axes
    assert texts(changes)[:2] == ["0 %", "0 %"]
    bars = [bar.get_width() for bar in costs.patches]
    assert sum(bars) == pytest.approx(audit.table["value"]["return given up"])
    assert [label.get_text() for label in carried.get_yticklabels()] == ["group", "age"]
    labels = [label.get_text() for label in shares.get_yticklabels()]
    assert labels[:4] == ["group", "0", "1", "age"]
    bottom, top = shares.get_ylim()
    assert bottom > top  # the first group stands on top
    assert [line.get_label() for line in shares.lines[:4]] == [*audit.groups.columns[2:]]
    for i, part in enumerate(audit.groups.columns[2:]):
        np.testing.assert_array_equal(shares.lines[i].get_xdata(), audit.groups[part])
    plt.close(figure)


def test_what_is_unknown_is_drawn_as_unknown() -> None:
    figure = played(pb.ProjectedTS(), steps=5).audit().plot()
    assert texts(figure.axes[0]) == ["0 %", "0 %", "unknown", "unknown"]
    assert "in exploring is unknown" in " ".join(figure.get_suptitle().split())
    plt.close(figure)


def test_many_protected_columns_have_room() -> None:
    names = [f"feature_{j}" for j in range(8)]
    decider = pb.Decider(subspace=pb.Subspace.without(names[2:], columns=names), seed=0, log=True)
    decider.tell(decider.ask(np.random.default_rng(0).normal(size=(40, 8))).id, 1.0)
    figure = decider.audit().plot()
    figure.draw_without_rendering()
    for ax in figure.axes:
        boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
        assert all(a.y0 >= b.y1 for a, b in itertools.pairwise(boxes))
    title = figure._suptitle.get_window_extent()
    assert title.x1 <= figure.bbox.x1
    assert title.y0 >= max(ax.get_tightbbox().y1 for ax in figure.axes)
    plt.close(figure)


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
