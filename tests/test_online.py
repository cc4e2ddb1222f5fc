"""Deciding online: ask, tell in any order, learn, merge."""

import math
import random
import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import projbandits as pb
from projbandits.online import offers, outcomes
from projbandits.strategies.information import DRAWS, TURNS, normal_table
from tests import naive

U3 = pb.Subspace.coordinates([0, 1], d=3)
NAMED = pb.Subspace.without("age", columns=["age", "price", "size"])


def some_arms(rng: np.random.Generator, arms: int = 6, d: int = 3) -> naive.Array:
    return rng.normal(size=(arms, d))


def fingerprint(decider: pb.Decider) -> Any:
    """Everything that a refused call must leave as it was."""
    return (
        decider.ridge.factor.tobytes(),
        decider.steps,
        decider.columns,
        [d.id for d in decider.pending],
        dict(decider._outcomes.recent),
        repr(decider._rng.bit_generator.state),
    )


@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.CURSE(), pb.REGRET(), pb.UE()], ids=repr)
def test_told_at_once_it_is_the_strategy_itself(strategy: pb.GENTRY) -> None:
    rng, own = np.random.default_rng(0), np.random.default_rng(5)
    decider = pb.Decider(strategy, subspace=U3, seed=5)
    state = strategy.init(pb.FiniteArms(np.eye(3)), U3)
    for t in range(60):
        X = some_arms(rng, arms=4 + t % 3)
        decision = decider.ask(X)
        choice = strategy.select(state, pb.FiniteArms(X), own)
        assert (decision.index, decision.propensity) == (choice.index, choice.probability)
        np.testing.assert_array_equal(decision.arm, choice.arm.x)
        reward = float(rng.normal())
        decider.tell(decision.id, reward)
        state = strategy.update(state, choice.arm, reward)
    np.testing.assert_array_equal(decider.ridge.factor, state.ridge.factor)
    assert decider.steps == 60


def test_the_estimate_comes_with_its_standard_error() -> None:
    rng = np.random.default_rng(1)
    X, r = some_arms(rng, 30), rng.normal(size=30)
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    assert math.isnan(decider.ask(X).standard_error)
    decider.learn(X, r)
    decision = decider.ask(X)
    V, theta = naive.ridge(X, r, 1.0)
    P = np.diag([1.0, 1.0, 0.0])
    f = np.trace(np.linalg.solve(V, X.T @ X))
    sigma2 = (((r - X @ theta) ** 2).sum() + theta @ theta) / (30 - f)
    x = P @ decision.arm
    assert decision.estimate == pytest.approx(x @ theta, rel=1e-10)
    assert decision.standard_error == pytest.approx(
        math.sqrt(sigma2 * x @ np.linalg.solve(V, x)), rel=1e-10
    )


@given(st.randoms(use_true_random=False), st.integers(1, 40))
def test_the_order_of_telling_does_not_matter(order: random.Random, n: int) -> None:
    rng = np.random.default_rng(2)
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    decisions = [decider.ask(some_arms(rng)) for _ in range(n)]
    assert [d.id for d in decider.pending] == [d.id for d in decisions]
    rewards = rng.normal(size=n)
    pairs = list(zip(decisions, rewards.tolist(), strict=True))
    order.shuffle(pairs)
    half = n // 2
    for decision, reward in pairs[:half]:
        decider.tell(decision.id, reward)
    decider.tell_many({decision.id: reward for decision, reward in pairs[half:]})
    _, theta = naive.ridge(np.array([d.arm for d in decisions]), rewards, 1.0)
    np.testing.assert_allclose(decider.ridge.theta, theta, rtol=0, atol=1e-10)
    assert decider.pending == ()
    assert decider.steps == n


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


def test_telling_twice_the_same_is_harmless_and_otherwise_an_error() -> None:
    decider = pb.Decider(subspace=U3, seed=0)
    decision = decider.ask(np.eye(3))
    decider.tell(decision.id, 1.0)
    before = fingerprint(decider)
    decider.tell(decision.id, 1.0)
    decider.tell_many([(decision, 1.0), (decision, True)])
    assert fingerprint(decider) == before
    with pytest.raises(ValueError, match=r"was told 1\.0 before, got 0\.0"):
        decider.tell(decision.id, 0.0)
    other = decider.ask(np.eye(3))
    before = fingerprint(decider)
    with pytest.raises(ValueError, match=r"was told 2\.0 before, got 3\.0"):
        decider.tell_many([(other, 2.0), (other, 3.0)])
    with pytest.raises(KeyError, match="unknown"):
        decider.tell_many([(other.id, 2.0), ("nobody-7", 3.0)])
    assert fingerprint(decider) == before


