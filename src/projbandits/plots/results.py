"""Figures of simulated results: regret, found-best, sweeps, and panels of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, LogFormatterSciNotation

from projbandits._format import name_of
from projbandits._validation import one_of
from projbandits.plots.style import (
    COLUMN_WIDTH,
    MARKERS,
    band,
    finish,
    look,
    new_axes,
    share_axis,
    thousands,
)
from projbandits.results import FOUND_BEST_WINDOW, Result

METRIC_LABELS = {"regret": "projection regret", "return_regret": "return regret"}


def regret(
    result: Result | Sequence[Result],
    ax: Axes | None = None,
    *,
    metric: str = "regret",
    level: float = 0.95,
    log: bool = False,
    quantile: float | None = None,
    exponents: bool = False,
) -> Axes:
    """Draw the mean regret of each strategy over time, with confidence bands.

    Parameters
    ----------
    result : Result or sequence of Result
        What `simulate` returned; several, of the same length, are drawn beside each other.
    ax : Axes, optional
        Where to draw; a new figure of one column's width by default.
    metric : {"regret", "return_regret"}
        Which regret.
    level : float
        The confidence level of the bands.
    log : bool
        Logarithmic axes, on which a power of n is a straight line.
    quantile : float, optional
        Draw a quantile over trials instead of the mean; 0.5 is the median.
    exponents : bool
        Name each strategy's exponent of growth over the last decade in the legend.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits import plots
    >>> result = pb.simulate(pb.problems.random_arms(), pb.GENTRY(), trials=4, horizon=20)
    >>> plots.regret(result).get_ylabel()
    'mean projection regret'
    """
    one_of("metric", metric, tuple(METRIC_LABELS))
    results = _several(result)
    ax = _curves(results, ax, metric, level, quantile=quantile)
    ax.set_ylabel(f"{_statistic(quantile)} {METRIC_LABELS[metric]}")
    if exponents:
        shown = [(one, strategy) for one in results for strategy in one.strategies]
        for line, (one, strategy) in zip(ax.lines[-len(shown) :], shown, strict=True):
            b, low, high = one.exponent(strategy, level)
            line.set_label(f"{name_of(strategy)}: $n^{{{b:.2f}}}$ ({low:.2f} to {high:.2f})")
        finish(ax, columns=1)
    if log:
        ax.set_xscale("log")
        ax.set_yscale("log")
        positive = [y for line in ax.lines for y in np.asarray(line.get_ydata()) if y > 0]
        if positive:  # a band that reaches below zero must not set the scale
            ax.set_ylim(bottom=min(positive))
        ax.set_xlim(results[0].steps[0], results[0].horizon)
        ax.xaxis.set_major_formatter(LogFormatterSciNotation())
        ax.yaxis.set_major_formatter(LogFormatterSciNotation())
    else:
        ax.set_ylim(bottom=0)
        ax.yaxis.set_major_formatter(thousands)
    return ax


def found_best(result: Result, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
    """Draw the share of trials that found the best arm, over time.

    A trial has found it when a best arm was played in more than 90 % of the last 200 steps; the
    curves begin at step 200.

    Parameters
    ----------
    result : Result
        What `simulate` returned.
    ax : Axes, optional
        Where to draw; a new figure of one column's width by default.
    level : float
        The confidence level of the bands.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits import plots
    >>> result = pb.simulate(pb.problems.random_arms(), pb.GENTRY(), trials=4, horizon=300)
    >>> plots.found_best(result).get_ylabel()
    'trials that found the best arm'
    """
    ax = _curves([result], ax, "found_best", level, first=FOUND_BEST_WINDOW)
    ax.set_ylabel("trials that found the best arm")
    share_axis(ax)
    return ax


def against(
    result: Result | Sequence[Result],
    parameter: str = "alpha",
    ax: Axes | None = None,
    *,
    level: float = 0.95,
    suffix: str = "",
) -> Axes:
    """Draw the regret at the last checkpoint against a parameter, one line for each family.

    Parameters
    ----------
    result : Result or sequence of Result
        What `simulate` returned. Of several, the last that has a strategy shows it.
    parameter : str
        The name of a field of the strategies.
    ax : Axes, optional
        Where to draw, beside what is there; a new figure of one column's width by default.
    level : float
        The confidence level of the bars.
    suffix : str
        What to add to the families' names in the legend.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits import plots
    >>> strategies = [pb.GENTRY(alpha=a) for a in (0.1, 1.0, 10.0)]
    >>> result = pb.simulate(pb.problems.random_arms(), strategies, trials=4, horizon=20)
    >>> plots.against(result, "alpha").get_xlabel()
    'alpha (4 trials; bars: 95% intervals)'
    """
    results = _several(result)
    frame = _latest([one.against(parameter, level=level) for one in results])
    ax = new_axes(ax)
    before = len(ax.containers)
    for i, (family, rows) in enumerate(frame.groupby("family", sort=False), before):
        _errorbar(ax, rows, parameter, f"{family}{suffix}", i)
    numbers = pd.to_numeric(frame[parameter], errors="coerce")
    if (numbers > 0).all():
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(thousands)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(thousands)
    ax.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
    ax.set_xlabel(f"{parameter} ({_trials(results)} trials; bars: {level:.0%} intervals)")
    ax.set_ylabel(f"mean projection regret at step {results[-1].steps[-1]:,}")
    finish(ax)
    return ax


def _several(result: Result | Sequence[Result]) -> list[Result]:
    return [result] if isinstance(result, Result) else list(result)


def _trials(results: list[Result]) -> str:
    ends = {min(one.trials for one in results), max(one.trials for one in results)}
    return " to ".join(f"{n:,}" for n in sorted(ends))


def _latest(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of the first frame, each with the numbers of the last that has them."""
    rows = pd.concat([frame.set_index("strategy") for frame in frames])
    rows = rows[~rows.index.duplicated(keep="last")]
    return rows.loc[frames[0]["strategy"]].reset_index()


