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

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri, stdtrit

from projbandits import statistics
from projbandits._blas import single_threaded_blas
from projbandits._validation import Array
from projbandits.evaluation import estimators as names
from projbandits.evaluation.estimators import PolicyEstimate, effective, table, words
from projbandits.evaluation.lack_of_fit import NO_REPEATS, LackOfFit, repeated, unknown
from projbandits.evaluation.moments import OUT_OF_REACH
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Replay:
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
    clip: float = names.CLIP
    bounds: names.Bounds | None = None

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Whether m_t lies in the span of the arms that could be chosen."""
        left, sizes = np.linalg.norm(self.outside, axis=1), np.linalg.norm(self.features, axis=1)
        return np.asarray(left <= OUT_OF_REACH * np.maximum(sizes, np.finfo(np.float64).tiny))

    @property
    def everything(self) -> bool:
        """Whether the whole return counts."""
        # Where returns have a level, the first column of the features, it is no projection reward.
        return self.value == "return" or self.subspace.dim == self.arms.shape[1]

    def estimates(self, level: float = 0.95) -> pd.DataFrame:
        """Return the estimates of V with their intervals.

        linear weights
            The mean of h_t r_t. Unbiased if the propensities are right and returns are linear in
            the arms' features; nothing is asked of any estimate. It is nan if a step's m_t is out
            of reach, since no weighting of that step's returns is right on average then.
        linear weights, doubly robust
            The mean of <m_t, theta-hat_t> + h_t (r_t - <x_t, theta-hat_t>). Unbiased as the one
            above, with less spread; and consistent with wrong propensities too if the estimate is.
            Where m_t is out of reach, that part of it rests on the estimate alone, whose error
            these weights do not see: the ends of the interval are unknown (nan) then.
        arm by arm; self-normalised; clipped; doubly robust
            The mean of w_t r_t; over the mean of w_t; with w_t cut at `clip`; and of
            <m_t, theta-hat_t> + w_t (r_t - <x_t, theta-hat_t>). They need propensities and overlap,
            and nothing of the features, so they are right for arms with effects of their own. But
            only the return value is identified arm by arm: they are nan for the projection value,
            unless everything counts.
        model
            <mean of m_t, theta-hat> with theta-hat by least squares from the whole log. It needs
            that returns are linear in the features with noise of one size, and no propensities.
            It is nan if the mean of m_t lies outside the span of the arms chosen.

        All but the last differ from V by sums of martingale differences, also where the log's
        strategy learnt. Their intervals are normal, from the sum of squares or from the sum of
        `variances`, whichever is larger: where exploring is rare, the sum of squares seldom holds
        the large weights that it should. Squares about the fit of the whole log are divided by n
        minus its rank, and the interval is Student's then. In the last m_t depends on the same
        outcomes as theta-hat: a strategy is drawn to what is overestimated. So its interval is
        Scheffe's, which holds for all directions of U at once, and is wider than Student's.

        Outcomes that were never told are left out: that is fair only if whether they are told does
        not depend on them.

        `effective` is the effective number of decisions, (sum |h|)^2 / sum h^2, where for the model
        h_t is the weight of r_t in it; `reached` is the share of steps whose m_t is in reach, for
        the model whether their mean is, and arm by arm how much of the policy is on arms that could
        be chosen; `unsupported` is the rest. Where support is missing, a row has no interval; with
        `bounds`, "arm by arm" has bounds instead. `assumes` says what each rests on, and `note`
        what to know about it: whether the linear model is found not to hold (`lack_of_fit`), or how
        many weights were cut.
        """
        return table(self._found(level), len(self.outcomes), self._quick)

    def lack_of_fit(self) -> LackOfFit:
        """Tell whether the linear model holds in this log."""
        return self._quick or unknown(NO_REPEATS)

    def versus(self, other: Replay, level: float = 0.95) -> pd.DataFrame:
        """Return this strategy's value minus another's with intervals, paired by decision.

        A difference can be in reach where neither value is.
        """
        if not isinstance(other, Replay):
            raise TypeError(f"other must be what replay returned for the same log, got {other!r}")
        same = self.value == other.value and len(self.outcomes) == len(other.outcomes)
        if not same or (self.arms != other.arms).any() or (self.outcomes != other.outcomes).any():
            raise ValueError("other must be judged on the same log and value")
        differ = replace(
            self,
            **{
                name: getattr(self, name) - getattr(other, name)
                for name in ("features", "weights", "model", "final", "outside", "ratios", "shares")
            },
            # At most the square of the sum of both standard deviations.
            variances=(np.sqrt(self.variances) + np.sqrt(other.variances)) ** 2,
            ratio_variances=(np.sqrt(self.ratio_variances) + np.sqrt(other.ratio_variances)) ** 2,
            covered=np.minimum(self.covered, other.covered),
        )
        found = differ._found(level)
        if self.everything:
            for name, pairs in (
                (names.NORMALISED, [_normalised(each) for each in (self, other)]),
                (names.CLIPPED, [_clipped(each) for each in (self, other)]),
            ):
                terms = pairs[0] - pairs[1]
                half = differ._half(terms, level)
                if name == names.CLIPPED:
                    half += abs((differ.ratios * differ.outcomes).mean() - terms.mean())
                lost = np.nan if np.isnan(found[names.PLAIN].value) else 0.0
                value = float(terms.mean()) + lost
                found[name] = found[name]._replace(value=value, half=half)
            if self.bounds is not None and np.isnan(found[names.PLAIN].value):
                low, high = (
                    differ._at_end([(one, self.ratios), (two, -other.ratios)], level)
                    for one, two in (self.bounds, self.bounds[::-1])
                )
                found[names.PLAIN] = names.within(
                    found[names.PLAIN]._replace(note=differ._lacking), low, high, self.bounds,
                    differs=True,
                )  # fmt: skip
        return table(found, len(self.outcomes), self._quick)

    @cached_property
    def _rank(self) -> int:
        """How many directions theta-hat was fitted in."""
        sizes = np.linalg.svd(self.arms / units(self.arms), compute_uv=False)
        return int((sizes > 1e-9 * sizes.max(initial=0.0)).sum())

    @cached_property
    def _quick(self) -> LackOfFit | None:
        return repeated(self.arms, self.outcomes)

    def __str__(self) -> str:
        return words(self.value, self.estimates(), self._quick, self.everything)

    @single_threaded_blas()
    def _found(self, level: float) -> dict[str, PolicyEstimate]:
        n, reached = len(self.outcomes), float(self.reached.mean())
        unknown = 0.0 if reached == 1 else np.nan
        note = "" if reached == 1 else f"out of reach at {1 - reached:.1%} of the decisions"
        size = _effective(self.weights)
        value, half = self._weighted(self.weights, self.variances[:, 0], level)
        doubly, width = self._doubly(self.weights, self.variances[:, 1], level)
        found = {
            names.LINEAR: PolicyEstimate(value + unknown, half, size, reached, note),
            names.LINEAR_DOUBLY: PolicyEstimate(doubly, width + unknown, size, reached, note),
        }
        by_arm = [names.PLAIN, names.NORMALISED, names.CLIPPED, names.DOUBLY]
        if self.everything:
            covered, size = float(self.covered.mean()), _effective(self.ratios)
            lost = np.nan if covered < 1 - 1e-9 else 0.0
            note = self._lacking
            value, half = self._weighted(self.ratios, self.ratio_variances[:, 0], level)
            doubly, width = self._doubly(self.ratios, self.ratio_variances[:, 1], level)
            share, cut = _normalised(self), _clipped(self)
            many = float((np.abs(self.ratios) > self.clip).mean())
            clipped = note or names.cut(self.clip, many)
            lacks = abs(float((self.ratios * self.outcomes).mean() - cut.mean()))
            part = size, covered, note
            found |= {
                names.PLAIN: PolicyEstimate(value + lost, half, *part),
                names.NORMALISED: PolicyEstimate(
                    share.mean() + lost, self._half(share, level), *part
                ),
                names.CLIPPED: PolicyEstimate(
                    cut.mean() + lost, self._half(cut, level) + lacks, size, covered, clipped
                ),
                names.DOUBLY: PolicyEstimate(doubly, width + lost, *part),
            }
            if self.bounds is not None and np.isnan(lost):
                low, high = (self._at_end([(end, self.ratios)], level) for end in self.bounds)
                found[names.PLAIN] = names.within(
                    found[names.PLAIN], low, high, self.bounds, differs=False
                )
        else:
            found |= dict.fromkeys(by_arm, PolicyEstimate(note=names.NOT_IDENTIFIED))
        value, half, weights = self._by_model(level)
        known = float(not np.isnan(value))
        found[names.MODEL] = PolicyEstimate(value, half, _effective(weights), known)
        names.unsupported(found)
        fits = self._quick is None or not self._quick.between
        for name in names.ON_MODEL:
            c = weights if name == names.MODEL or fits else self.weights
            missed = np.bincount(self.which, c, len(self.shares)) / n
            missed = missed - self.shares if self.everything else missed
            found[name] = names.with_effects(found[name], self._quick, missed, level)
        return found

    @property
    def _lacking(self) -> str:
        covered = float(self.covered.mean())
        said = f"{1 - covered:.1%} of the policy is on arms that could not be chosen"
        return said if covered < 1 - 1e-9 else ""

    def _at_end(self, parts: list[tuple[float, Array]], level: float) -> tuple[float, float]:
        """Return the value if outcomes that the log lacks were at an end, and half its interval.

        An end with negative weights is that of a policy that is taken off.
        """
        value = parts[0][0] - (parts[1][0] if len(parts) > 1 else 0.0)
        terms: Array = np.sum([weights * (self.outcomes - end) for end, weights in parts], axis=0)
        return float(value + terms.mean()), self._half(terms, level)

    def _weighted(self, weights: Array, variances: Array, level: float) -> tuple[float, float]:
        terms = weights * self.outcomes
        # theta-hat was fitted to these returns, so that what is left of them is too little.
        n, free = len(terms), max(len(terms) - self._rank, 1)
        squares = max(((terms - self.final) ** 2).sum() * n / free, variances.sum())
        half = stdtrit(free, 0.5 + level / 2) / n * np.sqrt(squares)
        return float(terms.mean()), float(half)

    def _doubly(self, weights: Array, variances: Array, level: float) -> tuple[float, float]:
        terms = weights * self.residuals
        half = statistics.normal_quantile(level) / len(terms)
        half *= np.sqrt(max((terms**2).sum(), variances.sum()))
        return float((self.model + terms).mean()), float(half)

    def _half(self, terms: Array, level: float) -> float:
        """Return half of the interval of a mean of terms that are like w_t r_t."""
        if not (self.ratios.any() or self.shares.any()):  # the difference of two that are the same
            return 0.0
        squares = max(len(terms) * terms.var(), self.ratio_variances[:, 0].sum())
        return float(statistics.normal_quantile(level) / len(terms) * np.sqrt(squares))

    def _by_model(self, level: float) -> tuple[float, float, Array]:
        """Return <mean m, theta-hat>, half of its interval, and the weight of each return."""
        n, d = self.arms.shape
        u = d if self.value == "return" else self.subspace.dim
        scale = units(self.arms)
        m = self.features.mean(axis=0) / scale
        left, sizes, turned = np.linalg.svd(self.arms / scale, full_matrices=False)
        kept = sizes > 1e-9 * sizes.max(initial=0.0)
        left, along = left[:, kept], turned[kept] @ m
        outside = np.linalg.norm(m - along @ turned[kept])
        if outside > OUT_OF_REACH * np.linalg.norm(m):
            return np.nan, np.nan, np.zeros(n)
        along /= sizes[kept]
        weights = n * (left @ along)
        free = n - int(kept.sum())
        lost = self.outcomes - left @ (left.T @ self.outcomes)
        noise = np.sqrt((lost**2).sum() / free) if free else np.nan
        width = np.sqrt(u * fdtri(u, free, level)) * noise * np.linalg.norm(along)
        return float((weights * self.outcomes).mean()), float(width), weights


def _normalised(replay: Replay) -> Array:
    """Return terms whose mean is sum w r / sum w, and whose spread is that of its error."""
    w = replay.ratios
    value = (w * replay.outcomes).sum() / w.sum() if w.sum() != 0 else np.nan
    terms: Array = value + w * (replay.outcomes - value) / w.mean() if w.sum() != 0 else w * np.nan
    return terms


def _clipped(replay: Replay) -> Array:
    terms: Array = np.clip(replay.ratios, -replay.clip, replay.clip) * replay.outcomes
    return terms


def units(X: Array) -> Array:
    """Return the root mean square of each column; 1 for a column of zeros."""
    sizes = np.sqrt((X**2).mean(axis=0))
    return np.where(sizes > 0, sizes, 1.0)


def _effective(weights: Array) -> float:
    return effective(float(np.abs(weights).sum()), float((weights**2).sum()))
