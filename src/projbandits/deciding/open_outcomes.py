"""Warnings of outcomes that do not come."""

from __future__ import annotations

import warnings

from projbandits._validation import outside
from projbandits.ledger.fold import Known
from projbandits.strategies.greedy import EpsilonGreedy

LEAST_OPEN = 100
"""Fewer open decisions than this are no reason to warn: outcomes of a new decider take a while."""

LEAST_TOLD = 10
"""So many outcomes must be told, all equal, before withdrawing one by one is a reason to warn."""


class Unheard:
    """Says once of each what may be wrong with a decider's outcomes."""

    def __init__(self) -> None:
        self._said = set[str]()

    def of_open(self, known: Known) -> None:
        """Warn if more decisions are open than the outcomes that were told weigh.

        A strategy that explores at a rate of its own makes no use of the precision.
        """
        if isinstance(known.strategy, EpsilonGreedy):
            return
        count, weight = known.open.count, known.state.ridge.weight
        if count >= LEAST_OPEN and count > weight and "open" not in self._said:
            self._warn(
                "open",
                f"more decisions are open ({count}) than outcomes were told (a weight of "
                f"{weight:.6g}): each counts in the precision as if its outcome were to come, so "
                "the decider explores less than it should if most never do; settle those whose "
                'outcome does not come, such as by expire("24h", 0.0)',
            )

    def of_equal(self, known: Known, unheard: int, least_told: int = LEAST_TOLD) -> None:
        """Warn if decisions are withdrawn unheard while all outcomes told are equal."""
        ridge = known.state.ridge
        if unheard and ridge.equal and ridge.n >= least_told and "equal" not in self._said:
            self._warn(
                "equal",
                f"decisions are withdrawn unheard ({unheard} here) while all {ridge.n} outcomes "
                "told are equal, so nothing can be learnt: if only clicks are told, settle the "
                'others as 0, by expire("24h", 0.0)',
            )

    def _warn(self, what: str, said: str) -> None:
        self._said.add(what)
        warnings.warn(said, UserWarning, stacklevel=outside())
