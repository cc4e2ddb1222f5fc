"""All arms that were ever on offer, each with how often it was, and the outcomes there were."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from projbandits._checks import Array
from projbandits.arms import FiniteArms
from projbandits.deciding.readings import Account
from projbandits.ledger.catalogue import Catalogue
from projbandits.ledger.fold import Known
from projbandits.ledger.protocol import Ledger
from projbandits.ridge import Ridge

DRAWN = 65_536
"""How many arms are drawn at a time."""


class Pool:
    """What an audit draws from.

    Parameters
    ----------
    known : Known
        What is known now.
    ledger : Ledger
        Whose decisions count.
    spilled : iterable of list of Account
        And those that were moved to files.
    """

    def __init__(self, known: Known, ledger: Ledger, spilled: Iterable[list[Account]]) -> None:
        d = known.subspace.ambient
        # Of a strategy that learns on projections, what it believes of whole arms is not known.
        self._whole = Ridge.prior(d, known.state.ridge.penalty)
        self._asked = known.strategy.learns_on == "projection"
        effects = known.state.effects
        self._theta = (known.state.ridge if effects is None else effects).theta
        parts = [self._in_files(spilled, Catalogue(d)), self._in_ledger(ledger)]
        rows, counts = parts[1]
        if len(parts[0][0]):
            rows, counts = np.vstack([parts[0][0], rows]), np.append(parts[0][1], counts)
        self.vectors: Array = rows
        self.counts: NDArray[np.int64] = counts
        self._upto = self.counts.cumsum()
        self._drawn = np.empty(0, dtype=np.int64)

    def drawn(self, rng: np.random.Generator, size: int) -> Array:
        """Return arms drawn among all that were ever offered, each as often as it was."""
        if len(self._drawn) < size:
            # Many at a time and in order, since the arms are looked up in a long table.
            at = np.sort(rng.integers(self._upto[-1], size=max(size, DRAWN)))
            self._drawn = rng.permutation(np.searchsorted(self._upto, at, "right"))
        taken, self._drawn = self._drawn[:size], self._drawn[size:]
        drawn: Array = self.vectors[taken]
        return drawn

    @property
    def theta(self) -> Array:
        """What the returns are believed to follow, the protected part's effect included."""
        return self._whole.theta if self._asked else self._theta

    def _in_ledger(self, ledger: Ledger) -> tuple[Array, NDArray[np.int64]]:
        counts = np.zeros(0, dtype=np.int64)
        for some in ledger.decisions():
            kept = [
                (h.decision.rows, h.decision.taken) for h in some if h.decision.rows is not None
            ]
            if kept:
                counts = _sum(counts, np.concatenate([rows for rows, _ in kept]), 1)
                taken = [rows[place] for rows, places in kept for place in places]
                counts = _sum(counts, np.array(taken, dtype=np.int64), -1)
            self._tell([(held.arm, held.reward) for held in some if held.reward is not None])
        catalogue = ledger.catalogue()
        assert catalogue is not None
        offered = np.flatnonzero(counts)
        return catalogue.vectors[offered], counts[offered]

    def _in_files(
        self, spilled: Iterable[list[Account]], catalogue: Catalogue
    ) -> tuple[Array, NDArray[np.int64]]:
        counts = np.zeros(0, dtype=np.int64)
        for accounts in spilled:
            for account in accounts:
                grounds = account.decision.grounds
                if grounds is not None and isinstance(grounds.arms, FiniteArms):
                    rows, new = catalogue.numbered(grounds.arms.vectors)
                    catalogue.extend(new)
                    counts = _sum(counts, rows, 1)
            told = [account for account in accounts if account.told_after >= 0]
            self._tell([(account.decision.arm, account.reward) for account in told])
        return catalogue.vectors, counts

    def _tell(self, told: list[tuple[Array, float]]) -> None:
        if self._asked and told:
            X, rewards = np.array([x for x, _ in told]), np.array([r for _, r in told])
            self._whole = self._whole.update_many(X, rewards)


def _sum(counts: NDArray[np.int64], rows: NDArray[np.generic], by: int) -> NDArray[np.int64]:
    """Return counts with those of some rows changed."""
    more = np.bincount(rows, minlength=len(counts))
    more = by * more.astype(np.int64)
    more[: len(counts)] += counts
    return more
