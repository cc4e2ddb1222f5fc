"""Another strategy follows a log: what it knows at each step, and what it would choose."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import projbandits as pb
from projbandits.strategies.probabilities import probabilities
from tests.logs import NOISE, THETA, U, logged, means, naive_replay, often, play, worker


@pytest.mark.parametrize("late", [0, 7])
@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.CURSE(), pb.UE()], ids=repr)
def test_the_other_strategy_follows_the_log_as_it_was_told(strategy: Any, late: int) -> None:
    log = logged(1, steps=40, late=late)
    replay = pb.replay(log, strategy, subspace=U)
    np.testing.assert_allclose(replay.features, naive_replay(log, strategy), atol=1e-10)
    assert len(replay.outcomes) == 40 - late


def test_the_weights_turn_arms_into_projections() -> None:
    """E[h x] = m: the sum of p(a) h(a) x_a over all arms, each in the place of the chosen one."""
    log = logged(2, steps=10)
    replay = pb.replay(log, pb.GENTRY(), subspace=U)
    for t in range(10):
        X = np.asarray(log["offered"][t]).reshape(-1, 3)
        p = np.asarray(log["probabilities"][t])
        total = np.zeros(3)
        for a, (x, chance) in enumerate(zip(X, p, strict=True)):
            row = log.iloc[[t]].assign(position=a, **{f"x[{j}]": x[j] for j in range(3)})
            other = pd.concat([log.iloc[:t], row, log.iloc[t + 1 :]])
            total += chance * pb.replay(other, pb.UE(), subspace=U).weights[t] * x
        expected = pb.replay(log, pb.UE(), subspace=U).features[t]
        np.testing.assert_allclose(total, expected, atol=1e-9)
    assert replay.reached.all()


@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.EIIDS(), pb.REGRET()], ids=repr)
def test_the_strategy_that_decided_is_replayed_exactly(strategy: Any, tmp_path: Path) -> None:
    """With a history, a reload, and in part."""
    decider = worker(strategy, 1)
    play(decider, np.random.default_rng(3))
    decider.save(tmp_path / "decider")
    decider = pb.Decider.load(tmp_path / "decider")
    play(decider, np.random.default_rng(4))
    log = decider.log()
    assert log["step"].max() == 60
    for part in (log, log[7:50], log.sample(frac=1.0, random_state=0)):
        part = part.sort_values("step")
        replay = pb.replay(part, strategy)
        assert (replay.ratios == 1).all()
        np.testing.assert_allclose(replay.features, means(part), rtol=1e-12, atol=1e-12)


def test_logs_of_several_workers_are_replayed_together() -> None:
    logs = [worker(pb.EIIDS(), seed).log() for seed in (1, 2)]
    both = pd.concat(logs).sort_values("step", kind="stable")
    np.testing.assert_array_equal(pb.replay(both, pb.EIIDS()).features, means(both))


def test_a_history_is_known_to_a_strategy_that_learns_on_projections() -> None:
    log = worker(pb.GENTRY(), 1).log()
    twin = pb.Decider(pb.REGRET(), subspace=U, intercept=False)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 3))
    twin.learn(X, X @ THETA + NOISE * rng.normal(size=50))
    row = log.iloc[0]
    arms = pb.FiniteArms(row["offered"].reshape(-1, 3))
    chances = probabilities(pb.REGRET(), twin.belief().state, arms)
    assert chances is not None
    expected = U.matrix @ (chances @ arms.vectors)
    np.testing.assert_allclose(pb.replay(log, pb.REGRET()).features[0], expected, atol=1e-12)


def test_what_a_strategy_cannot_know_is_said() -> None:
    """Of a history, a strategy on projections leaves only that; a table without attrs, nothing."""
    log = worker(pb.REGRET(), 1).log()
    for other, table, given in (
        (pb.GENTRY(), log, U),
        (pb.REGRET(), log, pb.Subspace.coordinates([0], d=3)),
        (pb.REGRET(), pl.from_pandas(log), U),
    ):
        with pytest.raises(
            ValueError, match=r"knew 50 outcomes, the log has 0 \(the others came by `learn`"
        ):
            pb.replay(table, other, subspace=given)


def test_whole_arms_are_learnt_from_a_log_of_projections() -> None:
    decider = pb.Decider(pb.REGRET(schedule=often), subspace=U, seed=0, intercept=False)
    play(decider, np.random.default_rng(0))
    log = decider.log()
    replay = pb.replay(log, pb.GENTRY())
    np.testing.assert_allclose(replay.features, naive_replay(log, pb.GENTRY()), atol=1e-10)


class Doubting(pb.GENTRY):
    """Believes half of what it is told."""

    def update(self, state: Any, arm: Any, observed: float) -> Any:
        return super().update(state, arm, observed / 2)


def test_a_strategy_with_an_update_of_its_own_follows_the_outcomes() -> None:
    log = logged(1, steps=40)
    replay = pb.replay(log, Doubting())
    np.testing.assert_allclose(replay.features, naive_replay(log, Doubting()), atol=1e-10)
    assert json.loads(log.attrs["projbandits"])["learns_on"] == "arm"
    own = pb.Decider(Doubting(), subspace=U, seed=0, intercept=False).log()
    assert json.loads(own.attrs["projbandits"])["learns_on"] is None


@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.REGRET()], ids=repr)
def test_a_decider_is_replayed_from_its_ledger(strategy: Any) -> None:
    decider = worker(pb.GENTRY(schedule=often), 1)
    table = pb.replay(decider.log(), strategy)
    pieces = pb.replay(decider, strategy)
    np.testing.assert_array_equal(table.features, pieces.features)
    pd.testing.assert_frame_equal(table.estimates(), pieces.estimates())
    empty = pb.Decider(pb.GENTRY(), subspace=U, seed=0)
    with pytest.raises(ValueError, match="at least one decision whose outcome was told"):
        pb.replay(empty, strategy)
    empty.tell(empty.ask(pb.Ball(d=3)), 1.0)
    with pytest.raises(ValueError, match="infinite sets"):
        pb.replay(empty, strategy)


def test_what_two_processes_knew_is_replayed_as_each_knew_it(tmp_path: Path) -> None:
    store, strategy = f"sqlite:///{tmp_path}/films.db", pb.GENTRY(schedule=often)
    one = pb.Decider(strategy, subspace=U, seed=0, store=store, name="films", intercept=False)
    other = pb.Decider.open(store, "films", one.strategy)
    rng = np.random.default_rng(0)
    for t in range(30):
        decision = (one if t % 2 else other).ask(rng.normal(size=(6, 3)))
        (other if t % 3 else one).tell(decision, float(rng.normal()))
    np.testing.assert_allclose(
        pb.replay(one, one.strategy).features, means(other.log()), rtol=1e-12, atol=1e-12
    )
