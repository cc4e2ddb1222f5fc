"""What an audit's numbers mean, in words. Nothing is computed here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from projbandits._format import interval, number, percent, percents
from projbandits.audit.answers import AUDIT_LEVEL
from projbandits.audit.choices import LEAST_AGAIN, MANY_CHANGED, SETTLED
from projbandits.audit.exposure import ALL, FOLLOWED, LARGE
from projbandits.audit.proxies import PROXY

if TYPE_CHECKING:
    import pandas as pd

    from projbandits.audit.audit import About, Audit
    from projbandits.audit.choices import Choices
    from projbandits.audit.exposure import Exposure
    from projbandits.audit.leak import Leak
    from projbandits.audit.scores import Scores

CANNOT = "Cannot be told: "
MOST_NAMED = 3
QUESTIONS = {
    "scores": "Would other protected parts change the scores?",
    "choices": "Would they change what is chosen?",
    "leak": "Has their effect moved into the kept part?",
    "exposure": "Do choices follow them all the same?",
}
"""The four questions of an audit."""


def _missing(about: About) -> str:
    """Return why nothing can be told, if that is so."""
    if not about.protected:
        return "nothing is protected, since the subspace is the whole space."
    if not about.varied:
        return (
            "the protected part never varied in what was offered, so there is no other one to try."
        )
    if not about.learnt:
        return "no outcome was known at any of these decisions, so every score was zero."
    return ""


def _top(table: pd.DataFrame) -> Any:
    """Return the row with the largest z-score."""
    return table.iloc[int(np.nanargmax(table["z"].abs()))]


def scores(answer: Scores, about: About) -> str:
    """Return whether scores change."""
    if missing := _missing(about):
        return CANNOT + missing
    where = f"in {answer.decisions:,} decisions"
    if answer.largest == 0:
        return f"No. With other protected parts no score and no best guess changes {where}."
    moved = (
        f"the protected part spreads the scores by {interval(answer.size)} in units of the outcome,"
        f" {percents(answer.share)} of their variance, and other parts change "
        f"{percents(answer.guesses)} of the best guesses {where}"
    )
    if answer.found:
        return f"Yes: {moved}."
    if answer.found is None:
        return (
            f"{CANNOT}{moved}; but noise alone makes its effect look that large with a probability "
            f"of {number(answer.beyond)}, so there may be none."
        )
    return f"No, not by a size that matters: {moved}."


def choices(answer: Choices, about: About) -> str:
    """Return whether choices change."""
    if missing := _missing(about):
        return CANNOT + missing
    if not answer.decisions:
        return f"{CANNOT}no decision could be decided again."
    apart = (
        f"{percents(answer.guesses)} where the best guess was chosen, "
        f"{percents(answer.explored)} where another arm was explored"
    )
    shift = (
        "probabilities are unknown, since the strategy states none"
        if math.isnan(answer.shift.value)
        else f"probabilities move by {interval(answer.shift)} on average (total variation)"
    )
    changed = (
        f"with other protected parts and the same random numbers, {percents(answer.share)} of "
        f"{answer.decisions:,} choices change ({apart}); {shift}"
    )
    if answer.found and answer.settled.value == 0:
        return f"Yes, as the scores do: {changed}."
    if answer.found:
        return (
            f"Yes: {changed}. Once nothing is uncertain, {percents(answer.settled)} still change "
            "although the scores do not ask for it, so this is no exploring."
        )
    if answer.found is None and answer.with_scores.value > 0:
        return (
            f"{CANNOT}{changed}, some of them as the scores do, whose change is small or may be "
            "noise."
        )
    if answer.found is None and answer.settled.value > 0:
        return (
            f"{CANNOT}{changed}. Once nothing is uncertain, {percents(answer.settled)} still "
            "change, which is too little to tell."
        )
    if answer.found is None and answer.decisions < LEAST_AGAIN:
        return f"{CANNOT}{changed}, and so few say nothing (at least {LEAST_AGAIN} are needed)."
    if answer.found is None and answer.wandering > SETTLED:
        return (
            f"{CANNOT}{changed}. Even once nothing is uncertain, the strategy chooses "
            f"{percent(answer.wandering)} of the later choices at random among arms that are no "
            "best guesses, so an influence cannot be told from exploring."
        )
    if answer.found is None:
        return (
            f"Yes, while something is uncertain: {changed}. Once nothing is, the choices follow "
            f"the scores. More than {percent(MANY_CHANGED)} of changed choices clear nothing."
        )
    if answer.share.value == 0 and not answer.shift.value > 0:
        return f"No: {changed}."
    return (
        f"Only while something is uncertain: {changed}. Once nothing is, the choices follow the "
        "scores. Exploring looks at whole arms, in order to tell the effects apart."
    )


def leak(answer: Leak, about: About) -> str:
    """Return whether the protected effect leaks."""
    if missing := _missing(about):
        return CANNOT + missing
    told = answer.table[answer.table["z"].notna()]
    if not len(told):
        return (
            f"{CANNOT}{answer.outcomes:,} outcomes in the log are too few, or too much alike, to "
            "fit the effect of each feature without a penalty."
        )
    size = (
        f"{interval(answer.size)} in units of the outcome, {percents(answer.share)} of the "
        "variance of the scores"
    )
    top = _top(told)
    least = number(float(told["found_from"].max()))
    if answer.found:
        return (
            f"Yes: what is believed of the kept part differs from what {answer.outcomes:,} "
            f"outcomes show, by {size}. Most of all {top.name!r}: believed {number(top.believed)}, "
            f"by least squares {number(top.least_squares)} (z = {number(top.z)}, beyond "
            f"{number(answer.critical)}). Common causes are a protected column in small units, a "
            "large penalty, a history in which the protected part was missing or filled in, and "
            "tastes that changed since."
        )
    return (
        f"No: the kept part is believed as {answer.outcomes:,} outcomes show it, up to {size}; the "
        f"largest z-score is {number(abs(float(top.z)))}, noise explains {number(answer.critical)}."
        f" Leaks from {least} in a coefficient on would be found in nine of ten such logs."
    )


def exposure(answer: Exposure, about: About) -> str:
    """Return whether choices follow a protected attribute."""
    told = answer.table[answer.table["z"].notna()]
    beyond = told[told["z"].abs() > answer.critical]
    ways = answer.followed[answer.followed["low"] > FOLLOWED]
    apart = "" if answer.by is None else f", apart by {answer.by!r}"
    said = []
    if len(beyond):
        top = _top(beyond)
        where = "" if top.segment == ALL else f", where {answer.by!r} is {top.segment!r}"
        said.append(
            f"{top.attribute!r} {top.group!r} has {percent(top['best guess'])} of the best guesses "
            f"and {percent(top['best guess'] - top.difference)} of what was on offer to "
            f"them{where} (a difference of {100 * top.low:.1f} to {100 * top.high:.1f} points; "
            f"{len(beyond)} of {len(told)} differences are beyond noise)"
        )
    for name, row in ways.iterrows():
        both = (
            " in opposite directions, which cancel: look at it by what comes with the call, "
            "`audit(by=...)`"
            if abs(row.r) < 0.5 * math.sqrt(max(row.r2, 0.0))
            else ""
        )
        said.append(
            f"within an offer, {percent(row.r2)} of the scores' variance goes with {name!r}{both}"
        )
    if answer.found:
        return f"Yes{apart}: {'; '.join(said)}."
    if not len(told):
        return f"{CANNOT}{_unsure(answer)}{apart}."
    top = _top(told)
    largest = (
        f"The difference that stands out most is {100 * top.difference:+.1f} points "
        f"({100 * top.low:.1f} to {100 * top.high:.1f}; {top.attribute!r} {top.group!r}); "
        f"{answer.tested} differences are tested at a level of {100 * AUDIT_LEVEL:g} % together."
    )
    if answer.found is None:
        return f"{CANNOT}{_unsure(answer)}{apart}. {largest}"
    return (
        f"No{apart}: best guesses spread over the groups as what was on offer does, up to noise. "
        f"{largest}"
    )


def _unsure(answer: Exposure) -> str:
    """Return why it cannot be told whether choices follow a protected attribute."""
    if len(answer.large):
        row = answer.large.iloc[int(answer.large["difference"].abs().argmax())]
        return (
            f"{_differs(answer, row, 'best guess')}, a difference of {100 * LARGE:.0f} points or "
            "more, though noise can make it"
        )
    if len(answer.tilted):
        return "exploring included, " + _differs(answer, answer.tilted.iloc[0], "chosen")
    if answer.untold or not answer.tested:
        names = ", ".join(map(repr, answer.untold[:MOST_NAMED])) or "any attribute"
        names += f" and {len(answer.untold) - MOST_NAMED} more" * (len(answer.untold) > MOST_NAMED)
        return f"too few items were chosen to compare the groups of {names}"
    return "noise makes such differences in fewer than 5 % of honest logs, but in more than 0.1 %"


def _differs(answer: Exposure, row: Any, kind: str) -> str:
    """Return a group's share among the choices and among what was on offer."""
    offered = row["best guess"] - row.difference if kind == "best guess" else row.offered
    where = "" if row.segment == ALL else f" where {answer.by!r} is {row.segment!r}"
    of = "best guesses" if kind == "best guess" else "choices"
    return (
        f"{row.attribute!r} {row.group!r} has {percent(row[kind])} of the {of} and "
        f"{percent(offered)} of what was on offer{where}"
    )


