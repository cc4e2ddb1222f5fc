"""The decisions of a ledger as chunks: what was on offer, what was chosen, and how likely."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from projbandits._checks import Array
from projbandits.deciding.accounted import Accounted
from projbandits.evaluation.logged import NOTHING, lacking
from projbandits.evaluation.schema import Chunk
from projbandits.ledger.protocol import Held, Ledger

ROWS = 8192
"""About how many events are read at a time."""


@dataclass(frozen=True, eq=False)
class ChunkPiece:
    """A chunk that is read already."""

    chunk: Chunk

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunk."""
        yield self.chunk


class LedgerRows:
    """The decisions of a ledger whose outcome was told, in order."""

    rows: int | None = None
    names: tuple[str, ...] = ()

    def __init__(self, ledger: Ledger, arms: Array) -> None:
        self._ledger = ledger
        self.arms = arms

    def pieces(self) -> Iterator[ChunkPiece]:
        """Yield some thousand decisions at a time."""
        first = 0
        for some in self._ledger.decisions(0, ROWS):
            told = [held for held in some if held.reward is not None]
            if told:
                yield ChunkPiece(self._chunk(told, first))
                first += len(told)

    def _chunk(self, told: list[Held], first: int) -> Chunk:
        offers, positions = list[Any](), np.empty(len(told), dtype=np.int64)
        for t, held in enumerate(told):
            event = held.decision
            index, rows = event.index, event.rows
            if rows is None or index is None:
                raise lacking("offered", event.id)
            if math.isnan(event.propensity):
                raise lacking("probabilities", event.id)
            positions[t] = index
            if event.taken:
                positions[t] -= sum(place < index for place in event.taken)
            offers.append(np.delete(rows, event.taken) if event.taken else rows)
        widest = max(map(len, offers))
        offered = np.full((len(told), widest), -1, dtype=np.int64)
        for t, there in enumerate(offers):
            offered[t, : len(there)] = there
        return Chunk(
            first,
            self.arms,
            offered[np.arange(len(told)), positions],
            np.array([held.reward for held in told], dtype=np.float64),
            np.array([held.decision.propensity for held in told]),
            offered=offered,
            position=positions,
            time=np.array([held.decision.time for held in told]),
        )


def ledger_rows(decider: Accounted) -> LedgerRows:
    """Return the decisions of a decider, or raise and say what it lacks."""
    decider._logged()
    if decider._files:
        raise ValueError(
            "decider must have its whole log in its ledger, some of it was spilled to files: pass "
            "the decider itself to replay"
        )
    catalogue = decider._ledger.catalogue()
    if catalogue is None or not len(catalogue):
        raise NOTHING
    return LedgerRows(decider._ledger, np.array(catalogue.vectors))
