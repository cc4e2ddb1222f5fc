"""Expected improvement: its formulas against slow twins."""

import math

import numpy as np
import pytest

import projbandits as pb
from projbandits.strategies.belief import Moments
from projbandits.strategies.improvement import improvement
from tests import naive
from tests.beliefs import some_belief
from tests.naive import Array
from tests.worlds import run


def by_hand(belief: Moments, shrink: Array | None = None) -> tuple[float, Array, Array]:
    b = belief
    return naive.expected_improvement(
        b.mean, b.target, b.seen, b.covariance, b.own, b.noise, shrink
    )


@pytest.mark.parametrize("effects", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_improvement_is_that_of_the_loops(seed: int, effects: bool) -> None:
    belief = some_belief(seed, effects)
    found = improvement(belief)
    _, gaps, info = by_hand(belief)
    assert found.greedy == int(belief.mean.argmax())
    np.testing.assert_allclose(found.gaps, gaps, rtol=1e-10)
    np.testing.assert_allclose(found.info, info, rtol=1e-10)


@pytest.mark.parametrize("effects", [False, True])
def test_information_is_the_slope_of_the_hidden_gain_at_a_fixed_mean(effects: bool) -> None:
    belief = some_belief(0, effects)
    for z, info in enumerate(improvement(belief).info):
        ends = [by_hand(belief, e * np.eye(7)[z])[0] for e in (-1e-5, 1e-5)]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(info, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_with_a_ridge_the_formulas_are_those_of_the_document(seed: int) -> None:
    # As docs/strategies.md writes them: V, sigma apart, and no own parts.
    rng = np.random.default_rng(seed)
    strategy = pb.EIIDS(noise=0.6)
    X = rng.normal(size=(6, 3))
    arms, U = pb.FiniteArms(X), pb.Subspace.span(rng.normal(size=(3, 2)))
    state = strategy.init(arms, U)
    for i in rng.integers(6, size=9):
        state = strategy.update(state, arms.arm(int(i)), rng.normal())
    F, inverse, theta = X @ U.matrix, state.ridge.inverse, state.ridge.theta
    h = int((F @ theta).argmax())
    A = np.zeros((3, 3))
    for y in range(6):
        if y != h:
            w = F[y] - F[h]
            s = 0.6 * math.sqrt(w @ inverse @ w)
            u = float(-w @ theta) / s
            g = inverse @ w
            A += math.exp(-u * u / 2) / math.sqrt(2 * math.pi) / (2 * s) * np.outer(g, g)
    expected = [0.6**2 * (x @ A @ x) / (1 + x @ inverse @ x) for x in X]
    found = strategy.prospect(state, strategy.belief(state).moments(X))
    np.testing.assert_allclose(found.info, expected, rtol=1e-9)


def test_eiratio_takes_the_best_ratio_that_is_repaid_and_ends_greedy() -> None:
    rng = np.random.default_rng(0)
    arms, U = pb.FiniteArms(rng.normal(size=(8, 3))), pb.Subspace.coordinates([0, 1], d=3)
    strategy = pb.EIRatio(horizon=60, noise=0.5)
    state = strategy.init(arms, U)
    strange = 0
    for t in range(1, 61):
        h, gaps, info = improvement(strategy.belief(state).moments(arms.vectors))
        best = h
        for z in range(8):
            repaid = (60 - t) * info[z] >= gaps[z] - gaps[h]
            if repaid and info[z] / gaps[z] > info[best] / gaps[best]:
                best = z
        choice = strategy.select(state, arms, rng)
        assert (choice.index, choice.probability) == (best, 1.0)
        strange += best != h
        state = strategy.update(state, choice.arm, rng.normal())
    assert strange > 5
    assert best == h
    assert strategy.select(state, arms, rng).index == int(
        strategy.belief(state).moments(arms.vectors).mean.argmax()
    )


def test_eiratio_is_greedy_where_no_arm_repays_and_the_best_tells_nothing() -> None:
    # The best arm has no features, so it tells nothing and its information is zero.
    X = np.array([[-1.0, 0.0, 0.5], [0.0, -1.0, -0.5], [0.0, 0.0, 0.0], [-0.5, -0.5, 0.3]])
    problem = pb.problems.instance(
        X, theta=[1.0, 1.0, 0.2], subspace=pb.Subspace.coordinates([0, 1], 3), noise=0.3
    )
    for engine in ("reference", "compiled"):
        result = run(problem, pb.EIRatio(horizon=300), engine, trials=5, horizon=300)
        assert result.found_best is not None
        assert result.found_best.all()
