"""Conformance checks for strategies, problems, decision sets and stores of your own.

Each returns nothing if all is well and raises an AssertionError that says what is not. The
library's own parts pass them in its tests.
"""

from __future__ import annotations

import copy
import math
import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from projbandits._validation import Array
from projbandits.arms import Arm, Box, DecisionSet, FiniteArms
from projbandits.problems import Problem, World
from projbandits.strategies import Choice, Strategy
from projbandits.subspace import Subspace

__all__ = ["check_decision_set", "check_problem", "check_strategy"]


def check_strategy(
    strategy: Strategy, *, sets: Sequence[DecisionSet] | None = None, seed: int = 0
) -> None:
    """Check that a strategy keeps its side of the protocol.

    On each decision set, with U of one dimension, of half of all (rounded up) and of all, it plays
    forty steps twice, the two plays interleaved. Both must make the same choices, so all it knows
    is in its state and all its randomness comes from the generator. Neither `select` nor `update`
    may change a state in place, every choice must lie in the set, and the probabilities it states
    must be those with which it chooses: 2,000 choices from one state (50 if it claims to be
    certain), each frequency within five standard errors. A strategy that cannot compute a
    probability states nan, and then always.

    Parameters
    ----------
    strategy : Strategy
        What to check.
    sets : sequence of DecisionSet, optional
        Where to play; by default six random arms, six arms that span a plane of R^3 with one of
        them twice, and, unless its `same_arms` is true, a box.
    seed : int
        The seed of all randomness.

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
    default: list[DecisionSet] = [
        FiniteArms(rng.uniform(-1, 1, size=(6, 3))),
        FiniteArms(np.vstack([flat, flat[:1]])),
        *([] if getattr(strategy, "same_arms", False) else [Box(-np.ones(3), np.ones(3))]),
    ]
    for arms in default if sets is None else sets:
        theta = rng.uniform(-1, 1, size=arms.d)
        for u in sorted({1, (arms.rank + 1) // 2, arms.rank}):
            U = Subspace.span(arms.basis().T[:, :u])
            plays = [_play(strategy, arms, U, theta, seed) for _ in range(2)]
            for one, other in zip(*plays, strict=True):
                assert np.array_equal(one[0].arm.x, other[0].arm.x), (
                    f"two plays with the same randomness differ on {arms!r}, dim U = {u}"
                )
        _check_probabilities(strategy, one[1], arms, seed)


def _play(
    strategy: Strategy, arms: DecisionSet, subspace: Subspace, theta: Array, seed: int
) -> Iterator[tuple[Choice, Any]]:
    """Yield each choice of forty steps and the state after it."""
    rng = np.random.default_rng(seed)
    state = strategy.init(arms, subspace)
    for _ in range(40):
        before = _frozen(state)
        choice = strategy.select(state, arms, rng)
        assert _frozen(state) == before, "select changed the state in place"
        p = choice.probability
        assert math.isnan(p) or 0 < p <= 1 + 1e-12, f"the probability is {p}"
        assert arms.contains(choice.arm.x), f"{choice.arm.x} is not in {arms!r}"
        if isinstance(arms, FiniteArms):
            assert choice.index is not None, "a choice from finitely many arms has no index"
            assert (arms.vectors[choice.index] == choice.arm.x).all(), "index and arm disagree"
        after = strategy.update(state, choice.arm, float(choice.arm.x @ theta) + rng.normal())
        assert _frozen(state) == before, "update changed the state in place"
        state = after
        yield choice, state


def _check_probabilities(strategy: Strategy, state: Any, arms: DecisionSet, seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    first = strategy.select(state, arms, rng).probability
    draws = 2000 if first < 1 - 1e-12 else 50
    stated: dict[bytes | int, float] = {}
    counts: Counter[bytes | int] = Counter()
    for _ in range(draws):
        choice = strategy.select(state, arms, rng)
        arm = choice.arm.x.tobytes() if choice.index is None else choice.index
        counts[arm] += 1
        known = stated.setdefault(arm, choice.probability)
        unknown = math.isnan(first) and math.isnan(choice.probability)
        assert unknown or math.isclose(known, choice.probability, rel_tol=1e-6), (
            f"{choice.arm} was chosen with stated probabilities {known} and "
            f"{choice.probability} from the same state"
        )
    for arm, p in stated.items() if not math.isnan(first) else ():
        error = 5 * math.sqrt(max(p * (1 - p), 0) / draws) + 1 / draws
        assert abs(counts[arm] / draws - p) <= error, (
            f"an arm was chosen {counts[arm]} times in {draws}, with stated probability {p}"
        )


def check_problem(problem: Problem, *, seed: int = 0) -> None:
    """Check that a problem's worlds are sound.

    Five worlds are made, each twice from the same generator, and the two must agree. No arm may
    beat the best, and the best must be attained. Where theta is given, rewards must be inner
    products of projections. For three arms, 4,000 observations must scatter around the mean:
    their average within five standard errors, their spread no larger than the stated scale allows.
    Where offers change from step to step, all that is asked of the first three.

    Parameters
    ----------
    problem : Problem
        The problem to check.
    seed : int
        Where the worlds and the observations come from.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits.testing import check_problem
    >>> check_problem(pb.problems.entropy_ball())
    """
    assert isinstance(problem, Problem), f"{problem!r} lacks the method world"
    assert " at 0x" not in repr(problem), f"the label {problem!r} names a memory address"
    for trial in range(5):
        one, two = (problem.world(np.random.default_rng([seed, trial])) for _ in range(2))
        assert one.steady == two.steady, "worlds from one seed differ"
        few = 1 if one.steady else 3
        for steps in zip(islice(one.steps(), few), islice(two.steps(), few), strict=True):
            _check_world(*steps, np.random.default_rng([seed, trial, 1]))


def _check_world(one: World, two: World, rng: np.random.Generator) -> None:
    arms = _some_arms(one.arms, rng)
    size = max(1.0, abs(one.best_reward), abs(one.best_return))
    for arm in arms:
        assert one.mean_return(arm) == two.mean_return(arm), "worlds from one seed differ"
        assert one.reward(arm) == two.reward(arm), "worlds from one seed differ"
        assert one.reward(arm) <= one.best_reward + 1e-9 * size, "an arm beats the best reward"
        assert one.mean_return(arm) <= one.best_return + 1e-9 * size, "an arm beats the best return"
        if one.theta is not None:
            wanted = float(one.subspace.project(arm.x) @ one.subspace.project(one.theta))
            assert abs(one.reward(arm) - wanted) <= 1e-9 * size, "a reward is not the projection's"
            total = float(arm.x @ one.theta)
            assert abs(one.mean_return(arm) - total) <= 1e-9 * size, "a return is not <x, theta>"
    best = one.reward(one.best_arm)
    assert abs(best - one.best_reward) <= 1e-9 * size, "no arm attains the best reward"
    scale, draws = one.noise.scale, 4000
    for arm in arms[:3]:
        mean = one.mean_return(arm)
        seen = np.array([one.noise.observe(mean, rng) for _ in range(draws)])
        assert abs(seen.mean() - mean) <= 5 * scale / math.sqrt(draws) + 1e-12 * size, (
            f"observations of a mean of {mean} average {seen.mean()}"
        )
        # Sub-Gaussian noise has at most its parameter squared as variance; 1.2 is sampling error.
        assert seen.std() <= 1.2 * scale + 1e-12 * size, (
            f"observations spread by {seen.std()}, the stated scale is {scale}"
        )


def check_decision_set(arms: DecisionSet, *, seed: int = 0) -> None:
    """Check a decision set's support points, its basis and its span.

    Support points in 200 random directions must lie in the set, and each must be the best of all
    of them in its own direction; a point a little farther out must not be in the set. Scaling the
    direction must not move them, and asking again must give the same. The basis must be
    independent, lie in the set, and span every support point. A convex function must be as large
    at its maximum as at any support point.

    Parameters
    ----------
    arms : DecisionSet
        The set to check.
    seed : int
        Where the random directions come from.

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
        assert np.linalg.norm(x) <= arms.longest * (1 + 1e-9), f"{x} is longer than the longest arm"
    assert math.isfinite(arms.longest), f"the longest arm has length {arms.longest}"
    for c, x in zip(directions[:200], points, strict=False):
        outside = x + 1e-4 * max(arms.longest, 1e-300) * c / np.linalg.norm(c)
        assert not arms.contains(outside), f"{outside} counts as a member of {arms!r}"
    again = np.array([arms.maximize(c) for c in directions])
    assert (again == points).all(), "asked again, support points differ"
    values = points @ directions.T
    size = np.abs(points).max() * np.abs(directions).sum(axis=1) + 1e-300
    short = (values.max(axis=0) - np.diag(values)) / size
    assert short.max() <= 1e-10, f"a support point misses the maximum by {short.max():.2g}"
    for c, x in zip(directions[:20], points, strict=False):
        rescaled = float(c @ arms.maximize(1e-3 * c))
        assert math.isclose(rescaled, float(c @ x), rel_tol=1e-9, abs_tol=1e-9 * arms.longest), (
            f"the support point of {c} moves when the direction is scaled"
        )
    for method in ("pivoted-qr", "first"):
        basis = arms.basis(method)
        assert len(basis) == arms.rank, f"the basis {method!r} has {len(basis)} arms"
        rank = np.linalg.matrix_rank(basis) if len(basis) else 0  # NumPy 1 finds no rank of nothing
        assert rank == arms.rank, f"the basis {method!r} is dependent"
        assert all(arms.contains(x) for x in basis), f"the basis {method!r} leaves the set"
    spread = _Spread(directions[0])
    top = spread.value(arms.best_convex(spread).x[None])[0]
    assert top >= spread.value(points).max() * (1 - 1e-6), "best_convex is not the best"
    left = points - arms.span().project(points)
    assert np.abs(left).max() <= 1e-7 * max(arms.longest, 1e-300), "arms lie outside span()"


def _some_arms(arms: DecisionSet, rng: np.random.Generator) -> list[Arm]:
    if isinstance(arms, FiniteArms):
        return [arms.arm(i) for i in range(arms.size)]
    return [arms.best(c) for c in rng.normal(size=(50, arms.d))]


@dataclass(frozen=True)
class _Spread:
    """|x|^2 with a slope, a convex function with several local maxima."""

    slope: Array

    def value(self, X: Array) -> Array:
        return np.asarray((X * X).sum(axis=1) + 0.1 * X @ self.slope)

    def gradient(self, X: Array) -> Array:
        return 2 * X + 0.1 * self.slope

    def directions(self) -> Array:
        axes = np.eye(len(self.slope))
        return np.vstack([axes, -axes, self.slope])


def _frozen(state: Any) -> bytes:
    """Return a state as bytes that change with anything in it."""
    return pickle.dumps(state)
