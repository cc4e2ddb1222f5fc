"""The decisions of a ledger as chunks: what was on offer, what was chosen, and how likely."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from projbandits._validation import Array
from projbandits.arms import FiniteArms
from projbandits.deciding.decider import Decider
from projbandits.evaluation.rows import lacking, no_outcomes
from projbandits.evaluation.schema import SUM, Chunk, Ints
from projbandits.ledger.history import History, Record
from projbandits.strategies.probabilities import probabilities

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

    def __init__(self, history: History, arms: Array, chances: bool) -> None:
        self._history, self._with_chances = history, chances
        self._kept: list[ChunkPiece] | None = None
        self.arms = arms

    def without_chances(self) -> LedgerRows:
        """Return the same decisions with no more than the propensities of their choices."""
        return LedgerRows(self._history, self.arms, False)

    def pieces(self) -> Iterator[ChunkPiece]:
        """Yield some thousand decisions at a time."""
        if self._kept is not None:
            yield from self._kept
            return
        first, size, kept = 0, 0, list[ChunkPiece]()
        for some in self._history.chunks(size=LEDGER_ROWS):
            told = [record for record in some if record.told]
            if not told:
                continue
            piece = ChunkPiece(self._chunk(told, first))
            first += len(told)
            offered = piece.chunk.offered
            size += 0 if offered is None else offered.nbytes
            size += 0 if piece.chunk.chances is None else piece.chunk.chances.nbytes
            if size <= KEPT_BYTES:
                kept.append(piece)
            yield piece
        if size <= KEPT_BYTES:
            self._kept = kept

    def _chunk(self, told: list[Record], first: int) -> Chunk:
        offers, positions = list[Any](), np.empty(len(told), dtype=np.int64)
        for t, held in enumerate(told):
            rows, place = held.rows, held.place
            if rows is None or place is None:
                raise lacking("offered", held.event.id)
            if math.isnan(held.event.propensity):
                raise lacking("probabilities", held.event.id)
            positions[t] = place
            offers.append(rows)
        widest = max(map(len, offers))
        kind = np.min_scalar_type(-len(self.arms))  # arms are few, and offers many
        offered: Any = np.full((len(told), widest), -1, dtype=kind)
        for t, there in enumerate(offers):
            offered[t, : len(there)] = there
        return Chunk(
            first,
            self.arms,
            offered[np.arange(len(told)), positions].astype(np.int64),
            np.array([held.outcome for held in told], dtype=np.float64),
            np.array([held.event.propensity for held in told]),
            self._chances(told, positions, widest),
            offered=offered,
            position=positions,
            time=np.array([held.event.time for held in told]),
        )

    def _chances(self, told: list[Record], positions: Ints, widest: int) -> Array | None:
        """Return how likely each arm on offer was, by the belief of the time.

        None if that is unknown, or not what was recorded.
        """
        if not self._with_chances:
            return None
        found = np.zeros((len(told), widest))
        for t, held in enumerate(told):
            grounds = held.grounds
            assert isinstance(grounds.arms, FiniteArms)
            chances = probabilities(grounds.strategy, grounds.state, grounds.arms)
            if chances is None:
                return None
            found[t, : len(chances)] = chances
        recorded = np.array([held.event.propensity for held in told])
        made = found[np.arange(len(told)), positions]
        return found if (np.abs(made - recorded) <= SUM).all() else None


def ledger_rows(decider: Decider) -> LedgerRows:
    """Return the decisions of a decider, or raise and say what it lacks."""
    history = decider.history()
    if not len(history.arms()):
        raise no_outcomes()
    return LedgerRows(history, np.array(history.arms().vectors), True)
