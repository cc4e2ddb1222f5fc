"""What an estimate says of the projection reward, and how sure it is."""

from __future__ import annotations

import math

import numpy as np

from projbandits._checks import Array
from projbandits.ridge import Ridge


def projection_reward(ridge: Ridge, projection: Array, X: Array) -> tuple[Array, Array]:
    """Return the estimate <P_U x, P_U theta-hat> for x or each row of X, and its standard error.

    The error is sigma |P_U x|_{V^-1}, with sigma from the residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.online.belief import projection_reward
    >>> from projbandits.ridge import Ridge
    >>> ridge = Ridge.prior(d=1, penalty=1e-9).update([1.0], 1.0).update([1.0], 3.0)
    >>> value, error = projection_reward(ridge, np.eye(1), np.array([1.0]))
    >>> round(float(value), 6), round(float(error), 6)
    (2.0, 1.0)
    """
    kept = X @ projection
    return np.asarray(kept @ ridge.theta), ridge.noise * ridge.width(kept)


def check_usable(ridge: Ridge, name: str) -> None:
    """Raise if an estimate that learnt from observations called `name` has overflowed."""
    if not (np.isfinite(ridge.theta).all() and math.isfinite(ridge.residual)):
        raise ValueError(
            f"{name} must be of a size whose squares can be added up: the estimate would overflow; "
            "rescale features and rewards"
        )
