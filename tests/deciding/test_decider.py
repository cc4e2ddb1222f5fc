"""Deciding online: ask, tell in any order, learn."""

import copy
import math
import pickle
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.exceptions import UnknownDecisionError
from projbandits.ledger.streams import Streams
from tests import naive
from tests.deciders import fingerprint, some_arms
from tests.worlds import U3


@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.CURSE(), pb.REGRET(), pb.UE()], ids=repr)
def test_told_at_once_it_is_the_strategy_itself(strategy: pb.GENTRY) -> None:
    rng, streams = np.random.default_rng(0), Streams(5)
    decider = pb.Decider(strategy, subspace=U3, seed=5, intercept=False)
    state = strategy.init(pb.FiniteArms(np.eye(3)), U3)
    for t in range(60):
        X = some_arms(rng, arms=4 + t % 3)
        decision = decider.ask(X)
        choice = strategy.select(state, pb.FiniteArms(X), streams.at(session=0, draw=t))
        assert (decision.index, decision.propensity) == (choice.index, choice.probability)
        np.testing.assert_array_equal(decision.arm, choice.arm.x)
        outcome = float(rng.normal())
        decider.tell(decision.id, outcome)
        state = strategy.update(state, choice.arm, outcome)
    np.testing.assert_array_equal(decider.ridge.factor, state.ridge.factor)
    assert decider.steps == 60


def test_the_estimate_comes_with_its_standard_error() -> None:
    rng = np.random.default_rng(1)
    X, r = some_arms(rng, 30), rng.normal(size=30)
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    assert math.isnan(decider.ask(X).standard_error)
    decider.learn(X, r)
    decision = decider.ask(X)
    V, theta, level = naive.centred_ridge(X, r, 1.0)
    P = np.diag([1.0, 1.0, 0.0])
    f = 1 + np.trace(np.linalg.solve(V, V - np.eye(3)))
    sigma2 = (((r - level - X @ theta) ** 2).sum() + theta @ theta) / (30 - f)
    x = P @ decision.arm
    assert decision.estimate == pytest.approx(x @ theta, rel=1e-10)
    S, without_penalty = V - np.eye(3), np.linalg.lstsq(X - X.mean(axis=0), r, rcond=None)[0]
    variance = sigma2 * x @ np.linalg.solve(S, x) + (x @ (without_penalty - theta)) ** 2
    assert decision.standard_error == pytest.approx(math.sqrt(variance), rel=1e-10)


def test_steps_are_decisions_however_late_the_outcomes() -> None:
    rng = np.random.default_rng(3)
    seen = []

    def schedule(t: int) -> float:
        seen.append(t)
        return 1.0

    decider = pb.Decider(pb.GENTRY(schedule=schedule), subspace=U3, seed=0)
    first = decider.ask(some_arms(rng))
    decider.ask(some_arms(rng), count=3)
    decider.tell(first.id, 1.0)
    seen.clear()
    assert decider.ask(some_arms(rng)).step == 5
    assert max(seen) == 5


def test_from_four_threads_nothing_is_lost() -> None:
    theta, told = np.array([1.0, -2.0, 0.5]), list[tuple[naive.Array, float]]()
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)

    def work(worker: int) -> None:
        rng, order = np.random.default_rng(worker), random.Random(worker)
        sets = [some_arms(rng) for _ in range(20)]
        decisions = [decider.ask(sets[i % 20]) for i in range(2500)]
        order.shuffle(decisions)
        for decision in decisions:
            outcome = float(decision.arm @ theta + rng.normal())
            decider.tell(decision.id, outcome)
            told.append((decision.arm, outcome))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert decider.ridge.n == len(told) == decider.steps == 10_000
    assert decider.pending == ()
    X, r = np.array([x for x, _ in told]), np.array([r for _, r in told])
    _, direct, _ = naive.centred_ridge(X, r, 1.0)
    np.testing.assert_allclose(decider.ridge.theta, direct, rtol=0, atol=1e-8)


