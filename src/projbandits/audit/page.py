"""The page for the person who must sign an audit."""

from __future__ import annotations

import importlib
import time
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from projbandits._format import interval, number, percent, percents
from projbandits._markup import Pictures, bullets, mark, table
from projbandits._markup import page as whole
from projbandits.audit import prose
from projbandits.audit.answers import AUDIT_LEVEL, Influence

if TYPE_CHECKING:
    from projbandits.audit.audit import Audit

FIGURE = "audit"
OUTCOMES: dict[Influence, str] = {
    "none": "yes", "exploration": "open", "found": "no", "unclear": "no"
}  # fmt: skip
"""The kind of mark of each outcome: green for the first only."""
FOUND = {True: ("found", "no"), False: ("silent", "yes"), None: ("cannot be told", "open")}
AUDIT_STYLE = """
.verdict { font-size: 1.1rem; max-width: 60rem; }
.verdict .mark { font-size: 1.25rem; padding: .2rem .7rem; white-space: normal; }
.answers > div { border-top: 1px solid var(--line); padding: .6rem 0; }
.answers h3 { margin: 0 0 .2rem; }
.answers p { margin: .2rem 0; }
.sign { display: grid; grid-template-columns: repeat(3, minmax(8rem, 1fr)); gap: 2.5rem 1.5rem;
  margin-top: 3rem; max-width: 52rem; }
.sign span { border-top: 1px solid var(--ink); color: var(--soft); font-size: .88rem; }
.narrow { display: none; }
@media screen and (max-width: 40rem) {
  .narrow { display: inline; }
  .sign { grid-template-columns: minmax(0, 1fr); }
  .wide { overflow-x: auto; }
  .wide .picture { min-width: 46rem; }
}
"""


def page(audit: Audit) -> str:
    """Return the page: one file that holds everything it shows."""
    picture = Pictures({FIGURE: _picture(audit)})
    about = audit.about
    title = f"Audit of the decider {about.name!r}"
    day = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(about.made))
    sections = {
        "Four questions": _answers(audit),
        "What else must be known": bullets(map(escape, audit.warnings)) if audit.warnings else "",
        "The figures": _figure(audit, picture),
        "How strongly it was tested": _strength(audit),
        "What was not tested": bullets(escape(text) for text in prose.untested(audit)),
        "The numbers": _numbers(audit),
        "What this holds for": _about(audit, day),
    }
    body = "".join(
        f"<section><h2>{head}</h2>{html or '<p>Nothing.</p>'}</section>"
        for head, html in sections.items()
    )
    outcome, reason = (_sentence(part(audit)) for part in (prose.outcome, prose.reason))
    outcome = mark(outcome, OUTCOMES[audit.influence])
    lead = (
        f"{escape(day)}. It holds for the ledger up to position {about.position:,}, for "
        f"{about.decisions:,} decisions and {about.outcomes:,} outcomes."
    )
    sign = "".join(f"<span>{what}</span>" for what in ("Name", "Date", "Signature"))
    return whole(
        title,
        f"<header><h1>{escape(title)}</h1><p class='lead'>{lead}</p></header>"
        f"<p class='verdict'>{outcome}</p><p class='verdict'>{escape(reason)}</p>"
        f"{body}<div class='sign'>{sign}</div>".replace(" %", "\N{NO-BREAK SPACE}%"),
        AUDIT_STYLE,
        picture.definitions(),
    )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _picture(audit: Audit) -> bytes:
    """Return the figure as a PNG file."""
    plots: Any = importlib.import_module("projbandits.plots")
    figure, file = audit.plot(), BytesIO()
    figure.savefig(file, format="png", dpi=160)
    plots.close(figure)
    return file.getvalue()


def _figure(audit: Audit, picture: Pictures) -> str:
    caption = (
        "Top left: what changes with other protected parts. Below: what moved into each kept "
        "direction, in standard errors; the return given up; how well kept features predict "
        "protected ones. Right: the share of each group in what was offered and chosen."
    )
    shown = picture.show(FIGURE, audit.verdict)
    more = "<span class='narrow'> It goes on to the right: move it sideways.</span>"
    return (
        f"<figure><div class='wide'>{shown}</div><figcaption>{caption}{more}</figcaption></figure>"
    )


