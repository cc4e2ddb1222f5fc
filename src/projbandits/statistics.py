"""Estimates from trials, each with an interval.

Regret is skewed and strategies meet the same worlds, so differences are taken trial by trial, and
what is not a mean (a quantile, an exponent of growth) gets its interval by the bootstrap over
trials.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from projbandits._validation import Array, real

RESAMPLES = 1000
LEAST_TRIALS = 20
"""With fewer trials the bootstrap says nothing."""
MOST_KEPT = 4_000_000
"""How many numbers of resampled trials are kept for the next estimate: 32 MB."""


class Estimate(NamedTuple):
    """A number and the ends of its confidence interval."""

    value: float
    low: float
    high: float


def mean(values: Array, level: float = 0.95) -> Estimate:
    """Return a mean with Student's interval; the ends of a single value are unknown (nan).

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits import statistics
    >>> statistics.mean(np.array([1.0, 2.0, 3.0])).value
    2.0
    """
    center = float(values.mean())
    half = float(half_width(values[:, None], level)[0])
    return Estimate(center, center - half, center + half)


def half_width(values: Array, level: float = 0.95) -> Array:
    """Return half of the interval of each mean over trials (the first axis), by Student's t."""
    n = len(values)
    if n == 1:
        return np.full(values.shape[1:], math.nan)
    t = float(stdtrit(n - 1, 0.5 + _checked(level) / 2))
    half: Array = t * values.std(axis=0, ddof=1) / math.sqrt(n)
    return half


def share(happened: NDArray[np.bool_]) -> Estimate:
    """Return the share of trials in which something happened, with Wilson's 95 % interval.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits import statistics
    >>> [round(x, 3) for x in statistics.share(np.zeros(100, bool))]
    [0.0, 0.0, 0.037]
    """
    ends = wilson(np.asarray(happened.mean()), len(happened), 0.95)
    return Estimate(*(float(x) for x in ends))


def wilson(p: Array, n: int, level: float) -> tuple[Array, Array, Array]:
    """Return shares of n trials with the ends of Wilson's interval, which holds at 0 and 1 too."""
    z = normal_quantile(level)
    center = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return p, center - half, center + half


def quantile(values: Array, q: float, level: float = 0.95) -> tuple[Array, Array, Array]:
    """Return a quantile over trials (the first axis), with the ends of its interval.

    The ends are order statistics: how many trials lie below the true quantile is binomial, so no
    distribution need be assumed. With too few trials they are the smallest and the largest.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits import statistics
    >>> [float(x) for x in statistics.quantile(np.arange(101.0), 0.5)]
    [50.0, 40.0, 60.0]
    """
    n = len(values)
    half = normal_quantile(level) * math.sqrt(n * q * (1 - q))
    ordered = np.sort(values, axis=0)
    low = ordered[max(math.floor(n * q - half), 0)]
    high = ordered[min(math.ceil(n * q + half), n) - 1]
    return np.asarray(np.quantile(values, q, axis=0)), low, high


def exponent(
    steps: NDArray[np.int64], regret: Array, level: float = 0.95, resamples: int = RESAMPLES
) -> Estimate:
    """Return b of the power law n^b that fits the mean regret over the last decade of steps.

    It is the slope of log mean regret against log n by least squares at points that are evenly
    spread on the logarithmic axis, with a percentile interval from resampled trials.

    Parameters
    ----------
    steps : ndarray of shape (checkpoint,)
        Where the regret was recorded.
    regret : ndarray of shape (trial, checkpoint)
        Cumulative regret.
    level : float
        The confidence level.
    resamples : int
        How often the trials are resampled.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits import statistics
    >>> steps = np.arange(1, 1001)
    >>> round(statistics.exponent(steps, np.sqrt(steps)[None, :]).value, 6)
    0.5
    """
    wanted = np.geomspace(steps[-1] / 10, steps[-1], 21)
    chosen = np.unique(np.searchsorted(steps, wanted).clip(0, len(steps) - 1))
    x = np.log(steps[chosen].astype(np.float64))
    if len(chosen) < 2:
        return Estimate(math.nan, math.nan, math.nan)
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()

    def slope(means: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):  # no regret at all has no exponent
            return np.asarray(np.log(means) @ weights)

    return _bootstrap(regret[:, chosen], slope, level, resamples)


def steadiness(steps: NDArray[np.int64], regret: Array) -> Estimate:
    """Return the regret per step in the last half, over that in the quarter before it.

    It is 1 if regret grows linearly, whatever was paid at the start, and 2^(b-1) for n^b.
    The parameters are those of `exponent`, and the interval has 95 %.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits import statistics
    >>> steps = np.arange(1, 1001)
    >>> statistics.steadiness(steps, (500.0 + 3.0 * steps)[None, :]).value
    1.0
    """
    chosen = np.searchsorted(steps, np.array([0.25, 0.5, 1.0]) * steps[-1])
    if len(set(chosen)) < 3:
        return Estimate(math.nan, math.nan, math.nan)
    lengths = np.diff(steps[chosen])

    def ratio(means: Array) -> Array:
        rates = np.diff(means, axis=-1) / lengths
        with np.errstate(divide="ignore", invalid="ignore"):  # no regret at all has no rate
            return np.asarray(rates[..., 1] / rates[..., 0])

    return _bootstrap(regret[:, chosen], ratio, 0.95, RESAMPLES)


def _bootstrap(
    values: Array, statistic: Callable[[Array], Array], level: float, resamples: int
) -> Estimate:
    """Return a statistic of the mean over trials, with a percentile interval.

    With few trials the interval would be far too narrow, so it is unknown (nan).
    """
    n = len(values)
    if n < LEAST_TRIALS:
        return Estimate(float(statistic(values.mean(axis=0))), math.nan, math.nan)
    tail = (1 - _checked(level)) / 2
    found = statistic(_resampled(n, resamples) @ values)
    low, high = np.quantile(found, [tail, 1 - tail])
    return Estimate(float(statistic(values.mean(axis=0))), float(low), float(high))


def _draw(n: int, resamples: int) -> Array:
    """Return in which share of n draws each of n trials was drawn, in each resample."""
    counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=resamples)
    return np.asarray(counts / n)


_kept_draw = lru_cache(maxsize=2)(_draw)


def _resampled(n: int, resamples: int) -> Array:
    """Return `_draw`, which takes ten times as long as its use; what is not large is kept."""
    return (_kept_draw if n * resamples <= MOST_KEPT else _draw)(n, resamples)


def normal_quantile(level: float) -> float:
    """Return how many standard errors an interval of this level extends to either side."""
    return NormalDist().inv_cdf(0.5 + _checked(level) / 2)


def _checked(level: float) -> float:
    level = real("level", level)
    if not 0 < level < 1:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level}")
    return level
