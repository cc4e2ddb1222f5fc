"""Evidence from the log on whether the part that must not count had an influence.

Four questions are answered apart. Would other protected parts change the scores (`scores.py`), or
what is chosen (`again.py`, `choices.py`)? Has their effect moved into the kept part (`leak.py`)? Do
choices follow them all the same (`exposure.py`)? Here the numbers are put together; `words.py` says
what they mean, `plots` draws them, and `page.py` is for the person who must sign.
"""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._blas import single_threaded_blas
from projbandits._version import __version__
from projbandits.audit import items as reading
from projbandits.audit import prose
from projbandits.audit.answers import Influence
from projbandits.audit.choices import Choices, choices
from projbandits.audit.exposure import Exposure, Who, exposure, followed
from projbandits.audit.leak import Leak, leak
from projbandits.audit.offered_items import OfferedItems
from projbandits.audit.protected import Protected
from projbandits.audit.proxies import has_boosting, proxies
from projbandits.audit.sample import Made, made
from projbandits.audit.scores import Scores, scores
from projbandits.audit.segments import Segments
from projbandits.audit.tally import Gathered, Outcomes
from projbandits.ledger.history import History
from projbandits.ridge import Ridge

if TYPE_CHECKING:
    import pandas as pd


class About(NamedTuple):
    """What an audit is of.

    Parameters
    ----------
    name, key : str
        The ledger's name and key.
    position : int
        The last event of the ledger that the audit holds for.
    made : float
        When it was made, in seconds since 1970.
    version : str
        The version of the library.
    strategy : str
        Who decides.
    aims_at, learns_on : str
        What it says that it aims at and learns on.
    protected, varied : tuple of str
        The protected columns or directions, and those that varied in what was offered.
    decisions, looked_at, decided_again, outcomes : int
        The decisions in the log; those whose scores were computed again; those that were decided
        again by `select`; and the outcomes in the log.
    left_out : dict of str to int
        How many decisions were not looked at, and why.
    learnt : bool
        Whether any outcome was known at any of the decisions.
    boosting : bool
        Whether proxies were looked for by gradient boosting.
    """

    name: str
    key: str
    position: int
    made: float
    version: str
    strategy: str
    aims_at: str
    learns_on: str
    protected: tuple[str, ...]
    varied: tuple[str, ...]
    decisions: int
    looked_at: int
    decided_again: int
    outcomes: int
    left_out: dict[str, int]
    learnt: bool
    boosting: bool


class Costs(NamedTuple):
    """The return given up per decision, by today's estimate, in three parts."""

    projection: float
    learning: float
    exploring: float

    @property
    def total(self) -> float:
        """The sum of the three: the best return on offer minus that of the choice."""
        return self.projection + self.learning + self.exploring


