"""The worlds: settings a, b and c, given instances, and noise."""

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits.problems import Bernoulli, Gaussian, Noise, Problem, Uniform, World
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


def test_setting_a_is_drawn_as_the_paper_says() -> None:
    worlds = [pb.problems.random_arms().world(np.random.default_rng(i)) for i in range(200)]
    arms = [w.arms for w in worlds]
    X = np.concatenate([a.vectors for a in arms if isinstance(a, pb.FiniteArms)])
    theta = np.array([w.theta for w in worlds])
    assert X.shape == (200 * 45, 10)
    for sample in (X, theta):
        # U(-1, 1): mean 0, variance 1/3; within five standard errors.
        assert np.abs(sample).max() <= 1
        assert abs(sample.mean()) <= 5 * math.sqrt(1 / 3 / sample.size)
        assert abs((sample**2).mean() - 1 / 3) <= 5 * math.sqrt(4 / 45 / sample.size)
    assert {w.subspace.dim for w in worlds} == {5}
    mean_projection = np.mean([w.subspace.matrix for w in worlds], axis=0)
    # A random subspace favours no axis: P averages u/d on the diagonal.
    np.testing.assert_allclose(np.diag(mean_projection), 0.5, atol=0.08)


def test_setting_b_keeps_the_first_coordinates() -> None:
    world = pb.problems.random_arms(subspace="coordinates").world(np.random.default_rng(0))
    assert (world.subspace.matrix == np.diag([1.0] * 5 + [0.0] * 5)).all()


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


def test_a_named_theta_goes_by_name() -> None:
    arms = pb.FiniteArms(pd.DataFrame(np.eye(2), columns=["a", "b"]))
    U = pb.Subspace.without("b", columns=["a", "b"])
    theta = pd.Series({"b": 9.0, "a": 1.0})
    world = pb.problems.instance(arms, theta=theta, subspace=U).world(np.random.default_rng(0))
    assert world.arm_returns is not None
    assert world.arm_returns.tolist() == [1.0, 9.0]


@pytest.mark.parametrize("noise", [Gaussian(0.7), Uniform(0.7), Bernoulli(0.7)], ids=repr)
@pytest.mark.parametrize("mean", [0.0, 0.31, -2.7])
def test_noise_is_sub_gaussian_with_its_stated_parameter(noise: Noise, mean: float) -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    eta = np.array([noise.observe(mean, rng) for _ in range(n)]) - mean
    for xi in (-2.0, -1.0, -0.3, 0.3, 1.0, 2.0):
        values = np.exp(xi * eta)
        bound = math.exp(xi**2 * noise.scale**2 / 2)
        assert values.mean() <= bound + 5 * values.std() / math.sqrt(n)
    assert abs(eta.mean()) <= 5 * noise.scale / math.sqrt(n)


def test_gaussian_and_uniform_noise_have_the_stated_spread() -> None:
    for noise in (Gaussian(0.7), Uniform(0.7)):
        rng = np.random.default_rng(1)
        eta = np.array([noise.observe(0.0, rng) for _ in range(20_000)])
        assert eta.std() == pytest.approx(0.7, rel=0.03)


def test_bernoulli_noise_with_means_in_the_unit_interval_is_clicks() -> None:
    rng = np.random.default_rng(2)
    clicks = [Bernoulli().observe(0.3, rng) for _ in range(10_000)]
    assert set(clicks) == {0.0, 1.0}
    assert np.mean(clicks) == pytest.approx(0.3, abs=5 * math.sqrt(0.21 / 10_000))
    assert {Bernoulli().observe(1.0, rng) for _ in range(50)} == {1.0}


def test_no_noise_is_exact() -> None:
    rng = np.random.default_rng(3)
    assert Gaussian(0.0).observe(1.5, rng) == Uniform(0.0).observe(1.5, rng) == 1.5


