"""Policies judged on logs of any origin, beside formulas written out and known truths."""

import pickle
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, norm, t

import projbandits as pb
from projbandits.evaluation import estimators
from projbandits.evaluation import sources as pieces
from projbandits.evaluation.cells import FOLDS
from projbandits.evaluation.estimators import ESTIMATE_NAMES, ON_MODEL
from tests import naive
from tests.evaluation.tables import ARMS, LOGGED, OTHER, THETA, U, by_segment, log, other, table

BY_ARM = [name for name in ESTIMATE_NAMES if name.startswith("arm by arm")]


def naive_thetas(X: Any, r: Any) -> list[Any]:
    """For each fold a ridge from the other rows, on features of root mean square one."""
    thetas = []
    for fold in range(FOLDS):
        rest = np.arange(len(X)) % FOLDS != fold
        A, n = X[rest], len(X) * (FOLDS - 1) / FOLDS
        scale = np.sqrt((A**2).sum(axis=0) / n)
        B = A / scale
        thetas.append(np.linalg.solve(B.T @ B + 0.1 * np.eye(3), B.T @ r[rest]) / scale)
    return thetas


@pytest.mark.parametrize("context", [(), "segment", ["segment", "minute"]], ids=str)
def test_estimates_arm_by_arm_are_the_textbooks(context: Any) -> None:
    """By arm where nothing else tells rows apart, else by arm and context, else row by row."""
    rows = table(400)
    action = ARMS.index.get_indexer(pd.Index(rows["item"]))
    r, X = rows["click"].to_numpy(), ARMS.to_numpy()
    thetas = naive_thetas(X[action], r)
    q = np.array([X @ thetas[t % FOLDS] for t in range(400)])
    policy, chances = other, np.tile(OTHER, (400, 1))
    if context:
        policy, chances = by_segment, np.where(rows[["segment"]], OTHER, LOGGED)
    expected = naive.policy_value(action, r, rows["p"].to_numpy(), chances, q, 1.5)
    judged = pb.replay(log(rows, context=context), policy, value="return", clip=1.5)
    found = judged.estimates()["value"]
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-10), name
    direct = float((chances @ X @ np.linalg.lstsq(X[action], r, rcond=None)[0]).mean())
    assert found["model"] == pytest.approx(direct, abs=1e-10)


def test_with_independent_arms_linear_weights_are_those_of_the_arms() -> None:
    rows = table(300)
    arms = pd.DataFrame(np.eye(6), index=ARMS.index)
    found = pb.replay(log(rows, arms=arms), other, value="return").estimates()
    for linear, by_arm in (
        ("linear weights", "arm by arm"),
        (ESTIMATE_NAMES[1], ESTIMATE_NAMES[5]),
    ):
        for column in ("value", "low", "high"):
            assert found.loc[linear, column] == pytest.approx(found.loc[by_arm, column], abs=1e-10)


def test_the_projection_is_weighed_as_written() -> None:
    rows = table(200)
    X, P = ARMS.to_numpy(), U.matrix
    m = P @ (OTHER @ X)
    G = sum(p * np.outer(x, x) for p, x in zip(LOGGED, X, strict=True))
    action = ARMS.index.get_indexer(pd.Index(rows["item"]))
    expected = np.mean(X[action] @ np.linalg.solve(G, m) * rows["click"])
    found = pb.replay(log(rows), other, subspace=U).estimates()
    assert found.loc["linear weights", "value"] == pytest.approx(expected, abs=1e-10)
    assert found.loc[BY_ARM, "value"].isna().all()
    assert found.loc["arm by arm", "note"].startswith("not identified")


def test_probabilities_of_all_arms_or_those_that_never_varied_are_the_same() -> None:
    rows = table(300)
    one = pb.replay(log(rows), other, subspace=U).estimates()
    columns = [f"p_{label}" for label in ARMS.index]
    vectors = rows.assign(p=pd.Series([LOGGED] * 300))
    for same in (log(rows, propensity=columns), log(vectors), log(rows, context="segment")):
        found = pb.replay(same, other, subspace=U).estimates()
        pd.testing.assert_frame_equal(found, one, rtol=1e-9)


def test_without_the_probabilities_of_all_arms_linear_weights_are_unknown() -> None:
    rows = table(300)
    rows.loc[0, "p"] = 0.9
    found = pb.replay(log(rows), other, subspace=U).estimates()
    assert np.isnan(found.loc["linear weights", "value"])
    assert "those of all arms" in found.loc["linear weights", "note"]
    assert np.isfinite(found.loc["model", ["value", "low", "high"]].astype(float)).all()


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """A hundred logs; at the 95 % level at least 87: fewer have a chance of 1 in 1,000."""
    hits, truth = dict.fromkeys(ESTIMATE_NAMES, 0), float(OTHER @ ARMS.to_numpy() @ THETA)
    for seed in range(100):
        judged = pb.replay(log(table(200, seed)), other, value="return", clip=100)
        for name, row in judged.estimates().iterrows():
            hits[str(name)] += row["low"] <= truth <= row["high"]
    assert min(hits.values()) >= 87, hits


