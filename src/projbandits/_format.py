"""Numbers as a reader wants them: three digits, and an interval where there is one."""

from __future__ import annotations

import math

from projbandits.statistics import Estimate


def number(value: float) -> str:
    """Return a number with three significant digits, and all digits left of the point.

    Examples
    --------
    >>> from projbandits._format import number
    >>> number(12345.6), number(0.012345), number(float("nan"))
    ('12,346', '0.0123', 'unknown')
    """
    if math.isnan(value):
        return "unknown"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def interval(estimate: Estimate, digits: int | None = None) -> str:
    """Return a number and the ends of its interval, with this many decimals, or with three digits.

    Examples
    --------
    >>> from projbandits._format import interval
    >>> from projbandits.statistics import Estimate
    >>> interval(Estimate(361.2, 334.6, 387.9)), interval(Estimate(0.95, 0.9, 0.98), digits=2)
    ('361 (335 to 388)', '0.95 (0.90 to 0.98)')
    >>> interval(Estimate(361.2, float("nan"), float("nan")))
    '361'
    """
    value, low, high = (number(x) if digits is None else f"{x:.{digits}f}" for x in estimate)
    return value if math.isnan(estimate.low) else f"{value} ({low} to {high})"


def percent(value: float) -> str:
    """Return a share as a whole percentage.

    Examples
    --------
    >>> from projbandits._format import percent
    >>> percent(0.814)
    '81 %'
    """
    return "unknown" if math.isnan(value) else f"{100 * value:.0f} %"


def name_of(label: str) -> str:
    """Return a strategy's label without empty brackets."""
    return label.removesuffix("()")


def percents(estimate: Estimate) -> str:
    """Return a share as a percentage with one decimal, and the ends of its interval.

    Examples
    --------
    >>> from projbandits._format import percents
    >>> from projbandits.statistics import Estimate
    >>> percents(Estimate(0.209, 0.184, 0.235)), percents(Estimate(0.0, 0.0, 0.0))
    ('20.9 % (18.4 to 23.5)', '0 %')
    """
    if math.isnan(estimate.value):
        return "unknown"
    value, low, high = (f"{100 * x:.1f}" for x in estimate)
    if math.isnan(estimate.low) or estimate.low == estimate.high:
        return f"{100 * estimate.value:.3g} %"
    return f"{value} % ({low} to {high})"
