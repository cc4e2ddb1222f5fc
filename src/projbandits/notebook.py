"""What a notebook shows of an object: first what a person wants to see first.

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
    some,
    table,
    text,
)
from projbandits.subspace import feature_names

if TYPE_CHECKING:
    from projbandits.accounts.audit import Audit
    from projbandits.accounts.explaining import Explanation
    from projbandits.deciding import Decider, Decision
    from projbandits.features import Features
    from projbandits.results import Result
    from projbandits.subspace import Subspace

MOST_WARNINGS = 3
"""How many warnings are shown before one asks for more."""
ALIGNED = 1e-9
"""A coordinate counts wholly, or not at all, if it does up to this."""


def subspace(of: Subspace) -> str:
    """Show what counts: the names of coordinates, or the share of each that counts."""
    shares, names = (of.basis**2).sum(axis=1), feature_names(of.names, of.ambient)
    headline = f"{of.dim} of {of.ambient} dimensions count"
    if (np.minimum(shares, 1 - shares) < ALIGNED).all():
        kept = [name for name, share in zip(names, shares, strict=True) if share > 0.5]
        rest = [name for name, share in zip(names, shares, strict=True) if share <= 0.5]
        return card("Subspace", headline, facts({"count": some(kept), "do not": some(rest)}))
    rows = [
        (text(name), bar(share), f"{share:.0%}")
        for name, share in [*zip(names, shares, strict=True)][:MANY_ROWS]
    ]
    head = ("coordinate", "share that counts", "")
    return card("Subspace", headline, table(head, rows, {2}), more(of.ambient))


def decision(of: Decision) -> str:
    """Show what was chosen, how likely that was, and what it is expected to bring."""
    chosen = f"arm {of.index}" if of.label is None else str(of.label)
    if of.index is None:
        chosen = "a point of the set"
    chance = "unknown" if np.isnan(of.propensity) else f"{of.propensity:.4g}"
    names = feature_names(of.grounds and of.grounds.columns, len(of.arm))
    pairs = zip(names, of.arm, strict=True)
    values = [f"{name} = {value:.4g}" for name, value in pairs if value != 0]
    error = "" if np.isnan(of.standard_error) else f" ± {number(of.standard_error)}"
    return card(
        "Decision",
        f"<b>{text(chosen)}</b>, chosen with probability {chance}",
        facts(
            {
                "projection reward": f"{number(of.estimate)}{error} by the estimate",
                "features": some(values),
                "decision": f"number {of.step:,}, id {text(of.id)}",
            }
        ),
    )


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


def explanation(of: Explanation) -> str:
    """Show the reason, and the chosen arm among those that score highest."""
    frame = of.table
    order = np.lexsort((-frame["counted"].to_numpy(), ~frame["chosen"].to_numpy()))[:MANY_ROWS]
    largest = float(np.abs(frame["counted"]).max()) or 1.0
    rows = [
        (
            f"<b>{text(frame.index[i])}</b>" if row["chosen"] else text(frame.index[i]),
            number(row["counted"]),
            bar(row["counted"] / largest),
            number(row["ignored"]),
            number(row["probability"]),
        )
        for i, (_, row) in zip(order, frame.iloc[order].iterrows(), strict=True)
    ]
    head = ("arm", "counted", "", "ignored", "probability")
    return card("Explanation", text(of.reason), table(head, rows, {1, 3, 4}), more(len(frame)))


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


def features(of: Features) -> str:
    """Show what each column becomes, and which do not count."""
    if not of.__sklearn_is_fitted__():
        return card("Features", f"{text(repr(of))}, not fitted yet")
    made: dict[frozenset[str], list[str]] = {}
    for name, sources in of.sources.items():
        made.setdefault(sources, []).append(name)
    rows = []
    for sources, names in made.items():
        roles = ["protected"] if sources & {*of.protected} else []
        roles += ["context"] if sources & {*of.context} else []
        source = " and ".join(sorted(sources)) or "constant"
        rows.append((text(source), f"{len(names):,}", some(names), ", ".join(roles)))
    dim = "none" if all("protected" in row[3] for row in rows) else of.subspace.dim
    headline = f"{len(of.names):,} features, of which {dim} count"
    head = ("from", "", "features", "role")
    return card("Features", headline, table(head, rows[:MANY_ROWS], {1}), more(len(rows)))
