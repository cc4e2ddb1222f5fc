"""The figure of a subspace that was found."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from projbandits.finding import SubspaceEstimate
from projbandits.finding.predictability import PREDICTED_SHARES
from projbandits.plots.style import COLOURS, COLUMN_WIDTH, MARKERS, finish

SIZE_LABELS = {
    "attributes": "correlation with the attributes",
    "pairs": "difference of twins (root mean square)",
    "groups": "gain in log-likelihood",
}
MOST_SHOWN = 12
"""How many directions are shown."""
NARROWEST = 5.0
"""The axis of the angles, in degrees, is at least this long: small ones are to look small."""


def found(what: SubspaceEstimate) -> Figure:
    """Draw the size of each direction beside chance, the resampled angles, and `predictable`.

    Parameters
    ----------
    what : SubspaceEstimate
        What `find_subspace` returned.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> from projbandits import plots
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> len(plots.found(pb.find_subspace(pairs=(X, X * [1.0, 1.0, -1.0]), leave_out=1)).axes)
    2
    """
    shown = what.predictable
    columns = 3 if len(shown) else 2
    size = (0.85 * columns * COLUMN_WIDTH, 0.75 * COLUMN_WIDTH)
    figure, axes = plt.subplots(1, columns, figsize=size, layout="constrained", dpi=200)
    _sizes(axes[0], what)
    _angles(axes[1], what)
    if columns == 3:
        _predictable(axes[2], what)
    return figure


def _sizes(ax: Axes, what: SubspaceEstimate) -> None:
    shown = int((what.tested.sizes > 1e-9 * np.nanmax(what.tested.sizes, initial=0.0)).sum())
    shown = max(min(shown, MOST_SHOWN), what.left_out.dim)
    sizes, limits = what.tested.sizes[:shown], what.tested.limits[:shown]
    places, r = np.arange(1, len(sizes) + 1), what.left_out.dim
    ax.bar(places[:r], sizes[:r], color=COLOURS[1], label="left out")
    if r < len(sizes):
        ax.bar(places[r:], sizes[r:], color=COLOURS[0], label="kept")
    label = "price of a direction" if what.kind == "groups" else "chance (95 %)"
    ax.hlines(limits, places - 0.5, places + 0.5, color="black", linewidth=1.2, label=label)
    ax.set_xticks(places)
    ax.set(xlabel="direction", ylabel=SIZE_LABELS[what.kind])
    finish(ax, columns=3)


def _angles(ax: Axes, what: SubspaceEstimate) -> None:
    angles = np.sort(what.angles)
    most = min(90.0, max(NARROWEST, 1.2 * angles.max(initial=0.0))) if len(angles) else 90.0
    ax.set(xlim=(0, most), ylim=(0, 1), xlabel="angle to what was found (degrees)")
    ax.set_ylabel("share of resamples within it")
    if len(angles):
        share = np.arange(1, len(angles) + 1) / len(angles)
        ax.step([0, *angles, most], [0, *share, 1], where="post", color=COLOURS[0])
        label = f"95 % within {what.angle:.3g} degrees"
        ax.axvline(what.angle, color=COLOURS[1], linestyle="--", label=label)
    else:
        ax.text(45, 0.5, "nothing is left out", ha="center", fontsize=7)
    finish(ax)


def _predictable(ax: Axes, what: SubspaceEstimate) -> None:
    table = what.predictable
    places, shares = np.arange(len(table)), table[list(PREDICTED_SHARES)].to_numpy(dtype=float)
    for i, (kind, values) in enumerate(zip(PREDICTED_SHARES, shares.T, strict=True)):
        at = places + 0.15 * (i - 2)
        ax.plot(at, values, MARKERS[i], color=COLOURS[i], markersize=4, label=kind, clip_on=False)
    ax.hlines(table["chance"], places - 0.45, places + 0.45, color="0.4", label="chance")
    ax.set_xticks(places, [str(name) for name in table.index])
    least = np.nanmin(shares, initial=0.0)
    ax.set(xlim=(-0.6, len(table) - 0.4), ylim=(1.1 * least, 1), ylabel="predicted, held out")
    finish(ax)
