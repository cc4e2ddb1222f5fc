"""The log of a decider as it is replayed, read from its ledger in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from projbandits.arms import FiniteArms
from projbandits.deciding.accounted import Accounted
from projbandits.decisions.log_table import about
from projbandits.decisions.probabilities import probabilities
from projbandits.decisions.readings import Account, Reader
from projbandits.evaluation.rows import Logged, Offered, lacking, no_outcomes, open_log, subspaces
from projbandits.strategies.open import OpenRows
from projbandits.subspace import Subspace


@dataclass(frozen=True, eq=False)
class FromLedger(Logged):
    """A log of which only what is small is in memory.

    Parameters
    ----------
    reader : Reader
        Reads the rest.
    """

    reader: Reader

    def offers(self) -> Iterator[Offered]:
        """Yield what was offered and believed at each row whose outcome was told, in order."""
        told = iter([self.columns["id"][t] for t in self.known])
        next_id = next(told, None)
        for accounts in self.reader.accounts(outcome_position=False):
            for account in accounts:
                if account.decision.id == next_id:  # what was told meanwhile is left out
                    yield _offered(account)
                    next_id = next(told, None)


def from_ledger(decider: Accounted, subspace: Subspace | None) -> Logged:
    """Return the log of a decider, or raise and say what it lacks."""
    if decider._files:  # some of it is in tables anyway
        return open_log(decider.log(), subspace)
    reader, known = decider._logged(), decider._now()
    columns: dict[str, list[Any]] = {name: [] for name in TAKEN_COLUMNS}
    arms = list[Any]()
    for accounts in reader.accounts():
        for account in accounts:
            for name, value in zip(TAKEN_COLUMNS, _light(account), strict=True):
                columns[name].append(value)
            arms.append(account.decision.arm)
    if not any(after >= 0 for after in columns["outcome_position"]):
        raise no_outcomes()
    columns["ledger"] = [known.key] * len(arms)
    names = [*map(str, known.columns or range(known.subspace.ambient))]
    wanted, learnt = subspaces(json.loads(about(known, reader.strategies())), subspace, names)
    return FromLedger(columns, np.array(arms), wanted, learnt, reader)


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


def _light(account: Account) -> tuple[Any, ...]:
    decision, outcome, _, outcome_position, known, place = account
    grounds = decision.grounds
    ridge = None if grounds is None else grounds.state.ridge
    n, forgotten = (-1, 0.0) if ridge is None else (ridge.n, ridge.forgotten)
    return decision.id, decision.step, outcome_position, outcome, n, forgotten, known, place


def _offered(account: Account) -> Offered:
    id, grounds = account.decision.id, account.decision.grounds
    index = account.decision.index
    if grounds is None or index is None or not isinstance(grounds.arms, FiniteArms):
        raise lacking("offered", id)
    chances = probabilities(grounds.strategy, grounds.state, grounds.arms)
    if chances is None:
        raise lacking("probabilities", id)
    place = grounds.position(index)
    ridge = grounds.state.ridge
    rows = ridge.open.whole if isinstance(ridge.open, OpenRows) else None
    return Offered(grounds.arms.vectors, chances, ridge.logged, place, rows)
