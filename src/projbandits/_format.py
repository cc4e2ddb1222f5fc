"""Numbers as a reader wants them, and the templates of pages and cards that show them."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from projbandits.statistics import Estimate

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **values: Any) -> str:
    """Return a page or a card made from a file in `templates/`.

    Text is escaped, so that a browser executes nothing that a user wrote; only `markupsafe.Markup`
    is taken as it is. The functions of this module are filters.

    Parameters
    ----------
    template : str
        The name of the file.
    **values
        What the template names.

    Examples
    --------
    >>> from projbandits._format import render
    >>> "<title>&lt;b&gt;</title>" in render("page.html", title="<b>")
    True
    """
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    import jinja2  # only what shows a page pays for it

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("projbandits"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shown = (number, cell, interval, percent, percents, thousands, sentence, name_of)
    made.filters |= {function.__name__: function for function in shown}
    return made


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


def cell(value: float | None) -> str:
    """Return a number as a table shows it: a dash where it is unknown.

    Examples
    --------
    >>> from projbandits._format import cell
    >>> cell(0.25), cell(None)
    ('0.25', '-')
    """
    return "-" if value is None or math.isnan(value) else number(value)


def thousands(value: int) -> str:
    """Return a count with a comma after each three digits.

    Examples
    --------
    >>> from projbandits._format import thousands
    >>> thousands(12345)
    '12,345'
    """
    return f"{value:,}"


def sentence(text: str) -> str:
    """Return a text with a capital letter first.

    Examples
    --------
    >>> from projbandits._format import sentence
    >>> sentence("cleared")
    'Cleared'
    """
    return text[:1].upper() + text[1:]


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
