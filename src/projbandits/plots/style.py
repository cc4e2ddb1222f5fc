"""What all figures here have in common."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

COLUMN_WIDTH = 3.5
"""The width of one column of a paper, in inches."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C00")
"""Distinguishable with any colour vision; after the palette of Okabe and Ito."""

LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (3, 2, 1, 2)), (0, (2, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def finish(ax: Axes, columns: int = 2) -> None:
    """Give axes the style of all figures here; a legend stands above, where it covers nothing.

    Parameters
    ----------
    ax : Axes
        What was drawn on.
    columns : int
        The number of columns of the legend.

    Examples
    --------
    >>> from projbandits import plots
    >>> import matplotlib.pyplot as plt
    >>> _, ax = plt.subplots()
    >>> _ = ax.plot([0, 1], color=plots.COLOURS[0], label="mine")
    >>> plots.finish(ax)
    """
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
        text.set_fontsize(8)
    ax.tick_params(which="both", labelsize=7)
    handles, _ = ax.get_legend_handles_labels()
    if not handles:
        return
    ax.legend(
        fontsize=7,
        frameon=False,
        ncols=min(columns, len(handles)),
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0,
        columnspacing=1,
    )


@contextmanager
def offscreen() -> Iterator[None]:
    """Draw without windows meanwhile, as threads and machines without a screen must.

    Examples
    --------
    >>> from projbandits import plots
    >>> with plots.offscreen():
    ...     plots.close(plots.panels([lambda ax: ax.plot([0, 1])], shared_legend=False))
    """
    before = plt.get_backend()
    plt.switch_backend("agg")
    try:
        yield
    finally:
        plt.switch_backend(before)


def close(figure: Figure) -> None:
    """Forget a figure that has been written.

    Parameters
    ----------
    figure : Figure
        The figure.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from projbandits import plots
    >>> before, figure = plt.get_fignums(), plt.figure()
    >>> plots.close(figure)
    >>> plt.get_fignums() == before
    True
    """
    plt.close(figure)


def pictures(figure: Figure) -> tuple[bytes, bytes]:
    """Return a figure as PNG and PDF, as `savefig` does, laid out and drawn once for each.

    `savefig` draws each one twice, the first time for the layout alone. Whoever takes pictures of a
    figure is done with it: it keeps its layout.
    """
    png, pdf = io.BytesIO(), io.BytesIO()
    canvas: Any = FigureCanvasAgg(figure)
    canvas.print_png(png)
    figure.set_layout_engine("none")
    canvas = FigureCanvasPdf(figure)
    canvas.print_pdf(pdf)
    return png.getvalue(), pdf.getvalue()


def look(i: int) -> dict[str, Any]:
    """Return the colour and line of the i-th curve; pairs repeat only after 64.

    Parameters
    ----------
    i : int
        The number of the curve, from 0.

    Examples
    --------
    >>> from projbandits import plots
    >>> plots.look(1)
    {'color': '#D55E00', 'linestyle': '--'}
    """
    n = len(COLOURS)
    return {"color": COLOURS[i % n], "linestyle": LINES[(i + i // n) % n]}


def band(ax: Axes, i: int, label: str, steps: Any, middle: Any, low: Any, high: Any) -> None:
    """Draw the i-th curve, with the band around it."""
    style = look(i)
    ax.plot(steps, middle, label=label, **style)
    ax.fill_between(steps, low, high, color=style["color"], alpha=0.18, linewidth=0)


def new_axes(ax: Axes | None) -> Axes:
    """Return axes to draw on, those given or new ones of one column's width."""
    if ax is not None:
        return ax
    size = (COLUMN_WIDTH, 0.75 * COLUMN_WIDTH)
    _, new = plt.subplots(figsize=size, layout="constrained", dpi=200)
    return new


def thousands(value: float, _: float) -> str:
    """Return a number with thousands separators, as a formatter for axes."""
    return f"{value:,.0f}" if value >= 10 or value == round(value) else f"{value:g}"


def share_axis(ax: Axes) -> None:
    """Let the vertical axis run from 0 to 100 %."""
    ax.set_ylim(0, 1)
    ax.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
