"""Off-policy estimates of the projection value, on logs whose truth is known."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import projbandits as pb
from projbandits.online.probabilities import probabilities
from projbandits.ridge import Ridge
from tests import naive

U = pb.Subspace.coordinates([0, 1], d=3)
THETA = np.array([1.0, -0.5, 2.0])
NOISE = 0.3


def often(t: int) -> float:
    return 0.6


def always(t: int) -> float:
    return 1.0


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
        for a, (x, chance) in enumerate(zip(X, p, strict=True)):
            row = log.iloc[[t]].assign(position=a, **{f"x[{j}]": x[j] for j in range(3)})
            other = pd.concat([log.iloc[:t], row, log.iloc[t + 1 :]])
            total += chance * pb.replay(other, pb.UE(), subspace=U).weights[t] * x
        expected = pb.replay(log, pb.UE(), subspace=U).features[t]
        np.testing.assert_allclose(total, expected, atol=1e-9)
    assert replay.reached.all()


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """A hundred logs; at the 95 % level at least 87: fewer have a chance of 1 in 1,000."""
    logs = 100
    hits = {"inverse propensity": 0, "doubly robust": 0, "model": 0}
    errors = dict[str, list[float]]({name: [] for name in hits})
    for seed in range(logs):
        replay = pb.replay(logged(seed, steps=60), pb.GENTRY(alpha=0.5), subspace=U)
        truth = float((replay.features @ THETA).mean())
        for name, row in estimates(replay).items():
            hits[name] += row["low"] <= truth <= row["high"]
            errors[name].append(row["value"] - truth)
    assert min(hits.values()) >= 87, hits
    for name in ("inverse propensity", "doubly robust"):
        standard = np.std(errors[name]) / np.sqrt(logs)
        assert abs(np.mean(errors[name])) < 4 * standard, name  # unbiased, at four standard errors
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


def test_intervals_know_of_the_weights_that_did_not_occur() -> None:
    """By a loop over the arms: the variance of what each would have added, had it been chosen."""
    log = logged(2, steps=20)
    replay = pb.replay(log, pb.GENTRY())
    unit = np.sqrt(np.mean(np.vstack([x.reshape(-1, 3) for x in log["offered"]]) ** 2, axis=0))
    last = Ridge.prior(3, 0.1).update_many(replay.arms / unit, replay.rewards)
    for t in range(20):
        model = Ridge.prior(3, 0.1).update_many(replay.arms[:t] / unit, replay.rewards[:t])
        X, p = log["offered"][t].reshape(-1, 3), log["probabilities"][t]
        G = sum(chance * np.outer(x, x) for x, chance in zip(X, p, strict=True))
        for column, theta in enumerate([last.theta / unit, (last.theta - model.theta) / unit]):
            first = second = 0.0
            for x, chance in zip(X, p, strict=True):
                h = replay.features[t] @ np.linalg.pinv(G) @ x
                first += chance * h * (x @ theta)
                second += chance * h**2 * ((x @ theta) ** 2 + last.noise**2)
            assert replay.variances[t, column] == pytest.approx(second - first**2, rel=1e-6)


def test_intervals_hold_where_exploring_is_rare() -> None:
    """Forty logs; at the 95 % level at least 33: fewer have a chance of 1 in 1,000."""
    hits = {"inverse propensity": 0, "doubly robust": 0, "model": 0}
    for seed in range(40):
        rng = np.random.default_rng(seed + 1000)
        decider = pb.Decider(pb.GENTRY(), subspace=U, seed=seed, log=True)
        for _ in range(80):
            decision = decider.ask(FIXED)
            decider.tell(decision.id, float(decision.arm @ [1.0, 0.5, 2.0] + rng.normal()))
        replay = pb.replay(decider.log(), pb.GENTRY())
        truth = float((replay.features @ [1.0, 0.5, 2.0]).mean())
        for name, row in estimates(replay).items():
            hits[name] += row["low"] <= truth <= row["high"]
    assert min(hits.values()) >= 33, hits


FIXED = np.random.default_rng(7).normal(size=(8, 3))


@pytest.mark.parametrize("strategy", [pb.EIIDS(), pb.ProjectedUE()], ids=repr)
def test_where_arms_are_out_of_reach_only_the_model_has_an_interval(strategy: Any) -> None:
    """Twenty logs; at the 95 % level at least 15: fewer have a chance of 1 in 3,000."""
    logs = 20
    others = [pb.CURSE(), pb.REGRET(), pb.GENTRY()]
    hits = dict.fromkeys(map(repr, others), 0)
    theta = np.array([1.0, 0.5, 2.0])
    for seed in range(logs):
        rng = np.random.default_rng(seed + 1000)
        decider = pb.Decider(strategy, subspace=U, seed=seed, log=True)
        for _ in range(60):
            decision = decider.ask(FIXED)
            decider.tell(decision.id, float(decision.arm @ theta + rng.normal()))
        log = decider.log()
        for other in others:
            replay = pb.replay(log, other)
            found = estimates(replay)
            assert found["doubly robust"]["reached"] < 1
            assert np.isnan(found["inverse propensity"]["value"])
            assert np.isfinite(found["doubly robust"]["value"])
            assert np.isnan([found["doubly robust"][end] for end in ("low", "high")]).all()
            truth = float((replay.features @ theta).mean())
            hits[repr(other)] += found["model"]["low"] <= truth <= found["model"]["high"]
    assert min(hits.values()) >= 15, hits


def test_the_model_is_least_squares_with_scheffes_interval() -> None:
    log = logged(6, steps=40)
    replay = pb.replay(log, pb.GENTRY())
    found = estimates(replay)["model"]
    X, r = log[["x[0]", "x[1]", "x[2]"]].to_numpy(), log["reward"].to_numpy()
    theta = np.linalg.inv(X.T @ X) @ X.T @ r
    m = replay.features.mean(axis=0)
    noise = np.sqrt(((r - X @ theta) ** 2).sum() / (40 - 3))
    half = noise * np.sqrt(m @ np.linalg.inv(X.T @ X) @ m * 2 * stats.f.ppf(0.95, 2, 40 - 3))
    assert found["value"] == pytest.approx(m @ theta, rel=1e-9)
    assert found["high"] - found["value"] == pytest.approx(half, rel=1e-9)
    assert found["value"] - found["low"] == pytest.approx(half, rel=1e-9)


def test_a_model_of_what_was_never_chosen_is_unknown() -> None:
    """All arms lie in a plane that holds half of U, so most of theta stays unknown."""
    with pytest.warns(UserWarning, match="cannot identify"):
        log = logged(
            4, steps=30, offer=lambda rng: rng.normal(size=(5, 2)) @ [[1, 0, 0], [0, 1, 1]]
        )
    found = estimates(pb.replay(log, pb.GENTRY()))
    assert np.isnan([found["model"][part] for part in ("value", "low", "high")]).all()
    assert found["model"]["reached"] == 0


def test_units_of_the_features_change_no_estimate() -> None:
    def scaled(by: float) -> pd.DataFrame:
        log = logged(2, steps=40)
        size = np.array([1.0, by, 1.0])
        log["offered"] = pd.Series([(x.reshape(-1, 3) * size).ravel() for x in log["offered"]])
        return log.assign(**{"x[1]": log["x[1]"] * by})

    exploring = pb.GENTRY(schedule=always, basis="first")  # as likely to choose, in any units
    one, other = (pb.replay(scaled(by), exploring).estimates() for by in (1.0, 2.0**20))
    assert np.isfinite(one).all(axis=None)
    pd.testing.assert_frame_equal(one, other, rtol=1e-6)


@pytest.mark.parametrize("other", [pb.REGRET(), pb.GENTRY(ridge=1e4)], ids=repr)
def test_a_wrong_belief_of_the_strategy_costs_no_precision(other: Any) -> None:
    """theta-hat is not the strategy's: shrunk or on projections, that would explain little."""
    replay = pb.replay(logged(3, steps=400), other)
    assert np.std(replay.residuals[50:]) == pytest.approx(NOISE, rel=0.15)


