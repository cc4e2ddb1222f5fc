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

from projbandits.accounts.audit import Audit
from projbandits.plots.style import COLOURS, COLUMN_WIDTH, MARKERS, finish


def audit(found: Audit) -> Figure:
    """Draw an audit: its verdict, what changed, what it cost, the proxies, and who was chosen.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> from projbandits import plots
    >>> U = pb.Subspace.coordinates(keep=[0], d=2)
    >>> decider = pb.Decider(subspace=U, seed=0, log=True)
    >>> decider.tell(decider.ask(np.eye(2)).id, 1.0)
    >>> len(plots.audit(decider.audit()).axes)
    4
    """
    value = found.table["value"].astype(float)
    known = found.shifts[~np.isnan(found.shifts)]
    changes = {
        "scores, at most": value["largest change of a score"],
        "best guesses": value["best guesses that changed"] / value["decisions audited"],
        "probabilities, mean": value["mean change of the probabilities"],
        "probabilities, at most": known.max() if len(known) else np.nan,
    }
    parts = ("the projection", "learning", "exploring")
    costs = {part: value[f"return given up by {part}"] for part in parts}
    pieces = [_wrapped(name) for name in found.proxies.index]
    room = sum(1.5 + name.count("\n") for name in pieces)
    lines = [len(changes), len(costs), *[room] * bool(pieces)]
    tall = max(sum(lines) + 2.2 * len(lines), len(found.groups) + len(pieces) + 3)
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
    left[0].set_xlabel("changed with another protected part")
    _bars(left[1], [*costs], {"": [*costs.values()]})
    left[1].set_xlabel(f"return given up per decision ({value['return given up']:.2g} in all)")
    if pieces:
        kinds = {"linear fit": found.proxies["r2"], "with squares": found.proxies["r2_squares"]}
        _bars(left[2], pieces, kinds, share=True)
        left[2].set_xlim(0, 1)
        left[2].set_xlabel("protected variance that kept features predict")
        _shares(figure.add_subplot(grid[:, 1]), found.groups)
    return figure


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
    places: list[int] = []
    headings: list[int] = []
    for column, rows in groups.groupby("column", sort=False):
        headings.append(len(labels))
        places += range(len(labels) + 1, len(labels) + 1 + len(rows))
        labels += [_wrapped(column), *rows["group"]]
    for i, part in enumerate(("offered", "best guess", "explored", "chosen")):
        style: dict[str, Any] = {"color": COLOURS[i], "marker": MARKERS[i], "linestyle": "none"}
        at = np.array(places) + 0.2 * (i - 1.5)  # side by side, so that none hides another
        ax.plot(groups[part], at, **style, markersize=3, label=part, clip_on=False)
    for place in [*headings[1:], *places]:
        ax.axhline(place - 0.5, color="0.9", linewidth=0.6)
    ax.set_yticks(range(len(labels)), labels)
    for heading in headings:
        ax.get_yticklabels()[heading].set_fontweight("bold")
    ax.set_ylim(len(labels) - 0.5, -0.5)
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
    return textwrap.fill(str(text), 26)