def test_another_deciders_id_is_unknown() -> None:
    one, two = (pb.Decider(subspace=U3, seed=0) for _ in range(2))
    decision = one.ask(np.eye(3))
    two.ask(np.eye(3))
    with pytest.raises(KeyError, match=f"id '{decision.id}' is unknown"):
        two.tell(decision.id, 1.0)
    with pytest.raises(KeyError, match="is unknown"):
        one.tell(decision.id.replace("-1", "-\u00b2"), 1.0)  # a digit, but no number
    with pytest.raises(TypeError, match="id must be that of a decision, got 1"):
        two.tell(1, 1.0)  # type: ignore[arg-type]


def test_memory_of_what_was_told_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "REMEMBERED", 5)
    decider = pb.Decider(subspace=U3, seed=0)
    decisions = [decider.ask(np.eye(3)) for _ in range(20)]
    decider.tell_many([(d, 1.0) for d in decisions])
    assert len(decider._outcomes.recent) == 5
    decider.tell(decisions[-1].id, 1.0)
    with pytest.raises(ValueError, match="so long ago that its value is not remembered"):
        decider.tell(decisions[0].id, 1.0)
    logged = pb.Decider(subspace=U3, seed=0, log=True)
    decisions = [logged.ask(np.eye(3)) for _ in range(20)]
    logged.tell_many([(d, 1.0) for d in decisions])
    logged.tell(decisions[0].id, 1.0)
    with pytest.raises(ValueError, match=r"was told 1\.0 before"):
        logged.tell(decisions[0].id, 2.0)


