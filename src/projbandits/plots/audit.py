"""The figure of an audit."""

from __future__ import annotations

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from projbandits._validation import Array
from projbandits.audit.audit import Audit
from projbandits.audit.exposure import ALL
from projbandits.plots.style import COLOURS, COLUMN_WIDTH, MARKERS, finish

MOST_LEAKS, MOST_ROWS = 8, 40
"""How many kept directions, those with the largest z-scores, and how many groups are drawn."""


def audit(found: Audit) -> Figure:
    """Draw an audit: its verdict, what changed, leaks, costs, proxies, and who was chosen.

    Parameters
    ----------
    found : Audit
        What `Decider.audit` returned.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> from projbandits import plots
    >>> U = pb.Subspace.coordinates(keep=[0], d=2)
    >>> decider = pb.Decider(subspace=U, seed=0)
    >>> decider.tell(decider.ask(np.eye(2)).id, 1.0)
    >>> len(plots.audit(decider.audit()).axes)
    5
    """
    choices, given_up = found.choices, found.given_up
    changes = {
        "scores (of their variance)": found.scores.share.value,
        "best guesses": found.scores.guesses.value,
        "choices": choices.share.value,
        "choices once sure": choices.settled.value,
        "probabilities, mean": choices.shift.value,
    }
    costs = {
        "the projection": given_up.projection,
        "learning": given_up.learning,
        "exploring": given_up.exploring,
    }
    pieces = [_wrapped(name) for name in found.proxies.index]
    leaks = found.leak.table[found.leak.table["z"].notna()]
    leaks = leaks.loc[leaks["z"].abs().sort_values(ascending=False).index[:MOST_LEAKS]]
    room = sum(2.2 + name.count("\n") for name in pieces)
    taken = _lines(leaks.index).sum()
    lines = [len(changes), max(taken, 2), len(costs), *[room] * bool(pieces)]
    groups = _shown(found)
    named = _lines([*groups["column"].unique(), *groups["group"]]).sum()
    tall = max(sum(lines) + 2.6 * len(lines) + 2, named + 3)
    title = textwrap.fill(found.verdict, 125 if pieces else 60)
    size = (
        (2.2 if pieces else 1.2) * COLUMN_WIDTH,
        0.2 * tall + 0.15 * (title.count("\n") + 1) + 0.2,
    )
    figure = plt.figure(figsize=size, layout="constrained", dpi=200)
    figure.suptitle(title, fontsize=8, x=0.01, ha="left")
    grid = figure.add_gridspec(len(lines), 2 if pieces else 1, height_ratios=lines)
    left = [figure.add_subplot(grid[i, 0]) for i in range(len(lines))]
    _bars(left[0], [*changes], {"": [*changes.values()]}, share=True)
    left[0].set_xlim(0, max(1.0, *np.nan_to_num([*changes.values()])))
    left[0].set_xlabel("changed with other protected parts")
    _leaks(left[1], leaks, found.leak.critical)
    _bars(left[2], [*costs], {"": [*costs.values()]})
    left[2].set_xlabel(f"return given up per decision ({given_up.total:.2g} in all)")
    if pieces:
        kinds = {
            "linear fit": found.proxies["r2"],
            "with squares": found.proxies["r2_squares"],
            "boosting": found.proxies["r2_boosted"],
        }
        _bars(left[3], pieces, kinds, share=True)
        left[3].set_xlim(0, 1)
        left[3].set_xlabel("protected variance that kept features predict")
        _shares(figure.add_subplot(grid[:, 1]), groups)
    return figure


def _shown(found: Audit) -> pd.DataFrame:
    """Return the groups to draw, with a heading for each attribute and segment."""
    table = found.exposure.table
    by = found.exposure.by
    segments = [
        "" if segment == ALL else f", {by} = {segment}" for segment in table["segment"].astype(str)
    ]
    heading = table["attribute"].astype(str) + pd.Series(segments, index=table.index, dtype=object)
    return table.assign(column=heading).iloc[:MOST_ROWS]


