"""Claims as checks: from made-up results to verdicts."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits import statistics, theory
from projbandits.paper import Claim, Condition
from projbandits.paper.experiments import Experiment
from projbandits.paper.verdicts import (
    FAILS,
    HOLDS,
    UNDECIDED,
    beats,
    exceeds_threshold,
    finds_best,
    grows,
    linear,
    moderate_alpha,
    thresholds,
)
from projbandits.results import Result
from projbandits.statistics import Estimate


def made_up(strategies: tuple[Any, ...], regret: Any, found: Any = None) -> Result:
    """Return a result with the given regret (strategy x trial x checkpoint)."""
    regret = np.asarray(regret, dtype=np.float64)
    shaped = np.empty((len(strategies), regret.shape[1], regret.shape[2]))
    shaped[:] = regret
    real = pb.simulate(pb.problems.random_arms(), strategies, trials=1, horizon=1, progress=False)
    return dataclasses.replace(
        real,
        steps=np.unique(np.geomspace(1, 10_000, regret.shape[2]).astype(np.int64)),
        regret=shaped,
        return_regret=shaped,
        found_best=None if found is None else np.asarray(found, dtype=np.bool_),
        horizon=10_000,
    )


A = Experiment(name="x", problem=pb.problems.random_arms, strategies=(pb.GENTRY(), pb.UE()))


@pytest.mark.parametrize(
    ("interval", "outcome"),
    [((1.0, 2.0), HOLDS), ((0.0, 3.0), HOLDS), ((-1.0, 1.0), UNDECIDED), ((2.0, 4.0), UNDECIDED),
     ((-2.0, -1.0), FAILS), ((3.5, 4.0), FAILS), ((float("nan"), float("nan")), UNDECIDED)],
)  # fmt: skip
def test_an_interval_decides_or_does_not(interval: tuple[float, float], outcome: str) -> None:
    condition = Condition("number", Estimate(sum(interval) / 2, *interval), least=0.0, most=3.0)
    assert condition.outcome == outcome


def test_a_claim_holds_only_if_all_of_it_does() -> None:
    good = Condition("good", Estimate(1, 1, 1), least=0.0)
    wide = Condition("wide", Estimate(1, -1, 2), least=0.0)
    bad = Condition("bad", Estimate(-1, -1, -1), least=0.0)
    results = {"x": made_up((pb.GENTRY(), pb.UE()), np.ones((2, 3, 2)))}

    def outcome(*conditions: Condition) -> str:
        claim = Claim(
            name="n", text="t", source="s", experiments=(A,), conditions=lambda _: conditions
        )
        return claim.check(results).outcome

    assert outcome(good, good) == HOLDS
    assert outcome(good, wide) == UNDECIDED
    assert outcome(good, wide, bad) == FAILS
    results["x"] = dataclasses.replace(results["x"], horizon=9999)
    assert outcome(good) == UNDECIDED  # the claim is about a longer horizon


def test_beating_is_measured_in_the_same_worlds() -> None:
    # Worlds differ by thousands, the strategies by about 1 in each of them.
    rng = np.random.default_rng(0)
    worlds = rng.uniform(0, 5000, size=100)
    regret = np.stack([worlds, worlds + 1 + rng.normal(size=100)])[:, :, None]
    [condition] = beats(A, pb.GENTRY(), pb.UE())({"x": made_up(A.strategies, regret)})
    assert condition.outcome == HOLDS
    assert condition.estimate == statistics.mean(regret[0, :, 0] - regret[1, :, 0])
    [other] = beats(A, pb.UE(), pb.GENTRY())({"x": made_up(A.strategies, regret)})
    assert other.outcome == FAILS


@pytest.mark.parametrize(("ends", "outcome"), [((9.0, 8.0), HOLDS), ((9.0, 1.0), FAILS)])
def test_a_moderate_alpha_beats_both_ends(ends: tuple[float, float], outcome: str) -> None:
    sweep = tuple(pb.GENTRY(alpha=alpha) for alpha in (0.1, 1.0, 2.0, 10.0))
    means = np.array([ends[0], 5.0, 4.0, ends[1]])
    noise = np.random.default_rng(0).normal(size=(4, 30)) / 10
    conditions = moderate_alpha(A)({"x": made_up(sweep, (means[:, None] + noise)[:, :, None])})
    assert [c.what.split(": ")[1] for c in conditions] == [
        "regret at alpha 0.1 minus that at 2",
        "regret at alpha 10 minus that at 2",
    ]
    assert [c.outcome for c in conditions] == [HOLDS, outcome]


def test_growth_is_the_exponent_over_the_last_decade() -> None:
    steps = np.unique(np.geomspace(1, 10_000, 40).astype(np.int64))
    regret = np.stack([np.tile(steps**0.5, (20, 1)), np.tile(steps**1.0, (20, 1))])
    result = dataclasses.replace(made_up(A.strategies, regret), steps=steps)
    check = grows(A, *A.strategies, most=0.9)
    assert [c.outcome for c in check({"x": result})] == [HOLDS, FAILS]


def test_linear_growth_may_begin_with_a_cost() -> None:
    steps = np.unique(np.geomspace(1, 10_000, 200).astype(np.int64))
    regret = np.stack([np.tile(5000 + steps, (20, 1)), np.tile(steps**0.5, (20, 1))])
    result = dataclasses.replace(made_up(A.strategies, regret), steps=steps)
    conditions = linear(A, *A.strategies)({"x": result})
    assert [c.outcome for c in conditions] == [HOLDS, HOLDS, FAILS, HOLDS]
    assert [bool(c.demand) for c in conditions] == [True, False, True, False]


def test_finding_the_best_arm_needs_most_trials_and_a_margin() -> None:
    found = np.array([[True] * 90 + [False] * 10, [True] * 30 + [False] * 70])
    result = made_up(A.strategies, np.ones((2, 100, 1)), found)
    assert [c.outcome for c in finds_best(A, *A.strategies)({"x": result})] == [HOLDS, HOLDS]
    twins = made_up(A.strategies, np.ones((2, 100, 1)), found[[0, 0]])
    assert [c.outcome for c in finds_best(A, *A.strategies)({"x": twins})] == [HOLDS, FAILS]


def test_thresholds_are_those_of_the_worlds_that_were_met() -> None:
    problem = pb.problems.random_arms(d=3, arms=6, u=2)
    small = dataclasses.replace(A, problem=lambda: problem)
    result = pb.simulate(problem, pb.GENTRY(), trials=4, horizon=5, seed=7, progress=False)
    worlds = [problem.world(_stream(7, i)) for i in range(4)]
    expected = [theory.constants(world).alpha_threshold for world in worlds]
    np.testing.assert_array_equal(thresholds(small, result), expected)
    [condition] = exceeds_threshold(small, 1e9)({"x": result})
    assert condition.estimate.value == 1.0


def _stream(seed: int, trial: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(trial, 0)))
