"""The log of a decider as it is replayed, read from its ledger in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from projbandits._validation import Array
from projbandits.arms import FiniteArms
from projbandits.deciding.decider import Decider
from projbandits.deciding.log_table import about
from projbandits.evaluation.rows import Logged, Offered, lacking, no_outcomes, subspaces
from projbandits.ledger.history import History, Record
from projbandits.strategies.open import OpenRows
from projbandits.strategies.probabilities import probabilities
from projbandits.subspace import Subspace

LIGHT_COLUMNS = ("id", "step", "outcome_position", "outcome", "known", "told_at", "ledger")
"""Those that no belief must be folded for."""


@dataclass(frozen=True, eq=False)
class FromLedger(Logged):
    """A log of which only what is small is in memory.

    Parameters
    ----------
    history : History
        Reads the rest.
    """

    history: History

    def told_records(self) -> Iterator[Record]:
        """Yield the decisions whose outcome was told, in order."""
        told = iter([self.columns["id"][t] for t in self.known])
        next_id = next(told, None)
        for record in self.history:
            if record.event.id == next_id:  # what was told meanwhile is left out
                yield record
                next_id = next(told, None)

    def arms(self) -> Iterator[Array]:
        """Yield the arms on offer at each row whose outcome was told, in order."""
        vectors = self.history.arms().vectors
        for record in self.told_records():
            if record.rows is None:
                raise lacking("offered", record.event.id)
            yield vectors[record.rows]

    def offers(self) -> Iterator[Offered]:
        """Yield what was offered and believed at each row whose outcome was told, in order."""
        return map(_offered, self.told_records())

    @cached_property
    def intercept(self) -> bool:
        """Whether the decider learnt a level that all outcomes share."""
        return self.history.belief().intercept


def from_ledger(decider: Decider, subspace: Subspace | None) -> Logged:
    """Return the log of a decider, or raise and say what it lacks.

    Nothing is folded for that: beliefs are, once, when they are asked for in order.
    """
    history = decider.history()
    known, arms = history.belief(), list[Array]()
    columns: dict[str, list[Any]] = {name: [] for name in LIGHT_COLUMNS}
    for record in history:
        event = record.event
        row = (
            event.id, event.step, record.told_after, record.outcome, record.known,
            record.outcome_position, known.key,
        )  # fmt: skip
        for name, value in zip(LIGHT_COLUMNS, row, strict=True):
            columns[name].append(value)
        arms.append(record.arm)
    if not any(after >= 0 for after in columns["outcome_position"]):
        raise no_outcomes()
    names = [*map(str, known.columns or range(known.subspace.ambient))]
    wanted, learnt = subspaces(json.loads(about(history)), subspace, names)
    return FromLedger(columns, np.array(arms), wanted, learnt, history)


def _offered(record: Record) -> Offered:
    id, grounds, place = record.event.id, record.grounds, record.place
    assert isinstance(grounds.arms, FiniteArms)
    assert place is not None
    chances = probabilities(grounds.strategy, grounds.state, grounds.arms)
    if chances is None:
        raise lacking("probabilities", id)
    ridge = grounds.state.ridge
    rows = ridge.open.whole if isinstance(ridge.open, OpenRows) else None
    return Offered(
        grounds.arms.vectors, chances, ridge.logged, place, ridge.n, ridge.forgotten, rows
    )
