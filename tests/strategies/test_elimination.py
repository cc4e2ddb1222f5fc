"""Phased elimination: its designs and its phases against slow twins, and what it refuses."""

import itertools
import math

import numpy as np
import pytest

import projbandits as pb
from projbandits.strategies.elimination import (
    FINER,
    FIRST_PULLS,
    SLIGHT,
    WORTH_PLAYING,
    Phase,
    ProjectedElimination,
    designed,
)
from tests.worlds import FINITE, U3, given, run


@pytest.mark.parametrize("seed", range(3))
def test_a_design_narrows_the_widest_difference_at_the_least_cost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, beyond = rng.normal(size=(9, 4)), rng.normal(size=(6, 4))
    costs = rng.uniform(0.2, 2.0, size=9)
    found = designed(X, beyond, costs, 1e-6, 0.4, 1000)
    V, pulls = 1e-6 * np.eye(4), np.zeros(9)

    def width(V: object, w: object) -> float:
        return float(np.asarray(w) @ np.linalg.solve(np.asarray(V), np.asarray(w)))

    while max(width(V, w) for w in beyond) > 0.4**2:
        w = max(beyond, key=lambda w: width(V, w))
        gain = [(width(V, w) - width(V + np.outer(x, x), w)) for x in X]
        z = int(np.argmax(np.array(gain) / costs))
        V, pulls[z] = V + np.outer(X[z], X[z]), pulls[z] + 1
    assert np.array_equal(found.pulls, pulls)
    assert found.cost == pytest.approx(costs @ pulls)
    assert found.width**2 == pytest.approx(max(width(V, w) for w in beyond), rel=1e-6)
    np.testing.assert_allclose(found.inverse, np.linalg.inv(V), rtol=1e-5, atol=1e-8)
    assert designed(X, beyond, costs, 1e-6, 0.4, 3).pulls.sum() == 3
    assert designed(X, beyond, costs, 1e-6, 0.4, 1000, most_cost=1.0).cost > 1.0


def played(strategy: ProjectedElimination, seed: int) -> list[tuple[pb.State, int, float]]:
    """The states of one trial, with the arm and the return of each step."""
    rng = np.random.default_rng(seed)
    arms = pb.FiniteArms(rng.uniform(-1, 1, size=(12, 4)))
    U = pb.Subspace.span(rng.normal(size=(4, 2)))
    theta, state, steps = rng.uniform(-1, 1, size=4), None, []
    state = strategy.init(arms, U)
    for _ in range(strategy.horizon):
        arm = strategy.select(state, arms, rng).arm
        observed = float(arm.x @ theta + 0.3 * rng.normal())
        assert arm.index is not None
        steps.append((state, arm.index, observed))
        state = strategy.update(state, arm, observed)
    return steps


@pytest.mark.parametrize("seed", range(4))
def test_phases_follow_from_the_returns_of_the_one_before(seed: int) -> None:
    strategy = pb.ProjectedElimination(horizon=900, noise=0.3)
    steps = played(strategy, seed)
    starts = [i for i, (state, _, _) in enumerate(steps) if state.plan.begins == state.step]
    X, F = steps[0][0].plan.X, steps[0][0].plan.F
    K, active, bounds = len(X), set(range(len(X))), np.full(len(X), math.inf)
    assert steps[0][0].plan.design.pulls.sum() == FIRST_PULLS * 4
    assert len(starts) > 2
    for begin, end in itertools.pairwise(starts):
        before: Phase = steps[begin][0].plan
        after: Phase = steps[end][0].plan
        rows = [i for _, i, _ in steps[begin:end]]
        told = np.array([observed for _, _, observed in steps[begin:end]])
        assert np.array_equal(np.bincount(rows, minlength=K), before.design.pulls)
        C = np.linalg.inv(X[rows].T @ X[rows] + SLIGHT * (X**2).sum(axis=1).max() * np.eye(4))
        mean = F @ C @ X[rows].T @ told
        s = 0.3 * np.array([[math.sqrt((y - z) @ C @ (y - z)) for y in F] for z in F])
        spread = max(sum(s[b, z] for z in active) for b in active)
        cost = sum(max(bounds[i], 0.3 * before.design.width) if begin else 1 for i in rows)
        cost = before.design.cost if begin else cost * max(s[y, z] for y in active for z in active)
        radius = math.sqrt(2 * math.log(1 + (900 - end) * spread / cost))
        for z in active:
            most = max(mean[y] - mean[z] + radius * s[y, z] for y in active)
            bounds[z] = min(bounds[z], most)
        best = max(active, key=lambda y: mean[y])
        active = {z for z in active if z == best or mean[best] - mean[z] < radius * s[best, z]}
        assert set(np.flatnonzero(after.active)) == active
        np.testing.assert_allclose(after.bounds, bounds, rtol=1e-4)
        assert after.leader in active
        if after.begins < after.ends:
            assert after.design.width <= before.design.width / FINER
            assert after.design.cost <= WORTH_PLAYING * (900 - end) * bounds[after.leader]
    last, leader = steps[-1][0].plan, steps[-1][1]
    assert last.begins == last.ends
    assert leader == last.leader


def test_it_stays_far_below_the_published_radius_in_setting_a() -> None:
    # docs/limits.md proves its bound with these constants. Five standard errors: the level is below
    # 1e-6.
    strategy = pb.ProjectedElimination(horizon=10_000, noise=0.5)
    size = {"trials": 60, "horizon": 10_000, "checkpoints": [10_000]}
    regret = run(FINITE["setting-a"], strategy, "compiled", **size).regret[0, :, -1]
    assert regret.mean() + 5 * regret.std() / math.sqrt(60) < 700


def test_twins_and_arms_that_cannot_be_compared_end_the_phases() -> None:
    strategy = pb.ProjectedElimination(horizon=200, noise=0.5)
    same = np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 5.0], [1.0, 2.0, -5.0]])
    # Nor can the difference of the first two coordinates be told from these.
    hidden = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [-1.0, 1.0, 1.0]])
    for X in (same, hidden):
        arms, rng = pb.FiniteArms(X), np.random.default_rng(0)
        state = strategy.init(arms, U3)
        for _ in range(200):
            arm = strategy.select(state, arms, rng).arm
            state = strategy.update(state, arm, float(arm.x.sum() + 0.5 * rng.normal()))
        assert state.plan.begins == state.plan.ends <= 200


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(ValueError, match="horizon must be at least 1, got 0"):
        pb.ProjectedElimination(horizon=0)
    with pytest.raises(ValueError, match=r"arm_effects must be None, got 0\.4"):
        pb.ProjectedElimination(horizon=9, arm_effects=0.4)
    strategy = pb.ProjectedElimination(horizon=9)
    with pytest.raises(
        ValueError, match=r"ProjectedElimination needs finitely many arms, got Ball"
    ):
        strategy.init(pb.Ball(3), U3)
    with pytest.raises(ValueError, match="strategy must take arms that change"):
        pb.Decider(strategy, subspace=U3)
    state = strategy.init(pb.FiniteArms(np.eye(3)), U3)
    with pytest.raises(ValueError, match="arms must be those that it began with"):
        strategy.select(state, pb.FiniteArms(2 * np.eye(3)), np.random.default_rng(0))
    with pytest.raises(ValueError, match="offers no compiled rule for Ball"):
        run(given(pb.Ball(3)), strategy, "compiled")
