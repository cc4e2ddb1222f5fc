"""Outcomes lose weight: a weighted ridge solved directly, and ledgers that know when."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from tests import naive
from tests.worlds import U3

THETA = np.array([1.0, -0.5, 0.3])
STRATEGIES = [pb.EIIDS(), pb.GENTRY(), pb.REGRET(), pb.EIIDS(arm_effects="auto")]
DAY = 86_400.0


class Clock:
    """Time as the test wants it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1e9
        monkeypatch.setattr("time.time", lambda: self.now)


def played(decider: pb.Decider, clock: Clock | None = None, steps: int = 30) -> list[Any]:
    """Return the arm, the outcome, the step and the time of each outcome; some come late."""
    rng, told, waiting = np.random.default_rng(0), [], list[pb.Decision]()
    X = rng.normal(size=(8, 3))
    for t in range(steps):
        if clock is not None:
            clock.now += float(rng.exponential(DAY))
        waiting.append(decider.ask(X, labels=range(8)))
        if t % 3 == 2:
            for decision in waiting:
                outcome = float(decision.arm @ THETA + 0.3 * rng.normal())
                decider.tell(decision, outcome)
                told.append((decision.arm, outcome, t + 1, clock and clock.now))
            waiting = []
    return told


def weighted(told: list[Any], weights: naive.Array, penalty: float) -> naive.Array:
    X, r = np.array([x for x, *_ in told]), np.array([r for _, r, *_ in told])
    return naive.centred_ridge(X, r, penalty, weights)[1]


def test_half_a_life_in_decisions_is_a_weighted_ridge() -> None:
    decider = pb.Decider(pb.GENTRY(penalty=0.7), subspace=U3, seed=0, half_life=10)
    told = played(decider)
    weights = np.array([0.5 ** ((30 - step) / 10) for _, _, step, _ in told])
    np.testing.assert_allclose(decider.ridge.theta, weighted(told, weights, 0.7), rtol=1e-9)
    assert decider.ridge.n == 30
    assert math.isclose(decider.ridge.weight, weights.sum(), rel_tol=1e-12)
    assert decider.half_life == 10.0


def test_half_a_life_in_time_is_a_weighted_ridge_at_the_time_of_each_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)
    decider = pb.Decider(pb.GENTRY(penalty=0.7), subspace=U3, seed=0, half_life="5d")
    told = played(decider, clock)
    clock.now += 20 * DAY  # nothing happens for a while
    decision = decider.ask(np.eye(3))
    assert decision.grounds is not None
    weights = np.array([0.5 ** ((clock.now - when) / (5 * DAY)) for *_, when in told])
    theta = weighted(told, weights, 0.7)
    np.testing.assert_allclose(decision.grounds.state.ridge.theta, theta, rtol=1e-9)
    clock.now -= 300 * DAY  # a clock that is wrong makes nobody younger
    later = decider.ask(np.eye(3)).grounds
    assert later is not None
    np.testing.assert_array_equal(later.state.ridge.theta, decision.grounds.state.ridge.theta)


