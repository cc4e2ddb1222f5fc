"""The event engine: equal to steps in distribution, and exactly where nothing is left to chance."""

from threading import Timer
from typing import Any

import numpy as np
import pytest
from scipy import stats

import projbandits as pb
from projbandits.simulation import events
from projbandits.strategies import LinearStrategy
from tests.worlds import (
    FINITE,
    GREEDY,
    LEVEL,
    OPTIMISTIC,
    THETA,
    U3,
    always,
    flag,
    given,
    never,
    p_value,
    run,
)

SKIPPING: list[LinearStrategy] = [*GREEDY, *OPTIMISTIC]

STEPS, SKIPS = 1500, 3000
"""Trials of each engine: as sharp as 2,000 of both, as events are cheap and steps are not."""
SIZE = {"horizon": 500, "checkpoints": [100, 500]}


@pytest.mark.parametrize(
    "name", ["setting-a", "setting-b", "no-noise", "wine", "twins", "zero-arm", "k-below-d"]
)
def test_events_agree_with_steps_in_distribution(name: str) -> None:
    # Other seeds, the compiled loop standing for the reference, which it equals step by step.
    # Kolmogorov and Smirnov's two-sample test of both regrets at two steps, and Fisher's of the
    # share that found the best arm; each at level 1e-4, 25 tests for each of 7 worlds.
    steps = run(FINITE[name], SKIPPING, "compiled", seed=1, trials=STEPS, **SIZE)
    skips = run(FINITE[name], SKIPPING, "events", seed=2, trials=SKIPS, **SIZE)
    assert steps.found_best is not None
    assert skips.found_best is not None
    for i in range(len(SKIPPING)):
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
    some, more = [pb.GENTRY(alpha=1.0), pb.UE(alpha=0.4)], [pb.GENTRY(alpha=1.25), pb.UE(alpha=0.5)]
    steps = run(FINITE["setting-a"], some, "compiled", seed=1, trials=STEPS, **SIZE)
    skips = run(FINITE["setting-a"], more, "events", seed=2, trials=SKIPS, **SIZE)
    for i in (0, 1):
        assert p_value(steps.return_regret[i, :, 1], skips.return_regret[i, :, 1]) < LEVEL


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
    greedy = [pb.GENTRY(schedule=never), pb.CURSE(schedule=never), pb.REGRET(schedule=never)]
    strategies = [*greedy, *OPTIMISTIC]
    size = {"trials": 1, "horizon": 300, "checkpoints": range(1, 301)}
    one, other = (run(still, strategies, engine, **size) for engine in ("reference", "events"))
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
    trace = events.run({0: world}, strategy, np.array([horizon]), 0, stop)
    late.cancel()
    assert trace.pulls.sum() == horizon
    assert trace.pulls[0, 1:].max() < 1000  # a tie goes to the first


def rises(t: int) -> float:
    return 1e-3 if t < 20_000 else 0.1


def awakes(t: int) -> float:
    return 0.0 if t < 20_000 else 0.1


@pytest.mark.parametrize("schedule", [rises, awakes])
def test_a_schedule_that_increases_late_is_refused(
    schedule: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Beyond the steps that are all looked at; thinning would miss most of the explorations.
    monkeypatch.setattr(events, "CHECKED_STEPS", 10_000)  # all at a hundredth of the size
    with pytest.raises(ValueError, match=r"schedule must not increase, got .* and 0.1 at step"):
        run(FINITE["twins"], pb.GENTRY(schedule=schedule), "events", trials=1, horizon=40_000)


def test_a_schedule_may_become_too_small_to_jump_by() -> None:
    world = FINITE["twins"].world(np.random.default_rng(0))
    strategy = pb.GENTRY(schedule=lambda t: 1e-320)
    trace = events.run({0: world}, strategy, np.array([9]), 0, flag())
    assert trace.pulls.sum() == 9


def test_a_constant_schedule_explores_at_its_rate() -> None:
    problem, strategy = given(np.eye(3)), pb.GENTRY(schedule=always)
    size = {"horizon": 300, "checkpoints": [300]}
    one = run(problem, strategy, "compiled", seed=1, trials=STEPS, **size)
    other = run(problem, strategy, "events", seed=2, trials=SKIPS, **size)
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


def test_optimism_begins_with_the_first_arm_and_knows_a_single_one() -> None:
    # The first radius is log 1 = 0, and all scores are 0.
    for strategy in OPTIMISTIC:
        first = run(given(-np.eye(3)), strategy, "events", trials=3, horizon=1)
        np.testing.assert_allclose(first.regret, 1.0)
        alone = run(FINITE["single"], strategy, "events", trials=3, horizon=10**12)
        assert (alone.regret == 0.0).all()


def test_checkpoints_do_not_change_a_run_of_events() -> None:
    problem, size = FINITE["setting-a"], {"trials": 5, "horizon": 5000}
    few = run(problem, SKIPPING, "events", checkpoints=[700, 5000], **size)
    many = run(problem, SKIPPING, "events", **size)
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
    size = {"horizon": 400, "checkpoints": [400]}
    for strategy in SKIPPING:
        pulls = []
        for engine, seed, trials in (("compiled", 1, STEPS), ("events", 2, SKIPS)):
            played = run(problem, strategy, engine, seed=seed, trials=trials, **size)
            regret = played.regret[0, :, 0].round()
            pulls.append([regret % 1e3, regret // 1e3 % 1e3, regret // 1e6])
        for one, other in zip(*pulls, strict=True):
            assert p_value(one, other) > LEVEL


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