def outcome(audit: Audit) -> str:
    """Return the outcome in a few words."""
    if audit.influence == "none":
        return "cleared"
    if audit.influence != "exploration":
        return "not cleared"
    share = audit.choices.share
    much = percents(share) if share.value > 0 else f"fewer than {100 * share.high:.1f} %"
    return f"cleared for scores, exploration affected in {much} of choices"


def verdict(audit: Audit) -> str:
    """Return the outcome and the reason for it."""
    said = outcome(audit)
    return f"{said[0].upper()}{said[1:]}: {reason(audit)}"


def reason(audit: Audit) -> str:
    """Return the reason for the outcome."""
    if missing := _missing(audit.about):
        return missing
    if audit.influence == "found":
        found = [name for name in ("scores", "choices", "leak") if getattr(audit, name).found]
        said = "; ".join(_brief(audit, name) for name in found)
        return f"the protected part had an influence: {said}."
    if audit.influence == "none":
        return (
            "other protected parts change no score and no choice, their effect has not moved into "
            "the kept part, and choices do not follow them."
        )
    if audit.influence == "exploration":
        return (
            "other protected parts change no score and no choice once nothing is uncertain, their "
            "effect has not moved into the kept part, and best guesses do not follow them; but the "
            "arms that are explored depend on them."
        )
    unsure = [name for name in QUESTIONS if getattr(audit, name).found is not False]
    reasons = [_brief(audit, name) for name in unsure]
    if audit.about.learns_on == "projection":
        reasons.append(
            f"{audit.about.strategy} learns on projected arms, so what it believes may rest on the "
            "protected part"
        )
    return f"{'; '.join(reasons)}."


