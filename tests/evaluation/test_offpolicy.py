"""Off-policy estimates of the projection value, on logs whose truth is known."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import projbandits as pb
from projbandits.evaluation import estimators as formulas
from projbandits.evaluation.estimators import ON_MODEL
from projbandits.evaluation.predictable import Replay
from tests.logs import FIXED, NOISE, THETA, U, always, estimates, logged


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """A hundred logs; at the 95 % level at least 87: fewer have a chance of 1 in 1,000."""
    logs = 100
    hits = {"linear weights": 0, "linear weights, doubly robust": 0, "model": 0}
    errors = dict[str, list[float]]({name: [] for name in hits})
    for seed in range(logs):
        replay = pb.replay(logged(seed, steps=60), pb.GENTRY(alpha=0.5), subspace=U)
        truth = float((replay.features @ THETA).mean())
        for name, row in estimates(replay).items():
            hits[name] += row["low"] <= truth <= row["high"]
            errors[name].append(row["value"] - truth)
    assert min(hits.values()) >= 87, hits
    for name in ("linear weights", "linear weights, doubly robust"):
        standard = np.std(errors[name]) / np.sqrt(logs)
        assert abs(np.mean(errors[name])) < 4 * standard, name  # unbiased, at four standard errors
    assert np.std(errors["linear weights, doubly robust"]) < 0.5 * np.std(errors["linear weights"])


def test_weighting_returns_would_estimate_something_else() -> None:
    """The value of returns, corruption and all, lies far outside the intervals."""
    log, everything = logged(0, steps=2000), pb.Subspace.coordinates(range(3), d=3)
    replay = pb.replay(log, pb.CURSE(), subspace=U)
    truth = float((replay.features @ THETA).mean())
    returns = float((pb.replay(log, pb.CURSE(), subspace=everything).features @ THETA).mean())
    assert len(estimates(replay)) == 3
    for row in estimates(replay).values():
        assert row["low"] <= truth <= row["high"] < returns / 2


def test_wrong_propensities_leave_the_doubly_robust_estimate_right() -> None:
    log = logged(3, steps=2000)
    log["probabilities"] = pd.Series([np.full(6, 1 / 6)] * len(log))
    replay = pb.replay(log, pb.GENTRY(), subspace=U)
    truth = float((replay.features @ THETA).mean())
    found = estimates(replay)
    assert abs(found["linear weights, doubly robust"]["value"] - truth) < 0.05
    assert abs(found["linear weights"]["value"] - truth) > 0.2


def test_intervals_know_of_the_weights_that_did_not_occur() -> None:
    """By a loop over the arms: the variance of what each would have added, had it been chosen."""
    log = logged(2, steps=20)
    replay = pb.replay(log, pb.GENTRY())
    unit = np.sqrt(np.mean(np.vstack([x.reshape(-1, 3) for x in log["offered"]]) ** 2, axis=0))
    last = pb.Ridge.prior(3, 0.1).update_many(replay.arms / unit, replay.outcomes)
    for t in range(20):
        model = pb.Ridge.prior(3, 0.1).update_many(replay.arms[:t] / unit, replay.outcomes[:t])
        X, p = log["offered"][t].reshape(-1, 3), log["probabilities"][t]
        G = sum(chance * np.outer(x, x) for x, chance in zip(X, p, strict=True))
        for column, theta in enumerate([last.theta / unit, (last.theta - model.theta) / unit]):
            first = second = 0.0
            for x, chance in zip(X, p, strict=True):
                h = replay.features[t] @ np.linalg.pinv(G) @ x
                first += chance * h * (x @ theta)
                second += chance * h**2 * ((x @ theta) ** 2 + last.noise**2)
            assert replay.variances[t, column] == pytest.approx(second - first**2, rel=1e-6)


def rarely(seed: int, steps: int) -> pd.DataFrame:
    """The log of a decider that soon keeps to one arm."""
    rng = np.random.default_rng(seed + 1000)
    decider = pb.Decider(pb.GENTRY(), subspace=U, seed=seed, intercept=False)
    for _ in range(steps):
        decision = decider.ask(FIXED)
        decider.tell(decision.id, float(decision.arm @ [1.0, 0.5, 2.0] + rng.normal()))
    return decider.log()


def test_normalised_and_cut_weights_know_of_those_that_did_not_occur_too() -> None:
    """The spread in the log, or that which the logged probabilities imply, if it is larger."""
    larger, logs = 0, [rarely(0, 30), rarely(1, 30), logged(2, steps=30), logged(3, steps=30)]
    for log in logs:
        replay = pb.replay(log, pb.GENTRY(alpha=4.0), value="return", clip=1.5)
        found, w, r = replay.estimates(), replay.ratios, replay.outcomes
        value, cut = (w @ r) / w.sum(), np.minimum(w, 1.5) * r
        terms = {
            "arm by arm, self-normalised": (w * (r - value) / w.mean(), 0.0),
            "arm by arm, clipped": (cut, abs((w * r).mean() - cut.mean())),
        }
        implied = replay.ratio_variances[:, 0].sum()
        for name, (each, more) in terms.items():
            larger += implied > 30 * each.var()
            half = stats.norm.ppf(0.975) / 30 * np.sqrt(max(30 * each.var(), implied)) + more
            high, at = found.loc[name, ["high", "value"]]
            assert high - at == pytest.approx(half), name
    assert 0 < larger < 8


def test_squares_about_a_fit_allow_for_what_the_fit_took() -> None:
    """Ten features fitted to twenty returns take half of the noise; the interval has it back.

    Of 400 logs that are judged by their own policy at least 366 intervals must hold: at the 95 %
    level fewer have a chance of 1 in 1,000. Of normal ones with squares over n, 320 would.
    """
    rng, hits, n, d = np.random.default_rng(0), 0, 20, 10
    for seed in range(400):
        X = rng.normal(size=(n, d))
        r = X @ np.ones(d) + rng.normal(size=n)
        theta = np.linalg.solve(X.T @ X, X.T @ r)
        zeros, twice = np.zeros(n), np.zeros((n, 2))
        replay = Replay(
            X, np.ones(n), X @ theta, r - X @ theta, X, r, X @ theta, twice, np.zeros((n, d)),
            pb.Subspace(np.eye(d)), np.ones(n), twice, np.ones(n), np.array([1.0]),
            zeros.astype(int), "return",
        )  # fmt: skip
        found = replay.estimates().loc["arm by arm"]
        if seed == 0:
            noise = np.sqrt(((r - X @ theta) ** 2).sum() / (n - d))
            half = stats.t.ppf(0.975, n - d) * noise / np.sqrt(n)
            assert found["high"] - found["value"] == pytest.approx(half)
        hits += found["low"] <= X.sum() / n <= found["high"]
    assert hits >= 366


def test_intervals_hold_where_exploring_is_rare() -> None:
    """Forty logs; at the 95 % level at least 33: fewer have a chance of 1 in 1,000."""
    hits = {"linear weights": 0, "linear weights, doubly robust": 0, "model": 0}
    for seed in range(40):
        replay = pb.replay(rarely(seed, 80), pb.GENTRY())
        truth = float((replay.features @ [1.0, 0.5, 2.0]).mean())
        for name, row in estimates(replay).items():
            hits[name] += row["low"] <= truth <= row["high"]
    assert min(hits.values()) >= 33, hits


@pytest.mark.parametrize("strategy", [pb.EIIDS(), pb.ProjectedUE()], ids=repr)
def test_where_arms_are_out_of_reach_only_the_model_has_an_interval(strategy: Any) -> None:
    """Twenty logs; at the 95 % level at least 15: fewer have a chance of 1 in 3,000."""
    logs = 20
    others = [pb.CURSE(), pb.REGRET(), pb.GENTRY()]
    hits = dict.fromkeys(map(repr, others), 0)
    theta = np.array([1.0, 0.5, 2.0])
    for seed in range(logs):
        rng = np.random.default_rng(seed + 1000)
        decider = pb.Decider(strategy, subspace=U, seed=seed, intercept=False)
        for _ in range(60):
            decision = decider.ask(FIXED)
            decider.tell(decision.id, float(decision.arm @ theta + rng.normal()))
        log = decider.log()
        for other in others:
            replay = pb.replay(log, other)
            found = estimates(replay)
            assert found["linear weights, doubly robust"]["reached"] < 1
            assert np.isnan(found["linear weights"]["value"])
            assert np.isfinite(found["linear weights, doubly robust"]["value"])
            assert np.isnan(
                [found["linear weights, doubly robust"][end] for end in ("low", "high")]
            ).all()
            truth = float((replay.features @ theta).mean())
            hits[repr(other)] += found["model"]["low"] <= truth <= found["model"]["high"]
    assert min(hits.values()) >= 15, hits


@pytest.mark.parametrize(("value", "u"), [("projection", 2), ("return", 3)])
def test_the_model_is_least_squares_with_scheffes_interval(value: str, u: int) -> None:
    """For all directions of what counts at once: of U, or of all features for the return."""
    log = logged(6, steps=40)
    replay = pb.replay(log, pb.GENTRY(), value=value)
    found = estimates(replay)["model"]
    X, r = log[["x[0]", "x[1]", "x[2]"]].to_numpy(), log["outcome"].to_numpy()
    theta = np.linalg.inv(X.T @ X) @ X.T @ r
    m = replay.features.mean(axis=0)
    noise = np.sqrt(((r - X @ theta) ** 2).sum() / (40 - 3))
    half = noise * np.sqrt(m @ np.linalg.inv(X.T @ X) @ m * u * stats.f.ppf(0.95, u, 40 - 3))
    assert found["value"] == pytest.approx(m @ theta, rel=1e-9)
    assert found["high"] - found["value"] == pytest.approx(half, rel=1e-9)
    assert found["value"] - found["low"] == pytest.approx(half, rel=1e-9)


@pytest.mark.filterwarnings("ignore:what counts nearly repeats")
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
    assert np.isfinite(one.loc[list(ON_MODEL)].select_dtypes("number")).all(axis=None)
    pd.testing.assert_frame_equal(one, other, rtol=1e-6)


@pytest.mark.parametrize("other", [pb.REGRET(), pb.GENTRY(penalty=1e4)], ids=repr)
def test_a_wrong_belief_of_the_strategy_costs_no_precision(other: Any) -> None:
    """theta-hat is not the strategy's: shrunk or on projections, that would explain little."""
    replay = pb.replay(logged(3, steps=400), other)
    assert np.std(replay.residuals[50:]) == pytest.approx(NOISE, rel=0.15)


