"""A level that all outcomes share: learnt, and of no influence on any choice."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from tests import naive
from tests.worlds import U3

BY_ARM = (
    "arm by arm",
    "arm by arm, self-normalised",
    "arm by arm, clipped",
    "arm by arm, doubly robust",
)

STRATEGIES = [
    pb.EIIDS(),
    pb.EIIDS(arm_effects="auto"),
    pb.EIIDS(arm_effects=0.5, noise=0.3),
    pb.EIRatio(horizon=100),
    pb.DirectedIDS(),
    pb.ProjectedTS(),
    pb.ProjectedTS(arm_effects=0.5),
    pb.UE(alpha=0.5),
    pb.ProjectedUE(alpha=0.5),
    pb.GENTRY(),
    pb.CURSE(),
    pb.REGRET(),
]


def choices(strategy: Any, constant: float, delay: int = 3, **options: Any) -> list[int | None]:
    """What is chosen, and told some decisions later with a constant added; whole numbers."""
    decider = pb.Decider(strategy, subspace=U3, seed=1, **options)
    rng = np.random.default_rng(0)
    X, waiting, found = rng.normal(size=(12, 3)), list[Any](), list[int | None]()
    for _ in range(40):
        decision = decider.ask(X, labels=range(12))
        found.append(decision.index)
        waiting.append((decision, float(round(4 * decision.arm.sum() + rng.normal())) + constant))
        if len(waiting) > delay:
            decider.tell(*waiting.pop(0))
    return found


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_a_constant_in_all_outcomes_changes_no_choice(strategy: Any) -> None:
    expected = choices(strategy, 0.0)
    for constant in (1.0, 7.0, -1e3, 1e6):
        assert choices(strategy, constant) == expected
    faded = choices(strategy, 0.0, half_life=10)
    assert choices(strategy, 1e6, half_life=10) == faded


def test_it_is_an_unpenalised_column_of_ones() -> None:
    rng = np.random.default_rng(0)
    X, r = rng.normal(size=(40, 3)) + 5.0, rng.normal(size=40) + 1e4
    ridge = pb.Ridge.prior(3, 0.7, intercept=True)
    half = ridge.update_many(X[:20], r[:20]).decayed(0.3)
    for x, y in zip(X[20:], r[20:], strict=True):
        half = half.update(x, y)
    weights = np.repeat([0.3, 1.0], 20)
    V, theta, level = naive.centred_ridge(X, r, 0.7, weights)
    np.testing.assert_allclose(half.theta, theta, rtol=1e-7)
    np.testing.assert_allclose(half.precision, V, rtol=1e-9)
    np.testing.assert_allclose(half.inverse, np.linalg.inv(V), rtol=1e-9)
    assert half.level == pytest.approx(level, rel=1e-10)
    assert half.mass == pytest.approx(weights.sum())
    np.testing.assert_allclose(half.centre, weights @ X / weights.sum(), rtol=1e-12)
    z = np.array([1.0, -2.0, 0.5])
    away = z - half.centre
    expected = math.sqrt(1 / half.mass + away @ np.linalg.solve(V, away))
    assert half.width(z) == pytest.approx(expected, rel=1e-9)
    least = (weights * (r - level - X @ theta) ** 2).sum() + 0.7 * theta @ theta
    assert half.residual == pytest.approx(least, rel=1e-9)


def test_before_any_outcome_the_first_arm_is_chosen_for_certain() -> None:
    for strategy in (pb.EIIDS(), pb.DirectedIDS(), pb.EIRatio(horizon=9), pb.UE()):
        decision = pb.Decider(strategy, subspace=U3, seed=0).ask(np.eye(3)[::-1])
        assert (decision.index, decision.propensity) == (0, 1.0)


def test_a_column_that_is_constant_counts_for_nothing() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 3))
    found = []
    for constant in (None, 1.0, 1e3):
        Z = X if constant is None else np.column_stack([X, np.full(10, constant)])
        U = pb.Subspace.coordinates([0, 1, *range(3, Z.shape[1])], d=Z.shape[1])
        decider, luck = pb.Decider(subspace=U, seed=0), np.random.default_rng(1)
        made = []
        for _ in range(30):
            decision = decider.ask(Z)
            decider.tell(decision, float(decision.arm[0] + 0.3 * luck.normal() + 7.0))
            made.append(decision.index)
        found.append(made)
    assert found[0] == found[1] == found[2]


def lost(strategy: Any, seed: int, **options: Any) -> float:
    """What is lost of 2,000 films rated about 7, by the README's frame and none of its ones."""
    rng = np.random.default_rng(seed)
    films = pd.DataFrame({"drama": rng.random(40), "stars": rng.random(40), "age": rng.random(40)})
    U = pb.Subspace.without("age", columns=films.columns)
    wanted = films.to_numpy() @ [0.5, -0.8, 0.0]
    if strategy is None:
        return 400 * float(wanted.max() - wanted.mean())
    decider, total = pb.Decider(strategy, subspace=U, seed=seed, **options), 0.0
    for _ in range(400):
        decision = decider.ask(films)
        total += wanted.max() - wanted[decision.index]
        decider.tell(decision, float(7.0 + decision.arm @ [0.5, -0.8, 1.0] + 0.5 * rng.normal()))
    return total


