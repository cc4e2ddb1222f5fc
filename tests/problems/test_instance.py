"""Given worlds, and those that cannot be."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits.problems import Bernoulli, Gaussian


def test_a_named_theta_goes_by_name() -> None:
    arms = pb.FiniteArms(pd.DataFrame(np.eye(2), columns=["a", "b"]))
    U = pb.Subspace.without("b", columns=["a", "b"])
    theta = pd.Series({"b": 9.0, "a": 1.0})
    world = pb.problems.instance(arms, theta=theta, subspace=U).world(np.random.default_rng(0))
    assert world.arm_returns is not None
    assert world.arm_returns.tolist() == [1.0, 9.0]


U2 = pb.Subspace.coordinates([0], d=2)
EYE = np.eye(2)


def of(arms: Any, **given: Any) -> pb.problems.Instance:
    return pb.problems.instance(arms, subspace=U2, **given)


BAD: list[tuple[Any, str]] = [
    (lambda: pb.problems.random_arms(noise=-0.5), r"noise must not be negative, got -0\.5"),
    (lambda: pb.problems.random_arms(noise=math.inf), "noise must be finite"),
    (lambda: Bernoulli(0.0), "noise must be positive"),
    (lambda: pb.problems.random_arms(u=11), "u must be at most 10, got 11"),
    (lambda: pb.problems.random_arms(u=0), "u must be at least 1, got 0"),
    (lambda: pb.problems.random_arms(arms=9), "arms must be at least 10, got 9"),
    (lambda: pb.problems.random_arms(subspace="coords"), "did you mean 'coordinates'"),
    (lambda: pb.problems.entropy_ball(bound=-9.0), "bound must exceed"),
    (lambda: of(EYE), "theta, or both returns and rewards"),
    (lambda: of(EYE, theta=[1.0, 2.0, 3.0]), "theta must have length 2, got length 3"),
    (lambda: of(EYE, theta=[1.0, math.nan]), "theta must be finite"),
    (lambda: of(EYE, theta=[1, 2], returns=[1, 1], rewards=[1, 1]), "exclude each other"),
    (lambda: of(pb.Ball(2)), "theta must be given"),
    (lambda: of(EYE, returns=[1], rewards=[1, 2]), "returns must have length 2, got length 1"),
    (lambda: of(np.eye(3), theta=np.ones(3)), r"arms must have 2 features, .* got 3"),
    (
        lambda: of([[0.0, 1.0], [0.0, 2.0]], theta=[1.0, 1.0]),
        r"span of the arms \(Assumption 1\), got one with the direction 1 x\[0\]",
    ),
    (
        lambda: of(EYE, theta=[0.0, 3.0]),
        r"theta must have a part in the subspace \(Assumption 1\), got one with P_U theta = 0",
    ),
    (lambda: of(pb.Ball(2), theta=[0.0, 0.0]), "theta must have a part in the subspace"),
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