def test_arms_with_effects_of_their_own_are_noticed_and_judged_arm_by_arm() -> None:
    """100 logs, each with effects of its own: at least 87 intervals hold (else 1 in 1,000).

    Those that rest on the linear model allow for effects, and are marked where these show.
    """
    hits, warned, false = dict.fromkeys(ESTIMATE_NAMES, 0), 0, 0
    for seed in range(100):
        effects = 0.8 * np.random.default_rng(seed + 1000).normal(size=6)
        truth = float(OTHER @ (ARMS.to_numpy() @ THETA + effects))
        judged = pb.replay(log(table(400, seed, effects)), other, value="return", clip=100)
        for name, row in judged.estimates().iterrows():
            hits[str(name)] += row["low"] <= truth <= row["high"]
        warned += judged.lack_of_fit().holds is False
        plain = pb.replay(log(table(400, seed)), other, value="return")
        false += plain.lack_of_fit().holds is False
    assert min(hits.values()) >= 87, hits
    assert warned >= 75  # three differences tell; with small ones among the effects, not always
    assert false <= 5  # of 1 %: more have a chance of 1 in 1,000
    effects = 0.8 * np.random.default_rng(1).normal(size=6)
    judged = pb.replay(log(table(400, 0, effects)), other, value="return")
    assert judged.estimates().loc["model", "note"].startswith("NOT TO BE TRUSTED")
    assert "not to be trusted" in str(judged)


