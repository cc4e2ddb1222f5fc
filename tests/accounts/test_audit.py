"""The audit: what it changes, counts and leaves out."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import projbandits as pb
from tests.films import COLUMNS, U, constant, played


def test_an_audit_says_what_it_left_out(tmp_path: Path) -> None:
    decider = played(steps=5)
    other = pb.Decider(pb.GENTRY(), subspace=U, log=True)
    other.ask(pb.Ball(d=4))
    with pytest.raises(ValueError, match="0 among too many arms to keep and 1 on infinite sets"):
        other.audit()
    decider.ask(pb.Ball(d=4))
    decider.save(tmp_path / "decider")
    for one in (decider, pb.Decider.load(tmp_path / "decider", decider.strategy)):
        table = one.audit().table
        assert table["value"]["decisions audited"] == 5
        assert table["meaning"]["decisions audited"] == "of 6 in the log"
        assert table["value"]["decisions left out"] == 1
        assert "0 among too many arms to keep, 1 on" in table["meaning"]["decisions left out"]


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