def test_a_log_is_read_from_parquet(tmp_path: Path) -> None:
    log = logged(5, steps=30)
    log.to_parquet(tmp_path / "log.parquet")
    one = pb.replay(log, pb.GENTRY(), subspace=U).estimates()
    for same in (log, tmp_path / "log.parquet", pd.concat([log[:9], log[9:]])):
        pd.testing.assert_frame_equal(pb.replay(same, pb.GENTRY()).estimates(), one)


def test_a_spilled_file_says_what_counted(tmp_path: Path) -> None:
    decider = pb.Decider(pb.GENTRY(schedule=often), subspace=U, seed=0, log=True)
    rng = np.random.default_rng(0)
    for _ in range(20):
        decider.tell(decider.ask(rng.normal(size=(6, 3))).id, rng.normal())
    expected = pb.replay(decider.log(), pb.GENTRY(), subspace=U).estimates()
    decider.spill(tmp_path / "told.parquet")
    for log in (tmp_path / "told.parquet", decider.log()):
        pd.testing.assert_frame_equal(pb.replay(log, pb.GENTRY()).estimates(), expected)


def test_a_polars_table_is_replayed() -> None:
    log = logged(5, steps=30)
    one = pb.replay(log, pb.GENTRY()).estimates()
    two = pb.replay(pl.from_pandas(log), pb.GENTRY(), subspace=U).estimates()
    pd.testing.assert_frame_equal(one, two)


