"""The evaluator: from what the rows of a log say of a policy to the estimates of its value.

There is one, for two treatments of theta-hat, each of which a valid interval needs where it stands:
"predictable" on the log of a decider that learnt, where theta-hat_t comes from the outcomes before
step t, so that errors are martingale differences; "cross-fitted" on rows that are independent of
each other, where it comes from the other folds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from scipy.special import fdtri, stdtrit

from projbandits._blas import single_threaded_blas
from projbandits._validation import Array
from projbandits.evaluation import estimators as names
from projbandits.evaluation.estimators import Bounds, PolicyEstimate, effective, table, words
from projbandits.evaluation.lack_of_fit import LackOfFit
from projbandits.evaluation.moments import MOMENT_PARTS, OUT_OF_REACH
from projbandits.statistics import normal_quantile
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    import pandas as pd

BY_ARM = (names.PLAIN, names.NORMALISED, names.CLIPPED, names.DOUBLY)


@dataclass(eq=False)
class Evidence(ABC):
    """The evidence for one policy; or for two, with their difference as the last of three blocks.

    Parameters
    ----------
    n : float
        The number of rows.
    means : ndarray of shape (6 * blocks,)
        The means of the terms of `MOMENT_PARTS`.
    sides : ndarray of shape (blocks, 7)
        The means of `MOMENT_SIDES`.
    m : ndarray of shape (blocks, d)
        The means of m_t.
    by_arm : ndarray of shape (2, K) or None
        For each arm the mean of the policy's probability of it, and of h_t where it was chosen.
    spread : ndarray of shape (d, d) or None
        The sum of x x^T times what the model leaves of returns, squared; None for noise of one
        size.
    factor : ndarray of shape (d + 1, d + 1)
        The triangular factor of the arms chosen and the returns.
    cut : float
        The largest weight of the clipped estimate.
    drawn : bool
        Whether the policy may be drawn to what the log overestimates.
    stated : bool
        Whether the probabilities of all arms are known.
    """

    n: float
    means: Array
    sides: Array
    m: Array
    by_arm: Array | None
    spread: Array | None
    factor: Array
    cut: float
    drawn: bool
    stated: bool

    @property
    def differs(self) -> bool:
        """Whether it is of a difference."""
        return len(self.sides) > 1

    def at(self, part: str, sizes: Array | None = None) -> Array:
        """Return the weights of the means in an estimate: those of each policy, or a unit."""
        found = np.zeros(len(self.means))
        each = found[MOMENT_PARTS.index(part) :: len(MOMENT_PARTS)]
        if sizes is None:
            each[-1] = 1.0
        else:
            each[: len(sizes)] = sizes
        return found

    def of_each(self, part: str) -> Array:
        """Return the mean of a part of each policy."""
        return self.means[MOMENT_PARTS.index(part) :: len(MOMENT_PARTS)][: 1 + self.differs]

    def value(self, gradient: Array) -> float:
        """Return a sum of means; those without a weight may be unknown."""
        some = gradient != 0
        return float(gradient[some] @ self.means[some])

    @abstractmethod
    def half(self, part: str, level: float, gradient: Array | None = None) -> float:
        """Return half of the interval of a sum of means, by default of one.

        `part` is the estimate whose weights stand behind it.
        """

    @abstractmethod
    def in_model(self, g: Array) -> tuple[Array | None, float]:
        """Return with which weight the model takes in each arm's effect, and the effective number.

        `g` is (X^T X)^+ m.
        """


class Evaluation(ABC):
    """A policy beside a log."""

    theta_hat: ClassVar[str]
    """The treatment of theta-hat: "predictable" or "cross-fitted"."""
    value: str
    subspace: Subspace
    bounds: Bounds | None

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of features, the level among them."""

    @property
    @abstractmethod
    def evidence(self) -> Evidence:
        """The evidence for the policy."""

    @abstractmethod
    def beside(self, other: Self) -> Evidence:
        """Return what the rows say of this policy, another, and the difference."""

    @abstractmethod
    def same_rows(self, other: Self) -> bool:
        """Tell whether another policy was judged on the same rows."""

    @property
    @abstractmethod
    def fit(self) -> LackOfFit | None:
        """The test of the linear model that takes no further look at the log."""

    @abstractmethod
    def lack_of_fit(self) -> LackOfFit:
        """Tell whether the linear model holds in this log."""

    @property
    def everything(self) -> bool:
        """Whether the whole return counts."""
        # The level is a feature of the log's linear model, but not part of the projection reward.
        return self.value == "return" or self.subspace.dim == self.width

    @single_threaded_blas()
    def estimates(self, level: float = 0.95) -> pd.DataFrame:
        """Return the estimates of the policy's value V with their intervals.

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
            that returns are linear in the features, and no propensities. It is nan if the mean of
            m_t lies outside the span of the arms chosen.

        Outcomes that were never told are left out: that is fair only if whether they are told does
        not depend on them.

        `effective` is the effective number of decisions, (sum |h|)^2 / sum h^2, where for the model
        h_t is the weight of r_t in it; `reached` is the share of steps whose m_t is in reach, for
        the model whether their mean is, and arm by arm how much of the policy is on arms that could
        be chosen; `unsupported` is the rest. Where support is missing, a row has no interval; with
        `bounds`, "arm by arm" has bounds instead. `assumes` says what each rests on, and `note`
        what to know about it: whether the linear model is found not to hold (`lack_of_fit`), or how
        many weights were cut. See docs/logs.md for how the intervals are made.
        """
        rows = self.evidence
        return table(found(self, rows, level), rows.n, self.fit)

    @single_threaded_blas()
    def versus(self, other: Self, level: float = 0.95) -> pd.DataFrame:
        """Return this policy's value minus another's with intervals, paired by decision.

        A difference can be in reach where neither value is: what both have in common need not be
        known.
        """
        if not isinstance(other, type(self)):
            raise TypeError(f"other must be what replay returned for the same log, got {other!r}")
        same = other.value == self.value and self.same_rows(other)
        if not same or np.abs(other.subspace.matrix - self.subspace.matrix).max() > 1e-9:
            raise ValueError("other must be judged on the same log, value and subspace")
        rows = self.beside(other)
        return table(found(self, rows, level), rows.n, self.fit)

    def __str__(self) -> str:
        return words(self.value, self.estimates(), self.fit, self.everything)