def test_outcomes_of_about_seven_are_no_reason_to_lose_more_than_at_random() -> None:
    seeds = range(3)
    random = sum(lost(None, seed) for seed in seeds)
    assert sum(lost(pb.EIIDS(), seed) for seed in seeds) < 0.3 * random


def test_it_is_the_first_row_of_the_coefficients_in_raw_units() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"length": rng.normal(100.0, 20.0, 400), "age": rng.normal(40.0, 5.0, 400)})
    returns = 6.0 + 0.03 * rows["length"] - 0.2 * rows["age"] + 0.01 * rng.normal(size=400)
    decider = pb.Decider(features=pb.Features(protected=["age"]).fit(rows), seed=0)
    decider.learn(rows, returns)
    level = decider.coefficients().iloc[0]
    assert (level.name, level["counts"]) == ("intercept", False)
    assert abs(level["estimate"] - 6.0) < 4 * level["standard_error"] < 0.2
    decision = decider.ask(rows)
    assert abs(decision.estimate) < 10.0


def test_it_is_recorded_and_joined_only_by_its_like(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/it.db"
    one = pb.Decider(pb.GENTRY(), subspace=U3, store=url, name="it", intercept=False)
    assert one.intercept is False
    with pytest.raises(ValueError, match="intercept=False: take part"):
        pb.Decider(pb.GENTRY(), subspace=U3, store=url, name="it")
    assert pb.Decider.open(url, "it").intercept is False
    with pytest.raises(TypeError, match="intercept must be True or False, got 1"):
        pb.Decider(subspace=U3, intercept=1)  # type: ignore[arg-type]
    one.close()


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("outcome", [0.0, 1.0, 7.1])
def test_while_all_outcomes_are_equal_the_noise_is_unknown(
    intercept: bool, outcome: float, tmp_path: Any
) -> None:
    decider = pb.Decider(subspace=U3, seed=0, intercept=intercept)
    X = np.random.default_rng(0).normal(size=(6, 3))
    for _ in range(40):
        decision = decider.ask(X)
        decider.tell(decision, outcome)
    decider.save(tmp_path / "it")
    for one in (decider, pb.Decider.load(tmp_path / "it")):
        assert math.isnan(one.ask(X).standard_error)
        assert math.isnan(one.ridge.noise)
        assert one.coefficients()["standard_error"].isna().all()
    decider.tell(decider.ask(X), outcome + 1.0)
    assert decider.ask(X).standard_error > 0.0
    decider.decay(0.0)
    assert math.isnan(decider.ask(X).standard_error)


def test_on_an_infinite_set_it_is_learnt_too() -> None:
    found = []
    for constant in (0.0, 1e3):
        decider, rng = pb.Decider(pb.UE(), subspace=U3, seed=0), np.random.default_rng(0)
        made = []
        for _ in range(25):
            decision = decider.ask(pb.Ball(d=3))
            decider.tell(decision, float(decision.arm[0] + 0.1 * rng.normal() + constant))
            made.append(decision.arm)
        found.append(np.array(made))
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def test_greedy_strategies_explore_what_it_takes_to_tell_the_level_too() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 3))
    for strategy in (pb.GENTRY(), pb.CURSE()):
        decider = pb.Decider(strategy, subspace=U3, seed=0)
        explored = {int(decider.ask(X).index or 0) for _ in range(60)}
        assert np.linalg.matrix_rank(np.column_stack([np.ones(len(explored)), X[[*explored]]])) == 4
    with_ones = pb.FiniteArms(np.column_stack([np.ones(8), X]))
    assert len(with_ones.level_arms()) == len(with_ones.basis_arms()) == 4
    assert len(pb.Ball(d=3).level_arms()) == 4
    assert len(pb.FiniteArms(np.zeros((3, 2))).level_arms()) == 1


