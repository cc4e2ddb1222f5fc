"""The form of the four answers of an audit: a finding, sizes with intervals, and a level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.statistics import Estimate, normal_quantile
from projbandits.statistics import share as share_of

Influence = Literal["none", "exploration", "found", "unclear"]
"""The outcome of an audit: cleared; cleared for scores only; not cleared, since an influence was
found; not cleared, since it cannot be ruled out."""

AUDIT_LEVEL = 0.001
"""How often an honest log may look dishonest, for each question, all its tests together."""

CONFIDENCE = 0.95
"""The level of each interval."""

MATERIAL = 0.0025
"""A share of the scores' variance below this, a twentieth of their spread, does not matter."""

DRAWS = 2000
UNKNOWN_SIZE = Estimate(np.nan, np.nan, np.nan)
ZERO = Estimate(0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class AuditAnswer:
    """The answer to one question of an audit.

    Parameters
    ----------
    found : bool or None
        True if something was found whose size is beyond noise, False if not, None if it cannot be
        told.
    size : Estimate
        How large it is in units of the outcome, with its 95 % interval.
    share : Estimate
        The same as a share.
    verdict : str
        The answer in words.
    """

    found: bool | None
    size: Estimate
    share: Estimate
    verdict: str = ""


def sized(
    effect: Array, covariance: Array, spread: Array, total: float, *, beyond: bool = False
) -> tuple[Estimate, Estimate]:
    """Return how far an effect spreads the scores of arms, and its share of their variance.

    The size is |effect|_G = sqrt(effect^T G effect). By the triangle inequality it is off by no
    more than |error|_G, whose 95 % quantile is the half width of the interval. Of an effect that is
    beyond noise, only the error along it matters, to first order: then the half width is 1.96 times
    its standard error.

    Parameters
    ----------
    effect, covariance : ndarray of shapes (d,) and (d, d)
        The effect of each feature, and the covariance of its error.
    spread : ndarray of shape (d, d)
        G, the covariance of the features among the arms on offer.
    total : float
        The variance of the scores.
    beyond : bool
        Whether the effect is beyond noise.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.audit.answers import sized
    >>> size, share = sized(np.array([3.0, 4.0]), np.zeros((2, 2)), np.eye(2), total=100.0)
    >>> size.value, share.value
    (5.0, 0.25)
    """
    size = float(_lengths(effect[None], spread)[0])
    if beyond and size > 0:
        along = spread @ effect / size
        reach = normal_quantile(CONFIDENCE) * float(np.sqrt(along @ covariance @ along))
    else:
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        errors = np.random.default_rng(0).standard_normal((DRAWS, len(effect))) @ root.T
        reach = float(np.quantile(_lengths(errors, spread), CONFIDENCE))
    found = Estimate(size, max(0.0, size - reach), size + reach)
    if not total > 0:
        return found, ZERO if found.high == 0 else UNKNOWN_SIZE
    return found, Estimate(*(end * end / total for end in found))


def _lengths(rows: Array, spread: Array) -> Array:
    squares: Array = np.einsum("ij,ij->i", rows @ spread, rows)
    return np.sqrt(np.maximum(squares, 0.0))


def rate(happened: NDArray[np.bool_]) -> Estimate:
    """Return a share with Wilson's interval; nan of nothing."""
    if not len(happened):
        return UNKNOWN_SIZE
    value, low, high = share_of(happened)
    return Estimate(value, max(0.0, low), min(1.0, high))
