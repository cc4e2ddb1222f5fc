"""Information-directed sampling for linear partial monitoring, after Kirschner et al. (2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from projbandits._validation import one_of, positive
from projbandits.arms import DecisionSet
from projbandits.strategies.base import State
from projbandits.strategies.belief import Moments
from projbandits.strategies.compiled import CompiledRule
from projbandits.strategies.information import InformationDirected, Prospect, first_largest
from projbandits.subspace import Subspace

RADII = ("practical", "published")
CERTAIN = 1 - 1e-12
"""A squared correlation above this is rounding: a return always has noise of its own."""


def directed(moments: Moments, radius: float) -> Prospect:
    """Return gaps from a confidence radius, and information along the widest plausible difference.

    With s_y the standard deviation of y's lead over the greedy arm h, delta is the largest
    mean_y - mean_h + radius s_y. Among the y for which that is not negative, w is the one with the
    largest s_y. The information of z is -log(1 - the squared correlation of w - h with the return
    of z), twice what a pull of z tells about w - h.
    """
    h = int(moments.mean.argmax())
    behind, _, G, s = moments.leads(h)
    above = radius * s - behind
    w = first_largest(np.where(above >= 0, s, 0.0))
    info = np.zeros(len(s))
    if s[w] > 0:
        covariance = moments.seen @ G[w]
        covariance[w] += moments.own[w]
        covariance[h] -= moments.own[h]
        correlation = covariance**2 / (s[w] ** 2 * moments.return_variance)
        info = -np.log1p(-np.minimum(correlation, CERTAIN))
    return Prospect(h, float(above.max()) + behind, info)


@dataclass(frozen=True, kw_only=True, repr=False)
class DirectedIDS(InformationDirected):
    """Directed information (Kirschner et al., COLT 2020): guaranteed with its published radius.

    With rho the radius, and h, F, s, gap and theta-hat of `EIIDS`::

        delta  = max_y rho s_y - <F_h - F_y, theta-hat>
        w      = F_y - F_h of the largest s_y among the y for which that is not negative
        info_z = -log(1 - (w^T V^-1 x_z)^2 / ((1 + x_z^T V^-1 x_z) w^T V^-1 w))

    Two arms are mixed as `EIIDS` does. The default radius has no guarantee: in some easy games
    about one trial in a hundred never leaves a wrong arm (docs/strategies.md).

    Parameters
    ----------
    radius : {"practical", "published"}
        How many standard deviations a difference is taken to reach: sqrt(log(t) / 2), or
        sqrt(4 log t + log det V - d log lambda) + sqrt(lambda) bound / sigma, which the
        guarantee needs (at confidence 1 - 1/t^2), though it is far too wide in practice.
    bound : float
        A bound on |theta|, for the published radius.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.DirectedIDS(radius="published", bound=2.0)
    DirectedIDS(radius='published', bound=2.0)
    """

    radius: str = "practical"
    bound: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("radius", self.radius, RADII)
        object.__setattr__(self, "bound", positive("bound", self.bound))
        if self.radius == "published" and self.arm_effects is not None:
            raise ValueError(
                f"radius 'published' is not proven for arm_effects, got {self.arm_effects!r}: "
                "leave one of them out"
            )

    def reach(self, state: State) -> float:
        """Return the confidence radius in standard deviations."""
        log_t = math.log(state.step)
        if self.radius == "practical":
            return math.sqrt(log_t / 2)
        ridge = state.ridge
        grown = -2 * float(np.log(np.diag(ridge.root)).sum()) - ridge.d * math.log(ridge.penalty)
        wide = math.sqrt(4 * log_t + max(grown, 0.0))  # below 0 it is rounding
        return wide + math.sqrt(ridge.penalty) * self.bound / self.belief(state).noise

    def prospect(self, state: State, moments: Moments) -> Prospect:
        """Return the gap and the information of each arm."""
        return directed(moments, self.reach(state))

    def compiled_rule(self, arms: DecisionSet, subspace: Subspace, horizon: int) -> CompiledRule:
        """Return the kernel that chooses as `select` does."""
        return self.rule_of("directed", arms, self.bound if self.radius == "published" else 0.0)