@pytest.mark.parametrize("size", [0.0, 0.5], ids=["no effects", "effects"])
@pytest.mark.parametrize("value", ["return", "projection"])
def test_intervals_that_rest_on_the_model_allow_for_effects_of_arms(
    value: str, size: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the weights with which each estimate takes in the effect of each arm, written out.

    Where nothing is marked, for what noise may hide too.
    """
    rows, X = table(300, 4, size * np.random.default_rng(1).normal(size=6)), ARMS.to_numpy()
    action, r = ARMS.index.get_indexer(pd.Index(rows["item"])), rows["click"].to_numpy()
    judged = pb.replay(log(rows), other, value=value, subspace=U)
    found, fit = judged.estimates(), judged.lack_of_fit()
    sure = float(chi2.ppf(0.05, 3))
    tau2, hidden = naive.effects_of_arms(X, action, r, sure)
    apart = (hidden - tau2) / (3 / sure - 1)
    assert fit.effects == pytest.approx(np.sqrt(tau2))
    assert fit.unseen == pytest.approx(np.sqrt(hidden))
    assert (fit.apart, fit.noise) == (pytest.approx(apart), pytest.approx(apart - tau2))
    monkeypatch.setattr(estimators, "with_effects", lambda found, *rest: found)
    short = judged.estimates()
    P = U.matrix if value == "projection" else np.eye(3)
    m, A = P @ (OTHER @ X), X[action]
    G = sum(p * np.outer(x, x) for p, x in zip(LOGGED, X, strict=True))
    each = {
        "linear weights": A @ np.linalg.solve(G, m) / 300,
        "model": A @ np.linalg.solve(A.T @ A, m),
    }
    for name, weights in each.items():
        c = np.array([weights[action == a].sum() for a in range(6)])
        marked = found.loc[name, "note"] != ""
        assert marked == (size > 0)
        variance = t.ppf(0.975, 3) ** 2 * tau2
        if not marked:
            variance += (t.ppf(0.975, 3) ** 2 - norm.ppf(0.975) ** 2) * (apart - tau2)
        away = variance * ((c - OTHER * (value == "return")) ** 2).sum()
        half, before = (
            (one.loc[name, "high"] - one.loc[name, "low"]) / 2 for one in (found, short)
        )
        assert half == pytest.approx(np.sqrt(before**2 + away))


def test_a_feature_that_comes_twice_changes_no_interval() -> None:
    """Of arms chosen once or twice, where the noise of the whole log counts."""
    rows, twice = table(9), ARMS.assign(again=ARMS["a"] + ARMS["b"])
    one, two = (
        pb.replay(log(rows, arms=arms), other, value="return").estimates().loc["model"]
        for arms in (ARMS, twice)
    )
    for column in ("value", "low", "high"):
        assert two[column] == pytest.approx(one[column], rel=1e-9)


def test_the_interval_of_cut_weights_allows_for_what_was_cut() -> None:
    rows = table(400)
    found = pb.replay(log(rows), other, value="return", clip=1.5).estimates()
    w = (rows["pi"] / rows["p"]).to_numpy()
    terms = np.minimum(w, 1.5) * rows["click"]
    cut = abs((w * rows["click"]).mean() - terms.mean())
    expected = terms.mean() + norm.ppf(0.975) * terms.std(ddof=1) / 20 + cut
    assert cut > 0.05
    assert found.loc["arm by arm, clipped", "high"] == pytest.approx(expected)
    assert "allows for what was cut" in found.loc["arm by arm, clipped", "note"]


def test_where_every_mean_fits_it_is_said_that_linear_returns_were_not_tested() -> None:
    """As many arms as features: each mean return fits, but how it splits is not known."""
    rng = np.random.default_rng(0)
    rows = {"arm": rng.integers(0, 3, 500), "p": np.full(500, 1 / 3), "r": rng.normal(size=500)}
    columns = {"action": "arm", "propensity": "p", "outcome": "r"}
    three = pb.Log.from_table(rows, ARMS.to_numpy()[:3], **columns)
    two = pb.Subspace.coordinates([0, 1], d=3)

    def even(arms: Any, context: Any) -> Any:
        return np.full(len(arms), 1 / len(arms))

    for value, marked in (("projection", True), ("return", False)):
        found = pb.replay(three, even, value=value, subspace=two).estimates()
        for name in ON_MODEL:
            assert found.loc[name, "note"].startswith("linear returns not tested") == marked


def test_chunks_and_executors_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table(1000)
    one = pb.replay(log(rows, context="segment"), by_segment, subspace=U)
    fitted = log(rows).fit()
    monkeypatch.setattr(pieces, "BATCH_ROWS", 37)
    with ThreadPoolExecutor(3) as executor:
        two = pb.replay(log(rows, context="segment"), by_segment, subspace=U, executor=executor)
        again = log(rows).fit(executor=executor)
    pd.testing.assert_frame_equal(one.estimates(), two.estimates(), rtol=1e-11)
    np.testing.assert_allclose(again.theta, fitted.theta, rtol=1e-12)
    with pytest.raises(TypeError, match=r"executor must be a concurrent\.futures\.Executor, got 3"):
        log(rows).fit(executor=3)  # type: ignore[arg-type]


class Elsewhere(Executor):
    """Works on what reaches another process: all that is passed is pickled."""

    def submit(self, fn: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future = Future[Any]()
        call, given = pickle.loads(pickle.dumps((fn, arguments)))
        future.set_result(pickle.loads(pickle.dumps(call(*given, **named))))
        return future


def test_pieces_are_worked_on_in_other_processes(tmp_path: Path) -> None:
    rows = table(300)
    rows.to_parquet(tmp_path / "log.parquet", row_group_size=70)
    for source, context in ((rows, "segment"), (tmp_path / "log.parquet", ())):
        given, policy = log(source, context=context), by_segment if context else other
        here = pb.replay(given, policy, value="return").estimates()
        there = pb.replay(given, policy, value="return", executor=Elsewhere()).estimates()
        pd.testing.assert_frame_equal(here, there)
        np.testing.assert_array_equal(given.fit(executor=Elsewhere()).theta, given.fit().theta)


def test_a_column_of_the_log_is_a_policy() -> None:
    rows = table(300)
    by_function = pb.replay(log(rows), other, value="return").estimates()
    one = pb.replay(log(rows), "pi", value="return").estimates()
    for name in ("arm by arm", "arm by arm, self-normalised", "arm by arm, clipped"):
        assert one.loc[name, "value"] == pytest.approx(by_function.loc[name, "value"], abs=1e-12)
    assert np.isnan(one.loc["model", "value"])
    all_arms = rows.assign(pi=pd.Series([OTHER] * 300))
    two = pb.replay(log(all_arms), "pi", value="return").estimates()
    pd.testing.assert_frame_equal(two, by_function, rtol=1e-9)


def test_a_decider_is_judged_as_it_is() -> None:
    decider = pb.Decider(pb.GENTRY(schedule=always_half), subspace=U, seed=0)
    decider.learn(ARMS, ARMS.to_numpy() @ THETA)
    rows = table(300)
    found = pb.replay(log(rows), decider, value="return").estimates()
    basis = [arm.index for arm in pb.FiniteArms(ARMS).level_arms() if arm.index is not None]
    chances = np.zeros(6)
    chances[basis] += 0.5 / len(basis)
    chances[np.argmax(ARMS.to_numpy() @ U.matrix @ decider.ridge.theta)] += 0.5
    expected = pb.replay(log(rows), lambda arms, context: chances, value="return").estimates()
    pd.testing.assert_series_equal(found["value"], expected["value"], rtol=1e-9)
    turned = log(rows, arms=ARMS[["race", "a", "b"]])
    again = pb.replay(turned, decider, value="return").estimates()
    pd.testing.assert_frame_equal(again, found, rtol=1e-6)


def always_half(t: int) -> float:
    return 0.5


def test_a_strategy_follows_the_rows() -> None:
    rows = table(60)
    strategy = pb.GENTRY(schedule=always_half)
    arms, X = pb.FiniteArms(ARMS.to_numpy()), ARMS.to_numpy()
    action = ARMS.index.get_indexer(pd.Index(rows["item"]))
    state, chances = strategy.init(arms, pb.Subspace(U.basis)), []
    for a, r in zip(action, rows["click"], strict=True):
        chances.append(strategy.probabilities(state, arms))
        state = strategy.update(state, pb.Arm(X[a]), r)
    w = np.array(chances)[np.arange(60), action] / rows["p"]
    found = pb.replay(log(rows), strategy, value="return", subspace=U).estimates()
    expected = float((w * rows["click"]).mean())
    assert found.loc["arm by arm", "value"] == pytest.approx(expected, abs=1e-12)
    late = rows.assign(when=np.arange(60)[::-1])
    with pytest.raises(ValueError, match="log must be in the order of its times, row 1 comes"):
        pb.replay(log(late, time="when"), strategy, value="return", subspace=U)


def test_the_difference_of_two_policies_is_paired() -> None:
    rows = table(400)
    given = log(rows)
    one = pb.replay(given, other, value="return")
    two = pb.replay(given, lambda arms, context: LOGGED, value="return")
    found = one.versus(two)
    for name in ESTIMATE_NAMES:
        expected = one.estimates().loc[name, "value"] - two.estimates().loc[name, "value"]
        assert found.loc[name, "value"] == pytest.approx(expected, abs=1e-10), name
    action = ARMS.index.get_indexer(pd.Index(rows["item"]))
    terms = (OTHER[action] / LOGGED[action] - 1) * rows["click"]
    half = 1.959964 * terms.std(ddof=1) / 20
    assert found.loc["arm by arm", "high"] - found.loc["arm by arm", "value"] == pytest.approx(
        half, rel=1e-5
    )
    assert one.versus(one).loc["arm by arm", "value"] == 0
    with pytest.raises(ValueError, match="same log, value and subspace"):
        one.versus(pb.replay(log(rows), other, value="return"))


def test_a_difference_is_in_reach_where_neither_value_is() -> None:
    """A third feature is on offer in one arm only, which is never chosen, and which both have."""
    rng = np.random.default_rng(0)
    arms = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    action = rng.integers(0, 2, 500)
    rows = {"arm": action, "r": action + rng.normal(size=500), "p": [[0.5, 0.5, 0.0]] * 500}
    given = pb.Log.from_table(rows, arms, action="arm", propensity="p", outcome="r")
    one = pb.replay(given, lambda arms, context: [0.0, 0.5, 0.5], value="return")
    two = pb.replay(given, lambda arms, context: [0.5, 0.0, 0.5], value="return")
    for alone in (one, two):
        assert alone.estimates().loc[["linear weights", "model"], "value"].isna().all()
    found = one.versus(two).loc[["linear weights", "model"]]
    assert ((found["low"] < 0.5) & (found["high"] > 0.5)).all()


def test_what_cannot_be_judged_is_said() -> None:
    rows = table(30)
    for policy, message in (
        (lambda arms, context: [1.0], r"policy must return 6 probabilities .* at row 0"),
        (lambda arms, context: np.full(6, 0.5), "add up to one"),
        (lambda arms, context: ["all"] * 6, r"returned \['all', .*\] at row 0"),
        (lambda arms, context: None, "returned None at row 0"),
        ("pj", r"a column 'pj', it is missing: did you mean 'p"),
    ):
        with pytest.raises(ValueError, match=message):
            pb.replay(log(rows), policy, value="return")
    with pytest.raises(ValueError, match=r"returned \[0.5.*\] where \{'segment': 1\}"):
        pb.replay(log(rows, context="segment"), halves, value="return")
    with pytest.raises(TypeError, match="policy must be a strategy such as"):
        pb.replay(log(rows), 3, value="return")
    with pytest.raises(ValueError, match=r"subspace must .* --protected, or ask for value="):
        pb.replay(log(rows), other)
    with pytest.raises(ValueError, match="value must be one of 'projection', 'return'"):
        pb.replay(log(rows), other, value="returns")
    with pytest.raises(ValueError, match="at least one row"):
        pb.replay(log(rows[:0]), other, value="return")


def halves(arms: Any, context: Any) -> Any:
    return np.full(6, 0.5) if context["segment"] else OTHER