def test_forgetting_does_not_walk_over_what_was_forgotten_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To find its first entry, a dict steps over each that was deleted before it."""
    walks = []

    class Watched(OrderedDict[str, float]):
        def __iter__(self) -> Iterator[str]:
            walks.append(1)
            return super().__iter__()

    monkeypatch.setattr(outcomes, "REMEMBERED", 5)
    decider = pb.Decider(subspace=U3, seed=0)
    decider._outcomes.recent = Watched()
    for _ in range(20):
        decider.tell(decider.ask(np.eye(3)), 1.0)
    assert len(decider._outcomes.recent) == 5
    assert not walks


def test_from_four_threads_nothing_is_lost() -> None:
    theta, told = np.array([1.0, -2.0, 0.5]), list[tuple[naive.Array, float]]()
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)

    def work(worker: int) -> None:
        rng, order = np.random.default_rng(worker), random.Random(worker)
        sets = [some_arms(rng) for _ in range(20)]
        decisions = [decider.ask(sets[i % 20]) for i in range(2500)]
        order.shuffle(decisions)
        for decision in decisions:
            reward = float(decision.arm @ theta + rng.normal())
            decider.tell(decision.id, reward)
            told.append((decision.arm, reward))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert decider.ridge.n == len(told) == decider.steps == 10_000
    assert decider.pending == ()
    X, r = np.array([x for x, _ in told]), np.array([r for _, r in told])
    direct = np.linalg.solve(np.eye(3) + X.T @ X, X.T @ r)
    np.testing.assert_allclose(decider.ridge.theta, direct, rtol=0, atol=1e-8)


def test_tables_are_matched_by_name_in_any_order() -> None:
    table = pd.DataFrame({"price": [1, 2], "size": [0.5, 4.0], "age": [True, False]})
    expected = np.array([[1.0, 1.0, 0.5], [0.0, 2.0, 4.0]])
    given_as: list[Any] = [
        table,
        table[["age", "size", "price"]],
        table.convert_dtypes(),
        pl.DataFrame(table.to_dict("list")),
        pb.FiniteArms(table.astype(float)),
        expected,
        expected.tolist(),
        np.asfortranarray(expected),
        np.repeat(expected, 2, axis=1)[:, ::2],
    ]
    for arms in given_as:
        read, columns = offers.read("arms", arms, NAMED, NAMED.names, 1.0)
        assert columns == ("age", "price", "size")
        assert isinstance(read, pb.FiniteArms)
        np.testing.assert_array_equal(read.vectors, expected)


def test_the_first_table_names_the_columns() -> None:
    decider = pb.Decider(subspace=U3, seed=0)
    decider.learn(pd.DataFrame(np.eye(3), columns=["a", "b", "c"]), [1.0, 2.0, 3.0])
    decision = decider.ask(pd.DataFrame([[3.0, 2.0, 1.0]], columns=["c", "b", "a"]))
    np.testing.assert_array_equal(decision.arm, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"must have the columns \['c'\], they are missing"):
        decider.ask(pd.DataFrame([[3.0, 2.0]], columns=["b", "a"]))


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


def test_it_warns_once_of_a_direction_that_is_never_offered() -> None:
    table = pd.DataFrame({"age": [1.0, 2.0], "price": [1.0, 0.0], "size": [0.0, 0.0]})
    decider = pb.Decider(subspace=NAMED, seed=0)
    with pytest.warns(UserWarning, match="the direction 1 size lies outside") as caught:
        decider.ask(table)
    assert caught[0].filename == __file__
    decider.ask(table)  # warnings are errors here: a second one would fail
    taught = pb.Decider(subspace=NAMED, seed=0)
    taught.learn(pd.DataFrame([[0.0, 0.0, 1.0]], columns=["age", "price", "size"]), [1.0])
    taught.ask(table)
    careless = pb.Decider(pb.REGRET(), subspace=NAMED, seed=0)
    careless.learn([[1.0, 0.0, 1.0]], [1.0])
    with pytest.warns(UserWarning, match="size"):
        careless.ask(table)


def test_merged_workers_believe_what_one_would() -> None:
    rng = np.random.default_rng(6)
    workers = [pb.Decider(pb.GENTRY(), subspace=U3, seed=i) for i in range(3)]
    X, r = [], []
    for worker in workers:
        for _ in range(20):
            decision = worker.ask(some_arms(rng))
            reward = float(rng.normal())
            worker.tell(decision.id, reward)
            X.append(decision.arm)
            r.append(reward)
    total = pb.Decider(pb.GENTRY(), subspace=U3, seed=9)
    total.merge(*workers)
    _, theta = naive.ridge(np.array(X), np.array(r), 1.0)
    np.testing.assert_allclose(total.ridge.theta, theta, rtol=0, atol=1e-12)
    assert (total.steps, total.ridge.n) == (60, 60)
    before = fingerprint(total)
    for others, message in [
        ([workers[0]], "common origin"),
        ([total], "common origin"),
        ([pb.Decider(pb.GENTRY(), subspace=pb.Subspace.coordinates([0], d=3))], "same subspace"),
        ([pb.Decider(pb.GENTRY(), subspace=pb.Subspace.coordinates([0], d=2))], "same subspace"),
        ([pb.Decider(pb.REGRET(), subspace=U3)], "learn on the same"),
        ([pb.Decider(pb.GENTRY(ridge=2.0), subspace=U3)], "equal penalties"),
    ]:
        with pytest.raises(ValueError, match=message):
            total.merge(*others)
        assert fingerprint(total) == before


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


def test_of_very_many_arms_none_is_copied_and_the_basis_spans() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(50_000, 3))
    decider = pb.Decider(subspace=U3, seed=0)
    decision = decider.ask(X)
    assert decision.grounds is not None
    assert decision.grounds.arms is None
    assert decision.arm.base is None
    offer = offers.Offer(X)
    assert np.shares_memory(offer.vectors, X)
    for method in ("pivoted-qr", "first"):
        rows = [arm.index for arm in offer.basis_arms(method) if arm.index is not None]
        assert np.linalg.matrix_rank(X[rows]) == 3
        np.testing.assert_array_equal(offer.basis(method), X[rows])
    assert [arm.index for arm in offer.basis_arms("first")] == [0, 1, 2]
    thin = np.zeros((50_000, 3))
    thin[:, 0] = 1.0
    thin[777, 1] = thin[778, 2] = 1.0  # between the rows looked at first
    assert offers.Offer(thin).rank == 3
    with pytest.raises(ValueError, match="too many arms to keep"):
        decider.explain(decision)
    table = decider.explain(decision, arms=X).table
    assert table["chosen"].sum() == 1
    assert table.index[table["chosen"]][0] == decision.index


def test_nothing_is_said_when_all_is_well() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pb.Decider(subspace=U3, seed=0).ask(np.eye(3))


@pytest.mark.parametrize("strategy", [pb.EIIDS(), pb.DirectedIDS()], ids=repr)
def test_of_very_many_arms_some_are_weighed(
    strategy: pb.EIIDS | pb.DirectedIDS, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offers, "WEIGHED", 2000)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 3))
    decider = pb.Decider(strategy, subspace=U3, seed=0)
    for _ in range(5):
        decider.tell(decider.ask(X[rng.integers(3000, size=4)]).id, float(rng.normal()))
    state, offer = decider._state, offers.Offer(X)
    rows = strategy.candidates(state, offer).rows
    start = state.step % TURNS * DRAWS
    directions = strategy.belief(state).directions(normal_table(3)[start : start + DRAWS])
    best = [int((X @ c).argmax()) for c in directions]
    assert rows is not None
    assert set(rows) == {*best, *offer.basis_rows()}
    assert rows[0] == best[0]
    chances = strategy.probabilities(state, offer)
    assert set(np.flatnonzero(chances)) <= set(rows)
    assert chances.sum() == pytest.approx(1.0)
    for _ in range(20):
        choice = strategy.select(state, offer, rng)
        assert choice.index is not None
        assert choice.probability == chances[choice.index]
        np.testing.assert_array_equal(choice.arm.x, X[choice.index])
