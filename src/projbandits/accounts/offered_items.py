"""The distinct arms that were ever on offer: what an audit swaps protected parts among."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from projbandits._checks import Array
from projbandits.arms import FiniteArms
from projbandits.deciding.readings import Account
from projbandits.ledger.catalogue import Catalogue
from projbandits.ledger.protocol import Ledger

DRAWN = 65_536
"""How many arms are drawn at a time."""


class Items:
    """The rows of a ledger's catalogue, followed by those of decisions that were moved to files.

    Parameters
    ----------
    d : int
        The number of features.
    ledger : Ledger
        Whose decisions count.
    spilled : iterable of list of Account
        And those in files.
    """

    def __init__(self, d: int, ledger: Ledger, spilled: Iterable[list[Account]]) -> None:
        catalogue = ledger.catalogue()
        assert catalogue is not None
        mine, self._filed = catalogue.vectors, Catalogue(d)
        for accounts in spilled:
            for account in accounts:
                grounds = account.decision.grounds
                if grounds is not None and isinstance(grounds.arms, FiniteArms):
                    self._filed.extend(self._filed.numbered(grounds.arms.vectors)[1])
        self._first = len(mine)
        filed = self._filed.vectors
        self.vectors: Array = np.vstack([mine, filed]) if len(filed) else mine
        self._drawn = np.empty(0, dtype=np.int64)

    def numbers(self, vectors: Array) -> NDArray[np.int64]:
        """Return the numbers of arms of a decision that is in a file."""
        rows, _ = self._filed.numbered(vectors)
        numbers: NDArray[np.int64] = rows.astype(np.int64) + self._first
        return numbers

    def drawn(self, rng: np.random.Generator, size: int) -> Array:
        """Return some of the arms, drawn at random."""
        if len(self._drawn) < size:
            self._drawn = rng.integers(len(self.vectors), size=max(size, DRAWN))
        taken, self._drawn = self._drawn[:size], self._drawn[size:]
        drawn: Array = self.vectors[taken]
        return drawn
