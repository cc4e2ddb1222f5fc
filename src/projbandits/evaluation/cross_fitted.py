"""A policy judged on a log of any origin and any size, from sums over its rows.

The rows are taken to be independent of each other given what was on offer and their propensities.
theta-hat in a doubly robust estimate comes from other rows than those it is applied to (five folds,
row by row), so that it is not drawn to their noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from projbandits._blas import single_threaded_blas
from projbandits._validation import Array, positive
from projbandits.evaluation.cells import Cells
from projbandits.evaluation.estimators import Bounds, bounded, check_bounds
from projbandits.evaluation.evaluator import Evaluation, Evidence, least_squares
from projbandits.evaluation.grouping import Look, cross_fitted, fixed, look
from projbandits.evaluation.lack_of_fit import NO_REPEATS, LackOfFit, pure_error, repeated, unknown
from projbandits.evaluation.levels import OfFeatures, wanted_with_level
from projbandits.evaluation.log import Log
from projbandits.evaluation.moments import MOMENT_PARTS, MOMENT_ROOM, Moments, Setting, moments
from projbandits.evaluation.policies import Chances, Policy, as_policy
from projbandits.evaluation.schema import Schema, chunks_of
from projbandits.evaluation.spreading import Progress, spread
from projbandits.statistics import normal_quantile
from projbandits.subspace import Subspace

RARE = 1.5
"""The variance by the probabilities counts from this many times that by squares on."""
MOST_SAMPLED = 100_000
"""In how many rows repeated arms are looked for, where arms are not numbered."""


@dataclass(frozen=True, eq=False)
class Judged(Evaluation):
    """A policy beside a log.

    Parameters
    ----------
    log : Log
        The log.
    given : object
        The policy as it was given.
    value : str
        "projection" or "return".
    subspace : Subspace
        What counts, in the order of the log's features.
    look : Look
        Sums over the log.
    factor : ndarray of shape (d + 1, d + 1)
        The triangular factor of all rows.
    setting : Setting
        What rows were judged by.
    moments : Moments
        Sums over the rows from which the estimates are made.
    executor : Executor or None
        Where pieces are read.
    bounds : (float, float) or None
        Between which all outcomes lie, if that is known.
    source : Log or None
        The log as it was given; `log` has a column of ones in it, where outcomes have a level.
    """

    log: Log
    given: Any
    value: str
    subspace: Subspace
    look: Look
    factor: Array
    setting: Setting
    moments: Moments
    executor: Executor | None = None
    bounds: Bounds | None = None
    source: Log | None = None

    theta_hat: ClassVar[str] = "cross-fitted"

    @property
    def width(self) -> int:
        """The number of features, the level among them."""
        return self.log.d

    @property
    def evidence(self) -> Evidence:
        """The evidence for the policy."""
        return Independent.of(self, self.moments)

    def beside(self, other: Judged) -> Evidence:
        """Return what the rows say of this policy, another, and the difference.

        The log is read once more, with both policies side by side.
        """
        policies = [self.policy, other.policy]
        log = self.log.with_columns([name for policy in policies for name in policy.columns])
        both = _sums(log, policies, self.look, self.setting, self.executor, None, True)
        return Independent.of(self, both)

    def same_rows(self, other: Judged) -> bool:
        """Tell whether another policy was judged on the same log."""
        return other.log._rows is self.log._rows

    @property
    def policy(self) -> Policy:
        """The policy, which has seen no row yet."""
        return _policy(self.given, self.source or self.log, self.subspace)

    @cached_property
    def fit(self) -> LackOfFit | None:
        """The test of the linear model that takes no further look at the log."""
        if self.look.sums is None or self.log.arms is None:
            return None
        n, means, squares = self.look.sums.pooled()
        seen = n > 0
        return pure_error(self.log.arms[seen], n[seen], means[seen], float(squares.sum()))

    def lack_of_fit(self) -> LackOfFit:
        """Tell whether the linear model holds in this log."""
        repeats = self.log.arms is not None and self.look.rows > len(self.log.arms)
        if self.fit is not None and (repeats or self.fit.method != "none"):
            return self.fit
        return self._sampled

    @cached_property
    def _sampled(self) -> LackOfFit:
        X, outcomes = sample(self.log, self.look.rows)
        return repeated(X, outcomes) or unknown(NO_REPEATS) if len(X) else unknown("it is empty")


@dataclass(eq=False)
class Independent(Evidence):
    """Rows that are independent of each other, in sums.

    Parameters
    ----------
    judged : Judged
        The policy and the log.
    squares, implied : ndarray
        The covariance of the means by the squares of the log, and as its probabilities imply it.
    """

    judged: Judged
    squares: Array
    implied: Array

    @classmethod
    def of(cls, judged: Judged, sums: Moments) -> Independent:
        """Return what sums say."""
        n, means = sums.n, sums.first / sums.n
        return cls(
            n,
            means,
            sums.sides / n,
            sums.m / n,
            None if sums.by_arm is None else sums.by_arm[-1] / n,
            sums.spread,
            judged.factor,
            judged.setting.clip,
            judged.policy.drawn,
            judged.setting.chances is not None or judged.look.states,
            judged,
            (sums.second - np.outer(sums.first, means)) / max(n - 1, 1.0) / n,
            sums.implied / n**2,
        )

    def in_model(self, g: Array) -> tuple[Array | None, float]:
        """Return with which weight the model takes in each arm's effect; more is unknown.

        `g` is (X^T X)^+ m.
        """
        if self.judged.look.sums is None or self.judged.log.arms is None:
            return None, np.nan
        return self.judged.look.sums.pooled().n * (self.judged.log.arms @ g), np.nan

    def half(self, part: str, level: float, gradient: Array | None = None) -> float:
        """Return half of the interval of a sum of means, by default of one.

        Where exploring is rare, the squares of a log seldom hold the large weights that they
        should. Those of weights that are cut are in those that are not.
        """

        def variance(g: Array, spread: Array) -> float:
            at = g != 0  # other means may be unknown
            return max(float(g[at] @ spread[np.ix_(at, at)] @ g[at]), 0.0)

        gradient = self.at(part) if gradient is None else gradient
        whole = self.at("plain") if part == "clipped" else gradient
        squares, implied = variance(whole, self.squares), variance(whole, self.implied)
        least = implied if implied > RARE * squares else 0.0
        wider = max(variance(gradient, self.squares), least)
        return float(normal_quantile(level) * np.sqrt(wider))


@single_threaded_blas()
def judge(
    log: Log,
    policy: Any,
    value: str,
    subspace: Subspace | None,
    clip: float,
    executor: Executor | None,
    progress: Progress | None,
    bounds: Any = None,
) -> Judged:
    """Return a policy judged on a log; the parameters are those of `replay`."""
    clip = positive("clip", clip)
    if subspace is None and log.subspace is None:
        subspace = getattr(policy, "subspace", None)
        if value == "projection" and subspace is None:
            raise ValueError(
                "subspace must be given, this log does not say what counts: pass "
                "replay(log, policy, subspace=...), on the command line --protected, or ask for "
                "value='return'"
            )
    wanted = log.matched(subspace)
    source, checked = log, _policy(policy, log, wanted)
    log = log.with_level if log.intercept else log.with_columns(checked.columns)
    together = not checked.learns and not checked.columns
    numbered = log.arms is not None
    seen = look(log._schema, log._rows.pieces(), numbered, together, executor, progress)
    ends = bounded(bounds, value == "return" or wanted.dim == log.d)
    check_bounds(ends, seen.least, seen.largest)
    factor, thetas = cross_fitted(seen.by_fold(log.arms), seen.rows)
    chances = fixed(seen) if log.arms is not None else None
    P: Array = wanted.matrix if value == "projection" else np.eye(log.d)
    if source.intercept:
        assert log.arms is not None  # a ledger knows all that were ever on offer
        X = log.arms[:, 1:]
        P = wanted_with_level(
            wanted, value, (X**2).mean(axis=0), np.atleast_2d(np.cov(X.T, ddof=0))
        )
    setting = Setting(
        P,
        thetas,
        least_squares(factor),
        None if chances is None else chances[None],
        None if seen.sums is None else (seen.sums.n.sum(axis=0) > 0).astype(np.float64),
        clip,
        float(factor[-1, -1] ** 2) / max(seen.rows - log.d, 1),
    )
    total = _sums(log, [checked], seen, setting, executor, progress)
    return Judged(log, policy, value, wanted, seen, factor, setting, total, executor, ends, source)


def _policy(policy: Any, log: Log, subspace: Subspace) -> Policy:
    """Return what is judged on a log, which does not see a column of ones in it."""
    found = as_policy(policy, log.names, subspace, log.intercept)
    return OfFeatures(found) if log.intercept and not isinstance(found, OfFeatures) else found


def _sums(
    log: Log,
    policies: Sequence[Policy],
    seen: Look,
    setting: Setting,
    executor: Executor | None,
    progress: Progress | None,
    differ: bool = False,
) -> Moments:
    """Return the sums over all rows for some policies; with `differ` also for their difference."""
    learns = any(policy.learns for policy in policies)
    # Cells have one propensity each, so the probabilities of all arms must be those of every row.
    whole = not learns and (seen.stated is not None or not seen.states)
    whole = whole and not any(policy.columns for policy in policies)
    if whole and seen.cells is not None and log.arms is not None:
        if progress is not None:
            progress(seen.rows)
        return _of(seen.cells.on(log.arms), policies, setting, differ)
    total: Moments | None = None
    work = partial(_moments, log._schema, policies, setting, differ)
    # A policy that learns must see the rows in order.
    pieces = log._rows.pieces()
    parts = map(work, pieces) if learns else spread(work, pieces, executor)
    for part in parts:
        if part is not None:
            total = part if total is None else total.plus(part)
            if progress is not None:
                progress(int(part.n))
    assert total is not None
    return total


def _moments(
    schema: Schema | None, policies: Sequence[Policy], setting: Setting, differ: bool, piece: Any
) -> Moments | None:
    total: Moments | None = None
    for chunk in chunks_of(schema, piece):
        # A policy that learns needs every row, in order.
        learns = any(policy.learns for policy in policies)
        cells = Cells.of(chunk)
        if not learns and chunk.chances is None:
            cells = cells.together()
        part = _of(cells, policies, setting, differ)
        total = part if total is None else total.plus(part)
    return total


def _of(cells: Cells, policies: Sequence[Policy], setting: Setting, differ: bool) -> Moments:
    """Return the sums over some cells; a policy has a number for each arm and each of a part."""
    chunk, total = cells.chunk, None
    width = len(chunk.arms) if chunk.complete else 1
    if chunk.offered is not None:
        width = chunk.offered.shape[1]
    each = max(len(MOMENT_PARTS) * (len(policies) + differ), chunk.arms.shape[1])
    size = max(width, 1) * each
    for some in cells.pieces(MOMENT_ROOM // size + 1):
        chances: list[Chances] = [policy.chances(some.chunk) for policy in policies]
        if differ:
            chances.append(chances[0].minus(chances[1]))
        part = moments(some, chances, setting)
        total = part if total is None else total.plus(part)
    assert total is not None
    return total


def sample(log: Log, rows: int) -> tuple[Array, Array]:
    """Return arms and returns of evenly spread rows."""
    step = -(-rows // MOST_SAMPLED)
    parts: list[tuple[Array, Array]] = []
    for chunk in log.chunks():
        at = np.arange(-chunk.first % step, len(chunk.outcome), step)
        parts.append((chunk.arms[chunk.action[at]], chunk.outcome[at]))
    X, outcomes = zip(*parts, strict=True)
    return np.concatenate(X), np.concatenate(outcomes)
