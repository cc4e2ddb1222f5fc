"""Open decisions: they count in the precision, and nothing else, wherever they are looked at."""

import math
import random
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import projbandits as pb
from projbandits.ledger.snapshots import restored, snapshot
from projbandits.strategies import State
from tests import naive
from tests.worlds import U3

X = np.random.default_rng(0).normal(size=(12, 3))
THETA = np.array([1.0, -0.5, 2.0])


def checked(decider: pb.Decider) -> None:
    """Every decision can be made again to the bit, and explained with its own probability."""
    for record in decider.history():
        event, again = record.event, record.decide_again()
        assert again.index == event.index
        assert again.probability == event.propensity or math.isnan(event.propensity)
        if event.index is not None and not math.isnan(event.propensity):
            table = decider.explain(event.id).table
            assert table["probability"].to_numpy()[table["chosen"]] == event.propensity


@given(st.randoms(use_true_random=False))
@settings(max_examples=15, deadline=None)
def test_what_a_strategy_knows_is_what_a_plain_list_says(chance: random.Random) -> None:
    """Any order of asking, telling, withdrawing, expiring, amending, forgetting and changing."""
    strategy = chance.choice([pb.EIIDS(), pb.REGRET(), pb.UE()])
    decider = pb.Decider(strategy, subspace=U3, seed=0)
    rng, records = np.random.default_rng(chance.randrange(99)), list[dict[str, Any]]()
    for _ in range(40):
        what = chance.choice(["ask", "ask", "ask", "tell", "tell", "withdraw", "amend", "decay"])
        waiting = [record for record in records if record["state"] == "open"]
        if what == "ask":
            for decision in decider.ask(X, count=chance.randint(1, 3)):
                records.append({"decision": decision, "state": "open", "weight": 0.0})
        elif what == "tell" and waiting:
            record, outcome = chance.choice(waiting), float(rng.normal())
            decider.tell(record["decision"], outcome)
            record |= {"state": "told", "outcome": outcome, "weight": 1.0}
        elif what == "withdraw" and records:
            record = chance.choice(records)
            decider.withdraw(record["decision"])
            record |= {"state": "gone"}
        elif what == "amend" and (told := [r for r in records if r["state"] == "told"]):
            record, outcome = chance.choice(told), float(rng.normal())
            decider.amend(record["decision"], outcome)
            record |= {"outcome": outcome}
        elif what == "decay":
            decider.decay(0.8)
            for record in records:
                record["weight"] *= 0.8
    if chance.random() < 0.3:
        decider.expire(1e-9)
        for record in records:
            record["state"] = "gone" if record["state"] == "open" else record["state"]
    (decision,) = decider.ask(X, count=1)
    assert decision.grounds is not None
    ridge = decision.grounds.state.ridge
    P = U3.matrix if strategy.learns_on == "projection" else np.eye(3)
    told = [record for record in records if record["state"] == "told"]
    counted = told + [record for record in records if record["state"] == "open"]
    arms = np.array([r["decision"].arm for r in counted]).reshape(-1, 3) @ P
    weights = np.array([r["weight"] if r["state"] == "told" else 1.0 for r in counted])
    if told:
        outcomes = np.array([r["outcome"] for r in told])
        n = len(told)
        _, theta, level = naive.centred_ridge(arms[:n], outcomes, strategy.penalty, weights[:n])
        np.testing.assert_allclose(ridge.theta, theta, atol=1e-8)
        assert ridge.level == pytest.approx(level, abs=1e-7)
    if len(counted):
        V, _, _ = naive.centred_ridge(arms, np.zeros(len(arms)), strategy.penalty, weights)
        np.testing.assert_allclose(ridge.inverse, np.linalg.inv(V), atol=1e-8)
        assert ridge.mass == pytest.approx(weights.sum())
        np.testing.assert_allclose(ridge.centre, weights @ arms / weights.sum(), atol=1e-9)
    checked(decider)


def test_told_at_once_they_make_no_difference() -> None:
    for strategy in (pb.EIIDS(), pb.UE(alpha=0.5), pb.ProjectedTS()):
        one = pb.Decider(strategy, subspace=U3, seed=0)
        rng = np.random.default_rng(1)
        for _ in range(30):
            decision = one.ask(X)
            assert decision.grounds is not None
            assert decision.grounds.state.ridge.open is None
            one.tell(decision, float(decision.arm @ THETA + rng.normal()))


@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.CURSE(), pb.REGRET()], ids=repr)
def test_greedy_strategies_choose_as_if_none_were_open(strategy: Any) -> None:
    decider = pb.Decider(strategy, subspace=U3, seed=0)
    for _ in range(10):
        decision = decider.ask(X)
        grounds = decision.grounds
        assert grounds is not None
        told = grounds.state._replace(ridge=grounds.state.ridge.told)
        assert strategy.greedy(told, grounds.arms).index == (
            strategy.greedy(grounds.state, grounds.arms).index
        )


def test_while_nothing_is_told_items_take_turns() -> None:
    decider = pb.Decider(subspace=U3, seed=0)
    assert len({decider.ask(X).index for _ in range(30)}) >= 4
    together = pb.Decider(subspace=U3, seed=0)
    found = {d.index for _ in range(10) for d in together.ask(X, count=3)}
    assert len(found) >= 4