def _answers(audit: Audit) -> str:
    parts = []
    for name, question in prose.QUESTIONS.items():
        answer = getattr(audit, name)
        text, kind = FOUND[answer.found]
        if name == "choices" and answer.found is not True and answer.explores:
            text, kind = ("too many change" if answer.many else "in exploring only"), "open"
        sizes = (
            f"Size: {interval(answer.size)} in units of the outcome; {percents(answer.share)} as "
            "a share."
        )
        parts.append(
            f"<div><h3>{escape(question)} {mark(text, kind)}</h3>"
            f"<p>{escape(answer.verdict)}</p><p class='source'>{escape(sizes)}</p></div>"
        )
    return f"<div class='answers'>{''.join(parts)}</div>"


def _strength(audit: Audit) -> str:
    about, told = audit.about, audit.leak.table["found_from"].dropna()
    lines = [
        f"Scores were computed again at {about.looked_at:,} of {about.decisions:,} decisions, and "
        f"{about.decided_again:,} were decided again by the strategy itself, with the random "
        "numbers of the time.",
        f"Each question is tested at a level of {100 * AUDIT_LEVEL:g} %, all its directions or "
        "groups together; intervals have 95 %.",
        (
            f"A leak is found in nine of ten such logs from {number(float(told.min()))} to "
            f"{number(float(told.max()))} in a coefficient on, depending on the direction."
            if len(told)
            else "No leak could have been found with these outcomes."
        ),
    ]
    if len(audit.exposure.table):
        table = audit.exposure.table
        reach = ((table["high"] - table["low"]) / 2)[table["z"].notna()]
        if len(reach):
            ends = dict.fromkeys(f"{100 * end:.1f}" for end in (reach.min(), reach.max()))
            lines.append(
                f"Shares of groups among the best guesses are known up to {' to '.join(ends)} "
                "points (95 %)."
            )
        else:
            lines.append("Too few items were chosen to compare the shares of groups.")
    return bullets(escape(line) for line in lines)


def _numbers(audit: Audit) -> str:
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    leak = audit.leak.table
    rows = [
        (escape(str(name)), *(_cell(row[c]) for c in leak.columns)) for name, row in leak.iterrows()
    ]
    head = ("kept direction", "believed", "least squares", "leak", "low", "high", "z", "found from")
    made = ["<h3>Leak</h3>", table(head, rows, set(range(1, 8)))]
    groups = audit.exposure.table
    shares = ("offered", "best guess", "explored", "chosen")
    rows = [
        (
            escape(str(row.attribute)),
            escape(str(row.group)),
            escape(str(row.segment)),
            *(percent(row[name]) for name in shares),
            "" if np.isnan(row.z) else f"{100 * row.low:+.1f} to {100 * row.high:+.1f}",
            _cell(row.z),
        )
        for _, row in groups.iterrows()
    ]
    head = ("attribute", "group", "segment", *shares, "points beyond the offer", "z")
    made += ["<h3>Exposure</h3>", table(head, rows, set(range(3, 9)))]
    rows = [
        (
            escape(str(name)),
            *(percent(row[c]) for c in ("r2", "r2_squares", "r2_boosted", "r2_closest")),
            escape(str(row.closest or "")),
            f"{row.arms:,}",
        )
        for name, row in audit.proxies.iterrows()
    ]
    head = ("protected", "linear", "squares", "boosting", "one feature", "which", "distinct arms")
    made += ["<h3>Proxies</h3>", table(head, rows, {1, 2, 3, 4, 6})]
    costs = audit.given_up
    rows = [(name, number(value)) for name, value in costs._asdict().items()]
    rows.append(("in all", number(costs.total)))
    made += [
        "<h3>Return given up per decision</h3>",
        table(("by", "by today's estimate"), rows, {1}),
    ]
    return "".join(made)


def _cell(value: float) -> str:
    return "" if np.isnan(value) else number(float(value))


def _about(audit: Audit, day: str) -> str:
    about = audit.about
    facts = {
        "decider": about.name,
        "ledger": about.key,
        "position": f"{about.position:,}",
        "made": day,
        "strategy": about.strategy,
        "aims at": about.aims_at,
        "learns on": about.learns_on,
        "protected": ", ".join(about.protected),
        "exposure by": audit.exposure.by or "",
        "made with": f"projbandits {about.version}",
    }
    rows = [(name, f"<code>{escape(str(value))}</code>") for name, value in facts.items()]
    return table(("what", "value"), rows, set())
