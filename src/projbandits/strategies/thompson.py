"""Thompson sampling on the projection: a baseline that also explores what does not matter."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from projbandits._validation import Array, integer
from projbandits.arms import DecisionSet, FiniteArms
from projbandits.strategies.base import Choice, State
from projbandits.strategies.compiled import CompiledRule
from projbandits.strategies.information import GaussianBeliefStrategy
from projbandits.subspace import Subspace


@dataclass(frozen=True, kw_only=True, repr=False)
class ProjectedTS(GaussianBeliefStrategy):
    """The best arm for one draw of the belief; see docs/strategies.md.

    With theta-hat and V of equation 7 of the paper, it plays::

        X_t = argmax_x <P_U x, P_U theta-tilde>,   theta-tilde ~ N(theta-hat, sigma^2 V^-1)

    The probability of a choice has no closed form, so `Choice.probability` is nan; `shares`
    estimates it when it is needed.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.ProjectedTS(noise=0.5)
    ProjectedTS(noise=0.5)
    """

    def select(self, state: State, arms: DecisionSet, rng: np.random.Generator) -> Choice:
        """Choose the arm with the best projection reward under the draw."""
        (best,) = self.belief(state).sampled(arms, rng, draws=1)
        return Choice(best, math.nan)

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
        best = self.belief(state).sampled(arms, rng, draws)
        return np.bincount(np.array([arm.index for arm in best]), minlength=arms.size) / draws
