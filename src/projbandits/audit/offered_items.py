"""The distinct arms that were ever on offer, and which of them are the same item."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projbandits._cached import cached_property
from projbandits._validation import Array
from projbandits.arms import FiniteArms
from projbandits.decisions.contexts import item_places
from projbandits.decisions.offers import Offer
from projbandits.decisions.readings import Account
from projbandits.features.features import Features
from projbandits.ledger.catalogue import Catalogue
from projbandits.ledger.labels import read_label
from projbandits.ledger.protocol import Ledger

DRAWN = 65_536
"""How many arms are drawn at a time."""


class OfferedItems:
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
                    _, new = self._filed.named(grounds.arms.vectors, _called(grounds.arms))
                    if new is not None:
                        self._filed.extend(new.vectors, new.labels)
        self._catalogue, self._first = catalogue, len(mine)
        filed = self._filed.vectors
        self.vectors: Array = np.vstack([mine, filed]) if len(filed) else mine
        self._drawn = np.empty(0, dtype=np.int64)

    @cached_property
    def labels(self) -> list[str | None]:
        """What the arms are called, None where the log does not say."""
        mine = [self._catalogue.label(row) for row in range(self._first)]
        filed = [self._filed.label(row) for row in range(len(self._filed))]
        return [None if text is None else str(read_label(text)) for text in [*mine, *filed]]

    def who(self, features: Features | None, largest: int) -> NDArray[np.int64] | None:
        """Return which item each arm is; None if every arm is one of its own.

        An item has another arm in each context. Its label says who it is, if that can be believed:
        where all labels are 0, 1, ... up to the size of an offer, they may only count its rows.
        Otherwise the features say it that do not depend on the context.

        Parameters
        ----------
        features : Features or None
            Which know what comes with a call.
        largest : int
            How many arms were on offer at most.
        """
        import pandas as pd

        labels = [text for text in self.labels if text is not None]
        places = item_places(features, self.vectors.shape[1])
        if len(labels) == len(self.vectors) and not {*labels} <= {*map(str, range(largest))}:
            codes: NDArray[Any] = pd.factorize(np.array(labels, dtype=object))[0]
        elif labels or len(self._filed) or len(places) < self.vectors.shape[1]:
            codes = Catalogue(len(places)).numbered(self.vectors[:, places])[0]
        else:
            return None
        numbers: NDArray[np.int64] = codes.astype(np.int64)
        return None if numbers.max() + 1 == len(numbers) else numbers

    def numbers(self, arms: FiniteArms) -> NDArray[np.int64]:
        """Return the numbers of arms of a decision that is in a file."""
        rows, _ = self._filed.named(arms.vectors, _called(arms))
        numbers: NDArray[np.int64] = rows.astype(np.int64) + self._first
        return numbers

    def drawn(self, rng: np.random.Generator, size: int) -> Array:
        """Return some of the arms, drawn at random."""
        if len(self._drawn) < size:
            self._drawn = rng.integers(len(self.vectors), size=max(size, DRAWN))
        taken, self._drawn = self._drawn[:size], self._drawn[size:]
        drawn: Array = self.vectors[taken]
        return drawn


def _called(arms: FiniteArms) -> tuple[str, ...] | None:
    return arms.labels if isinstance(arms, Offer) else None
