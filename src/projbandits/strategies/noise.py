"""How large the noise may be, by what the estimate could not explain."""

from __future__ import annotations

import math

from projbandits.ridge import Ridge

CAUTION = 1.0
"""How many standard errors above the estimate of its variance the noise is taken to be."""
LEAST_FREE = 1e-9
"""Round-off in the number of free observations, where that is computed from V^-1."""


def cautious_noise(ridge: Ridge) -> float:
    """Return sigma from the residuals, on the high side.

    What the estimate could not explain (`ridge.residual`) has at least sigma^2 times `ridge.free`
    as its mean, whatever theta is. So the quotient errs on the high side if at all, and while data
    are few one standard error is added, since a strategy that takes the noise for smaller than it
    is stops asking.

    As long as nothing but zeros was seen it is 1: then every strategy here chooses the same
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
    1.04
    """
    if ridge.residual <= 0.0:
        return 1.0
    free = ridge.free
    return math.sqrt(ridge.residual / free * (1.0 + CAUTION * math.sqrt(2.0 / free)))
