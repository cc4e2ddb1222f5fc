"""`simulate`: what it computes, and that it can be repeated."""

import numpy as np

import projbandits as pb
from tests.worlds import PAIR, Recorder, run, same


def test_regret_is_the_sum_of_the_gaps_of_the_arms_played() -> None:
    X = np.array([[1.0, 0.0], [0.4, 2.0], [0.0, 1.0]])
    problem = pb.problems.instance(
        X, theta=[2.0, 1.0], subspace=pb.Subspace.coordinates([0], d=2), noise=9.0
    )
    result = run(problem, Recorder(), trials=2, horizon=7, checkpoints=[1, 2, 3, 7])
    # Rewards 2, 0.8, 0 and returns 2, 2.8, 1, whatever the noise.
    assert result.steps.tolist() == [1, 2, 3, 7]
    for trial in (0, 1):
        np.testing.assert_allclose(result.regret[0, trial], [0, 1.2, 3.2, 6.4])
        np.testing.assert_allclose(result.return_regret[0, trial], [0.8, 0.8, 2.6, 6.0])
        assert result.best_share is not None
        np.testing.assert_allclose(result.best_share[0, trial], [1, 0.5, 1 / 3, 3 / 7])
    assert result.found_best is not None
    assert not result.found_best.any()


def test_the_first_trials_do_not_depend_on_how_many_there_are() -> None:
    few, many = run(trials=5), run(trials=10)
    assert (many.regret[:, :5] == few.regret).all()
    assert (many.return_regret[:, :5] == few.return_regret).all()


def test_the_order_of_strategies_does_not_matter() -> None:
    one, other = run(), run(strategies=PAIR[::-1])
    alone = run(strategies=pb.UE())
    assert (one.regret == other.regret[::-1]).all()
    assert (one.regret[1] == alone.regret[0]).all()


def test_checkpoints_do_not_change_the_numbers() -> None:
    one, other = run(checkpoints=[30, 60]), run(checkpoints=range(1, 61))
    assert (one.regret[..., 0] == other.regret[..., 29]).all()
    assert (one.regret[..., 1] == other.regret[..., 59]).all()


def test_another_seed_gives_other_worlds_and_none_a_fresh_one() -> None:
    assert not same(run(seed=0), run(seed=1))
    fresh = run(seed=None)
    assert fresh.seed != run(seed=None).seed
    assert same(fresh, run(seed=fresh.seed))