@dataclass(frozen=True, eq=False, kw_only=True)
class Audit:
    """What an audit found: four answers, and what else must be known.

    Parameters
    ----------
    scores, choices, leak, exposure : Scores, Choices, Leak and Exposure
        The four answers, each with `found`, `size`, `share` and `verdict`.
    proxies : DataFrame
        For each protected column (or direction), how much of its variance over the distinct arms
        offered the kept features predict, by several fits (cross-validated).
    given_up : Costs
        The return given up.
    about : About
        What was audited, and for which position of the ledger it holds.
    """

    scores: Scores
    choices: Choices
    leak: Leak
    exposure: Exposure
    proxies: pd.DataFrame
    given_up: Costs
    about: About

    @property
    def influence(self) -> Influence:
        """The outcome: whether the protected part had an influence.

        "none" (cleared) only if scores, choices, leak and exposure are all silent and no choice
        changes; "exploration" (cleared for scores) if all are silent and only exploring changes,
        in at most 5 % of the choices; "found" with a size beyond noise; otherwise "unclear", and
        `verdict` has the reason. The last two clear nothing.
        """
        if not self.about.varied or not self.about.learnt:
            return "unclear"
        found = [answer.found for answer in (self.scores, self.choices, self.leak)]
        if True in found:
            return "found"
        if {*found, self.exposure.found} != {False} or self.about.learns_on == "projection":
            return "unclear"
        return "exploration" if self.choices.explores else "none"

    @property
    def verdict(self) -> str:
        """The outcome in words, with the reason."""
        return prose.verdict(self)

    @property
    def warnings(self) -> list[str]:
        """What else the user must be told."""
        return prose.warnings(self)

    def plot(self) -> Any:
        """Draw the audit and return the matplotlib Figure."""
        # By name and only now: this module must not load matplotlib early.
        return importlib.import_module("projbandits.plots").audit(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values; docs/audit.md has the schema."""
        from projbandits.audit.plain import plain

        return plain(self)

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return one self-contained page for the person who must sign it; also write it to a file.

        Parameters
        ----------
        path : path, optional
            Where to write it.
        """
        from projbandits.audit.page import page

        text = page(self)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def __str__(self) -> str:
        return prose.text(self)

    def _repr_html_(self) -> str:
        # By name and only now: nothing here depends on how a notebook shows it.
        return str(importlib.import_module("projbandits.notebook").audit(self))


@single_threaded_blas()
def audit(history: History, attributes: Any = None, by: str | None = None) -> Audit:
    """Return the audit of the logged decisions among finitely many arms that were kept.

    Parameters
    ----------
    history : History
        Where they are.
    attributes, by : optional
        See `Decider.audit`.
    """
    known = history.belief()
    items = OfferedItems(history.arms())
    if not len(items.vectors):
        raise _nothing(made(history, items, None))
    protected = Protected.of(known.subspace, known.columns, items.vectors)
    extra = None
    if attributes is not None:
        extra = reading.read(attributes, items.vectors, known, items.labels)
    it = Gathered(known, items, protected, _theta(history, items), _segments(history, items, by))
    it.add_all(made(history, items, by))
    n = max(it.cases, 1)
    offered = it.exposed.offered
    who = items.who(known.features, it.exposed.largest)
    one_each = _one_each(offered > 0, who)
    values = {name: it.values(name) for name in protected.pieces}
    pieces = {
        name: reading.grouped(column, offered)
        for name, column in reading.protected_attributes(values, known.features).items()
    }
    unmatched = 0.0
    if extra is not None:
        unmatched = float(extra.iloc[one_each].isna().all(axis=1).mean())
        for column in extra.columns:
            name = column if column not in pieces else f"{column} (given)"
            pieces[name] = reading.grouped(extra[column], offered)
    first = scores(it)
    varied = bool(protected.varied)
    answers = {
        "scores": first,
        "choices": choices(it.weighed, it.late, varied=varied, scores=first.found),
        "leak": leak(known, it.log, protected, it.spread / n, it.varied / n),
        "exposure": exposure(
            it.exposed,
            pieces,
            items.vectors @ it.aim,
            followed(it.followed, [*protected.pieces], len(one_each)),
            by=by,
            unmatched=unmatched,
            who=who,
        ),
    }
    about = _about(history, it)
    said: dict[str, Any] = {
        name: replace(answer, verdict=getattr(prose, name)(answer, about))
        for name, answer in answers.items()
    }
    return Audit(
        **said,
        proxies=proxies(items.vectors[one_each], known.subspace, known.columns, protected),
        given_up=Costs(*(float(x) for x in it.lost / n)),
        about=about,
    )


def _segments(history: History, items: OfferedItems, by: str | None) -> Segments | None:
    """Return what tells the segment of what came with a decision under `by`."""
    if by is None:
        return None
    found = Segments.of(one.segment for one in made(history, items, by, look=False))
    if found is None:
        raise ValueError(
            "by must be a column of the context or a key of meta, which some decision has, got "
            f"{by!r}"
        )
    return found


def _one_each(seen: NDArray[np.bool_], who: Who) -> NDArray[np.int64]:
    """Return an arm of each item that was on offer, in one of its contexts, drawn at random."""
    rows = np.flatnonzero(seen)
    if who is None:
        return rows
    rows = np.random.default_rng(0).permutation(rows)
    return np.sort(rows[np.unique(who[rows], return_index=True)[1]])


def _theta(history: History, items: OfferedItems) -> Any:
    """Return what the returns are believed to follow, the protected part's effect included."""
    ridge = history.belief().state.ridge
    if history.belief().strategy.learns_on != "projection":
        return ridge.theta
    # Of a strategy that learns on projections, what it believes of whole arms is not known.
    outcomes = Outcomes(Ridge.prior(ridge.d, ridge.penalty, ridge.intercept))
    for one in made(history, items, None, look=False):
        outcomes.add(one)
    return outcomes.ridge.theta


def _nothing(decisions: Iterable[Made]) -> ValueError:
    every = [one.chosen is None for one in decisions]
    return ValueError(
        "the log has no decision among finitely many arms that could be audited, got "
        f"{len(every) - sum(every)} among too many arms to keep and {sum(every)} on infinite sets"
    )


def _about(history: History, it: Gathered) -> About:
    known = history.belief()
    return About(
        name=history.name,
        key=known.key,
        position=known.position,
        made=time.time(),
        version=__version__,
        strategy=repr(known.strategy),
        aims_at=known.strategy.aims_at,
        learns_on=known.strategy.learns_on,
        protected=tuple(it.protected.pieces),
        varied=tuple(it.protected.varied),
        decisions=it.decisions,
        looked_at=it.cases,
        decided_again=len(it.weighed),
        outcomes=it.log.n,
        left_out=dict(it.left_out),
        learnt=it.learnt,
        boosting=has_boosting(),
    )
