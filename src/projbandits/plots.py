"""Draw what `results` computed; the only place that imports matplotlib."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, PercentFormatter

from projbandits._checks import one_of
from projbandits.results import FOUND_BEST_WINDOW, Result

COLUMN_WIDTH = 3.5
"""The width of one column of a paper, in inches."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C00")
"""Distinguishable with any colour vision; after the palette of Okabe and Ito."""

LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (3, 2, 1, 2)), (0, (2, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
METRIC_LABELS = {"regret": "projection regret", "return_regret": "return regret"}


def regret(
    result: Result,
    ax: Axes | None = None,
    *,
    metric: str = "regret",
    level: float = 0.95,
    log: bool = False,
) -> Axes:
    """Draw the mean regret of each strategy over time, with confidence bands.

    Parameters
    ----------
    result : Result
        What `simulate` returned.
    ax : Axes, optional
        Where to draw; a new figure of one column's width by default.
    metric : {"regret", "return_regret"}
        Which regret.
    level : float
        The confidence level of the bands.
    log : bool
        Logarithmic axes, on which a power of n is a straight line.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits import plots
    >>> result = pb.simulate(pb.problems.random_arms(), pb.GENTRY(), trials=4, horizon=20)
    >>> plots.regret(result).get_ylabel()
    'mean projection regret'
    """
    one_of("metric", metric, tuple(METRIC_LABELS))
    ax = _curves(result, ax, metric, level)
    ax.set_ylabel(f"mean {METRIC_LABELS[metric]}")
    if log:
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlim(result.steps[0], result.horizon)
    else:
        ax.set_ylim(bottom=0)
    ax.xaxis.set_major_formatter(_thousands)
    ax.yaxis.set_major_formatter(_thousands)
    return ax


def found_best(result: Result, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
    """Draw the share of trials that found the best arm, over time.

    A trial has found it when a best arm was played in more than 90 % of the last 200 steps; the
    curves begin where there have been so many.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits import plots
    >>> result = pb.simulate(pb.problems.random_arms(), pb.GENTRY(), trials=4, horizon=300)
    >>> plots.found_best(result).get_ylabel()
    'trials that found the best arm'
    """
    ax = _curves(result, ax, "found_best", level, first=FOUND_BEST_WINDOW)
    ax.set_ylabel("trials that found the best arm")
    ax.set_ylim(0, 1)
    ax.yaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
    return ax


def against(
    result: Result, parameter: str = "alpha", ax: Axes | None = None, *, level: float = 0.95
) -> Axes:
    """Draw the regret at the last checkpoint against a parameter, one line for each family.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits import plots
    >>> strategies = [pb.GENTRY(alpha=a) for a in (0.1, 1.0, 10.0)]
    >>> result = pb.simulate(pb.problems.random_arms(), strategies, trials=4, horizon=20)
    >>> plots.against(result, "alpha").get_xlabel()
    'alpha (4 trials; bars: 95% intervals)'
    """
    frame = result.against(parameter, level=level)
    ax = _axes(ax)
    for i, (family, rows) in enumerate(frame.groupby("family", sort=False)):
        _errorbar(ax, rows, parameter, str(family), i)
    numbers = pd.to_numeric(frame[parameter], errors="coerce")
    if (numbers > 0).all():
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(_thousands)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(_thousands)
    ax.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
    ax.set_xlabel(f"{parameter} ({result.trials:,} trials; bars: {level:.0%} intervals)")
    ax.set_ylabel(f"mean projection regret at step {result.steps[-1]:,}")
    _finish(ax)
    return ax


def figure_pair(result: Result, *, title: str = "", level: float = 0.95) -> Figure:
    """Draw regret and, on finitely many arms, the share that found the best arm, side by side.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits import plots
    >>> result = pb.simulate(pb.problems.random_arms(), pb.GENTRY(), trials=4, horizon=20)
    >>> len(plots.figure_pair(result).axes)
    2
    """
    panels = 1 if result.best_share is None else 2
    size = (COLUMN_WIDTH * panels, 0.95 * COLUMN_WIDTH)
    figure, axes = plt.subplots(
        1, panels, figsize=size, layout="constrained", dpi=200, squeeze=False
    )
    regret(result, axes[0, 0], level=level)
    if panels == 2:
        found_best(result, axes[0, 1], level=level)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    for ax in axes[0]:
        ax.get_legend().remove()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=7, frameon=False)
    figure.suptitle(title, fontsize=9)
    return figure


def _curves(result: Result, ax: Axes | None, metric: str, level: float, first: int = 1) -> Axes:
    ax = _axes(ax)
    shown = result.steps >= min(first, result.horizon)
    steps = result.steps[shown]
    for i, strategy in enumerate(result.strategies):
        mean, low, high = (values[shown] for values in result.curve(strategy, metric, level))
        style = _style(i)
        ax.plot(steps, mean, **style, label=_short(strategy))
        ax.fill_between(steps, low, high, color=style["color"], alpha=0.18, linewidth=0)
    ax.set_xlabel(f"step ({result.trials:,} trials; bands: {level:.0%} intervals)")
    ax.set_xlim(0, result.horizon)
    ax.xaxis.set_major_formatter(_thousands)
    _finish(ax)
    return ax


def _style(i: int) -> dict[str, Any]:
    """Return colour and line of the i-th curve; the pair repeats only after 64."""
    n = len(COLOURS)
    return {"color": COLOURS[i % n], "linestyle": LINES[(i + i // n) % n]}


def _errorbar(ax: Axes, rows: pd.DataFrame, parameter: str, family: str, i: int) -> None:
    ax.errorbar(
        rows[parameter],
        rows["mean"],
        yerr=[rows["mean"] - rows["low"], rows["high"] - rows["mean"]],
        **_style(i),
        marker=MARKERS[i % len(MARKERS)],
        markersize=4,
        capsize=2,
        label=family,
    )


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    size = (COLUMN_WIDTH, 0.75 * COLUMN_WIDTH)
    _, new = plt.subplots(figsize=size, layout="constrained", dpi=200)
    return new


def _finish(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
        text.set_fontsize(8)
    ax.tick_params(which="both", labelsize=7)
    handles, _ = ax.get_legend_handles_labels()
    ax.legend(  # above the axes, where it covers no curve
        fontsize=7,
        frameon=False,
        ncols=2 if len(handles) > 1 else 1,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0,
        columnspacing=1,
    )


def _thousands(value: float, _: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == round(value) else f"{value:g}"


def _short(label: str) -> str:
    return label.removesuffix("()")
