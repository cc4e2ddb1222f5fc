"""What another strategy would have been worth, from the log of one that decided.

At step t the log has the arms x_a on offer, the probabilities p_t(a) of choosing them, the one
that was chosen and the return r_t it brought. The other strategy follows the log: at step t it
knows what the log's decider knew, and would choose with probabilities pi_t(a). To be estimated is
its projection value,

    V = mean over t of <m_t, theta>,   m_t = sum_a pi_t(a) P_U x_a,

what it would have been worth at these steps, knowing what the log knew. Weighting returns by
pi_t / p_t would estimate the value of its *returns*, corruption and all. For the projection the
weights must turn arms into their projections: with G_t = sum_a p_t(a) x_a x_a^T,

    h_t = <m_t, G_t^+ x_t>   has   E[h_t x_t | past] = m_t,

so that h_t r_t is right on average. That needs no overlap arm by arm, but that m_t lies in the
span of the arms that could be chosen. Where a strategy mixes two arms, as the information-directed
ones do, it seldom does; there only a model tells, theta-hat from all of the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri

from projbandits import statistics
from projbandits._checks import Array
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    import pandas as pd

OUTSIDE = 1e-6
"""m_t counts as out of reach if more than this share of its length is."""


@dataclass(frozen=True, eq=False)
class Replay:
    """Another strategy beside a log, a row for each decision whose outcome is known.

    theta-hat_t is a ridge estimate on whole arms, from the log's outcomes that were told before
    step t; it is not the strategy's own.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        m_t: the mean of P_U x under the strategy.
    weights : ndarray of shape (n,)
        h_t.
    model : ndarray of shape (n,)
        <m_t, theta-hat_t>.
    residuals : ndarray of shape (n,)
        r_t - <x_t, theta-hat_t>.
    arms : ndarray of shape (n, d)
        x_t.
    rewards : ndarray of shape (n,)
        r_t.
    final : ndarray of shape (n,)
        <m_t, theta-hat> by the estimate from all outcomes of the log.
    variances : ndarray of shape (n, 2)
        The variances of h_t r_t and of h_t (r_t - <x_t, theta-hat_t>) given what was known at step
        t, by the estimate from all outcomes of the log.
    reached : ndarray of shape (n,)
        Whether m_t lies in the span of the arms that could be chosen.
    subspace : Subspace
        What counts, in the order of the log's features.
    """

    features: Array
    weights: Array
    model: Array
    residuals: Array
    arms: Array
    rewards: Array
    final: Array
    variances: Array
    reached: NDArray[np.bool_]
    subspace: Subspace

    def estimates(self, level: float = 0.95) -> pd.DataFrame:
        """Return the estimates of V with their intervals.

        inverse propensity
            The mean of h_t r_t. Unbiased if the propensities are right and returns are linear in
            the arms' features; nothing is asked of any estimate. It is nan if a step's m_t is out
            of reach, since no weighting of that step's returns is right on average then.
        doubly robust
            The mean of <m_t, theta-hat_t> + h_t (r_t - <x_t, theta-hat_t>). Unbiased as the one
            above, with less spread; and consistent with wrong propensities too if the estimate is.
            Where m_t is out of reach, that part of it rests on the estimate alone, whose error
            these weights do not see: the ends of the interval are unknown (nan) then.
        model
            <mean of m_t, theta-hat> with theta-hat by least squares from the whole log. It needs
            that returns are linear in the features with noise of one size, and no propensities.
            It is nan if the mean of m_t lies outside the span of the arms chosen.

        The first two differ from V by sums of martingale differences, also where the log's strategy
        learnt. Their intervals are normal, from the sum of squares or from the sum of `variances`,
        whichever is larger: where exploring is rare, the sum of squares seldom holds the large
        weights that it should. In the third m_t depends on the same
        outcomes as theta-hat: a strategy is drawn to what is overestimated. So its interval is
        Scheffe's, which holds for all directions of U at once, and is wider than Student's.

        Outcomes that were never told are left out: that is fair only if whether they are told does
        not depend on them.

        `effective` is the effective number of decisions, (sum |h|)^2 / sum h^2, where for the model
        h_t is the weight of r_t in it; `reached` is the share of steps whose m_t is in reach, for
        the model whether their mean is.
        """
        import pandas as pd

        n, reached = len(self.rewards), float(self.reached.mean())
        half = statistics.normal_quantile(level) / n
        plain = self.weights * self.rewards
        doubly = self.model + self.weights * self.residuals
        squares = ((plain - self.final) ** 2).sum(), ((self.weights * self.residuals) ** 2).sum()
        spread_plain, spread_doubly = np.sqrt(np.maximum(squares, self.variances.sum(axis=0)))
        unknown = 0.0 if reached == 1 else np.nan
        found = {
            "inverse propensity": (plain.mean() + unknown, half * spread_plain, self.weights),
            "doubly robust": (doubly.mean(), half * spread_doubly + unknown, self.weights),
            "model": self._by_model(level),
        }
        return pd.DataFrame(
            {
                name: {
                    "value": value,
                    "low": value - width,
                    "high": value + width,
                    "decisions": n,
                    "effective": _effective(weights),
                    "reached": float(not np.isnan(value)) if name == "model" else reached,
                }
                for name, (value, width, weights) in found.items()
            }
        ).T

    def _by_model(self, level: float) -> tuple[float, float, Array]:
        """Return <mean m, theta-hat>, half of its interval, and the weight of each return."""
        n, u = len(self.rewards), self.subspace.dim
        scale = units(self.arms)
        m = self.features.mean(axis=0) / scale
        left, sizes, turned = np.linalg.svd(self.arms / scale, full_matrices=False)
        kept = sizes > 1e-9 * sizes.max(initial=0.0)
        left, along = left[:, kept], turned[kept] @ m
        outside = np.linalg.norm(m - along @ turned[kept])
        if outside > OUTSIDE * np.linalg.norm(m):
            return np.nan, np.nan, np.zeros(n)
        along /= sizes[kept]
        weights = n * (left @ along)
        free = n - int(kept.sum())
        lost = self.rewards - left @ (left.T @ self.rewards)
        noise = np.sqrt((lost**2).sum() / free) if free else np.nan
        width = np.sqrt(u * fdtri(u, free, level)) * noise * np.linalg.norm(along)
        return float((weights * self.rewards).mean()), float(width), weights


def units(X: Array) -> Array:
    """Return the root mean square of each column; 1 for a column of zeros."""
    sizes = np.sqrt((X**2).mean(axis=0))
    return np.where(sizes > 0, sizes, 1.0)


def _effective(weights: Array) -> float:
    total = (weights**2).sum()
    return float(np.abs(weights).sum() ** 2 / total) if total > 0 else 0.0
