"""The theorems' constants and bounds."""

import math

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits import theory

RNG = np.random.default_rng(0)


def of(X: list[list[float]], theta: list[float], keep: list[int]) -> pb.problems.World:
    U = pb.Subspace.coordinates(keep, d=len(theta))
    return pb.problems.instance(X, theta=theta, subspace=U).world(RNG)


def test_constants_follow_their_definitions() -> None:
    world = pb.problems.random_arms(d=5, arms=12, u=2, noise=0.3).world(RNG)
    c = theory.constants(world)
    assert isinstance(world.arms, pb.FiniteArms)
    assert world.theta is not None
    X, P = world.arms.vectors, world.subspace.matrix
    rewards = np.sort(X @ P @ P @ world.theta)
    assert c.gap == pytest.approx(rewards[-1] - rewards[-2])
    assert max(np.linalg.norm(x) for x in X) == c.Z
    assert np.linalg.norm(world.theta) == c.S
    basis = world.arms.basis()
    assert c.delta_basis == pytest.approx(np.linalg.eigvalsh(basis.T @ basis)[0])
    assert c.alpha_threshold == pytest.approx(
        max(24 * 5 * c.Z**2 * 0.3**2 / (c.gap**2 * c.delta_basis), 10)
    )


def test_delta_is_taken_on_the_span_of_the_arms() -> None:
    # The arms lie in a plane of R^3; off the plane the quadratic form is zero.
    X = [[2.0, 0.0, 0.0], [0.0, 3.0, 0.0], [1.0, 1.0, 0.0]]
    world = of(X, [1.0, 0.0, 0.0], [0, 1])
    basis = world.arms.basis()
    assert basis.tolist() == [[0, 3, 0], [2, 0, 0]]
    angles = np.linspace(0, np.pi, 10_001)
    Y = np.stack([np.cos(angles), np.sin(angles), 0 * angles])
    smallest = ((basis @ Y) ** 2).sum(axis=0).min()
    assert theory.constants(world).delta_basis == pytest.approx(smallest)


def test_the_basis_matters_for_delta() -> None:
    # Two early arms that nearly coincide are a poor basis, and pivoted QR avoids them.
    world = of([[1.0, 0.0], [1.0, 0.01], [0.0, 1.0]], [1.0, 1.0], [0])
    assert theory.constants(world, "first").delta_basis < 1e-4
    assert theory.constants(world, "pivoted-qr").delta_basis > 0.9


def test_twins_of_the_best_arm_do_not_close_the_gap() -> None:
    assert theory.constants(of([[1.0, 0.0], [1.0, 3.0], [0.5, 1.0]], [1.0, 1.0], [0])).gap == 0.5


def test_a_single_arm_has_an_infinite_gap_and_the_least_threshold() -> None:
    c = theory.constants(of([[2.0]], [1.0], [0]))
    assert c.gap == math.inf
    assert c.alpha_threshold == 10


def test_on_infinite_sets_theorem_1_asks_for_what_cannot_be() -> None:
    c = theory.constants(pb.problems.entropy_ball().world(RNG))
    assert c.gap == 0
    assert c.alpha_threshold == math.inf
    assert c.arms == math.inf


def test_the_orders_are_as_printed() -> None:
    n = np.array([1.0, math.e, 100.0])
    np.testing.assert_allclose(theory.theorem_1(n, arms=7), 7 * np.log(n))
    np.testing.assert_allclose(theory.theorem_2(n, k=1, d=9), 3 * n ** (2 / 3) * np.sqrt(np.log(n)))
    np.testing.assert_allclose(theory.theorem_2(n, k=4, d=9), theory.theorem_2(n, k=1, d=16))
    np.testing.assert_allclose(theory.theorem_3(n, d=2), 2 * np.sqrt(n))


def test_assumption_1_names_the_direction_that_cannot_be_learnt() -> None:
    arms = pb.FiniteArms([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    U = pb.Subspace.without("a", columns=["a", "b", "c"])
    check = theory.check_assumption_1(arms, U)
    assert not check.holds
    assert check.k == 2
    assert check.direction is not None
    np.testing.assert_allclose(np.abs(check.direction), [0, math.sqrt(0.5), math.sqrt(0.5)])
    assert check.direction[1] == pytest.approx(-check.direction[2])
    assert "0.707 b" in check.message
    fine = theory.check_assumption_1(arms, pb.Subspace.span([[0.0], [1.0], [1.0]]))
    assert fine.holds
    assert fine.direction is None


def test_bad_input_is_named() -> None:
    wine = pb.problems.wine().world(RNG)
    with pytest.raises(ValueError, match="must have one theta, got one that is misspecified"):
        theory.constants(wine)
    with pytest.raises(ValueError, match=r"n must be at least 1, got 0\.0"):
        theory.theorem_1([0, 1], arms=3)
    with pytest.raises(ValueError, match="arms must be at least 1, got 0"):
        theory.theorem_1([1], arms=0)
    swapped = pb.FiniteArms(pd.DataFrame(np.eye(2), columns=["b", "a"]))
    with pytest.raises(ValueError, match="same order"):
        theory.check_assumption_1(swapped, pb.Subspace.without("b", columns=["a", "b"]))
    with pytest.raises(ValueError, match=r"arms must have 3 features, .* got 2"):
        theory.check_assumption_1(pb.Ball(2), pb.Subspace.coordinates([0], d=3))
