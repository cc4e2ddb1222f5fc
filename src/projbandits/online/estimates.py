"""What an estimate says of the projection reward, and how sure it is."""

from __future__ import annotations

import numpy as np

from projbandits._checks import Array
from projbandits.ridge import Ridge

LARGEST = 1e50
"""The largest reward."""


def projection_reward(ridge: Ridge, projection: Array, X: Array) -> tuple[Array, Array]:
    """Return the estimate <P_U x, P_U theta-hat> for x or each row of X, and its standard error.

    The error is sigma |P_U x|_{V^-1}, with sigma from the residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.online.estimates import projection_reward
    >>> from projbandits.ridge import Ridge
    >>> ridge = Ridge.prior(d=1, penalty=1e-9).update([1.0], 1.0).update([1.0], 3.0)
    >>> value, error = projection_reward(ridge, np.eye(1), np.array([1.0]))
    >>> round(float(value), 6), round(float(error), 6)
    (2.0, 1.0)
    """
    kept = X @ projection
    return np.asarray(kept @ ridge.theta), ridge.noise * ridge.width(kept)


def check_reward(name: str, reward: float) -> None:
    """Raise if a reward is too large for the fourth power that a strategy may take of it."""
    if abs(reward) > LARGEST:
        raise ValueError(f"{name} must be at most {LARGEST:g} in size, got {reward}: rescale it")
