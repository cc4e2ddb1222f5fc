"""The event engine: equal to steps in distribution, and exactly where nothing is left to chance."""

import math
from threading import Timer
from typing import Any

import numpy as np
import pytest
from scipy import stats

import projbandits as pb
from projbandits.simulation import events, executors
from projbandits.simulation.arrays import Arrays
from projbandits.simulation.kernels.event_loop import DEPTH, stretch
from projbandits.simulation.kernels.philox import begin
from projbandits.simulation.request import Spec
from projbandits.simulation.streams import key, stream
from projbandits.strategies import LinearStrategy
from tests.worlds import FINITE, GREEDY, LEVEL, THETA, U3, always, flag, given, never, p_value, run


@pytest.mark.parametrize(
    "name", ["setting-a", "setting-b", "no-noise", "wine", "twins", "zero-arm", "k-below-d"]
)
def test_events_agree_with_steps_in_distribution(name: str) -> None:
    # 2,000 trials each, other seeds, the compiled loop standing for the reference, which it equals
    # step by step. Kolmogorov and Smirnov's two-sample test of both regrets at two steps, and
    # Fisher's of the share that found the best arm; each at level 1e-4, 15 tests for each of 7
    # worlds.
    size = {"trials": 2000, "horizon": 500, "checkpoints": [100, 500]}
    steps = run(FINITE[name], GREEDY, "compiled", seed=1, **size)
    skips = run(FINITE[name], GREEDY, "events", seed=2, **size)
    assert steps.found_best is not None
    assert skips.found_best is not None
    for i in range(len(GREEDY)):
        for one, other in (
            (steps.regret, skips.regret),
            (steps.return_regret, skips.return_regret),
        ):
            for checkpoint in (0, 1):
                a, b = one[i, :, checkpoint], other[i, :, checkpoint]
                assert p_value(a, b) > LEVEL
        found = [[f[i].sum(), (~f[i]).sum()] for f in (steps.found_best, skips.found_best)]
        assert stats.fisher_exact(np.array(found)).pvalue > LEVEL


def test_events_would_be_told_from_a_strategy_that_explores_a_quarter_more() -> None:
    size = {"trials": 2000, "horizon": 500, "checkpoints": [500]}
    steps = run(FINITE["setting-a"], pb.GENTRY(alpha=1.0), "compiled", seed=1, **size)
    skips = run(FINITE["setting-a"], pb.GENTRY(alpha=1.25), "events", seed=2, **size)
    assert p_value(steps.regret[0, :, 0], skips.regret[0, :, 0]) < LEVEL


@pytest.mark.parametrize("name", [n for n in FINITE if n not in ("uniform", "bernoulli")])
def test_without_noise_and_coins_events_equal_reference_exactly(name: str) -> None:
    # No exploration and no noise leave nothing to chance.
    world = FINITE[name].world(np.random.default_rng(5))
    still = pb.problems.Instance(
        pb.problems.World(
            world.arms,
            world.subspace,
            pb.problems.Gaussian(0.0),
            returns=world.arm_returns,
            rewards=world.arm_rewards,
        )
    )
    strategies = [pb.GENTRY(schedule=never), pb.CURSE(schedule=never), pb.REGRET(schedule=never)]
    size = {"trials": 1, "horizon": 300, "checkpoints": range(1, 301)}
    one, other = (
        run(still, strategies, "reference", **size),
        run(still, strategies, "events", **size),
    )
    np.testing.assert_allclose(other.regret, one.regret, rtol=1e-9, atol=1e-9)
    assert np.array_equal(other.best_share, one.best_share)  # type: ignore[arg-type]


