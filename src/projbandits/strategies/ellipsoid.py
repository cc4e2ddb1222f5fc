"""Uncertainty ellipsoids: play the arm that is best if the estimate errs in its favour."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from projbandits._validation import positive
from projbandits.arms import DecisionSet
from projbandits.strategies.base import Choice, LinearStrategy, State
from projbandits.strategies.compiled import CompiledRule, over_steps
from projbandits.subspace import Subspace


@dataclass(frozen=True, kw_only=True, repr=False)
class Ellipsoidal(LinearStrategy):
    """The arm with the largest optimistic score, <aim, x> + radius_t |x|_{V^-1}.

    The radius is alpha sqrt(log t min(d log t, |D|)), as in the paper's list of benchmarks; on an
    infinite set the term |D| is absent.

    Parameters
    ----------
    alpha : float
        The factor of the radius.
    """

    alpha: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alpha", positive("alpha", self.alpha))

    def radius(self, t: int, arms: DecisionSet) -> float:
        """Return alpha sqrt(log t min(d log t, |D|))."""
        return self.radius_for(arms.d, arms.size)(t)

    def radius_for(self, d: int, size: float) -> Callable[[int], float]:
        """Return the radius as a function of t on any set of `size` arms in d dimensions."""
        return lambda t: self.alpha * math.sqrt(math.log(t) * min(d * math.log(t), size))

    def select(self, state: State, arms: DecisionSet, rng: np.random.Generator) -> Choice:
        """Choose the arm with the largest optimistic score, with certainty."""
        radius = self.radius(state.step, arms)
        return Choice(self.belief(state).optimistic(arms, radius), 1.0)

    def compiled_rule(
        self, arms: DecisionSet, subspace: Subspace, horizon: int
    ) -> CompiledRule | None:
        """Return the kernel that chooses as `select` does; its parameters are the radii."""
        if self.learns_on != "arm":  # `select` has the widths of whole arms all the same
            return None
        radii = over_steps(self.radius_for, arms.d, arms.size, horizon=horizon)
        return CompiledRule("ellipsoid", radii, widths=True)


@dataclass(frozen=True, kw_only=True, repr=False)
class UE(Ellipsoidal):
    """The uncertainty ellipsoid policy as in the work the paper cites: it aims at the return.

    With theta-hat and V of equation 7 it plays, at step t::

        X_t   = argmax_x <x, theta-hat_{t-1}> + rho_t sqrt(x^T V_{t-1}^-1 x)
        rho_t = alpha sqrt(log t min(d log t, |D|)),  on infinite sets without |D|

    On a convex set a search looks for that maximum and may end below it: docs/numerics.md has the
    measured loss, and `Result.engines` says "search".

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

    See docs/readings.md for why there are two. With theta-hat and V of equation 7 it plays::

        X_t   = argmax_x <P_U x, P_U theta-hat_{t-1}> + rho_t sqrt(x^T V_{t-1}^-1 x)
        rho_t = alpha sqrt(log t min(d log t, |D|)),  on infinite sets without |D|

    On a convex set a search looks for that maximum and may end below it: docs/numerics.md has the
    measured loss, and `Result.engines` says "search".

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.ProjectedUE()
    ProjectedUE()
    """

    learns_on = "arm"
    aims_at = "projection"