def test_the_noise_is_estimated_from_what_is_not_forgotten() -> None:
    rng = np.random.default_rng(0)
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, half_life=50)
    for _ in range(600):
        decision = decider.ask(rng.normal(size=(5, 3)))
        decider.tell(decision, float(decision.arm @ THETA + 0.5 * rng.normal()))
    assert abs(decider.ridge.noise - 0.5) < 0.1


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize("half_life", [7, "3d"])
def test_what_is_known_and_decided_has_the_same_bits_however_it_is_reached(
    strategy: Any, half_life: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock, store = Clock(monkeypatch), f"sqlite:///{tmp_path}/films.db"
    decider = pb.Decider(strategy, subspace=U3, seed=0, half_life=half_life, store=store, name="it")
    played(decider, clock)
    decider.decay(0.5)
    decider.reconfigure(half_life=20)
    played(decider, clock)
    decider.save(tmp_path / "file")
    others = [pb.Decider.open(store, "it"), pb.Decider.load(tmp_path / "file")]
    first = next(iter(decider.history()))
    assert first.outcome is not None
    for other in others:
        assert other.ridge.factor.tobytes() == decider.ridge.factor.tobytes()
        assert other.half_life == decider.half_life == 20.0
        assert other.ridge.forgotten == decider.ridge.forgotten
    amended = others[1]
    amended.amend(first.event.id, first.outcome + 1.0)
    assert amended.ridge.factor.tobytes() != decider.ridge.factor.tobytes()
    amended.amend(first.event.id, first.outcome)
    assert amended.ridge.factor.tobytes() == decider.ridge.factor.tobytes()
    for record in decider.history():
        again = record.decide_again()
        assert (again.index, again.probability) == (record.event.index, record.event.propensity)


def test_decay_by_hand_is_a_weighted_ridge() -> None:
    decider = pb.Decider(pb.GENTRY(penalty=0.7), subspace=U3, seed=0)
    told = played(decider)
    decider.decay(0.25)
    told += played(decider)
    weights = np.repeat([0.25, 1.0], 30)
    np.testing.assert_allclose(decider.ridge.theta, weighted(told, weights, 0.7), rtol=1e-9)
    for factor in (-0.1, 1.5, math.nan):
        with pytest.raises(ValueError, match="factor must be"):
            decider.decay(factor)


def test_a_half_life_can_be_given_up() -> None:
    decider = pb.Decider(pb.EIIDS(arm_effects=0.5), subspace=U3, seed=0, half_life=5)
    played(decider)
    decider.reconfigure(half_life=math.inf)
    forgotten = decider.ridge.forgotten
    played(decider)
    assert decider.half_life is None
    assert decider.ridge.forgotten == forgotten > 0.0


@pytest.mark.parametrize("wrong", [0, -3, "soon", "0d", True, math.nan])
def test_what_is_no_half_life_is_refused(wrong: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="half_life must be"):
        pb.Decider(subspace=U3, half_life=wrong)


def test_logs_explanations_audits_and_replays_know_what_was_forgotten(tmp_path: Path) -> None:
    decider = pb.Decider(pb.EIIDS(), subspace=U3, seed=0, half_life=8)
    played(decider)
    log = decider.log()
    assert log["forgotten"].is_monotonic_increasing
    assert log["forgotten"].iloc[-1] > 10.0
    for id, index, p, chances in zip(
        log["id"], log["index"], log["propensity"], log["probabilities"], strict=True
    ):
        explained = decider.explain(str(id)).table["probability"]
        np.testing.assert_array_equal(explained, chances)
        assert explained.iloc[int(index)] == p
    audit = decider.audit()
    assert audit.scores.found is False
    assert audit.leak.found is False
    # The strategy that decided is replayed with its own probabilities, from memory or a table.
    chosen = [p[i] for p, i in zip(log["probabilities"], log["position"], strict=True)]
    assert chosen == log["propensity"].to_list()
    decider.export(tmp_path / "log.parquet")
    for source in (decider, log, tmp_path / "log.parquet"):
        replayed = pb.replay(source, pb.EIIDS())
        offered = np.array(log["offered"].to_list()).reshape(30, 8, 3)
        chances = np.array(log["probabilities"].to_list())
        expected = np.einsum("tk,tkj->tj", chances, offered) @ U3.matrix
        np.testing.assert_allclose(replayed.features[:, 1:], expected, atol=1e-12)
        assert not replayed.features[:, 0].any()  # the level is no projection reward


def test_a_number_in_quotes_is_told_from_a_span_of_time() -> None:
    with pytest.raises(ValueError, match=r"a number of decisions, .* got '60': pass 60 or '60d'"):
        pb.Decider(subspace=U3, half_life="60")
    with pytest.raises(ValueError, match=r"after must be seconds, .* got '60': pass 60 or '60d'"):
        pb.Decider(subspace=U3).expire("60")
