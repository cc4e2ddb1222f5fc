"""The report: one HTML file that opens anywhere, with nothing to fetch."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from html import escape
from importlib.resources import files
from typing import Any

import pandas as pd

from projbandits.paper.experiments import Experiment
from projbandits.paper.figures import FIGURES
from projbandits.paper.folder import Folder
from projbandits.paper.verdicts import (
    BEYOND,
    FAILS,
    HOLDS,
    UNDECIDED,
    Claim,
    Condition,
    Verdict,
)
from projbandits.results import Result
from projbandits.statistics import Estimate

MARKS = {HOLDS: "yes", FAILS: "no", UNDECIDED: "open"}
"""The style of each outcome; the words stand beside it, so colour is never alone."""

STYLE = files("projbandits.paper").joinpath("report.css").read_text(encoding="utf-8")


def render(
    results: Mapping[str, Result],
    verdicts: Mapping[Claim, Verdict],
    pictures: Mapping[str, bytes],
    folder: Folder,
) -> str:
    """Return the report as a page of HTML that holds everything it shows."""
    counts = Counter(verdict.outcome for verdict in verdicts.values())
    told = ", ".join(f"{counts[outcome]} {_mark(outcome)}" for outcome in MARKS if counts[outcome])
    sections = [
        f"<p>Of {len(verdicts)} claims that these results can tell about: {told}.</p>"
        if verdicts
        else "<p>These figures alone tell about none of the claims.</p>",
        _contents(pictures),
        "<h2 id='claims'>Claims</h2>",
        "<p>A claim holds if the 95 % interval of every number behind it lies where the claim "
        "asks, and does not hold if one lies wholly elsewhere. Otherwise it is undecided at this "
        "size. Each interval has its own 95 %; they are not adjusted for their number. "
        "Differences are taken within the same worlds. Exponents are fitted to the mean regret "
        "over the last decade of steps, with bootstrap intervals over trials.</p>",
        _overview(verdicts),
        "<h2 id='numbers'>The numbers behind the claims</h2>",
        *(_claim(claim, verdict) for claim, verdict in verdicts.items()),
        "<h2 id='differences'>Where the paper and we differ</h2>",
        _differences(verdicts),
        "<h2 id='figures'>Figures</h2>",
        *(_figure(name, picture, results) for name, picture in pictures.items()),
        "<h2 id='method'>How each number was obtained</h2>",
        _method(results, folder),
    ]
    title = "Learning Orthogonal Projections in Linear Bandits: what holds"
    lead = (
        f"A reproduction at {folder.settings['trials']:,} trials of "
        f"{folder.settings['horizon']:,} steps, seed {folder.settings['seed']}; some experiments "
        "take a share of the trials or a multiple of the steps, as the last table says."
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{STYLE}</style>
</head>
<body><main>
<h1>{title}</h1>
<p class="lead">{lead}</p>
{"".join(sections)}
</main></body>
</html>
"""


def _mark(outcome: str) -> str:
    return f'<span class="mark {MARKS[outcome]}">{outcome}</span>'


def _contents(pictures: Mapping[str, bytes]) -> str:
    links = [
        ("claims", "Claims"),
        ("numbers", "The numbers behind the claims"),
        ("differences", "Where the paper and we differ"),
    ]
    links += [(name, FIGURES[name].title) for name in pictures]
    links += [("method", "How each number was obtained")]
    items = "".join(f"<li><a href='#{name}'>{escape(text)}</a></li>" for name, text in links)
    return f"<nav><ul>{items}</ul></nav>"


def _overview(verdicts: Mapping[Claim, Verdict]) -> str:
    rows = [
        (
            f"<a href='#claim-{claim.name}'>{escape(claim.text)}</a>",
            escape(claim.source),
            _mark(verdict.outcome),
        )
        for claim, verdict in verdicts.items()
    ]
    return _table(("claim", "where", "verdict"), rows, set())


def _claim(claim: Claim, verdict: Verdict) -> str:
    rows = [_condition(condition) for condition in verdict.conditions]
    table = _table(("what", "estimate", "95 % interval", "asked for", "verdict"), rows, {1, 2, 3})
    return (
        f"<article id='claim-{claim.name}'><p><strong>{escape(claim.text)}</strong> "
        f"{_mark(verdict.outcome)}</p>"
        f"<p class='source'>{escape(f'{claim.source}. {verdict.why}'.strip())}</p>"
        f"<details{'' if verdict.outcome == HOLDS else ' open'}><summary>Numbers</summary>"
        f"{table}</details></article>"
    )


def _condition(condition: Condition) -> tuple[str, ...]:
    value, low, high = (number(x) for x in condition.estimate)
    return (
        escape(condition.what),
        value,
        f"{low} to {high}",
        condition.demand,
        _mark(condition.outcome) if condition.demand else "",
    )


READINGS = (
    "UE: the printed rule adds the width to the projected estimate; the rule that the paper cites "
    "aims at the return. Only the latter shows the curve of the paper's figures, so that one is "
    "called UE, the printed one ProjectedUE, and both are shown.",
    "D_k: any k independent arms serve the theorems, and the paper does not say which it took. "
    "Ours are chosen by QR with pivoting; GENTRY with the first k arms is shown beside it.",
    "Wine: the paper does not say whether features were scaled or noise was added. Ours are "
    "standardised and have noise; the claims include the other readings.",
)
"""What the paper leaves open, and what was chosen; docs/readings.md has the whole list."""


