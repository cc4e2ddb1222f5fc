"""Thompson sampling on the projection: a baseline that explores what does not matter, too."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projbandits._checks import Array, integer
from projbandits.arms import DecisionSet, FiniteArms
from projbandits.strategies.base import Choice, State
from projbandits.strategies.ids import Believing
from projbandits.strategies.rule import CompiledRule
from projbandits.subspace import Subspace


@dataclass(frozen=True, kw_only=True, repr=False)
class ProjectedTS(Believing):
    """The best arm for one draw of the belief, theta ~ N(theta-hat, sigma^2 V^-1).

    The probability of a choice has no closed form, so `Choice.probability` is nan; `shares`
    estimates it where it is needed.

    Parameters
    ----------
    noise : float, optional
        sigma, the standard deviation of the noise; by default estimated, on the high side.
    ridge : float
        lambda, the weight of the L2 penalty.
    arm_effects : float, "auto" or None
        tau, the standard deviation of what an arm has beyond its features; see docs/strategies.md.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.ProjectedTS(noise=0.5)
    ProjectedTS(noise=0.5)
    """

    def select(self, state: State, arms: DecisionSet, rng: np.random.Generator) -> Choice:
        """Choose the arm with the best projection reward under the draw."""
        if state.effects is not None:
            assert isinstance(arms, FiniteArms)
            best = self._drawn_with_effects(state, arms, rng, 1)[0]
            return Choice(arms.arm(int(best)), math.nan)
        drawn = self.draws(state, rng.standard_normal((1, arms.d)))
        return Choice(arms.best(drawn[0]), math.nan)

    def compiled_rule(self, arms: DecisionSet, subspace: Subspace, horizon: int) -> CompiledRule:
        """Return the kernel that chooses as `select` does."""
        return self.rule_of("thompson", arms)

    def shares(
        self, state: State, arms: FiniteArms, rng: np.random.Generator, draws: int = 1000
    ) -> Array:
        """Return an estimate of the probability of each arm, from fresh draws.

        Its standard error is sqrt(p (1 - p) / draws).
        """
        draws = integer("draws", draws, least=1)
        if state.effects is not None:
            best = self._drawn_with_effects(state, arms, rng, draws)
        else:
            drawn = self.draws(state, rng.standard_normal((draws, arms.d)))
            best = np.array([arms.best(c).index for c in drawn])
        return np.bincount(best, minlength=arms.size) / draws

    def _drawn_with_effects(
        self, state: State, arms: FiniteArms, rng: np.random.Generator, draws: int
    ) -> NDArray[np.int64]:
        """Return the best arm of some draws of theta and of the arms' effects."""
        belief = self.effect_belief(state, arms.vectors)
        root = np.linalg.cholesky(belief.covariance)
        theta = rng.standard_normal((draws, arms.d)) @ root.T
        own = np.sqrt(belief.own) * rng.standard_normal((draws, arms.size))
        best: NDArray[np.int64] = (belief.mean + theta @ belief.target.T + own).argmax(axis=1)
        return best
