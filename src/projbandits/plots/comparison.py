"""Numbers side by side: rows of estimates, and curves with the worlds they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatterSciNotation, NullFormatter
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.plots.style import (
    COLOURS,
    COLUMN_WIDTH,
    MARKERS,
    band,
    finish,
    look,
    new_axes,
    share_axis,
    thousands,
)
from projbandits.statistics import Estimate, half_width

HEIGHT = 0.19
"""The height of a row, in inches."""

Rows = Mapping[str, Sequence[Estimate | None]]


def comparison(
    groups: Mapping[str, Rows],
    readings: Sequence[str],
    *,
    title: str = "",
    notes: Mapping[str, str] | None = None,
) -> Figure:
    """Draw estimates with their intervals in rows, on one logarithmic axis.

    Parameters
    ----------
    groups : mapping of str to mapping of str to sequence of Estimate
        By group and by the label of a row, an estimate for each reading; None leaves it out.
    readings : sequence of str
        What the estimates of a row are called in the legend.
    title : str
        The title.
    notes : mapping of str to str, optional
        By group, a word at its right.

    Examples
    --------
    >>> from projbandits import plots
    >>> from projbandits.statistics import Estimate, half_width
    >>> rows = {"mine": [Estimate(3, 2, 4), None], "theirs": [Estimate(30, 20, 40)] * 2}
    >>> len(plots.comparison({"in one world": rows}, ["as given", "tuned"]).axes)
    1
    """
    sizes = [len(rows) + 1 for rows in groups.values()]
    figure, axes = plt.subplots(
        len(groups),
        1,
        figsize=(1.3 * COLUMN_WIDTH, HEIGHT * sum(sizes) + 0.8),
        height_ratios=sizes,
        sharex=True,
        layout="constrained",
        dpi=200,
        squeeze=False,
    )
    for ax, (group, rows) in zip(axes[:, 0], groups.items(), strict=True):
        for j, reading in enumerate(readings):
            known = [(i, row[j]) for i, row in enumerate(rows.values())]
            places = [i + 0.22 * (2 * j - len(readings) + 1) for i, x in known if x is not None]
            values = [x for _, x in known if x is not None]
            ax.errorbar(
                [x.value for x in values],
                places,
                xerr=[[x.value - x.low for x in values], [x.high - x.value for x in values]],
                linestyle="none",
                color=COLOURS[j],
                marker=MARKERS[j],
                markersize=3.5,
                linewidth=1.2,
                label=reading,
            )
        ax.set_yticks(range(len(rows)), list(rows))
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_title(group, loc="left", fontsize=8, fontweight="bold")
        ax.set_title((notes or {}).get(group, ""), loc="right", fontsize=8)
        ax.set_xscale("log")
        finish(ax)
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False, axis="y")
        ax.grid(axis="x", which="both", color="0.9", linewidth=0.6)
        ax.get_legend().remove()
    last = axes[-1, 0]
    last.xaxis.set_major_formatter(thousands)
    last.xaxis.set_minor_formatter(NullFormatter())
    last.set_xlabel("mean projection regret at the last step (bars: 95% intervals)")
    handles, labels = last.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=7, frameon=False)
    figure.suptitle(title, fontsize=9)
    return figure


def spread(steps: NDArray[np.int64], lines: Mapping[str, Array], ax: Axes | None = None) -> Axes:
    """Draw the median over worlds of some curves, with their middle half behind them.

    Parameters
    ----------
    steps : ndarray of shape (checkpoint,)
        Where the curves are known.
    lines : mapping of str to ndarray of shape (world, checkpoint)
        The curves by their label.
    ax : Axes, optional
        Where to draw; a new figure of one column's width by default.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits import plots
    >>> n = np.array([1, 10, 100])
    >>> plots.spread(n, {"gap n": np.outer([1.0, 2.0, 3.0], n)}).get_xlabel()
    'step (3 worlds; bands: quartiles)'
    """
    ax = new_axes(ax)
    for i, (label, values) in enumerate(lines.items()):
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        band(ax, i, label, steps, middle, low, high)
    ax.set(xscale="log", yscale="log", ylabel="median projection regret")
    ax.set_xlabel(f"step ({len(values):,} worlds; bands: quartiles)")
    ax.set_xlim(steps[0], steps[-1])
    ax.xaxis.set_major_formatter(LogFormatterSciNotation())
    ax.yaxis.set_major_formatter(LogFormatterSciNotation())
    finish(ax)
    return ax


def thresholds(
    values: Array, alphas: Sequence[float], ax: Axes | None = None, *, name: str = "alpha"
) -> Axes:
    """Draw the share of worlds whose threshold lies below each alpha, with some alphas marked.

    Parameters
    ----------
    values : ndarray of shape (world,)
        The threshold of each world.
    alphas : sequence of float
        The values to mark.
    ax : Axes, optional
        Where to draw; a new figure of one column's width by default.
    name : str
        What the values are called.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits import plots
    >>> plots.thresholds(np.array([10.0, 30.0, 1e3]), [1.0, 100.0]).get_xlabel()
    'alpha (3 worlds)'
    """
    ax = new_axes(ax)
    values = np.sort(values)
    below = np.arange(len(values) + 1) / len(values)
    ax.step(
        np.concatenate([[min(*alphas, values[0]) / 2], values]),
        below,
        where="post",
        color="0.2",
        label="share of worlds",
    )
    for i, alpha in enumerate(alphas):
        ax.axvline(alpha, **look(i), label=f"{name} = {alpha:g}")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(LogFormatterSciNotation())
    ax.set_xlabel(f"{name} ({len(values):,} worlds)")
    ax.set_ylabel("worlds whose threshold lies below")
    share_axis(ax)
    finish(ax)
    return ax


def runs(curves: Mapping[str, Array], ax: Axes | None = None, *, level: float = 0.95) -> Axes:
    """Draw the mean over repeated runs at each step, with confidence bands.

    Parameters
    ----------
    curves : mapping of str to ndarray of shape (runs, steps)
        What to draw, by its label.
    ax : Axes, optional
        Where to draw; a new figure of one column's width by default.
    level : float
        The confidence level of the bands, Student's for each step.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits import plots
    >>> ax = plots.runs({"walks": np.random.default_rng(0).normal(size=(9, 50)).cumsum(axis=1)})
    >>> ax.get_xlabel()
    'step (9 runs; bands: 95% intervals)'
    """
    ax = new_axes(ax)
    for i, (label, values) in enumerate(curves.items()):
        steps, mean = np.arange(1, values.shape[1] + 1), values.mean(axis=0)
        half = half_width(values, level)
        band(ax, i, label, steps, mean, mean - half, mean + half)
    ax.set_xlabel(f"step ({len(values)} runs; bands: {level:.0%} intervals)")
    ax.set_xlim(0, len(steps))
    ax.xaxis.set_major_formatter(thousands)
    finish(ax)
    return ax