def test_estimates_and_errors_are_those_of_what_was_told() -> None:
    decider = pb.Decider(pb.EIIDS(arm_effects=0.5), subspace=U3, seed=0)
    plain = pb.Decider(pb.EIIDS(), subspace=U3, seed=0)
    for one in (decider, plain):
        for x, r in zip(X, X @ THETA + 0.1 * np.arange(12) ** 2, strict=True):
            one.learn(x[None], [r], labels=[str(len(one.pending))])
        before = one.coefficients()
        first = one.ask(X, labels=range(12))
        later = [one.ask(first.arm[None], labels=[str(first.label)]) for _ in range(5)]
        for each in later:
            assert (each.estimate, each.standard_error) == (first.estimate, first.standard_error)
        assert one.coefficients().equals(before)


@pytest.mark.parametrize(
    "strategy", [pb.EIIDS(), pb.UE(), pb.EIIDS(arm_effects="auto"), pb.ProjectedTS()], ids=repr
)
def test_two_processes_on_one_store_and_snapshots_read_the_same(
    strategy: Any, tmp_path: Path
) -> None:
    url, rng = f"sqlite:///{tmp_path}/it.db", np.random.default_rng(0)
    one = pb.Decider(strategy, subspace=U3, seed=0, store=url, name="it")
    two, waiting = pb.Decider.open(url, "it"), list[pb.Decision]()
    for t in range(40):
        made = (one if t % 3 else two).ask(X, count=1 + t % 2, labels=range(12))
        waiting += made
        if t % 4:
            decision = waiting.pop(rng.integers(len(waiting)))
            (two if t % 2 else one).tell(decision, float(decision.arm @ THETA + rng.normal()))
    checked(one)
    live, third = one.belief(), pb.Decider.open(url, "it")
    for other in (two.belief(), third.belief(), one.history().folded(None, live.position)):
        assert live.open.count == len(waiting) == other.open.count
        assert live.open.factor.tobytes() == other.open.factor.tobytes()
        assert restored(snapshot(live)).open.factor.tobytes() == other.open.factor.tobytes()
    checked(third)
    for each in (one, two, third):
        each.close()


def test_decisions_of_a_batch_know_of_one_another(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/it.db"
    decider = pb.Decider(pb.EIIDS(), subspace=U3, seed=0, store=url, name="it")
    decider.ask(X, request_id="taken")

    def run(i: int) -> str:
        return decider.ask(X, request_id="taken" if i % 4 == 0 else f"id-{i}").id

    with ThreadPoolExecutor(12) as pool:
        ids = [*pool.map(run, range(48))]
    assert len({*ids}) == 37
    checked(decider)
    for step, record in enumerate(decider.history(), 1):
        assert record.event.step == step
        assert record.history.belief(record.known).open.count == step - 1
    decider.close()


def test_a_log_and_its_replay_know_what_was_open(tmp_path: Path) -> None:
    decider, rng = pb.Decider(pb.EIIDS(), subspace=U3, seed=0), np.random.default_rng(0)
    for t in range(40):
        decider.ask(X)
        if t % 3:
            first = decider.pending[0]
            decider.tell(first, float(first.arm @ THETA + 7.0 + rng.normal()))
    log = decider.log()
    told = log[log["outcome_position"] >= 0]
    decider.export(tmp_path / "log.parquet")
    P = np.pad(U3.matrix, (1, 0))
    for source in (decider, log, tmp_path / "log.parquet"):
        replay = pb.replay(source, pb.EIIDS())
        chances = np.array(told["probabilities"].to_list())
        np.testing.assert_allclose(
            replay.features, np.column_stack([np.ones(len(chances)), chances @ X]) @ P, atol=1e-12
        )


def test_a_users_own_strategy_sees_them() -> None:
    class Widest(pb.LinearStrategy):
        learns_on, aims_at = "arm", "projection"

        def select(self, state: State, arms: pb.DecisionSet, rng: Any) -> pb.Choice:
            assert isinstance(arms, pb.FiniteArms)
            return pb.Choice(arms.arm(int(state.ridge.width(arms.vectors).argmax())), 1.0)

    for intercept in (True, False):
        decider = pb.Decider(Widest(), subspace=U3, seed=0, intercept=intercept)
        assert {decider.ask(3 * np.eye(3)).index for _ in range(3)} == {0, 1, 2}


def test_it_warns_once_when_more_are_open_than_were_told() -> None:
    decider = pb.Decider(pb.UE(), subspace=U3, seed=0)
    for _ in range(100):
        decider.ask(X)
    with pytest.warns(UserWarning, match=r"more decisions are open \(100\).*expire\("):
        decider.ask(X)
    decider.ask(X)
    greedy = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    told = pb.Decider(pb.UE(), subspace=U3, seed=0)
    told.learn(np.tile(X, (10, 1)), np.arange(120.0))
    for _ in range(110):
        greedy.ask(X)
        told.ask(X)


def test_it_warns_of_decisions_that_expire_unheard_while_all_outcomes_are_equal() -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    decisions = [decider.ask(X) for _ in range(7)]
    decider.tell_many([(decision, 1.0) for decision in decisions[:2]])
    with pytest.warns(UserWarning, match=r"all 2 outcomes told are equal.*expire\(\"24h\", 0\.0\)"):
        assert len(decider.expire(1e-9)) == 5
    decider.ask(X)
    decider.expire(1e-9)  # said once
    other = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    for decision in [other.ask(X) for _ in range(20)]:
        if other.ridge.n < 10:
            other.tell(decision, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other.expire(1e-9, 0.0)
