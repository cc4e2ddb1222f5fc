"""The distinct arms that were ever on offer, and which of them are the same item."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.features.contexts import item_places
from projbandits.features.features import Features
from projbandits.ledger.catalogue import Catalogue
from projbandits.ledger.labels import read_label

DRAWN = 65_536
"""How many arms are drawn at a time."""


class OfferedItems:
    """The arms that were ever on offer.

    Parameters
    ----------
    catalogue : Catalogue
        All of them.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue, self._first = catalogue, len(catalogue)
        self.vectors: Array = catalogue.vectors
        self._drawn = np.empty(0, dtype=np.int64)

    @cached_property
    def labels(self) -> list[str | None]:
        """What the arms are called, None where the log does not say."""
        texts = [self._catalogue.label(row) for row in range(self._first)]
        return [None if text is None else str(read_label(text)) for text in texts]

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
        elif labels or len(places) < self.vectors.shape[1]:
            codes = Catalogue(len(places)).numbered(self.vectors[:, places])[0]
        else:
            return None
        numbers: NDArray[np.int64] = codes.astype(np.int64)
        return None if numbers.max() + 1 == len(numbers) else numbers

    def drawn(self, rng: np.random.Generator, size: int) -> Array:
        """Return some of the arms, drawn at random."""
        if len(self._drawn) < size:
            self._drawn = rng.integers(len(self.vectors), size=max(size, DRAWN))
        taken, self._drawn = self._drawn[:size], self._drawn[size:]
        drawn: Array = self.vectors[taken]
        return drawn