def _brief(audit: Audit, name: str) -> str:
    """Return why an answer keeps an influence from being denied, in short."""
    answer = getattr(audit, name)
    size = f"{number(answer.size.value)} in units of the outcome"
    share = f"{100 * answer.share.value:.3g} %"
    if name == "scores":
        said = f"it spreads the scores by {size}, {share} of their variance"
        return said if answer.found else f"{said}, which noise alone can explain"
    if name == "choices":
        said = f"with other protected parts {share} of the choices change"
        if answer.found or answer.with_scores.value > 0:
            return said
        if answer.decisions < LEAST_AGAIN:
            return (
                f"too few choices could be decided again ({answer.decisions}, at least "
                f"{LEAST_AGAIN} are needed)"
            )
        if answer.wandering > SETTLED or answer.settled.value > 0:
            return f"{said}, and exploring cannot be told from an influence"
        return f"{said} in exploring, and more than {percent(MANY_CHANGED)} clear nothing"
    if name == "leak":
        said = f"its effect moved into the kept part, by {size}, {share} of the scores' variance"
        return said if answer.found else "whether its effect moved into the kept part is unknown"
    if answer.found is None:
        return f"whether choices follow it cannot be told, since {_unsure(answer)}"
    return (
        f"choices follow it ({_followed(answer)}), which kept features that stand in for it can do "
        "even where scores and settled choices do not rest on it"
    )