def test_several_slots_are_distinct_and_each_has_its_propensity_given_those_before() -> None:
    rng = np.random.default_rng(4)
    X = some_arms(rng, 5)
    strategy = pb.GENTRY(schedule=lambda t: 0.6)
    counts: dict[tuple[int | None, ...], int] = {}
    stated: dict[tuple[int | None, ...], float] = {}
    decider = pb.Decider(strategy, subspace=U3, seed=0)
    decider.learn(X, rng.normal(size=5))
    n = 4000
    for _ in range(n):
        pair = decider.ask(X, count=2)
        key = tuple(d.index for d in pair)
        assert len(set(key)) == 2
        for decision in pair:
            np.testing.assert_array_equal(decision.arm, X[decision.index])
        counts[key] = counts.get(key, 0) + 1
        stated[key] = pair[0].propensity * pair[1].propensity
    assert sum(stated.values()) == pytest.approx(1.0)
    for key, p in stated.items():  # each within five standard errors
        assert abs(counts[key] / n - p) < 5 * math.sqrt(p * (1 - p) / n)
    everything = decider.ask(X, count=5)
    assert sorted(d.index for d in everything if d.index is not None) == [0, 1, 2, 3, 4]


def test_a_convex_set_may_be_offered() -> None:
    decider = pb.Decider(subspace=U3, seed=0)
    decision = decider.ask(pb.Ball(d=3, radius=2.0))
    assert decision.index is None
    assert np.linalg.norm(decision.arm) == pytest.approx(2.0)
    decider.tell(decision.id, 1.0)
    assert decider.ridge.n == 1


def test_changing_the_array_afterwards_changes_no_explanation() -> None:
    X = np.eye(3)
    decider = pb.Decider(subspace=U3, seed=0)
    decision = decider.ask(X)
    X[:] = 7.0
    assert decision.arm.max() == 1.0
    with pytest.raises(ValueError, match="read-only"):
        decision.arm[0] = 9.0
    np.testing.assert_array_equal(decider.explain(decision).table.iloc[:, :3], np.eye(3))
    again = decider.ask(X)
    np.testing.assert_array_equal(again.arm, [7.0, 7.0, 7.0])


def test_a_strategy_that_fails_leaves_the_decider_as_it_was() -> None:
    def schedule(t: int) -> float:
        if t == 3:
            raise RuntimeError("no more")
        return 1.0

    decider = pb.Decider(pb.GENTRY(schedule=schedule), subspace=U3, seed=0)
    decider.ask(np.eye(3))
    before = fingerprint(decider)
    with pytest.raises(RuntimeError, match="no more"):
        decider.ask(np.eye(3), count=2)
    assert fingerprint(decider) == before


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: pb.Decider("GENTRY", subspace=U3), TypeError, "strategy must be one like"),  # type: ignore[arg-type]
        (lambda: pb.Decider(subspace=np.eye(3)), TypeError, "subspace must be a Subspace"),  # type: ignore[arg-type]
        (lambda: pb.Decider(subspace=U3, seed=-1), ValueError, "seed must be at least 0"),
    ],
)
def test_bad_arguments_are_named(
    make: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


def test_copying_points_to_saving() -> None:
    decider = pb.Decider(subspace=U3, seed=0)
    for attempt in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="save it, and load the file"):
            attempt(decider)


def test_history_of_no_rows_changes_nothing() -> None:
    decider = pb.Decider(subspace=U3, seed=0)
    before = decider.ridge.factor.tobytes()
    decider.learn(np.empty((0, 3)), [])
    assert (decider.ridge.n, decider.ridge.factor.tobytes()) == (0, before)


@pytest.mark.parametrize("kept", [False, True])
def test_submitted_calls_are_those_of_ask_and_tell(tmp_path: Path, kept: bool) -> None:
    where: dict[str, Any] = (
        {"store": f"sqlite:///{tmp_path}/films.db", "name": "films"} if kept else {}
    )
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, **where)
    arms = some_arms(np.random.default_rng(0))
    one = decider.submit_ask(arms, request_id="first", meta={"page": 1}).result()
    two = decider.submit_ask(arms, count=2).result()
    assert (one.id, one.meta, len(two)) == ("first", {"page": 1}, 2)
    assert decider.submit_tell([(one, 1.0), (two[0].id, 0.0)]).result() is None
    assert [d.id for d in decider.pending] == [two[1].id]
    with pytest.raises(UnknownDecisionError):
        decider.submit_tell({"nobody": 1.0}).result()
    assert decider.belief().state.ridge.n == 2
