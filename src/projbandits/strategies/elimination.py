"""Phased elimination: what may still be best is compared ever more precisely, at the least cost.

docs/limits.md proves a bound on its regret.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array, integer
from projbandits.arms import DecisionSet, FiniteArms
from projbandits.strategies.base import Choice, State
from projbandits.strategies.compiled import CompiledRule
from projbandits.strategies.information import GaussianBeliefStrategy, first_largest
from projbandits.subspace import Subspace

FINER = 2.0
"""How many times smaller the largest deviation is after each further phase."""
WORTH_PLAYING = 0.1
"""A phase is played if it costs at most this share of what settling at once may cost."""
FIRST_PULLS = 2
"""How many pulls the first phase has for each dimension of span(D)."""
SLIGHT = 1e-6
"""A phase's least squares have this penalty, times the square of the longest arm: none to speak of,
but V is never singular, and what a phase does not measure has a huge deviation."""


class Design(NamedTuple):
    """How often to pull each arm so as to compare the active arms with the leader.

    Parameters
    ----------
    pulls : ndarray of shape (K,)
        The number of pulls of each arm.
    inverse : ndarray of shape (d, d)
        V^-1 of these pulls.
    width : float
        The largest |F_y - F_h|_{V^-1} over active arms y, with h the leader.
    cost : float
        The sum of the costs of the pulls.
    """

    pulls: NDArray[np.int64]
    inverse: Array
    width: float
    cost: float


class Phase(NamedTuple):
    """What is played until step `ends`, and what it was planned from.

    Parameters
    ----------
    X, F : ndarray of shape (K, d)
        The arms and their projections.
    begins, ends : int
        Its first step, and the step after its last; if they are equal, there are no more phases.
    design : Design
        What is pulled in it.
    gram, told : ndarray of shape (d, d) and (d,)
        lambda I + sum x x^T and sum r x over the steps before.
    active : ndarray of shape (K,)
        Whether each arm may still be best.
    bounds : ndarray of shape (K,)
        How much each arm costs at most, unless an estimate erred by more than its radius.
    leader : int
        The best guess.
    """

    X: Array
    F: Array
    begins: int
    ends: int
    design: Design
    gram: Array
    told: Array
    active: NDArray[np.bool_]
    bounds: Array
    leader: int

    @property
    def turns(self) -> Array:
        """The step after the last pull of each arm."""
        return np.asarray(self.begins + np.cumsum(self.design.pulls), dtype=np.float64)


def designed(
    X: Array,
    beyond: Array,
    costs: Array,
    penalty: float,
    target: float,
    most_pulls: float,
    most_cost: float = math.inf,
) -> Design:
    """Return the design that pulls, again and again, what narrows the widest difference the most.

    The narrowing is per cost. It ends when no row of `beyond` is wider than `target`, or when it
    would be too long or too expensive. The compiled engine compiles this very function.
    """
    inverse = np.eye(X.shape[1]) / penalty
    squares = (X * X).sum(axis=1) / penalty
    widths = (beyond * beyond).sum(axis=1) / penalty
    pulls, count, cost = np.zeros(len(X), dtype=np.int64), 0, 0.0
    while True:
        widest = first_largest(widths)
        width = math.sqrt(widths[widest])
        if width <= target or count >= most_pulls or cost > most_cost:
            return Design(pulls, inverse, width, cost)
        along = X @ (inverse @ beyond[widest])
        z = first_largest(along**2 / ((1 + squares) * costs))
        v = inverse @ X[z]
        weight = 1 / (1 + X[z] @ v)
        inverse -= weight * np.outer(v, v)
        squares = np.maximum(squares - weight * (X @ v) ** 2, 0.0)
        widths = np.maximum(widths - weight * (beyond @ v) ** 2, 0.0)
        pulls[z] += 1
        count += 1
        cost += costs[z]


@dataclass(frozen=True, kw_only=True, repr=False)
class ProjectedElimination(GaussianBeliefStrategy):
    """Phased elimination for projections: the strategy with a proof, on finitely many arms.

    In each phase, the differences between the arms that may still be best are measured twice as
    precisely as before, by the pulls of *any* arms that do so at the least regret. When that would
    cost more than it can gain in the steps that are left, the best guess is played to the end. At
    the end of a phase, whose returns alone make theta-hat and V, arm y is dropped where::

        <F_h - F_y, theta-hat> >= rho s_y
        s_y = sigma sqrt((F_y - F_h)^T V^-1 (F_y - F_h))
        rho = sqrt(2 log(1 + left S / cost))

    Here F_y = P_U x_y, h is the best arm in the phase, and S the largest sum of s_y over the arms
    that are left. docs/limits.md (section 5) has the rule in full and proves a bound on its regret.
    The proof needs `noise`, a bound on the sub-Gaussian parameter of the noise; if that is left out
    it is estimated, and nothing is proven.

    Parameters
    ----------
    horizon : int
        n, the number of steps to be played; from then on it plays its best guess.

    Examples
    --------
    >>> import projbandits as pb
    >>> strategy = pb.ProjectedElimination(horizon=1000, noise=0.5)
    >>> result = pb.simulate(pb.problems.random_arms(), [strategy, pb.GENTRY()], trials=20,
    ...                      horizon=1000, seed=0)
    >>> mean = result.summary()["mean"]
    >>> bool(mean[repr(strategy)] < mean["GENTRY()"])
    True
    """

    horizon: int

    same_arms = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "horizon", integer("horizon", self.horizon, least=1))
        if self.arm_effects is not None:
            raise ValueError(
                f"arm_effects must be None, got {self.arm_effects!r}: a phase measures differences "
                "of features alone"
            )

    def plan(self, arms: DecisionSet, subspace: Subspace) -> Phase:
        """Return the first phase: a few pulls that tell how large the differences are."""
        assert isinstance(arms, FiniteArms)  # see `init`
        X = arms.vectors
        F: Array = np.einsum("ij,jk->ik", X, subspace.matrix)
        everyone = np.ones(len(X))
        design = designed(X, F - F[0], everyone, _penalty(X), 0.0, FIRST_PULLS * arms.rank)
        gram, told = self.penalty * np.eye(arms.d), np.zeros(arms.d)
        ends = 1 + int(design.pulls.sum())
        unknown = np.full(len(X), math.inf)
        return Phase(X, F, 1, ends, design, gram, told, everyone > 0, unknown, 0)

    def replan(self, state: State) -> Phase:
        """Return the phase to be in at the next step."""
        phase: Phase = state.plan
        if phase.begins == phase.ends or state.step < phase.ends:
            return phase
        return self._following(phase, state.step, state.ridge.theta, self.belief(state).noise)

    def _following(
        self,
        phase: Phase,
        step: int,
        theta: Array,
        sigma: float,
        design_of: Callable[..., Design] = designed,
    ) -> Phase:
        """Return the phase that begins at a step, by the estimate before it."""
        X, F, design = phase.X, phase.F, phase.design
        left = self.horizon - (step - 1)
        gram = phase.gram + (X.T * design.pulls) @ X
        told = gram @ theta
        mean: Array = np.einsum("ij,j->i", F, design.inverse @ (told - phase.told))
        rows = np.flatnonzero(phase.active)
        deviations = sigma * _distances(F[rows], design.inverse)
        cost = design.cost if phase.begins > 1 else design.cost * float(deviations.max())
        radius = 0.0
        if cost > 0 and left > 0:
            radius = math.sqrt(2 * math.log1p(left * float(deviations.sum(axis=1).max()) / cost))

        may_lead = mean[rows] - mean[rows, None] + radius * deviations  # y over z, in row z
        bounds = phase.bounds.copy()
        bounds[rows] = np.minimum(bounds[rows], may_lead.max(axis=1))
        best = int(mean[rows].argmax())
        kept = mean[rows[best]] - mean[rows] < radius * deviations[best]
        kept[best] = True
        rows = rows[kept]
        active = np.zeros(len(X), dtype=np.bool_)
        active[rows] = True
        leader = int(rows[np.einsum("ij,j->i", F[rows], theta).argmax()])

        target = design.width / FINER
        beyond = (F - F[leader]) * active[:, None]
        costs = np.maximum(bounds, sigma * target)
        limit = WORTH_PLAYING * left * bounds[leader]
        following = phase.design
        ends = step
        if len(rows) > 1 and left > 0:
            following = design_of(
                X, beyond, costs, _penalty(X), float(target), float(left), float(limit)
            )
            if following.width <= target and following.cost <= limit:
                ends += int(following.pulls.sum())
        return Phase(X, F, step, ends, following, gram, told, active, bounds, leader)

    def select(self, state: State, arms: DecisionSet, rng: np.random.Generator) -> Choice:
        """Choose the next arm of the phase, or the leader once there are no more phases."""
        phase: Phase = state.plan
        assert isinstance(arms, FiniteArms)
        if arms.vectors is not phase.X and not np.array_equal(arms.vectors, phase.X):
            raise ValueError(f"arms must be those that it began with, got {arms!r}")
        if phase.begins == phase.ends:
            return Choice(arms.arm(phase.leader), 1.0)
        arm = np.searchsorted(phase.turns, state.step, side="right")
        return Choice(arms.arm(int(arm)), 1.0)

    def compiled_rule(
        self, arms: DecisionSet, subspace: Subspace, horizon: int
    ) -> CompiledRule | None:
        """Return the kernel that plays a phase, and the plan of the next by the same `replan`."""
        if not isinstance(arms, FiniteArms):
            return None
        phase = self.plan(arms, subspace)

        def again(
            step: int, theta: Array, sigma: float, compiled: Callable[..., Any]
        ) -> tuple[Array, int]:
            nonlocal phase
            if step > 1:
                phase = self._following(phase, step, theta, sigma, compiled(designed))
            if phase.begins < phase.ends:
                return phase.turns, phase.ends - 1
            return np.where(np.arange(len(phase.X)) < phase.leader, 0.0, math.inf), horizon

        return CompiledRule("elimination", np.array([self.noise or 0.0, self.penalty]), again=again)


def _penalty(X: Array) -> float:
    """Return the penalty of a phase's least squares."""
    return SLIGHT * float(np.einsum("ij,ij->i", X, X).max())


def _distances(F: Array, inverse: Array) -> Array:
    """Return |F_y - F_z| in the norm of V^-1 for all pairs of rows."""
    between = F[:, None] - F
    squares: Array = np.einsum("yzi,ij,yzj->yz", between, inverse, between, optimize=True)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))
