"""Evidence from the log on whether the part that must not count had an influence.

Four questions are answered apart. Would other protected parts change the scores (`scores.py`), or
what is chosen (`choices.py`)? Has their effect moved into the kept part (`leak.py`)? Do choices
follow them all the same (`exposure.py`)? `sample.py` goes through the log once, and here the
numbers are put together; `prose.py` says what they mean, `plots` draws them, and `page.py` is for
the person who must sign.
"""

from __future__ import annotations

import importlib
import json
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._blas import single_threaded_blas
from projbandits._version import __version__
from projbandits.audit import prose
from projbandits.audit.answers import Influence
from projbandits.audit.choices import Choices, choices
from projbandits.audit.exposure import ALL, KINDS, Exposure, exposure, followed
from projbandits.audit.items import ItemOf, OfferedItems, grouped, protected_attributes, read
from projbandits.audit.leak import Leak, leak
from projbandits.audit.page import page
from projbandits.audit.protected import Protected, along
from projbandits.audit.proxies import ProxyRow, has_boosting, proxies
from projbandits.audit.sample import Progress, Sample
from projbandits.audit.schema import plain
from projbandits.audit.scores import Scores, scores
from projbandits.ledger.history import History

if TYPE_CHECKING:
    import pandas as pd


class About(NamedTuple):
    """The subject of an audit.

    Parameters
    ----------
    name, key : str
        The ledger's name and key.
    position : int
        The last event of the ledger that the audit holds for.
    head : str
        That position and the hash of its event, which vouches for all before it.
    made : float
        When it was made, in seconds since 1970.
    version : str
        The version of the library.
    strategy : str
        The strategy that decides.
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
    head: str
    made: float
    version: str
    strategy: str
    aims_at: Literal["projection", "return"]
    learns_on: Literal["arm", "projection"]
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
    proxies: Annotated[pd.DataFrame, ProxyRow]
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
def audit(
    history: History,
    attributes: Any = None,
    by: str | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Return the audit of the logged decisions among finitely many arms.

    Parameters
    ----------
    history : History
        The decisions, up to the position that the audit shall hold for.
    attributes, by, progress : optional
        See `Decider.audit`.
    """
    known, items = history.belief(), OfferedItems(history.arms())
    if not len(items.vectors):
        raise ValueError(
            "the log has no decision among finitely many arms that could be audited, got "
            f"{sum(map(len, history.chunks()))} on infinite sets"
        )
    protected = Protected.of(known.subspace, known.columns, items.vectors)
    extra = None if attributes is None else read(attributes, items, known)
    sample = Sample(history, items, protected, by, progress)
    n = max(sample.cases, 1)
    offered = sample.counts.of(ALL, None, *KINDS)[0]
    item_of = items.numbers(known.features, sample.counts.largest)
    one_each = _one_each(offered > 0, item_of)
    values = {name: along(v, items.vectors) for name, v in protected.pieces.items()}
    given = {
        name: grouped(column, offered)
        for name, column in protected_attributes(values, known.features).items()
    }
    unmatched = 0.0
    if extra is not None:
        unmatched = float(extra.iloc[one_each].isna().all(axis=1).mean())
        for column in extra.columns:
            name = column if column not in given else f"{column} (given)"
            given[name] = grouped(extra[column], offered)
    first = scores(sample)
    about = About(
        name=history.name,
        key=known.key,
        position=history.position,
        head=history.head,
        made=time.time(),
        version=__version__,
        strategy=repr(known.strategy),
        aims_at=known.strategy.aims_at,
        learns_on=known.strategy.learns_on,
        protected=tuple(protected.pieces),
        varied=tuple(protected.varied),
        decisions=sample.decisions,
        looked_at=sample.cases,
        decided_again=len(sample.reruns),
        outcomes=sample.log.n,
        left_out=sample.left_out,
        learnt=sample.learnt,
        boosting=has_boosting(),
    )
    answers: dict[str, Any] = {
        "scores": first,
        "choices": choices(sample.reruns, varied=bool(protected.varied), scores=first.found),
        "leak": leak(known, sample.log, protected, sample.spread / n, sample.varied / n),
        "exposure": exposure(
            sample.counts,
            given,
            items.vectors @ sample.aim,
            followed(sample.followed, [*protected.pieces], len(one_each)),
            by=by,
            segments=sample.segments,
            unmatched=unmatched,
            item_of=item_of,
        ),
    }
    for name, answer in answers.items():
        answers[name] = replace(answer, verdict=getattr(prose, name)(answer, about))
    return Audit(
        **answers,
        proxies=proxies(items.vectors[one_each], known, protected),
        given_up=Costs(*(sample.lost / n).tolist()),
        about=about,
    )


def _one_each(seen: NDArray[np.bool_], item_of: ItemOf) -> NDArray[np.int64]:
    """Return an arm of each item that was on offer, in one of its contexts, drawn at random."""
    rows = np.flatnonzero(seen)
    if item_of is None:
        return rows
    rows = np.random.default_rng(0).permutation(rows)
    return np.sort(rows[np.unique(item_of[rows], return_index=True)[1]])
