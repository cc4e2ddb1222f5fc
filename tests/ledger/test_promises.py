"""What a ledger promises, whatever is stopped where: five promises, five tests."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits.deciding import offers
from tests import naive
from tests.deciders import some_arms
from tests.faults.disorder import Play
from tests.worlds import U3

HISTORY = np.random.default_rng(2).normal(size=(6, 4))


def played(url: str, steps: int = 60) -> tuple[list[pb.Decider], list[naive.Array]]:
    """Let two processes ask and tell in disorder, correct and take back some of it."""
    one = pb.Decider(pb.GENTRY(alpha=3.0), subspace=U3, seed=0, store=url, name="films")
    deciders = [one, pb.Decider.open(url, "films")]
    rng, order = np.random.default_rng(1), random.Random(1)
    offers = [some_arms(rng) for _ in range(5)]
    one.learn(HISTORY[:, :3], HISTORY[:, 3], request_id="old ratings")
    for t in range(steps):
        asker, teller = order.choice(deciders), order.choice(deciders)
        asker.ask(offers[t % 5], count=1 + t % 2, request_id=f"request {t}")
        waiting = [*teller.pending]
        if t % 3 and waiting:
            chosen = order.choice(waiting)
            teller.tell(chosen, float(rng.normal()))
            if t % 4 == 0:
                asker.amend(chosen, float(rng.normal()))
            if t % 7 == 0:
                teller.withdraw(chosen, "a robot")
    return deciders, offers


def test_what_was_acknowledged_is_there(url: str) -> None:
    one = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, store=url, name="films")
    asked = [one.ask(np.eye(3)) for _ in range(5)]
    one.tell(asked[0], 1.0)
    again = pb.Decider.open(url, "films")  # as if the first had been killed
    assert [d.id for d in again.pending] == [d.id for d in asked[1:]]
    assert (again.steps, again.ridge.n) == (5, 1)
    again.tell_many({d.id: 2.0 for d in asked[1:]})
    assert pb.Decider.open(url, "films").ridge.n == 5


def test_nothing_counts_twice(url: str) -> None:
    deciders, offers = played(url)
    one, other = deciders
    before = one.steps, one.ridge.n, one.history().position
    for record in one.history():
        if record.told:
            other.tell(record.event.id, record.outcome)
    for t in range(60):
        first = one.ask(offers[t % 5], count=1 + t % 2, request_id=f"request {t}")
        again = other.ask(offers[t % 5], count=1 + t % 2, request_id=f"request {t}")
        assert [(d.id, d.index, d.propensity) for d in first] == [
            (d.id, d.index, d.propensity) for d in again
        ]
    one.learn(HISTORY[:, :3], HISTORY[:, 3], request_id="old ratings")
    assert (other.steps, other.ridge.n, other.history().position) == before


def test_the_belief_is_that_of_the_outcomes_in_the_ledger(url: str) -> None:
    (one, other), _ = played(url)
    told = [record for record in one.history() if record.told]
    X = np.vstack([HISTORY[:, :3], *[record.arm for record in told]])
    r = np.append(HISTORY[:, 3], [record.outcome for record in told])
    _, theta, _ = naive.centred_ridge(X, r, 1.0)
    np.testing.assert_allclose(one.ridge.theta, theta, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(one.ridge.factor, other.ridge.factor)


def test_every_decision_can_be_decided_again(url: str) -> None:
    (one, _), _ = played(url)
    sessions = set()
    for record in one.history():
        choice = record.decide_again()
        assert choice.index == record.event.index
        assert choice.probability == record.event.propensity
        np.testing.assert_array_equal(choice.arm.x, record.arm)
        sessions.add(record.event.session)
    assert 0 in sessions
    assert len(sessions) == 2


def test_two_processes_never_share_an_id_and_see_each_other(url: str) -> None:
    one = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, store=url, name="films")
    other = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, store=url, name="films")
    ids, streams = set[str](), set[tuple[int, int]]()
    for t in range(20):
        asker, teller = (one, other) if t % 2 else (other, one)
        decision = asker.ask(np.eye(3))
        teller.tell(decision.id, float(t))
        after = asker.ask(np.eye(3))
        record = asker.history().find(after.id)
        assert record.known >= teller.history().position - 1
        assert after.grounds is not None
        assert after.grounds.state.ridge.n == t + 1
        ids |= {decision.id, after.id}
        streams |= {(record.event.session, record.event.draw)}
    assert len(ids) == 40
    assert len(streams) == 20
    assert one.steps == other.steps == 40


def test_processes_that_name_the_features_at_once_agree_on_their_order(url: str) -> None:
    one = pb.Decider(pb.GENTRY(schedule=lambda t: 0.0), subspace=U3, store=url, name="films")
    other = pb.Decider.open(url, "films", one.strategy)
    table = pd.DataFrame([[1.0, 2.0, 3.0], [0, 1, 0], [0, 0, 1]], columns=["a", "b", "c"])
    read, made = offers.read, list[pb.Decision]()

    def meanwhile(*arguments: Any) -> Any:
        """Read the offer, and have another process name the features before it is recorded."""
        found = read(*arguments)
        patched.setattr(offers, "read", read)
        made.append(other.ask(table[["c", "a", "b"]]))
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(offers, "read", meanwhile)
        made.append(one.ask(table))
    made.append(other.ask(table[["b", "c", "a"]]))
    assert one.columns == other.columns
    assert one.columns is not None
    for decision in made:
        np.testing.assert_array_equal(decision.arm, table[[*one.columns]].to_numpy()[0])


@pytest.mark.parametrize("seed", range(8))
def test_whatever_happened_the_belief_is_that_of_a_plain_list(seed: int, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/films.db"
    found = Play(url, "films", random.Random(seed)).all_of(50)
    assert not [what for what in found if what.isupper()]
    assert found["beliefs right"] == 4