def _differences(verdicts: Mapping[Claim, Verdict]) -> str:
    failed = [claim for claim, verdict in verdicts.items() if verdict.outcome == FAILS]
    parts = [
        ("What the paper leaves open, and what was chosen:", [escape(x) for x in READINGS]),
        ("Claimed by the paper and found not to hold:", _linked(failed, beyond=False)),
        ("Asked beyond the paper and found not to hold:", _linked(failed, beyond=True)),
    ]
    return "".join(
        f"<p>{head}</p><ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"
        for head, items in parts
        if items
    )


def _linked(claims: Iterable[Claim], *, beyond: bool) -> list[str]:
    return [
        f"<a href='#claim-{claim.name}'>{escape(claim.text)}</a> {escape(claim.remark)}"
        for claim in claims
        if (claim.source == BEYOND) == beyond
    ]


def _figure(name: str, picture: bytes, results: Mapping[str, Result]) -> str:
    figure = FIGURES[name]
    data = base64.b64encode(picture).decode()
    source = f"{figure.source} of the paper. " if figure.source else "Not in the paper. "
    tables = "".join(
        f"<details><summary>Numbers: {experiment.name}</summary>"
        f"{_summary(experiment, results[experiment.name])}</details>"
        for experiment in figure.experiments
    )
    return (
        f"<section id='{name}'><h3>{escape(figure.title)}</h3><figure>"
        f"<img alt='{escape(figure.caption, quote=True)}' src='data:image/png;base64,{data}'>"
        f"<figcaption>{source}{escape(figure.caption)}</figcaption></figure>{tables}</section>"
    )


def _summary(experiment: Experiment, result: Result) -> str:
    """Return the numbers of an experiment, for curves with differences from the first strategy."""
    frame = result.summary()
    paired = result.paired().to_dict("index")
    head = ["strategy", "mean", "95 % interval", "median", "90th percentile", "return regret"]
    if experiment.curve:
        head += [f"minus {result.strategies[0].removesuffix('()')}, same worlds", "exponent"]
    if "found_best" in frame:
        head += ["found best"]
    rows = []
    for label, row in frame.iterrows():
        cells = [
            f"<code>{escape(str(label))}</code>",
            number(row["mean"]),
            f"{number(row['low'])} to {number(row['high'])}",
            *(number(row[name]) for name in ("median", "p90", "return_regret")),
        ]
        if experiment.curve:
            cells += [_difference(paired, str(label)), _interval(result.exponent(str(label)), 2)]
        if "found_best" in frame:
            cells += [f"{row['found_best']:.0%}"]
        rows.append(cells)
    return _table(head, rows, set(range(1, len(head))))


def _difference(paired: Mapping[Hashable, Mapping[Hashable, Any]], label: str) -> str:
    if label not in paired:
        return ""
    value, low, high = (number(paired[label][name]) for name in ("difference", "low", "high"))
    return f"{value} ({low} to {high})"


def _interval(estimate: Estimate, digits: int) -> str:
    value, low, high = (f"{x:.{digits}f}" for x in estimate)
    return f"{value} ({low} to {high})"


def _method(results: Mapping[str, Result], folder: Folder) -> str:
    rows = [
        (
            name,
            f"<code>{escape(result.problem)}</code>",
            f"{result.trials:,}",
            f"{result.horizon:,}",
            str(result.seed),
            ", ".join(sorted(set(result.engines))),
            f"{folder.seconds.get(name, 0):,.1f}",
            escape(folder.made_with.get(name, "")),
        )
        for name, result in results.items()
    ]
    head = ("experiment", "problem", "trials", "steps", "seed", "engines", "seconds", "made with")
    sizes = (
        f"--trials {folder.settings['trials']} --horizon {folder.settings['horizon']} "
        f"--seed {folder.settings['seed']}"
    )
    return (
        _table(head, rows, {2, 3, 4, 6})
        + "<p>Regret is from means: the projection reward of the best arm minus that of the arm "
        "played, never the realised noise. Every strategy of an experiment met the same "
        "worlds. Each trial has random streams of its own, spawned from the seed, so "
        "these numbers do not depend on the machine's number of cores. Seconds are wall time, "
        "compilation of kernels included.</p>"
        f"<p>Run it again with <code>projbandits reproduce {sizes}</code>. "
        "The data behind each figure is in <code>data/</code> as Parquet, and the figures are "
        "beside this report as PNG and PDF.</p>"
    )


def _table(head: Iterable[str], rows: Iterable[Iterable[str]], numeric: set[int]) -> str:
    """Return a table; its cells are HTML already, and some columns hold numbers."""

    def cells(values: Iterable[str], tag: str) -> str:
        scope = " scope=col" if tag == "th" else ""
        return "".join(
            f"<{tag}{' class=n' if i in numeric else ''}{scope}>{value}</{tag}>"
            for i, value in enumerate(values)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return (
        f"<div class='scroll'><table><thead><tr>{cells(head, 'th')}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def number(value: float) -> str:
    """Return a number with three significant digits, and all digits left of the point.

    Examples
    --------
    >>> from projbandits.paper.report import number
    >>> number(12345.6), number(0.012345), number(float("nan"))
    ('12,346', '0.0123', 'unknown')
    """
    if pd.isna(value):
        return "unknown"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
