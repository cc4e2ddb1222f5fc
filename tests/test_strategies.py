"""The strategies: what each learns on, aims at, and how it explores."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits.strategies import LinearStrategy
from projbandits.testing import check_strategy
from tests.everyone import everyone

ALL: list[LinearStrategy] = [
    *everyone(),
    pb.GENTRY(alpha=0.5, basis="first"),
    pb.CURSE(alpha=0.5),
    pb.REGRET(alpha=0.5),
    pb.GENTRY(alpha=0.05, schedule="smooth", ridge=3.0),
    pb.UE(alpha=0.5),
    pb.EIIDS(noise=2.0, ridge=1.0),
    pb.EIRatio(horizon=30),
    pb.DirectedIDS(radius="published", noise=0.5),
]
BALL_AND_CO = [
    pb.EntropyBall(d=3),
    pb.Ball(d=2),
    pb.Polytope(np.vstack([np.eye(2), -np.eye(2)]), np.ones(4)),
]


@pytest.mark.parametrize("strategy", ALL, ids=repr)
def test_every_strategy_conforms(strategy: LinearStrategy) -> None:
    check_strategy(strategy)


@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.UE()], ids=repr)
def test_on_other_convex_sets_too(strategy: LinearStrategy) -> None:
    check_strategy(strategy, sets=BALL_AND_CO)


@pytest.mark.parametrize("strategy", [pb.EIIDS(), pb.ProjectedTS()], ids=repr)
def test_proposing_strategies_on_other_convex_sets_too(strategy: LinearStrategy) -> None:
    check_strategy(strategy, sets=BALL_AND_CO[:2])  # a linear program for each draw is slow


def _taught(strategy: LinearStrategy, seed: int = 0) -> tuple[pb.FiniteArms, pb.State]:
    """A state after 30 random pulls in a random world, at a step where epsilon is small."""
    rng = np.random.default_rng(seed)
    arms = pb.FiniteArms(rng.uniform(-1, 1, size=(8, 4)))
    U = pb.Subspace.span(rng.uniform(-1, 1, size=(4, 2)))
    theta = rng.uniform(-1, 1, size=4)
    state = strategy.init(arms, U)
    for i in rng.integers(8, size=30):
        observed = arms.vectors[i] @ theta + rng.normal()
        state = strategy.update(state, arms.arm(int(i)), float(observed))
    return arms, state._replace(step=10**6)


@pytest.mark.parametrize("seed", range(5))
def test_the_greedy_arm_follows_from_the_two_answers(seed: int) -> None:
    rng = np.random.default_rng(0)
    arms, whole = _taught(pb.GENTRY(alpha=1e-9), seed)
    _, projected = _taught(pb.REGRET(alpha=1e-9), seed)
    P, X = whole.projection, arms.vectors
    expected = {
        pb.GENTRY(alpha=1e-9): (X @ P @ P @ whole.ridge.theta, whole),
        pb.CURSE(alpha=1e-9): (X @ whole.ridge.theta, whole),
        pb.REGRET(alpha=1e-9): (X @ P @ P @ projected.ridge.theta, projected),
    }
    for strategy, (scores, state) in expected.items():
        assert strategy.select(state, arms, rng).index == int(np.argmax(scores))


def test_regret_learns_on_projected_arms_and_the_others_on_whole_ones() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=3)
    U = pb.Subspace.coordinates([0], d=3)
    arms = pb.FiniteArms(x[None])
    for strategy, learnt in [(pb.GENTRY(), x), (pb.CURSE(), x), (pb.REGRET(), U.project(x))]:
        state = strategy.update(strategy.init(arms, U), arms.arm(0), 2.0)
        V = np.eye(3) + np.outer(learnt, learnt)
        np.testing.assert_allclose(state.ridge.theta, np.linalg.solve(V, 2.0 * learnt))
        assert state.step == 2


def test_gentry_ignores_a_corruption_it_can_see() -> None:
    # Arm 0 is best on the coordinate that counts, arm 1 brings the larger return.
    arms = pb.FiniteArms([[1.0, 0.0], [0.5, 1.0]])
    U = pb.Subspace.coordinates([0], d=2)
    theta = np.array([1.0, 5.0])
    chosen = {}
    for strategy in (pb.GENTRY(), pb.CURSE()):
        state = strategy.init(arms, U)
        for i in (0, 1) * 50:
            state = strategy.update(state, arms.arm(i), float(arms.vectors[i] @ theta))
        state = state._replace(step=10**9)
        chosen[strategy] = strategy.select(state, arms, np.random.default_rng(0)).index
    assert chosen == {pb.GENTRY(): 0, pb.CURSE(): 1}


def test_exploration_is_uniform_over_the_basis_with_probability_epsilon() -> None:
    strategy = pb.GENTRY(alpha=1.0, schedule=lambda t: 0.4)
    arms, state = _taught(strategy)
    rng = np.random.default_rng(1)
    n = 20_000
    counts = Counter(strategy.select(state, arms, rng).index for _ in range(n))
    basis = {arm.index for arm in arms.basis_arms()}
    greedy = arms.best(strategy.aim(state)).index
    for index in range(arms.size):
        p = 0.6 * (index == greedy) + 0.1 * (index in basis)
        # Five standard errors: a false alarm once in 200,000 runs for each arm.
        assert abs(counts[index] / n - p) <= 5 * math.sqrt(p * (1 - p) / n) + 1e-12


@pytest.mark.parametrize("t", [1, 2, 50, 10**6])
def test_the_ellipsoid_radius_is_as_printed(t: int) -> None:
    strategy = pb.UE(alpha=0.3)
    few, ball = pb.FiniteArms(np.eye(3)[:2]), pb.Ball(d=3)
    log = math.log(t)
    assert strategy.radius(t, few) == pytest.approx(0.3 * math.sqrt(log * min(3 * log, 2)))
    assert strategy.radius(t, ball) == pytest.approx(0.3 * math.sqrt(3) * log)


@pytest.mark.parametrize("seed", range(5))
def test_ue_plays_the_most_optimistic_arm(seed: int) -> None:
    for strategy in (pb.UE(alpha=0.5), pb.ProjectedUE(alpha=0.5)):
        arms, state = _taught(strategy, seed)
        P = state.projection if isinstance(strategy, pb.ProjectedUE) else np.eye(4)
        radius = strategy.radius(10**6, arms)
        scores = [
            x @ P @ state.ridge.theta + radius * math.sqrt(x @ state.ridge.inverse @ x)
            for x in arms.vectors
        ]
        choice = strategy.select(state, arms, np.random.default_rng(0))
        assert choice.index == int(np.argmax(scores))
        assert choice.probability == 1.0


@pytest.mark.parametrize("seed", range(20))
def test_ue_takes_the_first_of_equal_arms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 5))
    arms = pb.FiniteArms(np.vstack([X, X, X]))
    strategy = pb.UE(alpha=1.0)
    state = strategy.init(arms, pb.Subspace.coordinates([0], d=5))
    for i in rng.integers(21, size=15):
        state = strategy.update(state, arms.arm(int(i)), rng.normal())
    index = strategy.select(state, arms, rng).index
    assert index is not None
    assert index < 7


def test_the_ridge_argument_is_the_penalty() -> None:
    arms = pb.FiniteArms([[1.0]])
    U = pb.Subspace.coordinates([0], d=1)
    for strategy in (pb.GENTRY(ridge=3.0), pb.UE(ridge=3.0)):
        state = strategy.update(strategy.init(arms, U), arms.arm(0), 8.0)
        assert state.ridge.theta[0] == pytest.approx(2.0)


def test_on_a_convex_set_the_probability_knows_the_greedy_point_from_the_basis() -> None:
    box = pb.Box([-1.0, -1.0], [1.0, 1.0])
    strategy = pb.GENTRY(schedule=lambda t: 0.5)
    state = strategy.init(box, pb.Subspace.coordinates([0, 1], d=2))
    state = strategy.update(state, pb.Arm(np.array([1.0, 0.3])), 1.0)
    rng = np.random.default_rng(0)
    stated = {strategy.select(state, box, rng).probability for _ in range(50)}
    assert stated == {0.5, 0.25}


def test_a_return_that_is_no_number_is_refused() -> None:
    arms = pb.FiniteArms([[1.0]])
    strategy = pb.GENTRY()
    state = strategy.init(arms, pb.Subspace.coordinates([0], d=1))
    with pytest.raises(ValueError, match="observed must be finite, got nan"):
        strategy.update(state, arms.arm(0), math.nan)


def test_arms_that_are_all_zero_leave_nothing_to_explore() -> None:
    arms = pb.FiniteArms(np.zeros((2, 2)))
    strategy = pb.GENTRY()
    state = strategy.init(arms, pb.Subspace.coordinates([0], d=2))
    choice = strategy.select(state, arms, np.random.default_rng(0))
    assert (choice.index, choice.probability) == (0, 1.0)


def test_labels_name_what_differs_from_the_default() -> None:
    def slow(t: int) -> float:
        return 0.1

    assert repr(pb.GENTRY()) == "GENTRY()"
    assert repr(pb.GENTRY(alpha=2, ridge=0.5)) == "GENTRY(alpha=2.0, ridge=0.5)"
    assert repr(pb.GENTRY(schedule=slow)).endswith("slow)")
    assert pb.GENTRY(alpha=1) == pb.GENTRY(alpha=1.0)


def test_strategies_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        pb.GENTRY().alpha = 2.0  # type: ignore[misc]


def test_bad_parameters_are_named() -> None:
    with pytest.raises(ValueError, match=r"alpha must be positive, got -1\.0"):
        pb.GENTRY(alpha=-1.0)
    with pytest.raises(ValueError, match=r"alpha must be positive, got 0\.0"):
        pb.UE(alpha=0)
    with pytest.raises(ValueError, match="alpha must be finite, got nan"):
        pb.GENTRY(alpha=math.nan)
    with pytest.raises(TypeError, match="alpha must be a number, got True"):
        pb.GENTRY(alpha=True)
    with pytest.raises(TypeError, match="alpha must be a number, got 'much'"):
        pb.GENTRY(alpha="much")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"ridge must be positive, got 0\.0"):
        pb.ProjectedUE(ridge=0.0)
    with pytest.raises(ValueError, match="basis must be one of 'pivoted-qr', 'first'"):
        pb.REGRET(basis="last")
    with pytest.raises(ValueError, match=r"arms must have 3 features, .* got 2"):
        pb.GENTRY().init(pb.FiniteArms(np.eye(2)), pb.Subspace.coordinates([0], d=3))


def test_arms_with_columns_in_another_order_are_refused() -> None:
    U = pb.Subspace.without("race", columns=["price", "race"])
    arms = pb.FiniteArms(pd.DataFrame(np.eye(2), columns=["race", "price"]))
    with pytest.raises(ValueError, match=r"same order, got \['race', 'price'\]"):
        pb.GENTRY().init(arms, U)


def test_an_arm_outside_of_d_k_is_chosen_by_greed_alone() -> None:
    # D_k are the two long arms; the third is the best guess, since both features do harm.
    arms = pb.FiniteArms([[3.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
    strategy = pb.GENTRY(schedule=lambda t: 0.2)
    state = strategy.init(arms, pb.Subspace.coordinates([0, 1], d=2))
    for i in (0, 1):
        state = strategy.update(state, arms.arm(i), -3.0)
    rng, found = np.random.default_rng(0), {}
    for _ in range(100):
        choice = strategy.select(state, arms, rng)
        found[choice.index] = choice.probability
    assert sorted(arms.basis_rows()) == [0, 1]
    assert found == pytest.approx({0: 0.1, 1: 0.1, 2: 0.8})
