"""epsilon_t-greedy strategies: GENTRY, and the two benchmarks made from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from projbandits import schedules
from projbandits._validation import Array, one_of, positive
from projbandits.arms import Arm, DecisionSet, FiniteArms
from projbandits.arms.base import BASIS_METHODS
from projbandits.arms.finite import ArmRows
from projbandits.strategies.base import Choice, LinearStrategy, State
from projbandits.strategies.compiled import CompiledRule, over_steps
from projbandits.subspace import Subspace


@dataclass(frozen=True, kw_only=True, repr=False)
class EpsilonGreedy(LinearStrategy):
    """With probability epsilon_t a random arm of D_k, otherwise the best arm by the estimate.

    Parameters
    ----------
    alpha : float
        How much to explore: epsilon_t is min(1, alpha k / t^e), with e from the schedule.
    schedule : {"auto", "finite", "infinite", "smooth"} or callable
        e is 1, 1/3 or 1/2; "auto" is "finite" for finitely many arms and "infinite" otherwise. A
        callable takes t and returns epsilon_t itself.
    basis : {"pivoted-qr", "first"}
        How D_k, the arms explored at random, is chosen. A decider that learns a level of all
        outcomes explores one more, see `DecisionSet.level_arms`.
    """

    alpha: float = 1.0
    schedule: schedules.Epsilon | str = "auto"
    basis: str = "pivoted-qr"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alpha", positive("alpha", self.alpha))
        schedules.validate(self.schedule)
        one_of("basis", self.basis, BASIS_METHODS)

    def epsilon(self, arms: DecisionSet) -> schedules.Epsilon:
        """Return epsilon_t as a function of t on this decision set."""
        return self.epsilon_for(len(arms.basis_arms(self.basis)), math.isfinite(arms.size))

    def epsilon_for(self, k: int, finite: bool) -> schedules.Epsilon:
        """Return epsilon_t as a function of t on any set of rank k."""
        return schedules.resolve(self.schedule, alpha=self.alpha, k=k, finite=finite)

    def select(self, state: State, arms: DecisionSet, rng: np.random.Generator) -> Choice:
        """Choose an arm as in Algorithm 1."""
        basis = self._explored(state, arms)
        epsilon = 0.0
        if basis:
            epsilon = self.epsilon_for(len(basis), math.isfinite(arms.size))(state.step)
        greedy = self.greedy(state, arms)
        arm = greedy
        if rng.random() < epsilon:
            arm = basis[int(rng.random() * len(basis))]
        probability = (1 - epsilon) * _same(arm, greedy)
        if basis:
            probability += epsilon * _among(arm, basis) / len(basis)
        return Choice(arm, probability)

    def _explored(self, state: State, arms: DecisionSet) -> Sequence[Arm]:
        """Return D_k, and what a level takes beside it where one is learnt."""
        if state.ridge.intercept:
            return arms.level_arms(self.basis)
        return arms.basis_arms(self.basis)

    def probabilities(self, state: State, arms: FiniteArms) -> Array:
        """Return the probability of each of finitely many arms."""
        basis = self._explored(state, arms)
        epsilon = self.epsilon_for(len(basis), finite=True)(state.step) if basis else 0.0
        chances = np.zeros(arms.size)
        chances[self.greedy(state, arms).index] += 1 - epsilon
        if basis:
            rows = [arm.index for arm in basis if arm.index is not None]
            chances[rows] += epsilon / len(basis)
        return chances

    def compiled_rule(self, arms: DecisionSet, subspace: Subspace, horizon: int) -> CompiledRule:
        """Return the kernel that chooses as `select` does; its parameters are epsilon_t."""
        k = len(arms.basis_arms(self.basis))
        epsilons = over_steps(self.epsilon_for, k, math.isfinite(arms.size), horizon=horizon)
        return CompiledRule("greedy", epsilons, basis=self.basis)


@dataclass(frozen=True, kw_only=True, repr=False)
class GENTRY(EpsilonGreedy):
    """The greedy projection strategy (Algorithm 1): learn on whole arms, aim at the projection.

    With probability epsilon_t (equation 9) it plays a random arm of D_k, and otherwise the arm with
    the largest estimated projection reward (equation 8), where theta-hat is the L2-regularised
    least squares estimate (equation 7)::

        X_t         = argmax_x <P_U x, P_U theta-hat_{t-1}>
        theta-hat_t = V_t^-1 sum_i r_i X_i,   V_t = lambda I + sum_i X_i X_i^T
        epsilon_t   = min(1, alpha k / t), on infinite sets min(1, alpha k / t^(1/3))

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.GENTRY(alpha=2.0, basis="first")
    GENTRY(alpha=2.0, basis='first')
    """

    learns_on = "arm"
    aims_at = "projection"


@dataclass(frozen=True, kw_only=True, repr=False)
class CURSE(EpsilonGreedy):
    """The corrupted greedy strategy: GENTRY that aims at the return, corruption and all.

    Where GENTRY plays the best arm by equation 8, it plays the one that is best by the whole
    estimate, of the return in equation 1::

        X_t = argmax_x <x, theta-hat_{t-1}>

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.CURSE(alpha=1.0)
    CURSE()
    """

    learns_on = "arm"
    aims_at = "return"


@dataclass(frozen=True, kw_only=True, repr=False)
class REGRET(EpsilonGreedy):
    """The careless greedy strategy (Algorithm 2): GENTRY that sees only projected arms.

    The corruption it leaves out of the model stays in what it observes, and biases it::

        X_t         = argmax_x <P_U x, theta-hat_{t-1}>
        theta-hat_t = V_t^-1 sum_i r_i P_U X_i
        V_t         = lambda I + sum_i P_U X_i (P_U X_i)^T

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.REGRET(schedule="smooth")
    REGRET(schedule='smooth')
    """

    learns_on = "projection"
    aims_at = "projection"


def _among(arm: Arm, basis: Sequence[Arm]) -> bool:
    if isinstance(basis, ArmRows):
        return arm in basis
    return any(_same(arm, other) for other in basis)


def _same(one: Arm, other: Arm) -> bool:
    if one.index is not None:
        return one.index == other.index
    return bool((one.x == other.x).all())
