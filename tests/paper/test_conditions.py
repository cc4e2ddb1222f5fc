"""The checks that claims are made of: from made-up results to numbers and demands."""

import dataclasses

import numpy as np
import pytest

import projbandits as pb
from projbandits import statistics, theory
from projbandits.paper.conditions import (
    beats,
    exceeds_threshold,
    finds_best,
    grows,
    less,
    linear,
    moderate_alpha,
    thresholds,
)
from projbandits.paper.experiments import Experiment
from projbandits.paper.settings import Setting
from projbandits.paper.verdicts import FAILS, HOLDS
from tests.paper.made_up import A, made_up


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
    regret = (means[:, None] + noise)[:, :, None]
    results = {"x": made_up(sweep, regret[:, :12]), "close": made_up(sweep[1:3], regret[1:3])}
    conditions = moderate_alpha(A, dataclasses.replace(A, name="close"))(results)
    over = [regret[end, 1:12:2, 0] - regret[2, 1:12:2, 0] for end in (0, 3)]
    assert [c.estimate for c in conditions] == [statistics.mean(more) for more in over]
    assert [c.what.split(": ")[1] for c in conditions] == [
        "regret at alpha 0.1 minus that at 2",
        "regret at alpha 10 minus that at 2",
    ]
    assert [c.outcome for c in conditions] == [HOLDS, outcome]


SWEEP = Experiment(
    name="sweep",
    problem=pb.problems.random_arms,
    strategies=tuple(kind(alpha=a) for kind in (pb.GENTRY, pb.UE) for a in (0.1, 1.0)),
)
TUNED = dataclasses.replace(SWEEP, name="tuned", tuned_on=SWEEP)


def test_what_is_best_in_one_sweep_is_judged_elsewhere() -> None:
    # In the sweep GENTRY is best at 1 and UE at 0.1; elsewhere these two are 5 and 3.
    ones = np.ones((4, 30, 1))
    sweep = made_up(SWEEP.strategies, ones * np.array([9.0, 2.0, 1.0, 8.0])[:, None, None])
    chosen = TUNED.chosen({"sweep": sweep})
    assert chosen == (pb.GENTRY(alpha=1.0), pb.UE(alpha=0.1))
    results = {
        "x": made_up(A.strategies, np.stack([ones[0], 4 * ones[0]])),
        "sweep": sweep,
        "tuned": made_up(chosen, np.stack([5 * ones[0], 3 * ones[0]])),
    }
    setting = Setting("x", "here", A, SWEEP, SWEEP, TUNED, own=pb.GENTRY(), benchmarks=(pb.UE(),))
    given, tuned = (check(results) for _, check in less(setting))
    assert [(c.estimate.value, c.outcome) for c in given] == [(-3.0, HOLDS)]
    assert [(c.estimate.value, c.outcome) for c in tuned] == [(2.0, FAILS)]
    assert given[0].brief == "GENTRY 1 (1 to 1) against UE 4"
    assert tuned[0].what == "regret of GENTRY minus that of UE"


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
