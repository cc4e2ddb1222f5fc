"""The decisions of a log, one after another, as an audit needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.arms import FiniteArms
from projbandits.audit.offered_items import OfferedItems
from projbandits.decisions.contexts import noted
from projbandits.decisions.decision import Grounds
from projbandits.decisions.readings import Account, Reader
from projbandits.ledger.fold import Known
from projbandits.ledger.protocol import Held, Ledger
from projbandits.ledger.streams import Streams

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


class Log(NamedTuple):
    """Where decisions are read from.

    Parameters
    ----------
    known : Known
        What is known now.
    ledger, reader : Ledger and Reader
        The ledger, and what makes beliefs again.
    spilled : callable
        Returns the decisions that were moved to files.
    """

    known: Known
    ledger: Ledger
    reader: Reader
    spilled: Callable[[], Iterable[list[Account]]]


def made(log: Log, items: OfferedItems, by: str | None, *, look: bool = True) -> Iterator[Made]:
    """Yield the decisions of a log, some thousand of which are in memory at a time.

    Parameters
    ----------
    log, items : Log and OfferedItems
        Where they are, and what was ever on offer.
    by : str or None
        What makes their segments.
    look : bool
        Whether what they rested on is wanted.
    """
    streams = Streams(log.known.seed)
    share = DECIDED_AGAIN / max(log.known.state.step - 1, DECIDED_AGAIN) if look else 0.0
    rng = np.random.default_rng(0)
    number = 0
    for accounts in log.spilled():
        for account in accounts:
            number += 1
            yield _filed(account, items, by, rng.random() < share, number)
    for some in log.ledger.decisions():
        # Of several processes, each may have known something else: no belief twice.
        for held in sorted(some, key=lambda held: held.decision.known):
            looked = rng.random() < share
            yield _held(held, log.reader.grounds(held) if looked else None, by, streams)


def _filed(
    account: Account, items: OfferedItems, by: str | None, looked: bool, number: int
) -> Made:
    decision, grounds = account.decision, account.decision.grounds
    rows = chosen = None
    if grounds is not None and isinstance(grounds.arms, FiniteArms) and decision.index is not None:
        rows = items.numbers(grounds.arms)
        chosen = grounds.position(decision.index)
    return Made(
        rows,
        chosen,
        decision.arm,
        account.outcome,
        _segment(by, decision.around, decision.note),
        grounds if looked else None,
        lambda: np.random.default_rng(number),
    )


def _held(held: Held, grounds: Grounds | None, by: str | None, streams: Streams) -> Made:
    event = held.decision
    rows = chosen = None
    if event.rows is not None and event.index is not None:
        rows = event.rows.astype(np.int64)
        chosen = event.index
        if event.taken:
            rows = np.delete(rows, event.taken)
            chosen -= sum(place < event.index for place in event.taken)
    return Made(
        rows,
        chosen,
        held.arm,
        np.nan if held.outcome is None else held.outcome,
        _segment(by, event.context, event.meta),
        grounds,
        lambda: streams.at(max(event.session, 0), event.draw),
    )


def _segment(by: str | None, *notes: str | None) -> Any:
    return None if by is None else noted(by, *notes)
