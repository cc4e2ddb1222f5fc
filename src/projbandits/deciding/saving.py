"""The file of a decider: saved as a copy of its ledger, and read back event by event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path

from projbandits.deciding.eligibility import check_suits
from projbandits.deciding.validate import check_event
from projbandits.exceptions import DamagedError
from projbandits.ledger.copying import copied, write_copy
from projbandits.ledger.describing import strategy_of
from projbandits.ledger.events import Changed, Opened, StoredEvent
from projbandits.ledger.history import History
from projbandits.ledger.ledger import Ledger, Transaction
from projbandits.ledger.store import TEMPORARY, Store
from projbandits.strategies import LinearStrategy


def save(history: History, path: Path) -> None:
    """Write a ledger to a file."""
    write_copy(history, path)


def load(path: Path, given: Sequence[LinearStrategy]) -> Ledger:
    """Return the ledger in a file, in a temporary database of this process.

    Each event is validated, and enters through the transactions that every event enters by; in the
    end the chain must be that of the file.
    """
    with _named(path), copied(path) as (chunks, head):
        first = next(chunks)
        opened = first[0].event
        if not isinstance(opened, Opened):
            raise ValueError("its first event must be its opening")
        copy = _Copy(opened, given)
        for chunk in chain([first[1:]], chunks):
            copy.add(chunk)
        if copy.ledger.place.digest != head:
            raise ValueError("its chain is another one")
        check_suits(copy.ledger.belief().strategy)
        return copy.ledger


class _Copy:
    """A ledger that is made of the events of a file."""

    def __init__(self, opened: Opened, given: Sequence[LinearStrategy]) -> None:
        self._given, self._d, self._penalty = given, len(opened.subspace), 0.0
        self._rows = 0
        self._check(StoredEvent(1, opened))
        self.ledger = Store(None).create(TEMPORARY, opened, given)

    def _check(self, stored: StoredEvent) -> None:
        event = stored.event
        if isinstance(event, Opened | Changed) and event.label is not None:
            # As large as it was when arms were offered.
            strategy = _strategy(event, self._given)
            self._penalty = max(self._penalty, check_suits(strategy).penalty)
        self._rows = check_event(stored, self._d, self._penalty, self._rows)

    def add(self, chunk: Sequence[StoredEvent]) -> None:
        """Validate some events and add them."""
        for stored in chunk:
            self._check(stored)
        self.ledger.transact(partial(_added, chunk))


def _added(chunk: Sequence[StoredEvent], tx: Transaction) -> None:
    for position, event in chunk:
        if isinstance(event, Opened) or not tx.append(event) or tx.position != position:
            raise ValueError(f"its event {position} is not sound, or in another place")
    tx.known  # noqa: B018


def _strategy(event: Opened | Changed, given: Sequence[LinearStrategy]) -> LinearStrategy:
    """Return the strategy of an event, the one given or one of the library."""
    label = str(event.label)
    others = [each for each in given if repr(each) != label]
    if event.strategy is None and given and len(others) == len(given):
        raise ValueError(f"strategy must be {label}, as in the file, got {given[-1]!r}")
    return strategy_of(event.strategy, label, given)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name a file before what its content is found to lack."""
    try:
        yield
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, DamagedError) as e:
        if str(e).startswith(("path must", "strategy must")):
            raise
        raise ValueError(f"path must be an intact saved decider, got {str(path)!r}: {e}") from e
