"""Expected improvement: the gain that is still hidden, and the arms that tell about ties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from projbandits._validation import Array, integer
from projbandits.arms import DecisionSet
from projbandits.strategies.base import Choice, State
from projbandits.strategies.belief import Moments
from projbandits.strategies.compiled import CompiledRule
from projbandits.strategies.information import (
    GaussianBeliefStrategy,
    InformationDirected,
    Prospect,
    first_largest,
)
from projbandits.subspace import Subspace

FAR_BEHIND = 37.0
"""An arm this many deviations behind is better with a probability below the smallest float."""


def improvement(moments: Moments) -> Prospect:
    """Return gaps and information by the expected improvement over the greedy arm h.

    With s_y the standard deviation of y's lead over h, u_y how many of them y is behind, and phi,
    Phi the normal density and distribution:

        delta  = sum_y s_y (phi(u_y) - u_y Phi(-u_y))       the gain still hidden
        gap_z  = delta + mean_h - mean_z
        info_z = sum_y phi(u_y) / (2 s_y) Cov(y - h, return of z)^2 / Var(return of z)

    A pull of z lowers s_y^2 by Cov^2 / Var, and phi(u_y) / s_y is the density of a tie of y and h:
    info_z is half that density times the variance of the difference that the pull removes. It is
    not how fast delta shrinks: phi(u_y) / (2 s_y) is its derivative by s_y^2 at a fixed mean, and a
    pull moves the mean too.
    """
    h = int(moments.mean.argmax())
    behind, _, G, s = moments.leads(h)
    u = np.divide(behind, s, out=np.full_like(s, np.inf), where=s > 0)
    unknown = u < FAR_BEHIND
    u[~unknown] = 0.0
    density = np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi) * unknown
    delta = float((s * (density - u * ndtr(-u)))[unknown].sum())

    # The sum over y of weight_y (<g_y, x_z> + [z = y] own_y - [z = h] own_h)^2, expanded.
    weight = np.divide(density, 2 * s, out=np.zeros_like(s), where=unknown)
    A = (G * weight[:, None]).T @ G
    told: Array = np.einsum("ij,ij->i", moments.seen @ A, moments.seen)
    own = moments.own
    told += weight * own * (2 * np.einsum("ij,ij->i", G, moments.seen) + own)
    told[h] += own[h] * (own[h] * weight.sum() - 2 * weight @ (G @ moments.seen[h]))
    variance = moments.return_variance
    told = np.maximum(told, 0.0)
    info = np.divide(told, variance, out=np.zeros_like(told), where=variance > 0)
    return Prospect(h, delta + behind, info)


@dataclass(frozen=True, kw_only=True, repr=False)
class EIIDS(InformationDirected):
    """Expected improvement, information-directed: needs no horizon, and nothing to tune.

    It explores only where the answer can still change which arm is best, at the least regret per
    information. With h the best arm by the estimate and F_y = P_U x_y::

        s_y    = sigma sqrt((F_y - F_h)^T V^-1 (F_y - F_h))   doubt about y's lead
        u_y    = <F_h - F_y, theta-hat> / s_y                 how far y is behind
        delta  = sum_{y != h} s_y (phi(u_y) - u_y Phi(-u_y))  the gain still hidden
        gap_z  = delta + <F_h - F_z, theta-hat>               what z may cost
        A      = sum_y phi(u_y) / (2 s_y) g_y g_y^T,  g_y = V^-1 (F_y - F_h)
        info_z = sigma^2 x_z^T A x_z / (1 + x_z^T V^-1 x_z)   what z would tell about ties

    It plays j with probability p, and h otherwise; j and p minimise the square of the mean gap
    divided by the mean information. docs/strategies.md derives it, and has how it compares.

    Examples
    --------
    >>> import projbandits as pb
    >>> result = pb.simulate(pb.problems.random_arms(), [pb.EIIDS(), pb.GENTRY()], trials=20,
    ...                      horizon=1000, seed=0)
    >>> mean = result.summary()["mean"]
    >>> bool(mean["EIIDS()"] < 0.5 * mean["GENTRY()"])
    True
    """

    step_free = True

    def prospect(self, state: State, moments: Moments) -> Prospect:
        """Return the gap and the information of each arm."""
        return improvement(moments)

    def compiled_rule(self, arms: DecisionSet, subspace: Subspace, horizon: int) -> CompiledRule:
        """Return the kernel that chooses as `select` does."""
        return self.rule_of("improvement", arms)


@dataclass(frozen=True, kw_only=True, repr=False)
class EIRatio(GaussianBeliefStrategy):
    """The arm that tells the most per regret, as long as the time left repays its regret.

    With gap, info and h of `EIIDS` (docs/strategies.md derives them)::

        X_t = argmax_z info_z / gap_z   over z with (n - t) info_z >= <F_h - F_z, theta-hat>

    Parameters
    ----------
    horizon : int
        n, the number of steps to be played; from then on it is greedy.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.EIRatio(horizon=1000, noise=0.5)
    EIRatio(noise=0.5, horizon=1000)
    """

    horizon: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "horizon", integer("horizon", self.horizon, least=1))

    def select(self, state: State, arms: DecisionSet, rng: np.random.Generator) -> Choice:
        """Choose the largest info_z / gap_z with (n - t) info_z >= mean_h - mean_z."""
        candidates = self.candidates(state, arms)
        h, gaps, info = improvement(self.belief(state).moments(candidates.vectors))
        if gaps[h] <= 0:
            return Choice(candidates.arm(h), 1.0)
        left = max(self.horizon - state.step, 0)
        repaid = left * info >= gaps - gaps[h]
        ratios = np.where(repaid, info / gaps, 0.0)
        best = first_largest(ratios) if ratios.max() > 0 else h
        return Choice(candidates.arm(best), 1.0)

    def compiled_rule(self, arms: DecisionSet, subspace: Subspace, horizon: int) -> CompiledRule:
        """Return the kernel that chooses as `select` does."""
        return self.rule_of("improvement", arms, float(self.horizon))