def found(of: Evaluation, rows: Evidence, level: float) -> dict[str, PolicyEstimate]:
    """Return the estimates of a policy's value, or of a difference."""
    estimates: dict[str, PolicyEstimate] = {}
    size, reached = effective(*rows.sides[-1, :2] * rows.n), float(rows.sides[-1, 2])
    short = bool(reached < 1)
    for name, part in ((names.LINEAR, "linear"), (names.LINEAR_DOUBLY, "linear_doubly")):
        value, half = rows.value(rows.at(part)), rows.half(part, level)
        note = "" if np.isfinite(value) else names.NO_CHANCES
        if short:
            note = f"out of reach at {1 - reached:.1%} of the decisions"
            half = np.nan
            value = np.nan if name == names.LINEAR else value
        estimates[name] = PolicyEstimate(value, half, size, reached, note)
    if not np.isfinite(rows.m[-1]).all():
        for name in (names.LINEAR, names.LINEAR_DOUBLY):
            estimates[name] = PolicyEstimate(note=names.NO_OFFERS)
    if not of.everything:
        estimates |= dict.fromkeys(BY_ARM, PolicyEstimate(note=names.NOT_IDENTIFIED))
    elif np.isnan(rows.sides[-1, 3]):
        estimates |= dict.fromkeys(BY_ARM, PolicyEstimate(note=names.NO_PROPENSITY))
    else:
        estimates |= _arm_by_arm(of, rows, level)
    estimates[names.MODEL], by_model = _model(of, rows, level)
    names.unsupported(estimates)
    for name in names.ON_MODEL:
        always = name == names.MODEL or of.fit is None or not of.fit.between
        if rows.by_arm is not None and (by_model is not None or not always):
            wanted, own = rows.by_arm
            c = by_model if always and by_model is not None else own
            missed = c - wanted if of.everything else c
            estimates[name] = names.with_effects(estimates[name], of.fit, missed, level)
    return {name: estimates[name] for name in names.ESTIMATE_NAMES}


def _arm_by_arm(of: Evaluation, rows: Evidence, level: float) -> dict[str, PolicyEstimate]:
    signs = np.array([1.0, -1.0])[: 1 + rows.differs]
    covered, note = _missing(of, rows, level)
    lost = np.nan if note else 0.0
    part = effective(*rows.sides[-1, 3:5] * rows.n), covered, note
    plain = rows.value(rows.at("plain"))
    first = PolicyEstimate(plain + lost, rows.half("plain", level), *part)
    if note and of.bounds is not None:
        least, largest = np.array(of.bounds), np.array(of.bounds[::-1])
        low, high = (_at_end(rows, signs, ends[: len(signs)], level) for ends in (least, largest))
        first = names.within(first, low, high, of.bounds, differs=rows.differs)
    share, half = np.nan, np.nan
    weights = rows.of_each("weight")
    # What is out of reach of both need not cancel here, since each is over its own weights.
    if (weights > 0).all() and not (rows.sides[: len(signs), 5] < 1 - 1e-9).any():
        shares = rows.of_each("plain") / weights
        gradient = rows.at("plain", signs / weights) - rows.at("weight", signs * shares / weights)
        share, half = float(signs @ shares), rows.half("weight", level, gradient)
    gradient = rows.at("clipped", signs)
    cut = rows.value(gradient)
    width = rows.half("clipped", level, gradient) + abs(plain - cut)
    how = note or names.cut(rows.cut, float(rows.sides[: len(signs), 6].sum()))
    value = rows.value(rows.at("doubly"))
    doubly = PolicyEstimate(value, rows.half("doubly", level) + lost, *part)
    return {
        names.PLAIN: first,
        names.NORMALISED: PolicyEstimate(share + lost, half, *part),
        names.CLIPPED: PolicyEstimate(cut + lost, width, *part[:2], how),
        names.DOUBLY: doubly if np.isfinite(value) else PolicyEstimate(note=names.NO_OFFERS),
    }