def _followed(answer: Exposure) -> str:
    """Return what choices follow, in short."""
    table = answer.table[answer.table["z"].abs() > answer.critical]
    if not len(table):
        at = int(np.nanargmax(answer.followed["low"]))
        piece, r2 = answer.followed.index[at], float(answer.followed["r2"].iloc[at])
        return f"within an offer, {percent(r2)} of the scores' variance goes with {piece!r}"
    return _differs(answer, _top(table), "best guess")


def warnings(audit: Audit) -> list[str]:
    """Return what the user must be told beside the verdict."""
    about, said = audit.about, list[str]()
    if about.aims_at == "return" and about.protected:
        said.append(
            f"{about.strategy} aims at the return, so the protected part counts in its scores: "
            "choose a strategy that aims at the projection, such as EIIDS or GENTRY"
        )
    if about.learns_on == "projection" and about.protected:
        said.append(
            f"{about.strategy} learns on projected arms, so the protected part's effect on the "
            "outcomes goes to kept features that go together with it: its scores may rest on it, "
            "which changing arms cannot show"
        )
    if about.varied and audit.choices.share.low >= MANY_CHANGED:
        said.append(
            f"{percents(audit.choices.share)} of the choices change with the protected part, with "
            "the same scores and random numbers"
            if audit.scores.found is False
            else f"{percents(audit.choices.share)} of the choices change with the protected part"
        )
    # A level that nobody has, such as "other", is missed by nobody if others of its kind vary.
    kinds = {_kind(name) for name in about.varied}
    said += [
        f"{name!r} never varied in what was offered, so nothing can be concluded about it"
        for name in about.protected
        if name not in about.varied and _kind(name) not in kinds
    ]
    if audit.exposure.unmatched > 0:
        said.append(
            f"attributes are unknown of {percent(audit.exposure.unmatched)} of the items offered"
        )
    return [*said, *_tilted(audit), *_proxies(audit)]


def _kind(name: str) -> str:
    """Return what a feature is a level of: `genre` for `genre=drama`, else itself."""
    return name.partition("=")[0]


def _tilted(audit: Audit) -> list[str]:
    """Return what is chosen more or less often than offered, though best guesses are not."""
    rows = audit.exposure.tilted.iterrows()
    return [f"exploring included, {_differs(audit.exposure, row, 'chosen')}" for _, row in rows]


def _proxies(audit: Audit) -> list[str]:
    said = []
    for name, row in audit.proxies.loc[list(audit.about.varied)].iterrows():
        if np.isnan(row.r2):
            said.append(
                f"{row.arms} distinct arms are too few to tell whether the kept features stand in "
                f"for {name!r}"
            )
        elif np.nanmax([row.r2, row.r2_squares, row.r2_boosted]) >= PROXY:
            squares = "" if np.isnan(row.r2_squares) else f"{row.r2_squares:.0%} with squares, "
            boosted = "" if np.isnan(row.r2_boosted) else f"{row.r2_boosted:.0%} by boosting, "
            said.append(
                f"the kept features predict {row.r2:.0%} of the variance of {name!r} over "
                f"{row.arms} distinct arms by a linear fit ({squares}{boosted}{row.closest!r} alone"
                f" {row.r2_closest:.0%}): projection removes a direction, not a correlation, so "
                "decisions may still follow it"
            )
    return said


def text(audit: Audit) -> str:
    """Return the audit for a terminal."""
    about, costs = audit.about, audit.given_up
    lines = [audit.verdict, ""]
    for name, question in QUESTIONS.items():
        lines += [question, f"  {getattr(audit, name).verdict}"]
    lines += [
        "",
        f"{about.decisions:,} decisions, {about.looked_at:,} looked at, {about.decided_again:,} "
        f"decided again, {about.outcomes:,} outcomes; up to position {about.position} of the "
        "ledger.",
        f"Return given up per decision, estimated: {number(costs.total)} "
        f"(by the projection {number(costs.projection)}, by learning {number(costs.learning)}, by "
        f"exploring {number(costs.exploring)}).",
    ]
    table = audit.exposure.table
    if len(table):
        shown = table[
            ["attribute", "group", "segment", "offered", "best guess", "explored", "chosen"]
        ]
        if audit.exposure.by is None:
            shown = shown.drop(columns="segment")
        formatted = shown.to_string(index=False, float_format="{:.1%}".format, na_rep="-")
        lines += ["", formatted]
    return "\n".join([*lines, "", *audit.warnings]).rstrip()