def _leaks(ax: Axes, leaks: pd.DataFrame, critical: float) -> None:
    """Draw what moved into each kept direction, in standard errors, and what noise explains."""
    heights, reach = _lines(leaks.index), 1.0
    places = _centres(heights)
    if len(leaks):
        z = leaks["z"].to_numpy(dtype=float)
        reach = 1.15 * max(critical, *np.abs(z[np.isfinite(z)]))
        ax.axvspan(-critical, critical, color="0.92", linewidth=0)
        ax.axvline(0, color="0.6", linewidth=0.6)
        at: dict[str, Any] = {
            "color": COLOURS[0],
            "marker": "o",
            "linestyle": "none",
            "markersize": 4,
        }
        ax.plot(np.clip(z, -reach, reach), places, **at, clip_on=False)
    else:  # an empty line would take room far away
        ax.text(0.5, 0.5, "cannot be told", transform=ax.transAxes, ha="center", va="center",
                fontsize=7)  # fmt: skip
    ax.set_yticks(places, [_wrapped(name) for name in leaks.index])
    ax.set_ylim(max(heights.sum(), 1), 0)
    ax.set_xlim(-reach, reach)
    ax.set_xlabel("leak in standard errors (grey: noise explains it)")
    _finish_rows(ax, share=False)
    if not len(leaks):
        ax.set_xticks([])


def _bars(ax: Axes, labels: list[str], kinds: dict[str, Any], *, share: bool = False) -> None:
    """Draw horizontal bars, the first on top, each with its number; an unknown value has no bar."""
    places, width = np.arange(len(labels)), 0.8 / len(kinds)
    for i, (kind, values) in enumerate(kinds.items()):
        at = places + width * (i - (len(kinds) - 1) / 2)
        numbers = np.asarray(values, dtype=float)
        ax.barh(at, np.nan_to_num(numbers), width, color=COLOURS[i], label=kind)
        for y, number in zip(at, numbers, strict=True):
            text = f"{100 * number:.3g} %" if share else f"{number:.2g}"
            text = "unknown" if np.isnan(number) else text
            ax.text(max(0.0, np.nan_to_num(number)), y, f" {text}", va="center", fontsize=6)
    ax.set_yticks(places, labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    _finish_rows(ax, share=share)


def _shares(ax: Axes, groups: pd.DataFrame) -> None:
    """Draw the share of each group, among those of its column, in what was offered and chosen."""
    labels: list[str] = []
    headings: list[int] = []
    for column, rows in groups.groupby("column", sort=False):
        headings.append(len(labels))
        labels += [_wrapped(column), *map(_wrapped, rows["group"])]
    heights = _lines(labels)
    centres = _centres(heights)
    places = np.delete(centres, headings)
    for i, part in enumerate(("offered", "best guess", "explored", "chosen")):
        style: dict[str, Any] = {"color": COLOURS[i], "marker": MARKERS[i], "linestyle": "none"}
        at = places + 0.2 * (i - 1.5)  # side by side, so that none hides another
        ax.plot(groups[part], at, **style, markersize=3, label=part, clip_on=False)
    for top in (centres - heights / 2)[1:]:
        ax.axhline(top, color="0.9", linewidth=0.6)
    ax.set_yticks(centres, labels)
    for heading in headings:
        ax.get_yticklabels()[heading].set_fontweight("bold")
    ax.set_ylim(max(heights.sum(), 1), 0)
    ax.set_xlim(0, 1)
    ax.set_xlabel("share of each group")
    _finish_rows(ax, share=True)


def _finish_rows(ax: Axes, *, share: bool) -> None:
    """Give rows the style of all figures; values along them are read off vertical lines."""
    finish(ax)
    ax.grid(visible=False, axis="y")
    ax.grid(axis="x", color="0.9", linewidth=0.6)
    ax.tick_params(axis="y", length=0)
    if share:
        ax.xaxis.set_major_formatter(PercentFormatter(1.0))


def _wrapped(text: Any) -> str:
    """Return a name in at most two lines; the tables have the whole of it."""
    return "\n".join(textwrap.wrap(str(text), 28, max_lines=2, placeholder=" ..."))


def _lines(names: Any) -> Array:
    """Return how many lines each name takes."""
    return np.array([1.0 + _wrapped(name).count("\n") for name in names])


def _centres(heights: Array) -> Array:
    """Return where the middles of rows of these heights are, the first on top."""
    return np.asarray(heights.cumsum() - heights / 2)
