"""The log of a decider as it is replayed, read from its ledger in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from projbandits.arms import FiniteArms
from projbandits.deciding.decider import Decider
from projbandits.deciding.log_table import about
from projbandits.evaluation.rows import Logged, Offered, lacking, no_outcomes, subspaces
from projbandits.ledger.history import History, Record
from projbandits.strategies.open import OpenRows
from projbandits.strategies.probabilities import probabilities
from projbandits.subspace import Subspace


@dataclass(frozen=True, eq=False)
class FromLedger(Logged):
    """A log of which only what is small is in memory.

    Parameters
    ----------
    history : History
        Reads the rest.
    """

    history: History

    def offers(self) -> Iterator[Offered]:
        """Yield what was offered and believed at each row whose outcome was told, in order."""
        told = iter([self.columns["id"][t] for t in self.known])
        next_id = next(told, None)
        for record in self.history:
            if record.event.id == next_id:  # what was told meanwhile is left out
                yield _offered(record)
                next_id = next(told, None)


def from_ledger(decider: Decider, subspace: Subspace | None) -> Logged:
    """Return the log of a decider, or raise and say what it lacks."""
    history = decider.history()
    known = history.belief()
    columns: dict[str, list[Any]] = {name: [] for name in TAKEN_COLUMNS}
    arms = list[Any]()
    for record in history:
        for name, value in zip(TAKEN_COLUMNS, _light(record), strict=True):
            columns[name].append(value)
        arms.append(record.arm)
    if not any(after >= 0 for after in columns["outcome_position"]):
        raise no_outcomes()
    columns["ledger"] = [known.key] * len(arms)
    names = [*map(str, known.columns or range(known.subspace.ambient))]
    wanted, learnt = subspaces(json.loads(about(history)), subspace, names)
    return FromLedger(columns, np.array(arms), wanted, learnt, history)


TAKEN_COLUMNS = (
    "id",
    "step",
    "outcome_position",
    "outcome",
    "observations",
    "forgotten",
    "known",
    "told_at",
)


def _light(record: Record) -> tuple[Any, ...]:
    event, ridge = record.event, record.grounds.state.ridge
    return (
        event.id, event.step, record.told_after, record.outcome, ridge.n, ridge.forgotten,
        record.known, record.outcome_position,
    )  # fmt: skip


def _offered(record: Record) -> Offered:
    id, grounds, index = record.event.id, record.grounds, record.event.index
    if index is None or not isinstance(grounds.arms, FiniteArms):
        raise lacking("offered", id)
    chances = probabilities(grounds.strategy, grounds.state, grounds.arms)
    if chances is None:
        raise lacking("probabilities", id)
    place = grounds.position(index)
    ridge = grounds.state.ridge
    rows = ridge.open.whole if isinstance(ridge.open, OpenRows) else None
    return Offered(grounds.arms.vectors, chances, ridge.logged, place, rows)