def test_a_log_of_one_decision_has_no_interval_by_the_model() -> None:
    found = estimates(pb.replay(logged(0, steps=1), pb.GENTRY()))
    assert np.isnan(found["model"]["low"])
    assert np.isfinite(found["linear weights, doubly robust"]["value"])


def test_the_return_value_is_judged_arm_by_arm_too() -> None:
    """By a loop over the rows: w r, its mean over that of w, and what a model adds."""
    log = logged(5, steps=80)
    other = pb.GENTRY(alpha=0.5)
    replay = pb.replay(log, other, value="return", clip=1.5)
    found = replay.estimates()["value"]
    w = []
    for t in range(80):
        X, p = log["offered"][t].reshape(-1, 3), log["probabilities"][t]
        state = other.init(pb.FiniteArms(X), U)
        belief = pb.Ridge(1.0, int(log["observations"][t]), log["belief"][t].reshape(4, 4))
        state = state._replace(ridge=belief, step=int(log["step"][t]))
        chances = other.probabilities(state, pb.FiniteArms(X))
        np.testing.assert_allclose(replay.features[t], chances @ X, atol=1e-12)
        w.append(chances[log["position"][t]] / p[log["position"][t]])
    weights, r = np.array(w), log["outcome"].to_numpy()
    assert found["arm by arm"] == pytest.approx((weights * r).mean())
    assert found["arm by arm, self-normalised"] == pytest.approx((weights @ r) / weights.sum())
    assert found["arm by arm, clipped"] == pytest.approx((np.minimum(weights, 1.5) * r).mean())
    doubly = replay.model + weights * replay.residuals
    assert found["arm by arm, doubly robust"] == pytest.approx(doubly.mean())


