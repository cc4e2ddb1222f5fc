"""Worlds: rewards, returns, and the best arm."""

import dataclasses

import numpy as np
import pytest

import projbandits as pb
from projbandits.problems import Bernoulli, Gaussian, Problem, Uniform, World
from projbandits.testing import check_problem

PROBLEMS: list[Problem] = [
    pb.problems.random_arms(),
    pb.problems.random_arms(subspace="coordinates", noise=Uniform(0.3)),
    pb.problems.random_arms(d=3, arms=3, u=3, noise=0.0),
    pb.problems.entropy_ball(),
    pb.problems.entropy_ball(d=2, u=1, noise=Bernoulli(1.0), bound=-0.2, subspace="coordinates"),
    pb.problems.instance(
        pb.Ball(d=2), theta=[1.0, 2.0], subspace=pb.Subspace.coordinates([0], d=2)
    ),
    pb.problems.instance(
        np.eye(2),
        returns=[0.2, 0.9],
        rewards=[0.7, 0.1],
        subspace=pb.Subspace.coordinates([0], d=2),
        noise=Bernoulli(),
    ),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=repr)
def test_every_problem_conforms(problem: Problem) -> None:
    check_problem(problem)


def test_rewards_are_inner_products_of_projections() -> None:
    world = pb.problems.random_arms(d=4, arms=6, u=2).world(np.random.default_rng(1))
    assert isinstance(world.arms, pb.FiniteArms)
    assert world.theta is not None
    for i, x in enumerate(world.arms.vectors):
        arm = world.arms.arm(i)
        wanted = world.subspace.project(x) @ world.subspace.project(world.theta)
        assert world.reward(arm) == pytest.approx(wanted, abs=1e-14)
        assert world.mean_return(arm) == pytest.approx(x @ world.theta, abs=1e-14)
    assert world.best_reward == pytest.approx(max(world.arm_rewards))  # type: ignore[arg-type]


def test_a_world_can_be_replaced_in_part() -> None:
    U = pb.Subspace.coordinates([0], d=2)
    linear = World(pb.FiniteArms(np.eye(2)), U, Gaussian(0.5), theta=np.array([1.0, 2.0]))
    assert dataclasses.replace(linear, noise=Gaussian(0.1)).noise == Gaussian(0.1)
    moved = dataclasses.replace(linear, theta=np.array([3.0, 4.0]))
    assert moved.arm_returns is not None
    assert moved.arm_rewards is not None
    assert (moved.arm_returns.tolist(), moved.arm_rewards.tolist()) == ([3.0, 4.0], [3.0, 0.0])
    given = World(linear.arms, U, Gaussian(0.5), returns=np.ones(2), rewards=np.zeros(2))
    raised = dataclasses.replace(given, returns=np.array([5.0, 6.0]))
    assert raised.mean_return(raised.arms.best([0.0, 1.0])) == 6.0
    assert raised.best_reward == 0.0


def test_twins_of_the_best_arm_are_best_too() -> None:
    X = np.array([[0.1, 0.3], [0.9, 0.7], [0.9, -0.2], [0.9, 0.7]])
    problem = pb.problems.instance(X, theta=[0.3, 1.0], subspace=pb.Subspace.coordinates([0], d=2))
    world = problem.world(np.random.default_rng(0))
    assert world.is_best.tolist() == [False, True, True, True]
    assert world.best_arm.index == 1
    near = pb.problems.instance(
        [[1.0, 0.0], [0.999, 1.0]], theta=[1.0, 1.0], subspace=pb.Subspace.coordinates([0], d=2)
    )
    assert near.world(np.random.default_rng(0)).is_best.tolist() == [True, False]
