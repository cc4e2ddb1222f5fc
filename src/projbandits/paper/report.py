"""The report: one HTML file that opens anywhere, with nothing to fetch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from html import escape
from importlib.resources import files
from typing import Any

from projbandits._format import interval, name_of, number
from projbandits._markup import Pictures, bullets, details, page, table
from projbandits._markup import mark as marked
from projbandits.paper.experiments import Experiment
from projbandits.paper.figures import FIGURES
from projbandits.paper.folder import Folder
from projbandits.paper.verdicts import Claim, Condition, Origin, Outcome, Reading, Verdict
from projbandits.results import Result

REPORT_STYLE = files("projbandits.paper").joinpath("report.css").read_text(encoding="utf-8")
TITLE = "Learning Orthogonal Projections in Linear Bandits: what holds"
FIRST_CLAIMS, OVERVIEW = "best-", "fig-verdicts"
"""The claims of the first screen begin so, and this figure shows them."""

HOW_TO_READ = (
    "A claim holds if the 95 % interval of every number behind it lies where the claim asks, and "
    "does not hold if one lies wholly elsewhere; otherwise it is undecided at this size. A claim "
    "with two readings is mixed if it holds in one and not in the other. Each interval has its "
    "own 95 %; they are not adjusted for their number. Differences are taken within the same "
    "worlds. The best alpha of a strategy is chosen on a seed of its own and judged on others, by "
    "as many trials as the alphas given; a sweep goes on only with the alphas that its first "
    "trials do not rule out, by the 99 % interval of the difference from the best. Exponents are "
    "fitted to the mean regret over the last decade of steps, with bootstrap intervals over "
    "trials."
)


def render(
    results: Mapping[str, Result],
    verdicts: Mapping[Claim, Verdict],
    pictures: Mapping[str, bytes],
    folder: Folder,
    not_run: Mapping[Claim, str],
) -> str:
    """Return the report as a page of HTML that holds everything it shows."""
    shown = Pictures(pictures)
    opened = {c: _claim(c, v, shown, folder) for c, v in verdicts.items()}
    first = [html for claim, html in opened.items() if claim.name.startswith(FIRST_CLAIMS)]
    others = {c: html for c, html in opened.items() if not c.name.startswith(FIRST_CLAIMS)}
    tables = {name: _summary(_EXPERIMENTS[name], result) for name, result in results.items()}
    sections = {
        "claims": ("Further claims", _by_origin(others)),
        "differences": ("Where the paper and we differ", _differences(verdicts)),
        "figures": (
            "Figures",
            "".join(_figure(n, shown, tables) for n in pictures if n != OVERVIEW),
        ),
        "method": ("How each number was obtained", _method(results, folder)),
    }
    links = " ".join(f"<a href='#{name}'>{head}</a>" for name, (head, _) in sections.items())
    body = "".join(
        f"<section id='{name}'><h2>{head}</h2>{html}</section>"
        for name, (head, html) in sections.items()
        if html
    )
    body = (
        f'<header><h1>{TITLE}</h1><p class="lead">{_lead(verdicts, folder)}</p>'
        f"{bullets(f'{escape(c.text)} {escape(why)}.' for c, why in not_run.items())}"
        f"<nav>{links}</nav></header>\n{_first(first, shown)}\n{body}"
    )
    return page(TITLE, body, REPORT_STYLE, shown.definitions())


MARKS = {
    Outcome.HOLDS: "yes",
    Outcome.MIXED: "mixed",
    Outcome.FAILS: "no",
    Outcome.UNDECIDED: "open",
}
"""The style of each outcome; the words stand beside it, so colour is never alone."""


def mark(outcome: Outcome) -> str:
    """Return an outcome as a coloured word."""
    return marked(outcome.value, MARKS[outcome])


def _by_origin(claims: Mapping[Claim, str]) -> str:
    """Return claims under the heading of where they come from."""
    groups = {
        origin: "".join(html for claim, html in claims.items() if claim.origin is origin)
        for origin in Origin
    }
    return "".join(
        f"<h3>{escape(origin.value.capitalize())}</h3>{html}"
        for origin, html in groups.items()
        if html
    )


def _counted(verdicts: Mapping[Claim, Verdict]) -> str:
    """Return how many claims came out how, by where they come from."""
    parts = []
    for origin in Origin:
        found = Counter(v.outcome for claim, v in verdicts.items() if claim.origin is origin)
        told = ", ".join(f"{mark(outcome)} {found[outcome]}" for outcome in MARKS if found[outcome])
        if found:
            parts.append(f"{found.total()} {origin.value}: {told}")
    return "; ".join(parts)


def _lead(verdicts: Mapping[Claim, Verdict], folder: Folder) -> str:
    size = f"{folder.settings['trials']:,} trials of {folder.settings['horizon']:,} steps"
    if not verdicts:
        return f"A reproduction with {size}. These figures alone tell about none of the claims."
    return (
        f"A reproduction with {size}, more or fewer where a claim says so. "
        f"Claims, {_counted(verdicts)}. A number is a mean over trials with its 95 % "
        "interval; open a claim to see the figure, the numbers and the command."
    )


def _first(claims: list[str], pictures: Pictures) -> str:
    """Return the first screen: who has less regret, and the figure that shows it beside."""
    if not claims:
        return ""
    beside = ""
    if OVERVIEW in pictures:
        caption = FIGURES[OVERVIEW].caption
        beside = (
            f"<figure id='{OVERVIEW}'>{pictures.show(OVERVIEW, caption)}"
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )
    return f"<section id='verdicts'><div>{''.join(claims)}</div>{beside}</section>"


def _claim(claim: Claim, verdict: Verdict, pictures: Pictures, folder: Folder) -> str:
    """Return a claim that opens to its figures, its numbers, its place and its command."""
    readings = "".join(_reading(reading) for reading in verdict.readings)
    head = (
        f"<span class='text'>{escape(claim.text)}</span> "
        f"<span class='source'>{escape(claim.place)}</span>{_mixed(verdict)}{readings}"
    )
    where = f"In the paper: {claim.source}" if claim.source else claim.place.capitalize()
    notes = [f"{where}. {verdict.why}".strip(), claim.remark]
    shown = "".join(
        f"<a href='#{name}'>{pictures.show(name, FIGURES[name].caption)}</a>"
        for name in claim.figures
        if name in pictures
    )
    body = (
        "".join(f"<p>{escape(note)}</p>" for note in notes if note)
        + f"<div class='pictures'>{shown}</div>"
        + "".join(_numbers(reading) for reading in verdict.readings)
        + f"<p>{escape(_sizes(claim.experiments, folder))}</p>"
        + f"<pre><code>{escape(_command(folder, claim.figures))}</code></pre>"
    )
    return details(head, body, name=f"claim-{claim.name}", kind="claim")


def _mixed(verdict: Verdict) -> str:
    """Return the verdict on all readings, where it is not that of each."""
    return f" {mark(verdict.outcome)}" if verdict.outcome is Outcome.MIXED else ""


def _reading(reading: Reading) -> str:
    name = f"<span class='name'>{escape(reading.name)}</span> " if reading.name else ""
    return (
        f"<span class='reading'>{mark(reading.outcome)} {name}"
        f"<span class='brief'>{escape(reading.brief)}</span></span>"
    )


def _numbers(reading: Reading) -> str:
    rows = [_condition(condition) for condition in reading.conditions]
    head = escape(reading.name[:1].upper() + reading.name[1:]) or "What"
    return table((head, "estimate", "95 % interval", "asked for", "verdict"), rows, {1, 2, 3})


def _condition(condition: Condition) -> tuple[str, ...]:
    value, low, high = (number(x) for x in condition.estimate)
    return (
        escape(condition.what),
        value,
        f"{low} to {high}",
        condition.demand,
        mark(condition.outcome) if condition.demand else "",
    )


def _sizes(experiments: Iterable[Experiment], folder: Folder) -> str:
    """Return over which trials and seeds the numbers of some experiments are means."""
    parts = []
    for x in experiments:
        trials = x.seeds * x.trials_of(folder.settings["trials"])
        steps = x.horizon_of(folder.settings["horizon"])
        parts.append(f"{x.name}: {trials:,} trials of {steps:,} steps, {_seeds(x, folder)}")
    return f"Means over trials. {'; '.join(parts)}."


def _seeds(experiment: Experiment, folder: Folder) -> str:
    seeds = experiment.seeds_of(folder.settings["seed"])
    return f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {seeds[0]}"


def _command(folder: Folder, figures: Iterable[str] = ()) -> str:
    settings = " ".join(f"--{name} {value}" for name, value in folder.settings.items())
    return " ".join(["projbandits reproduce", *figures, settings])


READINGS = (
    "UE: the printed rule adds the width to the projected estimate; the rule that the paper cites "
    "aims at the return. Only the latter shows the curve of the paper's figures, so that one is "
    "called UE, the printed one ProjectedUE, and both are shown.",
    "D_k: the theorems allow any k independent arms, and the paper does not say which it took. "
    "Ours are chosen by QR with pivoting; GENTRY with the first k arms is shown beside it.",
    "Wine: the paper does not say whether features were scaled or noise was added. Ours are "
    "standardised and have noise; the claims include the other readings.",
)
"""What the paper leaves open, and what was chosen; docs/readings.md has the whole list."""


def _differences(verdicts: Mapping[Claim, Verdict]) -> str:
    failed = [
        (claim, reading)
        for claim, verdict in verdicts.items()
        for reading in verdict.readings
        if reading.outcome is Outcome.FAILS
    ]
    parts = [
        ("What the paper leaves open, and what was chosen:", [escape(x) for x in READINGS]),
        *(
            (
                f"{origin.value.capitalize()}, and found not to hold as read:",
                _linked(failed, origin),
            )
            for origin in Origin
        ),
    ]
    return "".join(f"<p>{head}</p>{bullets(items)}" for head, items in parts if items)


def _linked(failed: Iterable[tuple[Claim, Reading]], origin: Origin) -> list[str]:
    return [
        f"<a href='#claim-{claim.name}'>{escape(claim.text)}</a> "
        + (f"With {escape(reading.name)}: {escape(reading.brief)}. " if reading.name else "")
        + escape(claim.remark)
        for claim, reading in failed
        if claim.origin is origin
    ]


def _figure(name: str, pictures: Pictures, tables: Mapping[str, str]) -> str:
    figure = FIGURES[name]
    source = f"{figure.source} of the paper. " if figure.source else "Not in the paper. "
    numbers = "".join(
        details(f"Numbers: {experiment.name}", tables[experiment.name])
        for experiment in figure.experiments
        if experiment.name in tables
    )
    return (
        f"<section id='{name}'><h3>{escape(figure.title)}</h3><figure>"
        f"{pictures.show(name, figure.caption)}"
        f"<figcaption>{source}{escape(figure.caption)}</figcaption></figure>"
        f"{numbers}</section>"
    )


def _summary(experiment: Experiment, result: Result) -> str:
    """Return the numbers of an experiment, for curves with differences from the first strategy."""
    frame = result.summary()
    paired = result.paired().to_dict("index")
    head = ["strategy", "mean", "95 % interval", "median", "90th percentile", "return regret"]
    if experiment.curve:
        head += [f"minus {name_of(result.strategies[0])}, same worlds", "exponent"]
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
            cells += [
                _difference(paired, str(label)),
                interval(result.exponent(str(label)), digits=2),
            ]
        if "found_best" in frame:
            cells += [f"{row['found_best']:.0%}"]
        rows.append(cells)
    return table(head, rows, set(range(1, len(head))))


def _difference(paired: Mapping[Hashable, Mapping[Hashable, Any]], label: str) -> str:
    if label not in paired:
        return ""
    value, low, high = (number(paired[label][name]) for name in ("difference", "low", "high"))
    return f"{value} ({low} to {high})"


def _method(results: Mapping[str, Result], folder: Folder) -> str:
    rows = [
        (
            name,
            f"<code>{escape(result.problem)}</code>",
            f"{result.trials:,}",
            f"{result.horizon:,}",
            _seeds(_EXPERIMENTS[name], folder),
            ", ".join(sorted(set(result.engines))),
            f"{folder.seconds.get(name, 0):,.1f}",
            escape(folder.made_with.get(name, "")),
        )
        for name, result in results.items()
    ]
    head = ("experiment", "problem", "trials", "steps", "seeds", "engines", "seconds", "made with")
    return (
        f"<p>{HOW_TO_READ}</p>"
        + table(head, rows, {2, 3, 6})
        + "<p>Regret is from means: the projection reward of the best arm minus that of the arm "
        "played, never the realised noise. Every strategy of an experiment met the same "
        "worlds. Each trial has random streams of its own, spawned from the seed, so "
        "these numbers do not depend on the machine's number of cores, and trials of several "
        "seeds are as independent as those of one. Seconds are wall time, "
        "compilation of kernels included. &quot;Search&quot; beside an engine: on a convex set the "
        "arm of UE is where a search ends. With the paper's alphas it ended below the highest "
        "end of all starts in up to 2.3 % of the steps, by at most 3e-4 of the score.</p>"
        f"<p>Run it again with <code>{_command(folder)}</code>. "
        "The data behind each figure is in <code>data/</code> as Parquet, and the figures are "
        "beside this report as PNG and PDF.</p>"
    )


_EXPERIMENTS = {x.name: x for figure in FIGURES.values() for x in figure.experiments}
