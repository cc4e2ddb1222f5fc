"""The constant of log n: a general solver, closed forms, its certificate, and its edges."""

import math
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.theory import AsymptoticConstant, asymptotic_constant
from tests import naive

RNG = np.random.default_rng(0)


def of(X: Any, theta: Any, keep: list[int], noise: float = 0.5) -> AsymptoticConstant:
    arms = np.asarray(X, dtype=float)
    U = pb.Subspace.coordinates(keep, d=arms.shape[1])
    problem = pb.problems.instance(arms, theta=theta, subspace=U, noise=noise)
    return asymptotic_constant(problem.world(RNG))


@pytest.mark.parametrize("seed", range(8))
def test_a_general_solver_finds_the_same(seed: int) -> None:
    d, arms, u = [(4, 8, 2), (5, 7, 3), (3, 6, 1), (4, 9, 4)][seed % 4]
    problem = pb.problems.random_arms(d=d, arms=arms, u=u, noise=0.3)
    world = problem.world(np.random.default_rng(seed))
    assert isinstance(world.arms, pb.FiniteArms)
    assert world.theta is not None
    found = asymptotic_constant(world)
    expected = naive.asymptotic_constant(
        world.arms.vectors, world.subspace.matrix, world.theta, 0.3
    )
    assert found.lower <= expected * (1 + 1e-4)
    assert found.value == pytest.approx(expected, rel=1e-3)
    assert 0 < found.value - found.lower <= 1e-5 * found.value


def test_its_pulls_are_enough_and_cost_what_it_says() -> None:
    world = pb.problems.random_arms().world(np.random.default_rng(3))
    found = asymptotic_constant(world)
    assert isinstance(world.arms, pb.FiniteArms)
    assert world.arm_rewards is not None
    X, F = world.arms.vectors, world.arms.vectors @ world.subspace.matrix
    gaps = world.best_reward - world.arm_rewards
    h = int(gaps.argmin())
    V = (X.T * found.pulls) @ X + 1e9 * np.outer(X[h], X[h])
    squares = np.array([w @ np.linalg.solve(V, w) for w in F - F[h]])
    allowed = gaps**2 / (2 * 0.5**2)
    assert (squares <= allowed * (1 + 1e-6)).all()
    assert (squares[gaps > 0] / allowed[gaps > 0]).max() == pytest.approx(1, rel=1e-4)
    assert found.pulls @ gaps == pytest.approx(found.value)


def test_where_arms_show_what_they_are_worth_it_is_that_of_bandits() -> None:
    # Independent arms: Lai and Robbins have 2 sigma^2 / gap for each.
    found = of(np.eye(4), [1.0, 0.5, 0.2, -1.0], keep=[0, 1, 2, 3])
    assert found.value == pytest.approx(sum(0.5 / gap for gap in (0.5, 0.8, 2.0)), rel=1e-4)
    # Four times the variance, four times the constant.
    assert of(np.eye(2), [1, 0], [0, 1], noise=1.0).value == pytest.approx(2.0, rel=1e-4)


def test_on_the_three_arms_only_the_third_tells() -> None:
    # The differences a1 - a2 and a1 - a3 leave (1, 0, 1), of the best arm, beside. Only a3 tells
    # a1 from a2, by e / 2 on each of them, at 3/2 + e/2 a pull; pulls of a2 tell no other.
    e = 0.2
    arms = [[1.0, 0.0, 1.0], [0.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]
    found = of(arms, [(1 + e) / 2, (1 - e) / 2, -e / 2], keep=[0, 1])
    X = np.array(arms)
    expected = naive.asymptotic_constant(
        X, np.diag([1.0, 1.0, 0.0]), np.array([(1 + e) / 2, (1 - e) / 2, -e / 2]), 0.5
    )
    assert found.value == pytest.approx(expected, rel=1e-3)
    assert found.pulls[2] > 0


def test_it_is_zero_where_nothing_must_be_asked() -> None:
    assert of([[2.0]], [1.0], [0]).value == 0  # a single arm
    assert of([[2.0, 0.0], [1.0, 0.0]], [1.0, 0.0], [0]).value == 0  # the best arm tells all
    assert of(np.eye(2), [1.0, 0.5], [0, 1], noise=0.0).value == 0
    # dim U = 1, and the best arm shows it and nothing else.
    assert of([[1.0, 0.0], [0.5, 1.0], [-1.0, 2.0]], [1.0, 3.0], [0]).value == 0


def test_several_best_arms() -> None:
    # Twins with the same projection are both free.
    twins = of([[1.0, 1.0], [1.0, -1.0], [0.5, 0.3]], [1.0, 0.2], [0])
    assert twins.value == 0  # half their sum is what is wanted
    # Two that are equally good, each showing its own worth: as for any bandit.
    even = of(np.eye(3), [1.0, 1.0, 0.5], [0, 1, 2])
    assert even.value == pytest.approx(2 * 0.25 / 0.5, rel=1e-4)
    # Two that are equally good by a difference that neither shows.
    assert of([[1.0, 0.0, 1.0], [0.0, 1.0, -1.0], [-1.0, -1.0, 1.0]], [1, 1, 0], [0, 1]).value == (
        math.inf
    )


def test_arms_that_span_less_than_their_space() -> None:
    flat = [[1.0, 0.0, 0.0], [0.3, 0.4, 0.0], [-0.5, 0.2, 0.0]]
    lifted = of(flat, [1.0, 0.5, 7.0], [0])
    plain = of(np.array(flat)[:, :2], [1.0, 0.5], [0])
    assert lifted.value == pytest.approx(plain.value)


def test_what_has_no_such_constant_is_refused() -> None:
    for problem in (pb.problems.entropy_ball(), pb.problems.wine(arms=20)):
        with pytest.raises(ValueError, match="must have finitely many arms and a theta"):
            asymptotic_constant(problem.world(RNG))
