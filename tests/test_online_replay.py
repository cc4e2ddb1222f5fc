"""Off-policy estimates of the projection value, on logs whose truth is known."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from tests import naive

U = pb.Subspace.coordinates([0, 1], d=3)
THETA = np.array([1.0, -0.5, 2.0])
NOISE = 0.3


def often(t: int) -> float:
    return 0.6


def logged(
    seed: int, steps: int = 150, late: int = 0, offer: Callable[..., Any] | None = None
) -> pd.DataFrame:
    """The log of a strategy that explores often, told with a delay."""
    rng = np.random.default_rng(seed)
    decider = pb.Decider(pb.GENTRY(schedule=often), subspace=U, seed=seed, log=True)
    waiting = []
    for _ in range(steps):
        X = rng.normal(size=(6, 3)) if offer is None else offer(rng)
        waiting.append(decider.ask(X))
        if len(waiting) > late:
            decision = waiting.pop(0)
            decider.tell(decision.id, float(decision.arm @ THETA + NOISE * rng.normal()))
    return decider.log()


def estimates(replay: Any) -> dict[str, dict[str, float]]:
    return {str(name): row for name, row in replay.estimates().T.to_dict().items()}


def naive_replay(log: pd.DataFrame, strategy: Any) -> naive.Array:
    """m_t of a strategy that learns from the log, each belief made anew from what was told."""
    means = []
    rows = log.to_dict("records")
    for row in rows:
        if row["told_after"] < 0:
            continue
        state = strategy.init(pb.FiniteArms(np.eye(3)), U)
        for other in rows:
            if 0 <= other["told_after"] < row["step"]:
                x = np.array([other[f"x[{j}]"] for j in range(3)])
                state = strategy.update(state, pb.Arm(x), other["reward"])
        state = state._replace(step=row["step"])
        arms = pb.FiniteArms(np.asarray(row["offered"]).reshape(-1, 3))
        rng, seen = np.random.default_rng(0), dict[int, float]()
        while sum(seen.values()) < 1 - 1e-9:
            choice = strategy.select(state, arms, rng)
            seen[choice.index] = choice.probability
        means.append(sum(p * U.matrix @ arms.vectors[i] for i, p in seen.items()))
    return np.array(means)


@pytest.mark.parametrize("late", [0, 7])
@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.CURSE(), pb.UE()], ids=repr)
def test_the_other_strategy_follows_the_log_as_it_was_told(strategy: Any, late: int) -> None:
    log = logged(1, steps=40, late=late)
    replay = pb.replay(log, strategy, subspace=U)
    np.testing.assert_allclose(replay.features, naive_replay(log, strategy), atol=1e-10)
    assert len(replay.rewards) == 40 - late


def test_the_weights_turn_arms_into_projections() -> None:
    """E[h x] = m: the sum of p(a) h(a) x_a over all arms, each in the place of the chosen one."""
    log = logged(2, steps=10)
    replay = pb.replay(log, pb.GENTRY(), subspace=U)
    for t in range(10):
        X = np.asarray(log["offered"][t]).reshape(-1, 3)
        p = np.asarray(log["probabilities"][t])
        total = np.zeros(3)
        for x, chance in zip(X, p, strict=True):
            row = log.iloc[[t]].assign(**{f"x[{j}]": x[j] for j in range(3)})
            other = pd.concat([log.iloc[:t], row, log.iloc[t + 1 :]])
            total += chance * pb.replay(other, pb.UE(), subspace=U).weights[t] * x
        expected = pb.replay(log, pb.UE(), subspace=U).features[t]
        np.testing.assert_allclose(total, expected, atol=1e-9)
    assert replay.reached.all()


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """A hundred logs; at the 95 % level at least 87: fewer have a chance of 1 in 1,000."""
    logs = 100
    hits = {"inverse propensity": 0, "doubly robust": 0}
    errors = dict[str, list[float]]({name: [] for name in hits})
    for seed in range(logs):
        replay = pb.replay(logged(seed, steps=60), pb.GENTRY(alpha=0.5), subspace=U)
        truth = float((replay.features @ THETA).mean())
        for name, row in estimates(replay).items():
            hits[name] += row["low"] <= truth <= row["high"]
            errors[name].append(row["value"] - truth)
    for name, found in errors.items():
        assert hits[name] >= 87, name
        standard = np.std(found) / np.sqrt(logs)
        assert abs(np.mean(found)) < 4 * standard, name  # unbiased, at four standard errors
    assert np.std(errors["doubly robust"]) < 0.5 * np.std(errors["inverse propensity"])


def test_weighting_returns_would_estimate_something_else() -> None:
    """The value of returns, corruption and all, lies far outside the intervals."""
    replay = pb.replay(logged(0, steps=2000), pb.CURSE(), subspace=U)
    truth = float((replay.features @ THETA).mean())
    returns = 2.5  # about what CURSE earns in return: the best of six arms by <x, theta>
    for row in estimates(replay).values():
        assert row["low"] <= truth <= row["high"] < returns


def test_wrong_propensities_leave_the_doubly_robust_estimate_right() -> None:
    log = logged(3, steps=2000)
    log["probabilities"] = pd.Series([np.full(6, 1 / 6)] * len(log))
    replay = pb.replay(log, pb.GENTRY(), subspace=U)
    truth = float((replay.features @ THETA).mean())
    found = estimates(replay)
    assert abs(found["doubly robust"]["value"] - truth) < 0.05
    assert abs(found["inverse propensity"]["value"] - truth) > 0.2


def test_what_is_out_of_reach_is_said() -> None:
    with pytest.warns(UserWarning, match="cannot identify"):
        log = logged(4, steps=30, offer=lambda rng: rng.normal(size=(2, 3)))
    found = estimates(pb.replay(log, pb.GENTRY(), subspace=U))
    assert np.isnan(found["inverse propensity"]["value"])
    assert found["doubly robust"]["reached"] < 1
    assert np.isfinite(found["doubly robust"]["value"])


def test_a_log_is_read_from_parquet(tmp_path: Path) -> None:
    log = logged(5, steps=30)
    log.to_parquet(tmp_path / "log.parquet")
    one = pb.replay(log, pb.GENTRY(), subspace=U).estimates()
    two = pb.replay(tmp_path / "log.parquet", pb.GENTRY(), subspace=U).estimates()
    pd.testing.assert_frame_equal(one, two)


def test_logs_that_cannot_be_replayed_are_named() -> None:
    decider = pb.Decider(subspace=U, seed=0, log=True)
    decision = decider.ask(pb.Ball(d=3))
    with pytest.raises(ValueError, match="at least one decision whose outcome was told"):
        pb.replay(decider.log(), pb.GENTRY(), subspace=U)
    decider.tell(decision.id, 1.0)
    with pytest.raises(ValueError, match=f"decision '{decision.id}' lacks it"):
        pb.replay(decider.log(), pb.GENTRY(), subspace=U)
    with pytest.raises(ValueError, match="arms must have 2 features"):
        pb.replay(logged(0, steps=2), pb.GENTRY(), subspace=pb.Subspace.coordinates([0], d=2))
