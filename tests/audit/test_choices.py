"""Choices decided again: by `select` itself, with the same random numbers."""

import numpy as np

import projbandits as pb
from tests.audit import fooled
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
