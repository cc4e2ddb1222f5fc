"""The decisions of a ledger as chunks: what was on offer, what was chosen, and how likely."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from projbandits._checks import Array
from projbandits.deciding.accounted import Accounted
from projbandits.evaluation.log_schema import Chunk
from projbandits.evaluation.logged import lacking, no_outcomes
from projbandits.ledger.protocol import Held, Ledger

LEDGER_ROWS = 8192
"""About how many events are read at a time."""
KEPT_BYTES = 400_000_000
"""Up to how many bytes of offers are kept once they are read; a ledger takes long to decode."""


@dataclass(frozen=True, eq=False)
class ChunkPiece:
    """A chunk that is read already."""

    chunk: Chunk

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunk."""
        yield self.chunk


class LedgerRows:
    """The decisions that a ledger has now and whose outcome was told, in order."""

    rows: int | None = None
    names: tuple[str, ...] = ()

    def __init__(self, ledger: Ledger, arms: Array) -> None:
        self._ledger = ledger
        self._last = ledger.last()
        self._kept: list[ChunkPiece] | None = None
        self.arms = arms

    def pieces(self) -> Iterator[ChunkPiece]:
        """Yield some thousand decisions at a time."""
        if self._kept is not None:
            yield from self._kept
            return
        first, size, kept = 0, 0, list[ChunkPiece]()
        for some in self._ledger.decisions(0, LEDGER_ROWS):
            told = [h for h in some if h.reward is not None and h.position <= self._last]
            if not told:
                continue
            piece = ChunkPiece(self._chunk(told, first))
            first += len(told)
            offered = piece.chunk.offered
            size += 0 if offered is None else offered.nbytes
            if size <= KEPT_BYTES:
                kept.append(piece)
            yield piece
        if size <= KEPT_BYTES:
            self._kept = kept

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
        kind = np.min_scalar_type(-len(self.arms))  # arms are few, and offers many
        offered: Any = np.full((len(told), widest), -1, dtype=kind)
        for t, there in enumerate(offers):
            offered[t, : len(there)] = there
        return Chunk(
            first,
            self.arms,
            offered[np.arange(len(told)), positions].astype(np.int64),
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
        raise no_outcomes()
    return LedgerRows(decider._ledger, np.array(catalogue.vectors))
