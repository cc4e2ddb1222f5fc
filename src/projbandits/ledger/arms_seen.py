"""The rows of a catalogue that lives in a database, as far as this process has seen them."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterable

import numpy as np

from projbandits._validation import Array
from projbandits.ledger.catalogue import Catalogue
from projbandits.ledger.events import Offered
from projbandits.ledger.protocol import Entry
from projbandits.ledger.reading import Reader


class ArmsSeen:
    """Finds the features of rows, and brings the catalogue up to date when its user asks for it.

    The thread that commits learns of new rows while another thread may be numbering an offer. So
    they wait here, and enter the catalogue only in a call of `catalogue`.

    Parameters
    ----------
    d : int
        How many features an arm has.
    """

    def __init__(self, d: int) -> None:
        self._catalogue = Catalogue(d)
        self._last = 0
        self.after_fork()

    def after_fork(self) -> None:
        """Forget what is waiting, in a forked child; it is read again."""
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, Offered]] = []

    def add(self, entries: Iterable[Entry]) -> None:
        """Take note of rows that this process has added."""
        for entry in entries:
            if isinstance(entry.event, Offered):
                with self._lock:
                    # If another process has added some before, these are read after them.
                    if entry.event.first == self._size():
                        self._waiting.append((entry.position, entry.event))

    def complete(self, rows: int) -> bool:
        """Tell whether this many rows are known."""
        with self._lock:
            return self._size() == rows

    def catalogue(self, reader: Reader | None) -> Catalogue:
        """Return the catalogue with all rows in it, those that the reader finds too."""
        with self._lock:
            if reader is not None:
                self._read(reader)
            for position, event in self._waiting:
                new = slice(self._catalogue.size - event.first, None)
                labels = None if event.labels is None else event.labels[new]
                self._catalogue.extend(event.vectors[new], labels)
                self._last = position
            self._waiting = []
        return self._catalogue

    def features(self, row: int, reader: Reader) -> Array:
        """Return the features of a row."""
        with self._lock:
            if row >= self._size():
                self._read(reader)
            if row < self._catalogue.size:
                return self._catalogue.vectors[row]  # type: ignore[no-any-return]
            at = bisect_right(self._waiting, row, key=lambda pair: pair[1].first) - 1
            event = self._waiting[at][1]
            return np.asarray(event.vectors[row - event.first])

    def _size(self) -> int:
        if not self._waiting:
            return self._catalogue.size
        event = self._waiting[-1][1]
        return event.first + len(event.vectors)

    def _read(self, reader: Reader) -> None:
        after = self._waiting[-1][0] if self._waiting else self._last
        self._waiting.extend(reader.offered(after))