def survival(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the share of trials whose regret at the last checkpoint exceeds each value.

    A mean hides whether all trials cost the same or a few cost nearly everything; this shows it.

    Parameters
    ----------
    result : Result
        What `simulate` returned.
    ax : Axes, optional
        Where to draw; a new figure of one column's width by default.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits import plots
    >>> result = pb.simulate(pb.problems.random_arms(), pb.GENTRY(), trials=4, horizon=20)
    >>> plots.survival(result).get_ylabel()
    'trials with more regret'
    """
    ax = new_axes(ax)
    for i, strategy in enumerate(result.strategies):
        values = np.sort(result.regret[i, :, -1])
        above = 1 - np.arange(1, len(values) + 1) / len(values)
        ax.step(values, above, where="post", **look(i), label=name_of(strategy))
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(thousands)
    ax.set_xlabel(f"projection regret at step {result.steps[-1]:,} ({result.trials:,} trials)")
    ax.set_ylabel("trials with more regret")
    share_axis(ax)
    finish(ax)
    return ax


def panels(
    drawings: Sequence[Callable[[Axes], Any]], *, title: str = "", shared_legend: bool = True
) -> Figure:
    """Draw several plots side by side, each on its own axes; one legend for all if they share it.

    Parameters
    ----------
    drawings : sequence of callables
        Each is called with the axes to draw on.
    title : str
        The title.
    shared_legend : bool
        Whether one legend, below, stands for those of all axes.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits import plots
    >>> result = pb.simulate(pb.problems.random_arms(), pb.GENTRY(), trials=4, horizon=20)
    >>> both = [lambda ax: plots.regret(result, ax), lambda ax: plots.found_best(result, ax)]
    >>> len(plots.panels(both).axes)
    2
    """
    width = COLUMN_WIDTH * max(len(drawings), 1.5)  # a single panel needs room for its legend
    size = (width, 0.95 * COLUMN_WIDTH)
    figure, axes = plt.subplots(
        1, len(drawings), figsize=size, layout="constrained", dpi=200, squeeze=False
    )
    for draw, ax in zip(drawings, axes[0], strict=True):
        draw(ax)
    if shared_legend:
        handles, labels = axes[0, 0].get_legend_handles_labels()
        for ax in axes[0]:
            ax.get_legend().remove()
        figure.legend(
            handles, labels, loc="outside lower center", ncols=3, fontsize=7, frameon=False
        )
    figure.suptitle(title, fontsize=9)
    return figure


def figure_pair(result: Result, *, title: str = "", level: float = 0.95) -> Figure:
    """Draw regret and, on finitely many arms, the share that found the best arm.

    Parameters
    ----------
    result : Result
        What `simulate` returned.
    title : str
        The title.
    level : float
        The confidence level of the bands.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits import plots
    >>> result = pb.simulate(pb.problems.random_arms(), pb.GENTRY(), trials=4, horizon=20)
    >>> len(plots.figure_pair(result).axes)
    2
    """
    drawings: list[Callable[[Axes], Axes]] = [lambda ax: regret(result, ax, level=level)]
    if result.best_share is not None:
        drawings.append(lambda ax: found_best(result, ax, level=level))
    return panels(drawings, title=title)


def _curves(
    results: list[Result],
    ax: Axes | None,
    metric: str,
    level: float,
    first: int = 1,
    quantile: float | None = None,
) -> Axes:
    ax = new_axes(ax)
    horizon, steps = results[0].horizon, results[0].steps
    shown = steps >= min(first, horizon)
    steps = steps[shown]
    curves = [(one, strategy) for one in results for strategy in one.strategies]
    for i, (one, strategy) in enumerate(curves):
        curve = one.curve(strategy, metric, level, quantile)
        mean, low, high = (values[shown] for values in curve)
        band(ax, i, name_of(strategy), steps, mean, low, high)
    ax.set_xlabel(f"step ({_trials(results)} trials; bands: {level:.0%} intervals)")
    ax.set_xlim(0, horizon)
    ax.xaxis.set_major_formatter(thousands)
    finish(ax)
    return ax


def _statistic(quantile: float | None) -> str:
    if quantile is None:
        return "mean"
    return "median" if quantile == 0.5 else f"{quantile:g} quantile of"


def _errorbar(ax: Axes, rows: pd.DataFrame, parameter: str, family: str, i: int) -> None:
    mean, low, high = (rows[name].to_numpy() for name in ("mean", "low", "high"))
    ax.errorbar(
        rows[parameter],
        mean,
        yerr=np.array([mean - low, high - mean]),
        **look(i),
        marker=MARKERS[i % len(MARKERS)],
        markersize=4,
        capsize=2,
        label=family,
    )