U2 = pb.Subspace.coordinates([0], d=2)
BAD: list[tuple[Any, str]] = [
    (lambda: pb.problems.random_arms(noise=-0.5), r"noise must not be negative, got -0\.5"),
    (lambda: pb.problems.random_arms(noise=math.inf), "noise must be finite"),
    (lambda: Bernoulli(0.0), "noise must be positive"),
    (lambda: pb.problems.random_arms(u=11), "u must be at most 10, got 11"),
    (lambda: pb.problems.random_arms(u=0), "u must be at least 1, got 0"),
    (lambda: pb.problems.random_arms(arms=9), "arms must be at least 10, got 9"),
    (lambda: pb.problems.random_arms(subspace="coords"), "did you mean 'coordinates'"),
    (lambda: pb.problems.entropy_ball(bound=-9.0), "bound must exceed"),
    (lambda: pb.problems.instance(np.eye(2), subspace=U2), "theta, or both returns and rewards"),
    (
        lambda: pb.problems.instance(np.eye(2), theta=[1.0, 2.0, 3.0], subspace=U2),
        "theta must have length 2, got length 3",
    ),
    (
        lambda: pb.problems.instance(np.eye(2), theta=[1.0, math.nan], subspace=U2),
        "theta must be finite",
    ),
    (
        lambda: pb.problems.instance(
            np.eye(2), theta=[1.0, 2.0], returns=[1.0, 1.0], rewards=[1.0, 1.0], subspace=U2
        ),
        "exclude each other",
    ),
    (lambda: pb.problems.instance(pb.Ball(2), subspace=U2), "theta must be given"),
    (
        lambda: pb.problems.instance(np.eye(2), returns=[1.0], rewards=[1.0, 2.0], subspace=U2),
        "returns must have length 2, got length 1",
    ),
    (
        lambda: pb.problems.instance(np.eye(3), theta=np.ones(3), subspace=U2),
        r"arms must have 2 features, .* got 3",
    ),
    (
        lambda: pb.problems.instance([[0.0, 1.0], [0.0, 2.0]], theta=[1.0, 1.0], subspace=U2),
        r"span of the arms \(Assumption 1\), got one with the direction 1 x\[0\]",
    ),
    (
        lambda: pb.problems.instance(np.eye(2), theta=[0.0, 3.0], subspace=U2),
        r"theta must have a part in the subspace \(Assumption 1\), got one with P_U theta = 0",
    ),
    (
        lambda: pb.problems.instance(pb.Ball(2), theta=[0.0, 0.0], subspace=U2),
        "theta must have a part in the subspace",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_worlds_are_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_kinds_are_told_from_instances() -> None:
    with pytest.raises(TypeError, match="noise must be a number"):
        pb.problems.random_arms(noise=Gaussian)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="subspace must be a Subspace"):
        pb.problems.instance(np.eye(2), theta=[1.0, 1.0], subspace=None)  # type: ignore[arg-type]
    nothing = pb.Subspace.coordinates([0, 1], d=2).complement()
    with pytest.raises(ValueError, match="dimension of at least 1, got 0"):
        pb.problems.instance(np.eye(2), theta=[1.0, 1.0], subspace=nothing)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_of_what_is_wanted_nothing_means_round_off_whatever_the_units(size: float) -> None:
    rng = np.random.default_rng(0)
    arms = pb.FiniteArms(np.eye(5))
    for _ in range(20):
        U = pb.Subspace.span(rng.normal(size=(5, 2)))
        outside = size * U.complement().project(rng.normal(size=5))
        with pytest.raises(ValueError, match="Assumption 1"):
            pb.problems.instance(arms, theta=outside, subspace=U)
        little = outside + 1e-9 * size * U.project(rng.normal(size=5))
        assert pb.problems.instance(arms, theta=little, subspace=U).given.best_reward > 0


def test_a_misspecified_world_may_have_arms_that_are_all_equally_good() -> None:
    level = pb.problems.instance(np.eye(2), returns=[1.0, 2.0], rewards=[1.0, 1.0], subspace=U2)
    assert level.given.is_best.all()
