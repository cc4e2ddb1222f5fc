"""The decisions of a log, one after another, as an audit needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.audit.offered_items import OfferedItems
from projbandits.features.contexts import noted
from projbandits.ledger.decision import Grounds
from projbandits.ledger.history import History

DECIDED_AGAIN = 3000
"""If there are more decisions, about this many are decided again; all are counted."""


class Made(NamedTuple):
    """A decision.

    Parameters
    ----------
    rows : ndarray of int or None
        The numbers of the arms on offer to it among all `OfferedItems`; None if they were not kept.
    chosen : int or None
        The place of the chosen arm among them; None in an infinite set.
    arm, outcome : ndarray and float
        The chosen arm and its outcome; nan while there is none.
    segment : optional
        What came with it under `by`, or was noted; None if nothing was.
    grounds : Grounds or None
        What it rested on, if it is looked at.
    stream : callable
        Returns the random numbers with which it is decided again, from the first on: those with
        which it was made, as far as the log knows them.
    """

    rows: NDArray[np.int64] | None
    chosen: int | None
    arm: Array
    outcome: float
    segment: Any
    grounds: Grounds | None
    stream: Callable[[], np.random.Generator]

    @property
    def told(self) -> bool:
        """Whether its outcome is known."""
        return not np.isnan(self.outcome)


def made(
    history: History, items: OfferedItems, by: str | None, *, look: bool = True
) -> Iterator[Made]:
    """Yield the decisions of a log, some thousand of which are in memory at a time.

    Parameters
    ----------
    history, items : History and OfferedItems
        Where they are, and what was ever on offer.
    by : str or None
        What makes their segments.
    look : bool
        Whether what they rested on is wanted.
    """
    steps = history.belief().state.step - 1
    share = DECIDED_AGAIN / max(steps, DECIDED_AGAIN) if look else 0.0
    rng = np.random.default_rng(0)
    for record in history:
        looked = rng.random() < share
        yield Made(
            record.rows,
            None if record.rows is None else record.place,
            record.arm,
            record.outcome,
            _segment(by, record.event.context, record.event.meta),
            record.grounds if looked else None,
            record.stream,
        )


def _segment(by: str | None, *notes: str | None) -> Any:
    return None if by is None else noted(by, *notes)
