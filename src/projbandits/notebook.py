"""The cards of a decider, a result and an audit in a notebook.

Each function is the `_repr_html_` of a class, which looks it up here by name when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from projbandits._html import (
    MANY_ROWS,
    bar,
    bullets,
    card,
    details,
    facts,
    more,
    number,
    percent,
    table,
    text,
)
from projbandits.subspace import feature_names

if TYPE_CHECKING:
    from projbandits.audit.audit import Audit
    from projbandits.deciding import Decider
    from projbandits.results import Result

MOST_WARNINGS = 3
"""How many warnings are shown before one asks for more."""


def decider(of: Decider) -> str:
    """Show who decides, on what, how much is known, and what is believed of each feature.

    Estimates are in the units of the columns, and sizes in those of the features, which compare.
    """
    ridge, part = of.ridge, of.subspace
    pending = len(of.pending)
    known = {
        "decisions": f"{of.steps:,}, of which {pending:,} wait for their outcome",
        "outcomes": f"{ridge.n:,} learnt from{_faded(of)}",
        "counts": f"{part.dim} of {part.ambient} dimensions",
    }
    headline = f"<b>{text(repr(of.strategy))}</b>"
    if ridge.n == 0:
        return card("Decider", headline, facts(known))
    names = feature_names(of.columns or part.names, part.ambient)
    shares = (part.basis**2).sum(axis=1)
    believed = of.coefficients()
    if of.intercept:
        level = believed.iloc[0]
        error = number(level["standard_error"])
        known["level"] = f"{number(level['estimate'])} ± {error}"
        believed = believed.iloc[1:]
    theta, errors = (believed[name].to_numpy() for name in ("estimate", "standard_error"))
    sizes = np.abs(theta if of.features is None else theta * of.features.units)
    largest = np.argsort(-sizes, kind="stable")[:MANY_ROWS]
    rows = [
        (
            text(names[i]),
            number(theta[i]),
            f"± {number(errors[i])}",
            bar(sizes[i] / sizes.max() if sizes.any() else 0.0),
            f"{shares[i]:.0%}",
        )
        for i in largest
    ]
    head = ("feature", "estimate", "", "size", "counts")
    title = (
        ""
        if len(theta) <= MANY_ROWS
        else f"<p>the {MANY_ROWS} largest of {len(theta)} features</p>"
    )
    return card("Decider", headline, facts(known), table(head, rows, {1, 2, 4}), title)


def _faded(of: Decider) -> str:
    """Say what is left of the outcomes, if some of it was forgotten."""
    n, weight = of.ridge.n, of.ridge.weight
    return "" if weight == n else f", with the weight of {number(weight)}"


def audit(of: Audit) -> str:
    """Show the verdict, what the user must be told, and the four answers."""
    warnings = [text(warning) for warning in of.warnings]
    said = bullets(warnings[:MOST_WARNINGS]) if warnings else ""
    if rest := warnings[MOST_WARNINGS:]:
        said += details(f"{len(rest):,} more", bullets(rest))
    answers = [
        [text(question), text(getattr(of, question).verdict)]
        for question in ("scores", "choices", "leak", "exposure")
    ]
    asked = table(("question", "answer"), answers, set())
    names = ["attribute", "group", "offered", "best guess", "explored", "chosen"]
    rows = [
        [percent(value) if isinstance(value, float) else text(value) for value in row]
        for row in of.exposure.table[names].head(MANY_ROWS).itertuples(index=False)
    ]
    shares = table(names, rows, {2, 3, 4, 5}) if rows else ""
    return card("Audit", f"<b>{text(of.verdict)}</b>", said, asked, shares)


def result(of: Result) -> str:
    """Show the regret of each strategy at the end, the least first."""
    summary = of.summary().sort_values("mean", kind="stable")
    largest = float(summary["mean"].max()) or 1.0
    found = "found_best" in summary
    rows = [
        (
            text(label),
            number(row["mean"]),
            f"{number(row['low'])} to {number(row['high'])}",
            bar(row["mean"] / largest),
            *([f"{row['found_best']:.0%}"] if found else []),
            text(row["engine"]),
        )
        for label, row in summary.head(MANY_ROWS).iterrows()
    ]
    head = ("strategy", "regret", "95 %", "", *(["found best"] if found else []), "engine")
    size = f"{of.trials:,} trials of {of.horizon:,} steps, seed {of.seed}"
    numbers = {1, 2, *([4] if found else [])}
    shown = table(head, rows, numbers)
    return card("Result", text(of.problem), f"<p>{size}</p>", shown, more(len(summary)))
