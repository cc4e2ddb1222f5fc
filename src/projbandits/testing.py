"""Conformance checks that a strategy, a problem or a decision set of your own can run.

Each returns nothing if all is well and raises an AssertionError that says what is not. The
library's own parts pass them in its tests.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from projbandits._checks import Array
from projbandits.arms import Arm, Box, DecisionSet, FiniteArms
from projbandits.problems import Problem
from projbandits.strategies import Strategy
from projbandits.subspace import Subspace


def check_strategy(
    strategy: Strategy, *, sets: Sequence[DecisionSet] | None = None, seed: int = 0
) -> None:
    """Check that a strategy keeps its side of the protocol.

    On each decision set it plays forty steps. Its label and choices must be reproducible, its
    states must not change under its hands, every choice must lie in the set, and on finitely many
    arms the probabilities it states must be those with which it chooses: 2,000 choices from one
    state, each frequency within five standard errors.

    Parameters
    ----------
    strategy : Strategy
        What to check.
    sets : sequence of DecisionSet, optional
        Where to play; by default six random arms, six arms that span a plane of R^3 with one of
        them twice, and a box.
    seed : int
        Where its randomness comes from.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits.testing import check_strategy
    >>> check_strategy(pb.GENTRY(alpha=0.5))
    """
    assert isinstance(strategy, Strategy), f"{strategy!r} lacks init, select or update"
    assert repr(strategy) == repr(copy.deepcopy(strategy)), "the label changes with a copy"
    assert " at 0x" not in repr(strategy), f"the label {strategy!r} names a memory address"
    rng = np.random.default_rng(seed)
    flat = np.column_stack([rng.uniform(-1, 1, size=(5, 2)), np.zeros(5)])
    default = [
        FiniteArms(rng.uniform(-1, 1, size=(6, 3))),
        FiniteArms(np.vstack([flat, flat[:1]])),
        Box(-np.ones(3), np.ones(3)),
    ]
    for arms in default if sets is None else sets:
        subspace = Subspace.coordinates([0], arms.d)
        theta = rng.uniform(-1, 1, size=arms.d)
        state = _play(strategy, arms, subspace, theta, seed)
        again = _play(strategy, arms, subspace, theta, seed)
        assert _same(state, again), f"two plays with the same randomness differ on {arms!r}"
        if isinstance(arms, FiniteArms):
            _check_probabilities(strategy, state, arms, seed)


def _play(
    strategy: Strategy, arms: DecisionSet, subspace: Subspace, theta: Array, seed: int
) -> Any:
    rng = np.random.default_rng(seed)
    state = strategy.init(arms, subspace)
    for _ in range(40):
        before = copy.deepcopy(state)
        choice = strategy.select(state, arms, rng)
        assert _same(before, state), "select changed the state in place"
        assert 0 < choice.probability <= 1 + 1e-12, f"the probability is {choice.probability}"
        assert arms.contains(choice.arm.x), f"{choice.arm.x} is not in {arms!r}"
        if isinstance(arms, FiniteArms):
            assert choice.index is not None, "a choice from finitely many arms has no index"
            assert (arms.vectors[choice.index] == choice.arm.x).all(), "index and arm disagree"
        state = strategy.update(state, choice.arm, float(choice.arm.x @ theta) + rng.normal())
        assert state is not before, "update returned nothing new"
    return state


def _check_probabilities(strategy: Strategy, state: Any, arms: FiniteArms, seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    draws = 2000
    stated: dict[int, float] = {}
    counts: Counter[int] = Counter()
    for _ in range(draws):
        choice = strategy.select(state, arms, rng)
        assert choice.index is not None
        counts[choice.index] += 1
        known = stated.setdefault(choice.index, choice.probability)
        assert math.isclose(known, choice.probability, rel_tol=1e-6), (
            f"arm {choice.index} was chosen with stated probabilities {known} and "
            f"{choice.probability} from the same state"
        )
    for index, p in stated.items():
        error = 5 * math.sqrt(max(p * (1 - p), 0) / draws) + 1 / draws
        assert abs(counts[index] / draws - p) <= error, (
            f"arm {index} was chosen {counts[index]} times in {draws}, with stated probability {p}"
        )


def check_problem(problem: Problem, *, seed: int = 0) -> None:
    """Check that a problem's worlds are sound.

    The same generator must give the same world. Mean returns and rewards must be finite, no arm
    may beat the best, and 4,000 observations of an arm must scatter around its mean: their mean
    within five standard errors, their spread no larger than the stated scale allows.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits.testing import check_problem
    >>> check_problem(pb.problems.entropy_ball())
    """
    assert isinstance(problem, Problem), f"{problem!r} lacks the method world"
    assert " at 0x" not in repr(problem), f"the label {problem!r} names a memory address"
    one, two = (problem.world(np.random.default_rng(seed)) for _ in range(2))
    arms = _some_arms(one.arms, np.random.default_rng(seed))
    for arm in arms:
        assert one.mean_return(arm) == two.mean_return(arm), "worlds from one seed differ"
        assert one.reward(arm) == two.reward(arm), "worlds from one seed differ"
        slack = 1e-9 * max(1.0, abs(one.best_reward), abs(one.best_return))
        assert one.reward(arm) <= one.best_reward + slack, "an arm beats the best reward"
        assert one.mean_return(arm) <= one.best_return + slack, "an arm beats the best return"
    rng = np.random.default_rng([seed, 1])
    mean, scale, draws = one.mean_return(arms[0]), one.noise.scale, 4000
    seen = np.array([one.noise.observe(mean, rng) for _ in range(draws)])
    assert abs(seen.mean() - mean) <= 5 * scale / math.sqrt(draws) + 1e-12 * abs(mean), (
        f"observations of a mean of {mean} average {seen.mean()}"
    )
    # A sub-Gaussian variable has at most its parameter squared as variance; 1.2 is sampling error.
    assert seen.std() <= 1.2 * scale + 1e-12 * abs(mean), (
        f"observations spread by {seen.std()}, the stated scale is {scale}"
    )


def check_decision_set(arms: DecisionSet, *, seed: int = 0) -> None:
    """Check a decision set's support points, its basis and its span.

    Support points in 200 random directions must lie in the set, and each must be the best of all
    of them in its own direction; scaling the direction must not move them. The basis must be
    independent, lie in the set, and span every support point.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits.testing import check_decision_set
    >>> check_decision_set(pb.Ball(d=3, radius=2.0))
    """
    rng = np.random.default_rng(seed)
    directions = np.vstack(
        [rng.normal(size=(200, arms.d)), np.eye(arms.d), -np.eye(arms.d), np.zeros(arms.d)]
    )
    points = np.array([arms.maximize(c) for c in directions])
    for x in points:
        assert arms.contains(x), f"the support point {x} is not in {arms!r}"
        assert np.linalg.norm(x) <= arms.radius * (1 + 1e-9), f"{x} is longer than the radius"
    values = points @ directions.T
    size = np.abs(points).max() * np.abs(directions).sum(axis=1) + 1e-300
    short = (values.max(axis=0) - np.diag(values)) / size
    assert short.max() <= 1e-10, f"a support point misses the maximum by {short.max():.2g}"
    for c, x in zip(directions[:20], points, strict=False):
        rescaled = float(c @ arms.maximize(1e-3 * c))
        assert math.isclose(rescaled, float(c @ x), rel_tol=1e-9, abs_tol=1e-9 * arms.radius), (
            f"the support point of {c} moves when the direction is scaled"
        )
    for method in ("pivoted-qr", "first"):
        basis = arms.basis(method)
        assert len(basis) == arms.rank, f"the basis {method!r} has {len(basis)} arms"
        assert np.linalg.matrix_rank(basis) == arms.rank, f"the basis {method!r} is dependent"
        assert all(arms.contains(x) for x in basis), f"the basis {method!r} leaves the set"
    left = points - arms.span().project(points)
    assert np.abs(left).max() <= 1e-7 * max(arms.radius, 1e-300), "arms lie outside span()"


def _some_arms(arms: DecisionSet, rng: np.random.Generator) -> list[Arm]:
    if isinstance(arms, FiniteArms):
        return [arms.arm(i) for i in range(arms.size)]
    return [arms.best(c) for c in rng.normal(size=(50, arms.d))]


def _same(one: Any, other: Any) -> bool:
    """Tell whether two states hold the same numbers."""
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(np.array_equal(np.asarray(one), np.asarray(other)))
