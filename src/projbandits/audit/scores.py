"""Whether other protected parts would change the scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtrc

from projbandits._validation import Array
from projbandits.audit.answers import (
    AUDIT_LEVEL,
    MATERIAL,
    UNKNOWN_SIZE,
    ZERO,
    AuditAnswer,
    rate,
    sized,
)
from projbandits.audit.leak import LeastSquares
from projbandits.ridge import Ridge
from projbandits.statistics import Estimate

if TYPE_CHECKING:
    from projbandits.audit.sample import Sample


@dataclass(frozen=True, eq=False, kw_only=True)
class Scores(AuditAnswer):
    """Whether scores change with the protected part, given the belief at the time (exact).

    `size` is how far the protected part spreads the scores of the arms on offer by today's belief
    (a standard deviation, in units of the outcome), with the noise of the estimate. `share` is its
    share of the variance of the scores at the time.

    Parameters
    ----------
    largest : float
        The largest change of any score at the time, in units of the outcome.
    guesses : Estimate
        The share of best guesses that changed.
    beyond : float
        The probability that noise alone makes the protected part's effect on the scores look this
        large; nan where it has none, 0 where scores depend on it by definition.
    decisions : int
        How many decisions were looked at.
    """

    largest: float
    guesses: Estimate
    beyond: float
    decisions: int


def scores(sample: Sample) -> Scores:
    """Return whether scores changed at the decisions that were looked at."""
    numbers: dict[str, Any] = {
        "largest": sample.largest,
        "guesses": rate(np.array(sample.guess_changed)),
        "decisions": sample.cases,
    }
    varied = sample.protected.varied and sample.learnt
    if not varied or not sample.largest:
        silent = False if varied else None
        return Scores(found=silent, size=ZERO, share=ZERO, beyond=np.nan, **numbers)
    spread, total = sample.spread / sample.cases, sample.varied / sample.cases
    strategy, state = sample.known.strategy, sample.known.state
    Q = np.eye(len(spread)) - sample.known.subspace.matrix
    effect = Q @ strategy.aim(state)
    share = sample.moved / sample.cases / total if total > 0 else np.nan
    if strategy.aims_at != "return":
        size, _ = sized(effect, np.zeros_like(spread), spread, total)
        exact = Estimate(share, share, share)
        return Scores(found=share >= MATERIAL, size=size, share=exact, beyond=0.0, **numbers)
    covariance = Q @ (state.ridge.noise**2 * state.ridge.inverse) @ Q
    beyond = by_noise(sample.log, sample.protected.varied_directions)
    within = np.isnan(beyond) or beyond > AUDIT_LEVEL
    size, now = sized(effect, covariance, spread, total, beyond=not within)
    if np.isnan(beyond):
        size, now = Estimate(size.value, np.nan, np.nan), UNKNOWN_SIZE
    return Scores(
        found=None if within or share < MATERIAL else True,
        size=size,
        share=Estimate(share, min(share, now.low), max(share, now.high)),
        beyond=beyond,
        **numbers,
    )


def by_noise(log: Ridge, directions: Array) -> float:
    """Return how likely the log's noise alone gives the protected part such an effect.

    The test is that of all protected directions together: <theta, C^-1 theta> against chi^2.
    """
    fit = LeastSquares.of(log)
    told = [b for b in directions.T if fit.tells(b)]
    if fit.free < 1 or not told:
        return np.nan
    B = np.array(told)
    effect, root = B @ fit.theta, fit.sigma * B @ fit.root
    if not root.any():
        return 0.0 if effect.any() else 1.0
    statistic = float(effect @ np.linalg.pinv(root @ root.T) @ effect)
    return float(chdtrc(len(told), statistic))