def _missing(of: Evaluation, rows: Evidence, level: float) -> tuple[float, str]:
    """Return how much of a policy is on arms that the log has, and a note if not all is."""
    covered = float(rows.sides[-1, 5])
    if covered < 1 - 1e-9:
        return covered, f"{1 - covered:.1%} of the policy is on arms that the log does not have"
    if rows.stated:
        return covered, ""
    # Weights average 1, and those of a difference 0, where no arm of the policy is missing.
    z, total = normal_quantile(level), 0.0 if rows.differs else 1.0
    weight = rows.value(rows.at("weight"))
    light = rows.differs and abs(weight) > names.LIGHT * rows.half("weight", level) / z
    if not rows.differs or np.isnan(covered):
        each = np.eye(1 + rows.differs)
        errors = [rows.half("weight", level, rows.at("weight", one)) / z for one in each]
        light |= bool((1 - rows.of_each("weight") > names.LIGHT * np.array(errors) + 1e-9).any())
    if not light:
        return covered, ""
    note = f"weights average {weight:.3g} and not {total:g}: the log lacks arms of the policy"
    return covered if rows.differs else weight, note


def _at_end(rows: Evidence, signs: Array, ends: Array, level: float) -> tuple[float, float]:
    """Return the value if outcomes that the log lacks were at an end, and half of its interval.

    That is e + E[w (r - e)]. `ends` has the end for the policy, and that for one that is taken off.
    """
    gradient = rows.at("plain", signs) - rows.at("weight", signs * ends)
    return float(signs @ ends) + rows.value(gradient), rows.half("weight", level, gradient)


def _model(of: Evaluation, rows: Evidence, level: float) -> tuple[PolicyEstimate, Array | None]:
    """Return <mean m, theta-hat>, and with which weight it takes in the effect of each arm.

    Without `spread` noise has one size; with it any size at any arm, and of arms chosen seldom,
    whose squares say too little, at least the one. A policy that learnt from returns is drawn to
    what is overestimated: its interval is Scheffe's, which holds for all directions at once.
    """
    m = rows.m[-1]
    if not np.isfinite(m).all():
        return PolicyEstimate(note=names.NO_OFFERS), None
    g, rank = dual(rows.factor, m)
    if g is None:
        note = "the arms chosen do not span what is asked for"
        return PolicyEstimate(reached=0.0, note=note), None
    by_arm, size = rows.in_model(g)
    theta, half, free = least_squares(rows.factor), np.nan, rows.n - rank
    value = float(m @ theta)
    if free > 0:
        R, d = rows.factor, len(m)
        # Where arms do not span all features, the last entry of R alone lacks a part of this.
        lost = np.square(R[:, -1] - R[:, :-1] @ theta).sum()
        variance = lost / free * np.square(R[:-1, :-1] @ g).sum()
        if rows.spread is not None:
            variance = max(variance, g @ rows.spread @ g * rows.n / free)
        u = d if of.value == "return" else of.subspace.dim
        quantile = stdtrit(free, 0.5 + level / 2)
        if rows.drawn:
            quantile = np.sqrt(u * fdtri(u, free, level))
        half = float(quantile * np.sqrt(variance))
    return PolicyEstimate(value, half, size, 1.0), by_arm


def dual(factor: Array, m: Array) -> tuple[Array | None, int]:
    """Return (X^T X)^+ m, None if X does not span m, and the rank of X, the arms chosen."""
    d = len(factor) - 1
    scale = units(factor[:, :d])
    _, values, rows = np.linalg.svd(factor[:, :d] / scale, full_matrices=False)
    kept = values > 1e-9 * values.max(initial=0.0)
    along = rows[kept] @ (m / scale)
    length = np.linalg.norm(m / scale)
    if not np.linalg.norm(m / scale - along @ rows[kept]) <= OUT_OF_REACH * length:
        return None, int(kept.sum())
    return (along / values[kept] ** 2) @ rows[kept] / scale, int(kept.sum())


def least_squares(factor: Array) -> Array:
    """Return theta-hat by least squares; of many, the shortest in the features' units."""
    scale = units(factor[:, :-1])
    found: Array = np.linalg.lstsq(factor[:, :-1] / scale, factor[:, -1], rcond=1e-9)[0] / scale
    return found


def units(X: Array) -> Array:
    """Return the length of each column; 1 for a column of zeros."""
    sizes = np.linalg.norm(X, axis=0)
    return np.where(sizes > 0, sizes, 1.0)
