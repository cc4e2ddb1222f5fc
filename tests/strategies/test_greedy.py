"""epsilon_t-greedy strategies: the greedy arm, and exploration over D_k."""

import math
from collections import Counter

import numpy as np
import pytest

import projbandits as pb
from tests.worlds import taught


@pytest.mark.parametrize("seed", range(5))
def test_the_greedy_arm_follows_from_the_two_answers(seed: int) -> None:
    rng = np.random.default_rng(0)
    arms, whole = taught(pb.GENTRY(alpha=1e-9), seed)
    _, projected = taught(pb.REGRET(alpha=1e-9), seed)
    P, X = whole.projection, arms.vectors
    expected = {
        pb.GENTRY(alpha=1e-9): (X @ P @ P @ whole.ridge.theta, whole),
        pb.CURSE(alpha=1e-9): (X @ whole.ridge.theta, whole),
        pb.REGRET(alpha=1e-9): (X @ P @ P @ projected.ridge.theta, projected),
    }
    for strategy, (scores, state) in expected.items():
        assert strategy.select(state, arms, rng).index == int(np.argmax(scores))


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
    arms, state = taught(strategy)
    rng = np.random.default_rng(1)
    n = 20_000
    counts = Counter(strategy.select(state, arms, rng).index for _ in range(n))
    basis = {arm.index for arm in arms.basis_arms()}
    greedy = arms.best(strategy.aim(state)).index
    for index in range(arms.size):
        p = 0.6 * (index == greedy) + 0.1 * (index in basis)
        # Five standard errors: a false alarm once in 200,000 runs for each arm.
        assert abs(counts[index] / n - p) <= 5 * math.sqrt(p * (1 - p) / n) + 1e-12


def test_on_a_convex_set_the_probability_knows_the_greedy_point_from_the_basis() -> None:
    box = pb.Box([-1.0, -1.0], [1.0, 1.0])
    strategy = pb.GENTRY(schedule=lambda t: 0.5)
    state = strategy.init(box, pb.Subspace.coordinates([0, 1], d=2))
    state = strategy.update(state, pb.Arm(np.array([1.0, 0.3])), 1.0)
    rng = np.random.default_rng(0)
    stated = {strategy.select(state, box, rng).probability for _ in range(50)}
    assert stated == {0.5, 0.25}


def test_arms_that_are_all_zero_leave_nothing_to_explore() -> None:
    arms = pb.FiniteArms(np.zeros((2, 2)))
    strategy = pb.GENTRY()
    state = strategy.init(arms, pb.Subspace.coordinates([0], d=2))
    choice = strategy.select(state, arms, np.random.default_rng(0))
    assert (choice.index, choice.probability) == (0, 1.0)


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
