"""What an audit concludes, and what it warns of."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import projbandits as pb
from tests.films import THETA, U, constant, played, world


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
