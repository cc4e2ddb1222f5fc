"""The cards of a decider, a result and an audit in a notebook.

Each function is the `_repr_html_` of a class, which looks it up here by name when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from projbandits._format import render
from projbandits.subspace import feature_names

if TYPE_CHECKING:
    from projbandits.audit.audit import Audit
    from projbandits.deciding import Decider
    from projbandits.results import Result

MANY_ROWS = 10
"""How many rows a card shows."""


def decider(of: Decider) -> str:
    """Show the strategy, how much is known, and the estimate of each feature.

    Estimates are in the units of the columns, and sizes in those of the features, which compare.
    """
    ridge, subspace, features = of.ridge, of.subspace, []
    level = None
    if ridge.n:
        believed = of.coefficients()
        if of.intercept:
            level, believed = believed.iloc[0], believed.iloc[1:]
        units = 1.0 if of.features is None else of.features.units
        sizes = np.abs(believed["estimate"].to_numpy() * units)
        table = believed.assign(
            name=feature_names(of.columns or subspace.names, subspace.ambient),
            size=sizes / (sizes.max() or 1.0),
            share=(subspace.basis**2).sum(axis=1),
        )
        features = table.iloc[np.argsort(-sizes, kind="stable")].to_dict("records")
    return render(
        "decider.html", strategy=repr(of.strategy), steps=of.steps, pending=len(of.pending),
        ridge=ridge, subspace=subspace, level=level, features=features, most=MANY_ROWS,
    )  # fmt: skip


def audit(of: Audit) -> str:
    """Show the verdict, the warnings, and the four answers."""
    groups = of.exposure.table.to_dict("records")
    return render("audit-card.html", audit=of, groups=groups, most=MANY_ROWS)


def result(of: Result) -> str:
    """Show the regret of each strategy at the end, the least first."""
    summary = of.summary().sort_values("mean", kind="stable").rename_axis("strategy")
    return render(
        "result.html", result=of, rows=summary.reset_index().to_dict("records"),
        largest=float(summary["mean"].max()) or 1.0, found="found_best" in summary, most=MANY_ROWS,
    )  # fmt: skip
