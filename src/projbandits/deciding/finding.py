"""A decider finds U in its own log, and says which decisions hang on it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from projbandits._validation import Array, did_you_mean
from projbandits.arms import FiniteArms
from projbandits.deciding.offers import match
from projbandits.features.contexts import named, noted
from projbandits.finding import SideInformation, SubspaceEstimate
from projbandits.ledger.decision import Grounds
from projbandits.ledger.events import Decided
from projbandits.ledger.history import History

if TYPE_CHECKING:
    import pandas as pd

HANGS = 0.05
"""A decision hangs on U if its best guess would be another in more than this share of resamples."""


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """How far the best guesses of a log depend on a U that was found.

    Parameters
    ----------
    share : float
        Over all decisions and resampled U, how often the best guess would be another one.
    decisions : DataFrame
        A row per decision: `best`, the row of its best guess with the U that was found; `differs`,
        the share of resampled U with another one; `instead`, the most frequent other one (-1 if
        there is none); and `gap`, how far `best` is ahead of the next by the estimate.
    """

    share: float
    decisions: pd.DataFrame = field(repr=False)

    @property
    def hanging(self) -> pd.DataFrame:
        """The decisions whose best guess is another in more than 5 % of resamples, worst first."""
        rows = self.decisions[self.decisions["differs"] > HANGS]
        return rows.sort_values("differs", ascending=False, kind="stable")

    def report(self) -> str:
        """Return it in words."""
        n = len(self.decisions)
        return (
            f"With U resampled, {100 * self.share:.3g} % of the best guesses of {n:,} decisions "
            f"would be others. {len(self.hanging):,} decisions hang on U: their best guess would "
            f"be another in more than {100 * HANGS:.0f} % of resamples."
        )


def find_subspace(
    history: History, by: str, leave_out: int | None = None, seed: int = 0
) -> SubspaceEstimate:
    """Return the U that the groups of a log agree on; see `Decider.find_subspace`."""
    import pandas as pd

    side, names = SideInformation(), history.belief().columns
    for records in history.chunks():
        told = [record for record in records if record.told]
        if not told:
            continue
        arms: Any = np.array([record.arm for record in told])
        if names is not None:
            arms = pd.DataFrame(arms, columns=list(names))
        outcomes = [record.outcome for record in told]
        groups = [_group(record.event, by) for record in told]
        side = side.update(groups=(arms, outcomes, groups))
    if side.kind is None:
        raise ValueError("the log must hold outcomes to find a subspace from, it has none")
    return side.find(leave_out=leave_out, seed=seed)


def sensitivity(history: History, found: SubspaceEstimate) -> Sensitivity:
    """Return how the best guesses of a log depend on U; see `Decider.sensitivity`."""
    import pandas as pd

    if not isinstance(found, SubspaceEstimate):
        raise TypeError(f"found must be what find_subspace returns, got {found!r}")
    known = history.belief()
    if found.subspace.ambient != known.subspace.ambient:
        raise ValueError(
            f"found must be a subspace of {known.subspace.ambient} features, got {found.subspace!r}"
        )
    if not len(found.resampled):
        raise ValueError("found must leave something out, got one that keeps everything")
    names, order = found.subspace.names, None
    if names is not None and known.columns is not None:
        order = match("found.subspace", names, known.columns)
    rests = [found.left_out.basis, *found.resampled]
    stacked = np.array(rests if order is None else [basis[order] for basis in rests])
    rows = {}
    for record in history:
        row = _differs(record.grounds, stacked)
        if row is not None:
            rows[record.event.id] = row
    if not rows:
        raise ValueError(
            "the log must hold decisions among finitely many arms with what was on offer, it "
            "has none"
        )
    columns = ["best", "differs", "instead", "gap"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("id")
    return Sensitivity(float(table["differs"].mean()), table)


def _differs(grounds: Grounds, rests: Array) -> tuple[int, float, int, float] | None:
    """Return a row of `Sensitivity.decisions`; the first of `rests` is what was found."""
    if not isinstance(grounds.arms, FiniteArms):
        return None
    X, theta = grounds.arms.vectors, grounds.state.ridge.theta
    wanted = theta - np.einsum("bij,bj->bi", rests, np.einsum("bij,i->bj", rests, theta))
    scores = np.einsum("bi,ki->bk", wanted, X)
    guesses = scores.argmax(axis=1)
    best, others = int(guesses[0]), guesses[1:]
    elsewhere = others[others != best]
    instead = int(np.bincount(elsewhere).argmax()) if len(elsewhere) else -1
    behind = np.delete(scores[0], best)
    gap = float(scores[0, best] - behind.max()) if len(behind) else np.inf
    rows = grounds.rows(len(X))
    shown = int(rows[instead]) if instead >= 0 else -1
    return int(rows[best]), float((others != best).mean()), shown, gap


def _group(decision: Decided, by: str) -> str:
    value = noted(by, decision.context, decision.meta)
    if value is None:
        notes = [json.loads(note) for note in (decision.context, decision.meta) if note is not None]
        known = [name for note in notes if isinstance(note, dict) for name in note]
        raise ValueError(
            "by must be a column of the context or a key of meta that every decision has, got "
            f"{by!r}, which decision {decision.id!r} lacks{did_you_mean(by, known)}"
        )
    return named(value)