def named(columns: list[str], steps: int = 30) -> pb.Decider:
    """A decider of tables with these columns, by whose names what is offered is drawn."""
    subspace = pb.Subspace.without("race", columns=columns)
    decider = pb.Decider(pb.GENTRY(schedule=often), subspace=subspace, seed=0, log=True)
    rng = np.random.default_rng(0)
    for _ in range(steps):
        X = pd.DataFrame(rng.normal(size=(6, 3)), columns=["a", "b", "race"])
        decider.tell(decider.ask(X).id, float(rng.normal()))
    return decider


def test_the_subspace_is_matched_by_name() -> None:
    log = named(["a", "b", "race"]).log()
    one = pb.replay(log, pb.GENTRY())
    other = pb.Subspace.without("race", columns=["race", "a", "b"])
    two = pb.replay(log, pb.GENTRY(), subspace=other)
    np.testing.assert_array_equal(one.features, two.features)
    pd.testing.assert_frame_equal(one.estimates(), two.estimates())
    wrong = pb.Subspace.without("race", columns=["a", "bb", "race"])
    with pytest.raises(ValueError, match=r"subspace must have the columns \['b'\].*'bb'"):
        pb.replay(log, pb.GENTRY(), subspace=wrong)
    nameless = pb.replay(log, pb.GENTRY(), subspace=U).estimates()
    pd.testing.assert_frame_equal(nameless, one.estimates())


def test_columns_out_of_order_are_noticed() -> None:
    log = named(["a", "b", "race"]).log()
    log = log[[*reversed(log.columns)]]
    with pytest.raises(ValueError, match="leave the columns in their order"):
        pb.replay(log, pb.GENTRY())


def test_names_that_come_later_are_those_of_the_whole_log(tmp_path: Path) -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0, log=True)
    decider.tell(decider.ask(np.eye(3)).id, 1.0)
    decider.spill(tmp_path / "told.parquet")
    decider.tell(decider.ask(pd.DataFrame(np.eye(3), columns=["p", "q", "r"])).id, 2.0)
    log = decider.log()
    features = [name for name in log.columns if name.startswith("x[")]
    assert features == ["x[p]", "x[q]", "x[r]"]
    assert log[features].notna().all(axis=None)
    assert len(pb.replay(log, pb.GENTRY()).rewards) == 2
    assert decider.audit().table.loc["decisions audited", "value"] == 2


def worker(strategy: Any, seed: int) -> pb.Decider:
    """A decider with a history, which decides and is told with a delay."""
    rng = np.random.default_rng(seed)
    decider = pb.Decider(strategy, subspace=U, seed=seed, log=True)
    X = rng.normal(size=(50, 3))
    decider.learn(X, X @ THETA + NOISE * rng.normal(size=50))
    play(decider, rng)
    return decider


def play(decider: pb.Decider, rng: np.random.Generator) -> None:
    for t in range(20):
        decider.ask(rng.normal(size=(6, 3)))
        if t % 3:
            first = decider.pending[0]
            decider.tell(first.id, float(first.arm @ THETA + NOISE * rng.normal()))


def means(log: pd.DataFrame) -> naive.Array:
    """m_t of the strategy that decided, from the logged probabilities."""
    known = log[log["told_after"] >= 0]
    pairs = zip(known["offered"], known["probabilities"], strict=True)
    return np.array([U.matrix @ (p @ x.reshape(-1, 3)) for x, p in pairs])


