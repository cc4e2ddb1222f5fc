"""GENTRY that finds U where groups disagree."""

from itertools import islice

import numpy as np
import pytest

import projbandits as pb
from projbandits.problems import World
from projbandits.strategies.seeking import SeekingGENTRY
from tests import naive


def played(world: World, strategy: SeekingGENTRY, steps: int) -> pb.State:
    noise, rng = np.random.default_rng(1), np.random.default_rng(2)
    state = strategy.init(world.arms, world.subspace)
    for now in islice(world.steps(), steps):
        arm = strategy.select(state, world.arms, rng).arm
        state = strategy.update(state, arm, now.noise.observe(now.mean_return(arm), noise))
    return state


def test_u_is_found_as_data_comes() -> None:
    problem = pb.problems.groups(d=4, arms=12, u=3, groups=4)
    strategy = SeekingGENTRY(alpha=5.0, groups=4, leave_out=1)
    early: list[float] = []
    late: list[float] = []
    for seed in range(6):
        world = problem.world(np.random.default_rng(seed))
        rest = world.subspace.complement().basis
        for steps, angles in ((60, early), (900, late)):
            plan = played(world, strategy, steps).plan
            angles.append(naive.degrees(rest, plan.rest))
    assert np.mean(late) < 0.6 * np.mean(early)
    assert np.mean(late) < 15


def test_it_learns_nothing_from_the_subspace_it_is_given() -> None:
    world = pb.problems.groups(d=4, arms=12, u=3).world(np.random.default_rng(0))
    strategy = SeekingGENTRY(groups=8, leave_out=1)
    rng = np.random.default_rng(0)
    other = pb.Subspace.coordinates([0], d=4)
    one, two = (strategy.init(world.arms, U) for U in (world.subspace, other))
    for t in range(60):
        arm = world.arms.arm(t % 12)  # type: ignore[attr-defined]
        observed = float(rng.normal())
        one, two = (strategy.update(state, arm, observed) for state in (one, two))
    np.testing.assert_array_equal(strategy.aim(one), strategy.aim(two))
    assert one.plan.sums[:, 0, 0].tolist() == [8.0] * 4 + [7.0] * 4
    assert one.plan.due > 60


def test_what_it_cannot_play_is_named() -> None:
    with pytest.raises(ValueError, match="arm_effects must be None here"):
        SeekingGENTRY(arm_effects=1.0)
    with pytest.raises(ValueError, match="groups must be at least 2, got 1"):
        SeekingGENTRY(groups=1)
    with pytest.raises(ValueError, match="leave_out must be less than 2, got 2"):
        SeekingGENTRY().init(pb.FiniteArms(np.eye(2)), pb.Subspace.coordinates([0], d=2))
