"""Uncertainty ellipsoids: play the arm that is best if the estimate errs in its favour."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from projbandits._checks import Array, positive
from projbandits.arms import DecisionSet, FiniteArms
from projbandits.ridge import Ridge
from projbandits.strategies.base import Choice, LinearStrategy, State
from projbandits.strategies.rule import CompiledRule
from projbandits.subspace import Subspace


@dataclass(frozen=True)
class Optimism:
    """The optimistic score <aim, x> + radius |x|_{V^-1}, a convex function of the arm."""

    aim: Array
    radius: float
    ridge: Ridge

    def value(self, X: Array) -> Array:
        """Return the score of each row of X."""
        scores: Array = np.einsum("ij,j->i", X, self.aim)
        return scores + self.radius * self.ridge.width(X)

    def gradient(self, X: Array) -> Array:
        """Return, for each row of X, the parameter in the ellipsoid around `aim` it likes best."""
        widths = self.ridge.width(X)[:, None]
        reach = (X @ self.ridge.inverse) * (self.radius / np.where(widths > 0, widths, 1.0))
        return self.aim + reach

    def directions(self) -> Array:
        """Return `aim`: the best arm by the estimate is a good place to start from."""
        return self.aim[None]


@dataclass(frozen=True, kw_only=True, repr=False)
class Ellipsoidal(LinearStrategy):
    """The arm with the largest optimistic score, <aim, x> + radius_t |x|_{V^-1}.

    The radius is alpha sqrt(log t min(d log t, |D|)), as in the paper's list of benchmarks; on an
    infinite set the term |D| is absent.
    """

    alpha: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alpha", positive("alpha", self.alpha))

    def radius(self, t: int, arms: DecisionSet) -> float:
        """Return alpha sqrt(log t min(d log t, |D|))."""
        return self.radius_for(t, arms.d, arms.size)

    def radius_for(self, t: int, d: int, size: float) -> float:
        """Return the radius on any set of that dimension and that many arms."""
        return self.alpha * math.sqrt(math.log(t) * min(d * math.log(t), size))

    def select(self, state: State, arms: DecisionSet, rng: np.random.Generator) -> Choice:
        """Choose the arm with the largest optimistic score, with certainty."""
        radius = self.radius(state.step, arms)
        if state.effects is not None:
            assert isinstance(arms, FiniteArms)
            belief = self.effect_belief(state, arms.vectors)
            scores = belief.mean + radius * np.sqrt(belief.spread) / belief.noise
            return Choice(arms.arm(int(scores.argmax())), 1.0)
        return Choice(arms.best_convex(Optimism(self.aim(state), radius, state.ridge)), 1.0)

    def compiled_rule(self, arms: DecisionSet, subspace: Subspace, horizon: int) -> CompiledRule:
        """Return the kernel that chooses as `select` does; its parameters are the radii."""
        return CompiledRule(
            "optimistic", _radii(self.radius_for, arms.d, arms.size, horizon), widths=True
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class UE(Ellipsoidal):
    """The uncertainty ellipsoid policy as in the work the paper cites: it aims at the return.

    Parameters
    ----------
    alpha : float
        The factor of the radius alpha sqrt(log t min(d log t, |D|)).
    ridge : float
        lambda, the weight of the L2 penalty.
    arm_effects : float, "auto" or None
        tau, the standard deviation of what an arm has beyond its features; see docs/strategies.md.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.UE(alpha=0.5)
    UE(alpha=0.5)
    """

    learns_on = "arm"
    aims_at = "return"


@dataclass(frozen=True, kw_only=True, repr=False)
class ProjectedUE(Ellipsoidal):
    """The uncertainty ellipsoid policy as the paper prints it: it aims at the projection.

    See docs/readings.md for why there are two.

    Parameters
    ----------
    alpha : float
        The factor of the radius alpha sqrt(log t min(d log t, |D|)).
    ridge : float
        lambda, the weight of the L2 penalty.
    arm_effects : float, "auto" or None
        tau, the standard deviation of what an arm has beyond its features; see docs/strategies.md.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.ProjectedUE()
    ProjectedUE()
    """

    learns_on = "arm"
    aims_at = "projection"


@lru_cache(maxsize=32)  # of a method, which equals only that of the same object
def _radii(radius_for: Callable[..., float], d: int, size: float, horizon: int) -> Array:
    return np.array([radius_for(t, d, size) for t in range(1, horizon + 1)])