@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.EIIDS(), pb.REGRET()], ids=repr)
def test_the_strategy_that_decided_is_replayed_exactly(strategy: Any, tmp_path: Path) -> None:
    """With a history, a merged worker, a reload, and in part."""
    decider = worker(strategy, 1)
    decider.merge(worker(strategy, 2))
    play(decider, np.random.default_rng(3))
    decider.spill(tmp_path / "told.parquet")
    decider.save(tmp_path / "decider")
    decider = pb.Decider.load(tmp_path / "decider")
    play(decider, np.random.default_rng(4))
    log = decider.log()
    assert log["step"].max() == 80
    for part in (log, log[7:50], log.sample(frac=1.0, random_state=0)):
        part = part.sort_values("step")
        np.testing.assert_array_equal(pb.replay(part, strategy).features, means(part))


def test_logs_of_several_workers_are_replayed_together() -> None:
    logs = [worker(pb.EIIDS(), seed).log() for seed in (1, 2)]
    both = pd.concat(logs).sort_values("step", kind="stable")
    np.testing.assert_array_equal(pb.replay(both, pb.EIIDS()).features, means(both))


def test_a_log_of_one_decision_has_no_interval_by_the_model() -> None:
    found = estimates(pb.replay(logged(0, steps=1), pb.GENTRY()))
    assert np.isnan(found["model"]["low"])
    assert np.isfinite(found["doubly robust"]["value"])


def test_a_history_is_known_to_a_strategy_that_learns_on_projections() -> None:
    log = worker(pb.GENTRY(), 1).log()
    twin = pb.Decider(pb.REGRET(), subspace=U, log=True)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 3))
    twin.learn(X, X @ THETA + NOISE * rng.normal(size=50))
    row = log.iloc[0]
    arms = pb.FiniteArms(row["offered"].reshape(-1, 3))
    chances = probabilities(pb.REGRET(), twin._state, arms)
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
        with pytest.raises(ValueError, match=r"it has 0 of 50 \(the others came by `learn`"):
            pb.replay(table, other, subspace=given)


def test_whole_arms_are_learnt_from_a_log_of_projections() -> None:
    decider = pb.Decider(pb.REGRET(schedule=often), subspace=U, seed=0, log=True)
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
    own = pb.Decider(Doubting(), subspace=U, seed=0, log=True).log()
    assert json.loads(own.attrs["projbandits"])["learns_on"] is None


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
    log = logged(0, steps=3)
    for bad, error, message in (
        (log.drop(columns=["belief", "position"]), ValueError, r"\['position', 'belief'\], they"),
        (pd.DataFrame({"a": [1.0]}), ValueError, r"'belief', 'x\[\.\.\.\]'\], they are missing"),
        (pl.DataFrame({"a": [1.0]}), ValueError, "they are missing"),
        (pd.concat([log, log]), ValueError, "each decision once"),
        ([1.0], TypeError, "log must be what Decider.log returned"),
        (pl.from_pandas(log), ValueError, r"pass replay\(log, strategy, subspace=\.\.\.\)"),
        (log.drop(columns="x[2]"), ValueError, "arms must have 3 features"),
    ):
        with pytest.raises(error, match=message):
            pb.replay(bad, pb.GENTRY())
    with pytest.raises(TypeError, match="subspace must be a Subspace, got 3"):
        pb.replay(log, pb.GENTRY(), subspace=3)  # type: ignore[arg-type]


def test_names_that_look_like_numbers_are_names() -> None:
    rng = np.random.default_rng(0)
    U = pb.Subspace.without("2", columns=["0", "1", "2"])
    decider = pb.Decider(pb.GENTRY(alpha=0.5), subspace=U, seed=0, log=True)
    for _ in range(40):
        decision = decider.ask(pd.DataFrame(rng.normal(size=(4, 3))))
        decider.tell(decision, float(decision.arm @ [1.0, 0.5, 2.0]))
    turned = pb.Subspace.without("2", columns=["2", "0", "1"])
    plain = pb.replay(decider.log(), pb.GENTRY()).estimates()
    for log in (decider.log(), pl.from_pandas(decider.log())):
        again = pb.replay(log, pb.GENTRY(), subspace=turned).estimates()
        pd.testing.assert_frame_equal(again, plain)


def test_logs_put_together_are_refused_where_beliefs_do_not_serve() -> None:
    U = pb.Subspace.coordinates([0, 1], d=3)
    logs = []
    for seed in range(2):
        decider = pb.Decider(pb.REGRET(), subspace=U, seed=seed, log=True)
        for _ in range(5):
            decider.tell(decider.ask(np.eye(3)), 1.0)
        logs.append(decider.log())
    with pytest.raises(ValueError, match="that of one decider, got 2 put together"):
        pb.replay(pd.concat(logs, ignore_index=True), pb.GENTRY())
