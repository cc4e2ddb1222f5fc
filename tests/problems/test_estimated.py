"""Worlds in which strategies see an estimate of U, and U itself judges them."""

from itertools import islice

import numpy as np
import pytest

import projbandits as pb
from projbandits import testing
from projbandits.simulation import compiled, events
from tests import naive
from tests.worlds import run

BASE = pb.problems.random_arms(d=5, arms=12, u=3)


def apart(problem: pb.problems.Problem, trials: int = 20) -> float:
    angles = []
    for i in range(trials):
        world = problem.world(np.random.default_rng(i))
        bases = world.subspace.complement().basis, world.seen.complement().basis
        angles.append(naive.degrees(*bases))
    return float(np.mean(angles))


def test_more_and_better_side_information_brings_the_estimate_nearer() -> None:
    small, large, exact, items = (
        pb.problems.estimated_subspace(BASE, size=50),
        pb.problems.estimated_subspace(BASE, size=5000),
        pb.problems.estimated_subspace(BASE, side="pairs", size=50, noise=0.0),
        pb.problems.estimated_subspace(BASE, size=50, items=2000),
    )
    assert apart(small) > 1.2 * apart(items) > 2 * apart(large)
    assert apart(small) > 1.2 * apart(pb.problems.estimated_subspace(BASE, size=50, shrink=True))
    assert apart(exact) < 1e-5


def test_the_estimate_is_seen_and_the_truth_judges() -> None:
    problem = pb.problems.estimated_subspace(BASE, size=20, noise=2.0)
    world, plain = (p.world(np.random.default_rng(3)) for p in (problem, BASE))
    assert world.seen is world.estimate
    np.testing.assert_array_equal(world.subspace.matrix, plain.subspace.matrix)
    assert plain.seen is plain.subspace
    assert world.arm_rewards is not None
    assert plain.arm_rewards is not None
    np.testing.assert_array_equal(world.arm_rewards, plain.arm_rewards)
    assert np.abs(world.seen.matrix - world.subspace.matrix).max() > 0.1
    testing.check_problem(problem)


@pytest.mark.parametrize("engine", ["reference", "compiled", "events"])
def test_every_engine_aims_by_the_estimate(engine: str) -> None:
    # Without exploring, and without noise, the aim alone decides: what counts for a strategy that
    # was given U is what the estimate says.
    truth = pb.Subspace.coordinates([0], d=2)
    guess = pb.Subspace.coordinates([1], d=2)
    arms = pb.FiniteArms([[1.0, 0.0], [0.0, 1.0]])
    world = pb.problems.World(
        arms, truth, pb.problems.Gaussian(0.01), theta=np.array([1.0, 1.0]), estimate=guess
    )
    result = run(pb.problems.Instance(world), pb.GENTRY(), engine, trials=4, horizon=400)
    assert result.engines == (engine,)
    assert result.pulls is not None
    assert (result.pulls[0, :, 1] > 300).all()
    np.testing.assert_allclose(result.regret[0, :, -1], result.pulls[0, :, 1])


def test_information_directed_strategies_see_the_estimate_in_both_engines() -> None:
    problem = pb.problems.estimated_subspace(BASE, size=30)
    slow, quick = (
        run(problem, pb.EIIDS(), engine, trials=2, seed=1) for engine in ("reference", "compiled")
    )
    np.testing.assert_allclose(slow.regret, quick.regret, rtol=1e-9)


def test_groups_take_turns_and_agree_on_what_counts() -> None:
    problem = pb.problems.groups(d=4, arms=8, u=3, groups=3)
    world = problem.world(np.random.default_rng(0))
    testing.check_problem(problem)
    thetas = np.array([now.theta for now in islice(world.steps(), 3)])
    assert world.theta is not None
    np.testing.assert_allclose(thetas.mean(axis=0), world.theta)
    projected = thetas @ world.subspace.matrix
    np.testing.assert_allclose(projected, np.broadcast_to(projected[0], projected.shape))
    assert np.linalg.matrix_rank(thetas - thetas.mean(axis=0), tol=1e-9) == 1
    for engine in (compiled, events):
        assert engine.why_not(world, pb.GENTRY()) == "the world changes from step to step"


def test_what_cannot_be_estimated_is_named() -> None:
    with pytest.raises(ValueError, match="side must be one of 'attributes', 'pairs'"):
        pb.problems.estimated_subspace(BASE, side="twins")
    with pytest.raises(ValueError, match="items must be 0 with side='pairs', got 5"):
        pb.problems.estimated_subspace(BASE, side="pairs", items=5)
    whole = pb.problems.estimated_subspace(pb.problems.random_arms(d=3, arms=5, u=3))
    with pytest.raises(ValueError, match="at least one direction out"):
        whole.world(np.random.default_rng(0))
    with pytest.raises(TypeError, match="problem must be a problem"):
        pb.problems.estimated_subspace("random_arms")  # type: ignore[arg-type]
