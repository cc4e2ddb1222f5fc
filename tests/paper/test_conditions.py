"""The checks that claims are made of: from made-up results to numbers and demands."""

import dataclasses

import numpy as np
import pytest

import projbandits as pb
from projbandits import statistics, theory
from projbandits.paper import Experiment, Outcome
from projbandits.paper.conditions import (
    beats,
    exceeds_threshold,
    finds_best,
    grows,
    less,
    linear,
    moderate_alpha,
    of_order,
    same_order,
    thresholds,
)
from projbandits.paper.settings import Setting
from tests.paper.made_up import A, made_up
from tests.worlds import world_of

HOLDS, FAILS, UNDECIDED = Outcome.HOLDS, Outcome.FAILS, Outcome.UNDECIDED


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
    strategies = tuple(pb.GENTRY(alpha=alpha) for alpha in (0.1, 2.0, 10.0))
    means = np.array([ends[0], 4.0, ends[1]])
    noise = np.random.default_rng(0).normal(size=(3, 30)) / 10
    regret = (means[:, None] + noise)[:, :, None]
    more = dataclasses.replace(A, name="more")
    setting = Setting("x", "here", A, SWEEP, SWEEP, TUNED, decided=(A, more))
    results = {
        "x": made_up(strategies, regret[:, :12]),
        "more": made_up(strategies[1:], regret[1:]),
    }
    conditions = moderate_alpha(setting)(results)
    over = [regret[0, :12, 0] - regret[1, :12, 0], regret[2, :, 0] - regret[1, :, 0]]
    assert [c.estimate for c in conditions] == [statistics.mean(more) for more in over]
    assert [c.what.split(": ")[1] for c in conditions] == [
        "regret at alpha 0.1 minus that at 2 (12 trials)",
        "regret at alpha 10 minus that at 2 (30 trials)",
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


@pytest.mark.parametrize(
    ("means", "outcome"),
    [
        ((1.0, 5.0, 9.0), HOLDS),
        ((1.0, 9.0, 5.0), FAILS),  # the first is lowest in both, and yet the order differs
        ((1.0, 5.0, 5.0), UNDECIDED),
    ],
)
def test_the_order_is_that_of_all_strategies(means: tuple[float, ...], outcome: Outcome) -> None:
    strategies = (pb.GENTRY(), pb.UE(), pb.CURSE())
    noise = np.random.default_rng(0).normal(size=(3, 30)) / 10
    usual = np.array([2.0, 4.0, 6.0])
    there = dataclasses.replace(A, name="there", strategies=strategies)
    here = dataclasses.replace(there, name="x")
    results = {
        x.name: made_up(strategies, (np.array(mean)[:, None] + noise)[:, :, None])
        for x, mean in ((here, usual), (there, means))
    }
    settings = [
        Setting(x.name, "", x, SWEEP, SWEEP, x, own=pb.GENTRY(), benchmarks=strategies[1:])
        for x in (here, there)
    ]
    given, tuned = (check(results) for _, check in same_order(*settings))
    assert [c.estimate for c in given] == [c.estimate for c in tuned]
    outcomes = {condition.outcome for condition in given}
    assert outcomes - {HOLDS} == {outcome} - {HOLDS}
    assert [c.what for c in given] == [
        f"{name}: regret of {more} minus that of {less}"
        for name in ("x", "there")
        for less, more in (("GENTRY", "UE"), ("UE", "CURSE"))
    ]


@pytest.mark.parametrize(
    ("power", "outcomes"),
    [
        (0.5, [HOLDS, FAILS]),  # the order is not at stake
        (2 / 3, [HOLDS, HOLDS]),
        (0.8, [FAILS, HOLDS]),
    ],
)
def test_an_order_is_at_stake_only_where_regret_reaches_it(
    power: float, outcomes: list[Outcome]
) -> None:
    steps = np.unique(np.geomspace(1, 10_000, 40).astype(np.int64))
    result = dataclasses.replace(
        made_up(A.strategies[:1], np.tile(steps**power, (1, 30, 1))), steps=steps
    )
    conditions = of_order(A, A.strategies[0])({"x": result})
    assert [c.outcome for c in conditions] == outcomes
    assert "after 78.6 explorations in 10,000 steps" in conditions[0].brief


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
    for rows, second in (([0, 1], HOLDS), ([0, 0], FAILS)):
        result = made_up(A.strategies, np.ones((2, 100, 1)), found[rows])
        conditions = finds_best(A, *A.strategies)({"x": result})
        assert [c.outcome for c in conditions] == [HOLDS, second]


def test_thresholds_are_those_of_the_worlds_that_were_met() -> None:
    problem = pb.problems.random_arms(d=3, arms=6, u=2)
    small = dataclasses.replace(A, problem=lambda: problem)
    result = pb.simulate(problem, pb.GENTRY(), trials=4, horizon=5, seed=7, progress=False)
    worlds = [world_of(problem, i, seed=7) for i in range(4)]
    expected = [theory.constants(world).alpha_threshold for world in worlds]
    np.testing.assert_array_equal(thresholds(small, result), expected)
    [condition] = exceeds_threshold(small, 1e9)({"x": result})
    assert condition.estimate.value == 1.0
