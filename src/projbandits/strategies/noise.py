"""How large the noise may be, by what the estimate could not explain."""

from __future__ import annotations

import math

from projbandits.ridge import Ridge

CAUTION = 1.2816
"""The normal quantile of 90 %: the noise is larger than what is estimated one time in ten."""


def cautious_noise(ridge: Ridge) -> float:
    """Return an upper confidence limit of sigma from the residuals.

    Each observation adds a squared error with mean sigma^2 to `ridge.residual` (a little more, for
    the penalty), so that divided by sigma^2 it is about chi-squared with n degrees of freedom. The
    limit divides it by that distribution's quantile, as Wilson and Hilferty approximate it. It is
    high while data are few: a strategy that takes the noise for smaller than it is stops asking.

    As long as nothing but zeros was seen it is 1, since then every strategy here chooses the same
    whatever the noise.

    Examples
    --------
    >>> from projbandits.ridge import Ridge
    >>> from projbandits.strategies.noise import cautious_noise
    >>> ridge = Ridge.prior(d=1)
    >>> cautious_noise(ridge)
    1.0
    >>> for r in (1.0, -1.0) * 200:
    ...     ridge = ridge.update([1.0], r)
    >>> round(cautious_noise(ridge), 2)
    1.05
    """
    if ridge.residual <= 0.0:
        return 1.0
    return math.sqrt(ridge.residual / chi_squared_quantile(ridge.n))


def chi_squared_quantile(n: int) -> float:
    """Return what a chi-squared variable with n degrees of freedom exceeds 9 times in 10."""
    spread = 2.0 / (9.0 * n)
    return float(n * (1.0 - spread - CAUTION * math.sqrt(spread)) ** 3)
