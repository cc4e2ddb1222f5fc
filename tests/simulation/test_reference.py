"""The reference engine against an independently written loop, and the paper's ranking."""

import math

import numpy as np
import pytest

import projbandits as pb
from tests import naive
from tests.worlds import run

RNG = np.random.default_rng(2024)
X = RNG.uniform(-1, 1, size=(9, 4))
THETA = RNG.uniform(-1, 1, size=4)
A = RNG.uniform(-1, 1, size=(4, 2))
SD, HORIZON = 0.5, 100
TRIALS, NAIVE = 180, 900
"""Trials of each loop: as sharp as 300 of both, as naive ones, side by side, cost little."""
STRATEGIES: dict[str, pb.GENTRY | pb.CURSE | pb.REGRET | pb.UE | pb.ProjectedUE] = {
    "GENTRY": pb.GENTRY(alpha=1.0, basis="first"),
    "CURSE": pb.CURSE(alpha=1.0, basis="first"),
    "REGRET": pb.REGRET(alpha=1.0, basis="first"),
    "UE": pb.UE(alpha=0.3),
    "ProjectedUE": pb.ProjectedUE(alpha=0.3),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_mean_regret_agrees_with_an_independent_loop(name: str) -> None:
    strategy = STRATEGIES[name]
    problem = pb.problems.instance(X, theta=THETA, subspace=pb.Subspace.span(A), noise=SD)
    result = run(problem, strategy, "reference", trials=TRIALS, horizon=HORIZON, seed=3)
    rng = np.random.default_rng(4)
    P = naive.projection_matrix(A)
    basis = naive.first_independent(X)
    alpha = strategy.alpha
    naively = naive.play(name, X, P, THETA, SD, alpha, basis, HORIZON, NAIVE, rng)
    ours = np.column_stack([result.regret[0, :, -1], result.return_regret[0, :, -1]])
    difference = ours.mean(axis=0) - naively.mean(axis=0)
    error = np.sqrt(ours.var(axis=0) / TRIALS + naively.var(axis=0) / NAIVE)
    # Two-sided level 0.001 for each of the ten comparisons.
    assert (np.abs(difference) <= 3.29 * error).all()
    # The comparison is sharp enough to tell: a fifth of the regret would show.
    assert (3.29 * error <= 0.2 * naively.mean(axis=0)).all()


def test_without_noise_and_exploration_the_loops_agree_exactly() -> None:
    U = pb.Subspace.span(A)
    problem = pb.problems.instance(X, theta=THETA, subspace=U, noise=0.0)
    for name in ("UE", "ProjectedUE"):
        result = run(problem, STRATEGIES[name], "reference", trials=1, horizon=80)
        rng = np.random.default_rng(0)
        P = naive.projection_matrix(A)
        ((regret, return_regret),) = naive.play(name, X, P, THETA, 0.0, 0.3, [], 80, 1, rng)
        assert result.regret[0, 0, -1] == pytest.approx(regret, rel=1e-10)
        assert result.return_regret[0, 0, -1] == pytest.approx(return_regret, rel=1e-10)


def test_the_reference_engine_ranks_the_strategies_as_the_paper_does() -> None:
    problem = pb.problems.random_arms()
    strategies = [pb.GENTRY(), pb.CURSE(), pb.REGRET(), pb.UE()]
    result = run(problem, strategies, "reference", trials=40, horizon=400, seed=1)
    gentry, *others = result.regret[:, :, -1]
    for other in others:
        gain = other - gentry  # the same worlds, so differences are paired
        assert gain.mean() >= 2.33 * gain.std(ddof=1) / math.sqrt(len(gain))  # level 0.01
