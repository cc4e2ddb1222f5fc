"""The audit as a whole: what it leaves out, counts, and concludes nothing from."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from tests import naive
from tests.audit import fooled
from tests.films import COLUMNS, THETA, U, constant, played, world


def test_an_audit_says_what_it_left_out(tmp_path: Path) -> None:
    decider = played(steps=5)
    other = pb.Decider(pb.GENTRY(), subspace=U)
    other.ask(pb.Ball(d=4))
    with pytest.raises(ValueError, match="that could be audited, got 1 on infinite sets"):
        other.audit()
    decider.ask(pb.Ball(d=4))
    decider.save(tmp_path / "decider")
    for one in (decider, pb.Decider.load(tmp_path / "decider", decider.strategy)):
        about = one.audit().about
        assert (about.decisions, about.looked_at, about.outcomes) == (6, 5, 5)
        assert about.left_out["infinite"] == 1
        assert about.position == one.history().position


def test_decisions_under_another_subspace_are_counted_apart() -> None:
    decider = played(steps=20)
    decider.reconfigure(subspace=pb.Subspace.without("group", columns=COLUMNS))
    for decision in decider.ask(world(np.random.default_rng(5)), count=2):
        decider.tell(decision.id, 1.0)
    about = decider.audit().about
    assert (about.looked_at, about.left_out["other subspace"]) == (2, 20)
    assert about.protected == ("group",)


def test_of_many_decisions_a_sample_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    decider = fooled.honest(pb.GENTRY(), steps=120)
    whole = decider.audit()
    monkeypatch.setattr("projbandits.audit.sample.DECIDED_AGAIN", 40)
    monkeypatch.setattr("projbandits.audit.sample.SELECTED_AGAIN", 20)
    some = decider.audit()
    assert 20 < some.about.looked_at < 60
    assert 5 < some.about.decided_again < some.about.looked_at
    assert some.about.left_out["not drawn"] == 120 - some.about.looked_at
    same = ["offered", "chosen"]
    pd.testing.assert_frame_equal(whole.exposure.table[same], some.exposure.table[same])
    assert some.about.outcomes == 120


@pytest.mark.parametrize("strategy", [pb.GENTRY, pb.CURSE, pb.REGRET])
def test_an_audit_counts_what_was_given_up(strategy: Any) -> None:
    decider = played(strategy(schedule=constant), steps=25)
    costs = decider.audit().given_up
    log = decider.log()
    arms = log[[f"x[{name}]" for name in COLUMNS]].to_numpy()
    _, theta, _ = naive.centred_ridge(arms, log["outcome"].to_numpy(), 1.0)
    kept = 4 if strategy is pb.CURSE else 2
    lost = []
    for row in log.to_dict("records"):
        X = np.asarray(row["offered"]).reshape(-1, 4)
        known = np.asarray(row["belief"]).reshape(6, 6)[1:, 1:]
        R, z = known[:4, :4], known[:4, 4]
        then = np.linalg.solve(R.T @ R + np.eye(4), R.T @ z)
        wanted = X[(X[:, :kept] @ theta[:kept]).argmax()] @ theta
        guess = X[(X[:, :kept] @ then[:kept]).argmax()] @ theta
        chosen = X[row["position"]] @ theta
        lost.append(((X @ theta).max() - wanted, wanted - guess, guess - chosen))
    np.testing.assert_allclose(costs, np.mean(lost, axis=0), atol=1e-12)
    assert costs.total == pytest.approx(sum(costs))
    if strategy is pb.CURSE:  # it projects nothing
        assert costs.projection == 0


def test_choices_that_follow_a_proxy_are_not_cleared() -> None:
    audit = played(pb.EIIDS(), steps=200).audit()
    assert audit.scores.found is False
    assert audit.exposure.found is True
    assert audit.influence == "unclear"
    assert "kept features that stand in for it" in audit.verdict
    assert any("'length' alone" in said for said in audit.warnings)
    assert str(audit).startswith(audit.verdict)


def test_a_strategy_that_learns_on_projections_is_never_cleared() -> None:
    audit = fooled.honest(pb.REGRET(), effect=0.0).audit()
    assert audit.leak.found is False
    assert audit.influence == "unclear"
    assert "learns on projected arms" in audit.verdict
    leaky = played(pb.REGRET(schedule=constant), steps=200, intercept=False).audit()
    assert leaky.influence == "found"  # groups have an effect, and no level takes it


def test_where_nothing_varies_or_is_known_an_audit_concludes_nothing() -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0)
    rng = np.random.default_rng(0)
    decider.ask(world(rng).assign(group=1.0))
    assert "no outcome was known" in decider.audit().verdict
    for _ in range(20):
        decision = decider.ask(world(rng).assign(group=1.0))
        decider.tell(decision.id, float(decision.arm @ THETA))
    assert "'group' never varied in what was offered" in str(decider.audit())
    decider = pb.Decider(pb.CURSE(), subspace=U, seed=0)
    for _ in range(20):
        decision = decider.ask(world(rng).assign(group=1.0, age=0.5))
        decider.tell(decision.id, float(decision.arm @ THETA))
    audit = decider.audit()
    assert audit.influence == "unclear"
    assert "the protected part never varied" in audit.verdict
    assert sum("nothing can be concluded about it" in text for text in audit.warnings) == 2


@pytest.mark.parametrize("A", [np.eye(3), np.random.default_rng(3).normal(size=(3, 3))])
def test_where_nothing_is_protected_an_audit_raises_no_alarm(A: Any) -> None:
    rng = np.random.default_rng(0)
    decider = pb.Decider(pb.GENTRY(), subspace=pb.Subspace.span(A), seed=0)
    arms = rng.normal(size=(4, 3))
    arms = np.vstack([arms, -arms, arms[:, ::-1]])  # many pivots tie up to rounding
    for _ in range(40):
        decision = decider.ask(rng.permutation(arms))
        decider.tell(decision.id, float(rng.normal()))
    audit = decider.audit()
    assert audit.influence == "unclear"
    assert "nothing is protected" in audit.verdict
    assert audit.choices.share.value == 0
    assert audit.given_up.projection == pytest.approx(0, abs=1e-12)
    assert audit.warnings == []
    plt.close(audit.plot())


def test_any_subspace_can_be_audited() -> None:
    rng = np.random.default_rng(0)
    subspace = pb.Subspace.span(rng.normal(size=(3, 2)))
    decider = pb.Decider(pb.ProjectedTS(), subspace=subspace, seed=0)
    for _ in range(100):
        decision = decider.ask(rng.normal(size=(5, 3)))
        decider.tell(decision.id, float(rng.normal()))
    audit = decider.audit()
    assert audit.influence == "none"
    assert audit.scores.largest == 0  # what rounding made is none
    assert len(audit.leak.table) == 2
    assert len(audit.proxies) == 1
    plt.close(audit.plot())


def test_what_the_audit_is_asked_for_must_be_there() -> None:
    decider = played(steps=5)
    with pytest.raises(ValueError, match=r"by must be a column of .* of meta, .* got 'page'"):
        decider.audit(by="page")
    with pytest.raises(
        TypeError, match="by must be a column of the context or a key of meta, got 3"
    ):
        decider.audit(by=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no decision among finitely many arms"):
        pb.Decider(subspace=U).audit()