@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.CURSE(), pb.REGRET(alpha=5.0)], ids=repr)
def test_arms_that_are_level_without_noise_are_not_walked_step_by_step(strategy: Any) -> None:
    horizon = 10**12
    level = np.zeros(3)
    problem = pb.problems.instance(np.eye(3), returns=level, rewards=level, subspace=U3, noise=0.0)
    world = problem.world(np.random.default_rng(0))
    stop = flag()
    late = Timer(60, stop.fill, [1])  # a walk would take hours; cut short it is seen all the same
    late.start()
    _, trace = events.run({0: world}, strategy, np.array([horizon]), 0, stop)
    late.cancel()
    assert trace.pulls.sum() == horizon
    assert trace.pulls[0, 1:].max() < 1000  # a tie goes to the first


def test_a_raised_flag_stops_events_while_they_are_played() -> None:
    # Some 8 million explorations a trial, which take many seconds.
    problem, strategy, steps = FINITE["setting-a"], pb.GENTRY(alpha=1e5), np.array([1000, 10**9])
    spec = Spec(problem, (strategy,), ("events",), 2, 10**9, 0, steps)
    run(problem, strategy, "events", trials=1, horizon=1)  # whatever has to be compiled is by now
    stop = flag()
    raising = Timer(0.3, stop.fill, [1])
    raising.start()
    (records,) = executors.run_chunk(spec, range(2), stop)
    raising.join()
    assert (records.regret[:, -1] == 0.0).all()  # never came there
    assert records.regret[0, 0] > 0.0  # but began


def test_a_raised_flag_stops_within_a_stretch_and_a_schedule() -> None:
    interval = -1.0, 1.0, False, False
    rest = np.empty(DEPTH, np.int64), np.empty(DEPTH), begin(key(1), 0, 0), flag(raised=True)
    assert stretch(100, 0.0, 1.0, 0.1, interval, *rest) == (0, 0.0)
    rng = np.random.default_rng(0)
    assert events._exploring_steps(always, 100, rng, flag(raised=True)) == []
    assert events._exploring_steps(always, 100, rng, flag()) != []


def rises(t: int) -> float:
    return 1e-5 if t < 2_000_000 else 1e-3


def awakes(t: int) -> float:
    return 0.0 if t < 2_000_000 else 1e-3


@pytest.mark.parametrize("schedule", [rises, awakes])
def test_a_schedule_that_increases_late_is_refused(schedule: Any) -> None:
    # Beyond the steps that are all looked at; thinning would miss most of the explorations.
    with pytest.raises(ValueError, match=r"schedule must not increase, got .* and 0.001 at step"):
        run(FINITE["twins"], pb.GENTRY(schedule=schedule), "events", trials=1, horizon=4_000_000)


def test_a_schedule_may_become_too_small_to_jump_by() -> None:
    world = FINITE["twins"].world(np.random.default_rng(0))
    strategy = pb.GENTRY(schedule=lambda t: 1e-320)
    _, trace = events.run({0: world}, strategy, np.array([9]), 0, flag())
    assert trace.pulls.sum() == 9


def test_a_constant_schedule_explores_at_its_rate() -> None:
    problem = given(np.eye(3))
    strategies = [pb.GENTRY(schedule=always)]
    size = {"trials": 2000, "horizon": 300, "checkpoints": [300]}
    one, other = (
        run(problem, strategies, "compiled", seed=1, **size),
        run(problem, strategies, "events", seed=2, **size),
    )
    assert p_value(one.regret[0, :, 0], other.regret[0, :, 0]) > LEVEL


def test_a_horizon_of_one_is_one_arm_of_the_basis() -> None:
    # epsilon_1 is 1, so each of the three arms is played in a third of the trials; their gaps are
    # 0, 0.5 and 1 in reward, and 0, 0.5 and 1.7 in return. A chi-squared test at level 1e-4.
    result = run(given(np.eye(3)), pb.GENTRY(), "events", trials=900, horizon=1)
    assert result.steps.tolist() == [1]
    played = np.column_stack([result.regret[0, :, 0], result.return_regret[0, :, 0]])
    gaps, counts = np.unique(played.round(9), axis=0, return_counts=True)
    np.testing.assert_allclose(gaps, [[0.0, 0.0], [0.5, 0.5], [1.0, 1.7]])
    assert stats.chisquare(counts).pvalue > LEVEL


