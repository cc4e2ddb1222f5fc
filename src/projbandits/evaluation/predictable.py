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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from projbandits._validation import Array
from projbandits.evaluation.estimators import CLIP, Bounds, effective
from projbandits.evaluation.evaluator import Evaluation, Evidence, dual
from projbandits.evaluation.fit import factor_of
from projbandits.evaluation.lack_of_fit import NO_REPEATS, LackOfFit, repeated, unknown
from projbandits.evaluation.moments import within_reach
from projbandits.statistics import normal_quantile
from projbandits.subspace import Subspace


@dataclass(frozen=True, eq=False)
class Replay(Evaluation):
    """Another strategy beside a log, a row for each decision whose outcome is known.

    theta-hat_t is a ridge estimate on whole arms, from the log's outcomes that were told before
    step t; it is not the strategy's own.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        m_t: the mean of P_U x under the strategy. Where the log's decider learns a level of all
        outcomes, it is the first of the features here, 1 for every arm, and 0 in P_U x; what is
        one number for all arms is the level's, and left out of P_U x.
    weights : ndarray of shape (n,)
        h_t.
    model : ndarray of shape (n,)
        <m_t, theta-hat_t>.
    residuals : ndarray of shape (n,)
        r_t - <x_t, theta-hat_t>.
    arms : ndarray of shape (n, d)
        x_t.
    outcomes : ndarray of shape (n,)
        r_t; less their mean for the projection value where returns have a level.
    final : ndarray of shape (n,)
        <m_t, theta-hat> by the estimate from all outcomes of the log.
    variances : ndarray of shape (n, 2)
        The variances of h_t r_t and of h_t (r_t - <x_t, theta-hat_t>) given what was known at step
        t, by the estimate from all outcomes of the log.
    outside : ndarray of shape (n, d)
        What of m_t lies outside the span of the arms that could be chosen.
    subspace : Subspace
        What counts, in the order of the log's features.
    ratios : ndarray of shape (n,)
        w_t = pi_t / p_t of the chosen arm.
    ratio_variances : ndarray of shape (n, 2)
        As `variances`, with w_t in the place of h_t.
    covered : ndarray of shape (n,)
        How much of pi_t is on arms that could be chosen.
    value : str
        "projection"; or "return", for which P_U is the identity.
    clip : float
        The largest weight of the clipped estimate.
    shares : ndarray of shape (K,)
        The mean over t of pi_t of each distinct arm.
    which : ndarray of shape (n,)
        The place in `shares` of the arm that was chosen.
    bounds : (float, float) or None
        Between which all outcomes lie, if that is known.
    """

    features: Array
    weights: Array
    model: Array
    residuals: Array
    arms: Array
    outcomes: Array
    final: Array
    variances: Array
    outside: Array
    subspace: Subspace
    ratios: Array
    ratio_variances: Array
    covered: Array
    shares: Array
    which: NDArray[np.int64]
    value: str = "projection"
    clip: float = CLIP
    bounds: Bounds | None = None

    theta_hat: ClassVar[str] = "predictable"

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Whether m_t lies in the span of the arms that could be chosen."""
        return within_reach(self.outside, self.features)

    @property
    def width(self) -> int:
        """The number of features, the level among them."""
        return len(self.arms.T)

    @property
    def evidence(self) -> Evidence:
        """What the decisions say of the policy."""
        return Martingale.of([self])

    def beside(self, other: Replay) -> Evidence:
        """Return what the decisions say of this policy, another, and the difference."""
        names = "features", "weights", "model", "final", "outside", "ratios", "shares"
        differ = replace(
            self,
            **{name: getattr(self, name) - getattr(other, name) for name in names},
            # At most the square of the sum of both standard deviations.
            variances=(np.sqrt(self.variances) + np.sqrt(other.variances)) ** 2,
            ratio_variances=(np.sqrt(self.ratio_variances) + np.sqrt(other.ratio_variances)) ** 2,
            covered=np.minimum(self.covered, other.covered),
        )
        return Martingale.of([self, other, differ])

    def same_rows(self, other: Replay) -> bool:
        """Tell whether another policy was judged on the same decisions."""
        same = np.array_equal(self.arms, other.arms)
        return same and np.array_equal(self.outcomes, other.outcomes)

    @cached_property
    def fit(self) -> LackOfFit | None:
        """The test of the linear model; None if no arm repeats."""
        return repeated(self.arms, self.outcomes)

    def lack_of_fit(self) -> LackOfFit:
        """Tell whether the linear model holds in this log."""
        return self.fit or unknown(NO_REPEATS)

    def terms(self) -> Array:
        """Return what each decision adds to the estimates, a column each."""
        w, r, left = self.ratios, self.outcomes, self.residuals
        cut = np.clip(w, -self.clip, self.clip)
        doubly = self.model + self.weights * left, self.model + w * left
        return np.column_stack([self.weights * r, doubly[0], w * r, w, cut * r, doubly[1]])

    def sides(self) -> Array:
        """Return the mean sizes of the weights, and how much of the policy is in reach."""
        h, w = np.abs(self.weights), np.abs(self.ratios)
        each = h, h**2, self.reached, w, w**2, self.covered, w > self.clip
        return np.array([one.mean() for one in each])


@dataclass(eq=False)
class Martingale(Evidence):
    """Decisions whose errors are martingale differences, given theta-hat of those before."""

    last: Replay
    terms: Array

    @classmethod
    def of(cls, replays: Sequence[Replay]) -> Martingale:
        """Return what the decisions say of a policy, or of two and their difference."""
        last, terms = replays[-1], np.column_stack([one.terms() for one in replays])
        own = np.bincount(last.which, last.weights, len(last.shares)) / len(terms)
        return cls(
            float(len(terms)),
            terms.mean(axis=0),
            np.array([one.sides() for one in replays]),
            np.array([one.features.mean(axis=0) for one in replays]),
            np.array([last.shares, own]),
            None,
            factor_of(last.arms, last.outcomes),
            last.clip,
            True,
            True,
            last,
            terms,
        )

    def in_model(self, g: Array) -> tuple[Array | None, float]:
        """Return with which weight the model takes in each arm's effect, and the effective number.

        `g` is (X^T X)^+ m.
        """
        weights = self.last.arms @ g
        by_arm = np.bincount(self.last.which, weights, len(self.last.shares)).astype(np.float64)
        return by_arm, effective(float(np.abs(weights).sum()), float((weights**2).sum()))

    def half(self, part: str, level: float, gradient: Array | None = None) -> float:
        """Return half of the interval of a sum of means, by default of one.

        By squares, or by the variances that the probabilities imply, if they are larger: where
        exploring is rare, squares seldom hold the large weights that they should. Those about the
        fit of the whole log, which was drawn to these outcomes, are divided by n minus its rank.
        """
        last, n = self.last, len(self.terms)
        free, quantile, doubly = n, normal_quantile(level), part.endswith("doubly")
        variances = last.variances if part.startswith("linear") else last.ratio_variances
        terms = self.terms @ (self.at(part) if gradient is None else gradient)
        if gradient is not None:
            if not (last.ratios.any() or last.shares.any()):  # a difference of two that are one
                return 0.0
            terms = terms - terms.mean()
        elif doubly:
            terms = terms - last.model
        else:
            free = max(n - dual(self.factor, np.zeros(last.arms.shape[1]))[1], 1)
            terms, quantile = terms - last.final, float(stdtrit(free, 0.5 + level / 2))
        squares = max((terms**2).sum() * n / free, variances[:, int(doubly)].sum())
        return float(quantile / n * np.sqrt(squares))