def test_arms_with_effects_are_noticed_and_the_projection_is_not_identified() -> None:
    rng = np.random.default_rng(0)
    effects = rng.normal(size=8)
    decider = pb.Decider(pb.GENTRY(schedule=always), subspace=U, seed=0, intercept=False)
    for _ in range(300):
        decision = decider.ask(FIXED)
        assert decision.index is not None
        decider.tell(decision, float(decision.arm @ THETA + effects[decision.index]))
    replay = pb.replay(decider, pb.GENTRY())
    # D_k has as many arms as features, so that every mean fits.
    assert replay.lack_of_fit().holds is None
    assert "as many features as arms" in replay.lack_of_fit().words
    assert "only as far as those effects" in str(replay)
    assert replay.estimates().loc["arm by arm", "note"].startswith("not identified")
    assert replay.estimates().loc["model", "note"].startswith("linear returns not tested")


@pytest.mark.parametrize("value", ["return", "projection"])
def test_a_deciders_intervals_allow_for_effects_of_arms_too(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    decider = pb.Decider(pb.GENTRY(schedule=always), subspace=U, seed=0, intercept=False)
    effects = rng.normal(size=8)
    for step in range(300):
        decision = decider.ask(FIXED[[0, 1, 2, 3] if step % 2 else [4, 5, 6, 7]])
        assert decision.index is not None
        own = effects[decision.index + 4 * (step % 2 == 0)]
        decider.tell(decision, float(decision.arm @ THETA + own + rng.normal()))
    replay = pb.replay(decider, pb.CURSE(), value=value)
    found, fit = replay.estimates().loc["model"], replay.lack_of_fit()
    monkeypatch.setattr(formulas, "with_effects", lambda found, *rest: found)
    short = replay.estimates().loc["model"]
    arms = np.unique(replay.arms, axis=0)
    m = replay.features.mean(axis=0)
    weights = replay.arms @ np.linalg.solve(replay.arms.T @ replay.arms, m)
    c = [weights[(replay.arms == x).all(axis=1)].sum() for x in FIXED]
    shares = np.zeros(8)
    if value == "return":
        table = decider.log()
        for at, x in enumerate(FIXED):
            # A step offers four arms: those of its half, in order.
            inside = [
                i for i in range(300) if (table["offered"][i].reshape(4, 3) == x).all(1).any()
            ]
            assert len(inside) == 150
            shares[at] = sum(_chance(table, i, x) for i in inside) / 300
    away = stats.t.ppf(0.975, len(arms) - 3) * fit.effects * np.linalg.norm(c - shares)
    half, before = ((one["high"] - one["low"]) / 2 for one in (found, short))
    assert fit.effects > 0
    assert half == pytest.approx(np.hypot(before, away))


def _chance(table: pd.DataFrame, row: int, x: Any) -> float:
    """How likely CURSE would have chosen an arm at a row, by the belief of then."""
    X, other = table["offered"][row].reshape(4, 3), pb.CURSE()
    state = other.init(pb.FiniteArms(X), U)
    belief = pb.Ridge(1.0, int(table["observations"][row]), table["belief"][row].reshape(4, 4))
    state = state._replace(ridge=belief, step=int(table["step"][row]))
    return float(other.probabilities(state, pb.FiniteArms(X))[(x == X).all(axis=1).argmax()])


def test_a_log_without_repeated_arms_cannot_tell_whether_returns_are_linear() -> None:
    found = pb.replay(logged(0, steps=150), pb.GENTRY()).lack_of_fit()
    assert (found.holds, found.method) == (None, "none")
    assert "no arm was chosen twice" in str(found)


def test_a_difference_is_paired_by_decision() -> None:
    log = logged(6, steps=100)
    one, two = (
        pb.replay(log, s, value="return") for s in (pb.GENTRY(schedule=always), pb.GENTRY())
    )
    found = one.versus(two)
    for name in one.estimates().index:
        expected = one.estimates().loc[name, "value"] - two.estimates().loc[name, "value"]
        assert found.loc[name, "value"] == pytest.approx(expected, abs=1e-9), name
    same = one.versus(pb.replay(log, pb.GENTRY(schedule=always), value="return"))
    assert (same["value"] == 0).all()
    assert same.loc["arm by arm, self-normalised", "high"] == 0
    with pytest.raises(ValueError, match="same log, value and subspace"):
        one.versus(pb.replay(log, pb.CURSE()))