def test_logs_of_a_decider_with_a_level_have_one_in_their_linear_models() -> None:
    rng, theta = np.random.default_rng(0), np.array([1.0, -0.5, 2.0])
    X = rng.normal(size=(6, 3))
    best = X[int((X @ theta).argmax())]
    for constant in (0.0, 1e4):
        decider = pb.Decider(pb.GENTRY(schedule=lambda t: 0.6), subspace=U3, seed=0)
        luck = np.random.default_rng(1)
        for _ in range(400):
            decision = decider.ask(X)
            decider.tell(decision, float(decision.arm @ theta + constant + 0.3 * luck.normal()))
        log = pb.Log.from_ledger(decider)
        assert log.intercept
        assert (log.d, len(log.names)) == (3, 3)
        fit = log.fit(penalty=1e-9)
        np.testing.assert_allclose(fit.theta, theta, atol=0.15)
        assert fit.ridge.level == pytest.approx(constant, abs=0.2)

        def greedy(arms: naive.Array, context: Any) -> naive.Array:
            assert arms.shape[1] == 3
            best_of = np.zeros(len(arms))
            best_of[int((arms @ theta).argmax())] = 1.0
            return best_of

        for value, expected in (("projection", best[:2] @ theta[:2]), ("return", best @ theta)):
            row = pb.replay(log, greedy, value=value).estimates().loc["model"]
            truth = expected + constant * (value == "return")
            assert abs(row["value"] - truth) < 0.2
            own = pb.replay(decider, pb.GENTRY(schedule=lambda t: 0.0), value=value).estimates()
            doubly = own.loc["linear weights, doubly robust", "value"]
            assert abs(doubly - constant * (value == "return")) < 5.0 + 0.005 * constant
        assert pb.replay(log, pb.EIIDS()).estimates()["value"]["model"] < 5.0


@pytest.mark.parametrize("constant", [True, False])
def test_replays_leave_to_the_level_what_is_one_number_for_all_arms(constant: bool) -> None:
    """A constant, and the levels of a category that add up to one."""
    rng = np.random.default_rng(0)
    films = pd.DataFrame(
        {
            "length": rng.normal(100.0, 20.0, 12),
            "genre": [*"abc"] * 4,
            "age": rng.normal(40.0, 10.0, 12),
        }
    )
    wanted = 0.02 * films["length"] + (films["genre"] == "a")
    outcomes = (wanted + 0.03 * films["age"]).round(6).tolist()
    features = pb.Features(protected=["age"], constant=constant).fit(films)
    strategy, found = pb.GENTRY(schedule=lambda t: 0.6), []
    for level in (0.0, 1000.0):
        decider = pb.Decider(strategy, features=features, seed=0)
        for luck in np.random.default_rng(1).integers(-1, 2, size=300) / 4:
            decision = decider.ask(films)
            decider.tell(decision, outcomes[decision.index or 0] + luck + level)
        log = pb.Log.from_ledger(decider)
        for source in (decider, decider.log()):
            judged = pb.replay(source, pb.EIIDS()).estimates().drop(index=[*BY_ARM])
            assert np.isfinite(judged[["value", "low", "high"]].to_numpy()).all()
            found.append(judged["value"].to_numpy())
        first, last = (pb.replay(log, always(place)).estimates() for place in (0, 11))
        shown = decider.ask(films[:1])
        for name in ("linear weights, doubly robust", "model"):
            assert abs(first["value"][name] - shown.estimate) < 0.2
            difference = first["value"][name] - last["value"][name]
            assert abs(difference - (wanted[0] - wanted[11])) < 0.2
    np.testing.assert_allclose(found[:2], found[2:], atol=1e-6)


def always(place: int) -> Any:
    """The policy that takes the arm in this place."""
    return lambda arms, context: np.eye(len(arms))[place]


def test_where_the_level_hides_what_counts_a_replay_says_so() -> None:
    decider = pb.Decider(pb.GENTRY(schedule=lambda t: 0.6), subspace=U3, seed=0)
    for outcome in range(60):
        decider.tell(decider.ask(np.eye(3)), float(outcome % 7))
    for log in (decider, pb.Log.from_ledger(decider)):
        table = pb.replay(log, pb.EIIDS()).estimates()
        assert table[["value", "low", "high"]].isna().all(axis=None)
        assert min(table["unsupported"][["linear weights", "model"]]) > 0.5


def test_the_leak_is_that_of_centred_outcomes() -> None:
    found = []
    for constant in (0.0, 1e5):
        rng = np.random.default_rng(0)
        decider = pb.Decider(pb.GENTRY(schedule=lambda t: 0.6), subspace=U3, seed=0)
        for _ in range(80):
            decision = decider.ask(rng.normal(size=(5, 3)) + 2.0)
            outcome = round(decision.arm.sum() + rng.normal(), 3)
            decider.tell(decision, float(outcome) + constant)
        found.append(decider.audit().leak.table[["leak", "z"]].to_numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-7)


def test_a_constant_column_leaves_no_doubt_and_what_was_not_told_does() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(10), rng.normal(size=(10, 3))])
    decider = pb.Decider(subspace=pb.Subspace.coordinates([0, 1, 2], d=4), seed=0)
    plain = pb.Decider(subspace=pb.Subspace.coordinates([0, 1], d=3), seed=0)
    outcomes = rng.normal(size=10)
    decider.learn(X, outcomes)
    plain.learn(X[:, 1:], outcomes)
    one, other = decider.ask(X), plain.ask(X[:, 1:])
    assert one.standard_error == pytest.approx(other.standard_error)
    again = pb.Decider(subspace=pb.Subspace.coordinates([0, 1, 2], d=4), seed=0)
    again.learn(X[[0, 0, 0]], outcomes[:3])  # one item alone: of slopes it tells nothing
    assert math.isnan(again.ask(X).standard_error)