def test_checkpoints_do_not_change_a_run_of_events() -> None:
    few = run(
        pb.problems.random_arms(), GREEDY, "events", trials=5, horizon=5000, checkpoints=[700, 5000]
    )
    many = run(pb.problems.random_arms(), GREEDY, "events", trials=5, horizon=5000)
    at = np.searchsorted(many.steps, 5000)
    np.testing.assert_allclose(few.regret[..., 1], many.regret[..., at])
    assert np.array_equal(few.found_best, many.found_best)  # type: ignore[arg-type]


def test_pull_counts_agree_with_steps_in_distribution() -> None:
    # Gaps that are powers of a large base write the pull counts of a trial into its regret.
    X = np.array([[1.0, 0.0, 0.2], [0.0, 1.0, -0.3], [0.6, 0.6, 0.9], [-0.2, 0.8, 0.4]])
    gaps = np.array([0.0, 1.0, 1e3, 1e6])
    problem = pb.problems.instance(
        X, returns=X @ np.array(THETA), rewards=-gaps, subspace=U3, noise=0.5
    )
    size = {"trials": 2000, "horizon": 400, "checkpoints": [400]}
    for strategy in GREEDY:
        pulls = []
        for engine, seed in (("compiled", 1), ("events", 2)):
            regret = run(problem, strategy, engine, seed=seed, **size).regret[0, :, 0].round()
            pulls.append([regret % 1e3, regret // 1e3 % 1e3, regret // 1e6])
        for one, other in zip(*pulls, strict=True):
            assert p_value(one, other) > LEVEL


@pytest.mark.parametrize("horizon", [1000, 10**6, 10**9])
@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.REGRET(alpha=5.0)], ids=repr)
def test_the_belief_is_the_ridge_solution_of_the_pulls(
    strategy: LinearStrategy, horizon: int
) -> None:
    for trial in range(5):
        world = pb.problems.random_arms().world(stream(0, trial, "world"))
        arrays = Arrays(world)
        steps = np.array([horizon])
        assert isinstance(strategy, pb.GENTRY | pb.REGRET)
        _, traces = events.run({trial: world}, strategy, steps, 0, flag())
        trace = events.Trace(*(rows[0] for rows in traces))
        assert trace.pulls.sum() == horizon
        learn = (arrays.whole if strategy.learns_on == "arm" else arrays.projected)[0]
        V = np.eye(10) + (learn.T * trace.pulls) @ learn
        theta = np.linalg.solve(V, learn.T @ trace.totals)
        exact = np.linalg.inv(V)
        size = np.sqrt(np.diag(exact))
        assert (trace.inverse == trace.inverse.T).all()
        assert np.linalg.eigvalsh(trace.inverse)[0] > 0
        # Both sides lose the condition number of V, which grows with the horizon.
        np.testing.assert_allclose(trace.inverse, exact, atol=1e-15 * horizon + 1e-12)
        assert np.abs((trace.theta - theta) / size).max() < 1e-2 / math.sqrt(1e-3 * horizon) + 1e-4


def test_ten_to_the_nine_steps_cost_what_their_explorations_do() -> None:
    # epsilon_t = min(1, 9 / t) over arms whose gaps are 0, 0.5 and 1: the explorations of n steps
    # cost half of 9 + 9 log(n / 9) on average, and greed errs for a few steps only. Five standard
    # errors of the mean of 40 trials, which are less than a tenth of the cost at the end.
    steps, trials = np.array([10**5, 10**9]), 40
    options = {"trials": trials, "horizon": 10**9, "checkpoints": steps}
    result = run(given(np.eye(3)), pb.GENTRY(alpha=3.0), "events", **options)
    explored = 9 + 9 * np.log(steps / 9)
    error = 5 * np.sqrt(explored * (0.5**2 + 1**2) / 3 / trials)
    assert (np.abs(result.regret[0].mean(axis=0) - explored / 2) <= error).all()
    assert result.found_best is not None
    assert result.found_best.all()
