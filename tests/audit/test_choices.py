"""Choices decided again: by `select` itself, with the same random numbers."""

from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.audit.choices import choices
from projbandits.audit.protected import Protected
from projbandits.audit.redecide import Case, DecidedAgain, sure
from projbandits.ledger.decision import Grounds
from projbandits.ledger.offer import Offer
from tests.audit import fooled
from tests.everyone import anywhere
from tests.films import played


def test_greedy_choices_do_not_change_at_all() -> None:
    choices = played(pb.GENTRY(schedule=lambda t: 0.0), steps=80).audit().choices
    assert choices.share.value == choices.shift.value == choices.size.value == 0
    assert choices.found is False


def test_only_what_is_explored_moves() -> None:
    choices = played().audit().choices
    assert 0 < np.nanmax(choices.shifts) <= 0.4 + 1e-12  # epsilon is all that can move
    assert choices.explored.value > choices.guesses.value
    assert choices.settled.value == 0
    assert choices.decisions == 60


@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.EIIDS(), pb.ProjectedTS()], ids=repr)
def test_the_same_arms_are_chosen_with_the_same_random_numbers(
    strategy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Protected, "swapped", lambda self, X, others: X.copy())
    choices = fooled.honest(strategy, steps=40).audit().choices
    assert choices.share.value == 0
    assert not choices.shift.value > 0


@pytest.mark.parametrize("strategy", anywhere(), ids=repr)
def test_once_sure_every_strategy_plays_its_best_guess(strategy: Any) -> None:
    rng = np.random.default_rng(0)
    U = pb.Subspace.coordinates([0, 1], d=4)
    X, other = rng.normal(size=(2, 7, 4))
    state = strategy.init(pb.FiniteArms(np.eye(4)), U)
    for x in rng.normal(size=(6, 4)):
        state = strategy.update(state, pb.Arm(x), float(x.sum() + rng.normal()))
    case = Case.of(Grounds(strategy, state, None, (), None), Offer(X), other, 0)
    certain = sure(case)
    np.testing.assert_allclose(strategy.aim(certain), strategy.aim(state), rtol=1e-9)
    choices = [strategy.select(certain, case.arms, np.random.default_rng(s)) for s in range(20)]
    best = [choice.index == case.guess for choice in choices]
    assert all(ok or c.probability <= 0.5 for ok, c in zip(best, choices, strict=True))
    assert any(best)


def test_a_few_decisions_under_a_new_subspace_clear_nobody() -> None:
    decider = fooled.honest(pb.ProjectedTS(), steps=100)
    rng = np.random.default_rng(0)
    assert decider.audit().influence == "none"
    decider.reconfigure(subspace=pb.Subspace.coordinates([0], d=4))
    for steps, cleared in ((1, False), (71, False), (1, True)):
        for _ in range(steps):
            decision = decider.ask(rng.normal(size=(8, 4)))
            decider.tell(decision, float(decision.arm @ [1.0, 0.5, 1.0, 1.0] + 0.3 * rng.normal()))
        audit = decider.audit()
        assert audit.choices.share.value == 0
        assert audit.choices.found is (False if cleared else None)
        assert audit.influence == ("none" if cleared else "unclear"), audit.verdict
        if not cleared:
            few = f"too few choices could be decided again ({audit.choices.decisions}, at least 73"
            assert few in audit.verdict
            assert "at least 73 are needed" in audit.choices.verdict


@pytest.mark.parametrize(("changed", "found"), [(0, False), (50, False), (51, None)])
def test_more_than_five_in_a_hundred_changed_choices_clear_nothing(
    changed: int, found: bool | None
) -> None:
    again = [DecidedAgain(i < changed, 0.1, 0.0, True, False, False, False) for i in range(1000)]
    answer = choices(again, [False] * 1000, varied=True, scores=False)
    assert answer.found is found
    assert answer.many is (found is None)
    assert answer.explores is (changed > 0)


@pytest.mark.parametrize(("strayed", "found"), [(0, False), (1, None), (10, True)])
def test_settled_choices_are_said_to_change_from_two_in_a_thousand_on(
    strayed: int, found: bool | None
) -> None:
    # The low ends of Wilson's intervals of 1 and 10 in 1,000 are 0.0002 and 0.005.
    again = [
        DecidedAgain(i < strayed, 0.1, 0.0, False, i < strayed, False, False) for i in range(1000)
    ]
    answer = choices(again, [False] * 1000, varied=True, scores=False)
    assert answer.found is found
    assert answer.settled.value == strayed / 1000
