"""The distinct arms that were ever on offer, numbered in the order in which they came."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import numpy as np

from projbandits._validation import Array
from projbandits.ledger.events import Offered, Rows, compact

FIRST_ROWS = 64
"""How many rows a new catalogue has room for."""


class Catalogue:
    """Rows of features, each kept once whatever is on offer.

    Rows that have names are distinct if their names are.

    A row is found by a hash of its bits, computed for all rows of an offer at once, and then
    compared bit by bit.

    Parameters
    ----------
    d : int
        The number of features.
    first : int
        The number of its first row; those before are forgotten.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.ledger.catalogue import Catalogue
    >>> catalogue = Catalogue(2)
    >>> rows, new = catalogue.named(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    >>> rows, new.vectors
    (array([0, 1, 0], dtype=uint8), array([[1., 2.], [3., 4.]]))
    >>> catalogue.extend(new.vectors)
    >>> catalogue.named(np.array([[3.0, 4.0]]))[0]
    array([1], dtype=uint8)
    >>> catalogue.named(np.array([[3.0, 4.0]]), ["film"])[0]
    array([2], dtype=uint8)
    """

    def __init__(self, d: int, first: int = 0) -> None:
        self.d = d
        self.first = first
        self.size = 0
        self.found = 0  # how often a row was there already
        self._room = np.empty((FIRST_ROWS, d))
        self._shown = _read_only(self._room)
        self._found: dict[int, int] = {}
        self._others: dict[tuple[bytes, str | None], int] = {}
        # What the rows are called; rows beyond its end have no names.
        self._labels: list[str | None] = []
        # Fixed odd numbers, so that equal bits have equal hashes in every process.
        state = np.random.Philox(key=d, counter=[0, 0, 0, 0])
        self._factors = state.random_raw(d).astype(np.uint64) | np.uint64(1)

    @property
    def vectors(self) -> Array:
        """The rows, read-only."""
        return self._shown[: self.size]

    def __len__(self) -> int:
        return self.size

    def label(self, row: int) -> str | None:
        """Return what a row is called."""
        row -= self.first
        return self._labels[row] if row < len(self._labels) else None

    def labels(self, rows: Rows) -> tuple[str, ...] | None:
        """Return what rows are called, None unless all have a name."""
        known = self._labels
        if not known:
            return None
        found = [self.label(row) for row in rows.tolist()]
        named = tuple(label for label in found if label is not None)
        return named if len(named) == len(found) else None

    @property
    def end(self) -> int:
        """The number that the next new row gets."""
        return self.first + self.size

    def named(
        self, vectors: Array, labels: Sequence[str] | None = None
    ) -> tuple[Rows, Offered | None]:
        """Return the numbers of rows that may have names, and the event of those that are new."""
        vectors = np.ascontiguousarray(vectors)
        hashes = self._hashes(vectors, labels)
        get = self._found.get
        numbers = np.fromiter(map(get, hashes, repeat(-1)), np.int64, len(hashes))
        nameless = labels is None and not self._labels
        # Where nothing is new, all rows are compared at once.
        known = nameless and numbers.min(initial=0) >= 0
        if known and self._room.take(numbers, axis=0).tobytes() == vectors.tobytes():
            self.found += len(vectors)
            return compact(numbers + self.first), None
        here = numbers >= 0
        if here.any():
            found = self._room[numbers[here]].view(np.uint64)
            here[here] = (found == vectors.view(np.uint64)[here]).all(axis=1)
            if not nameless:
                names: Sequence[str | None] = labels or [None] * len(vectors)
                for i in np.flatnonzero(here).tolist():
                    here[i] = self.label(self.first + int(numbers[i])) == names[i]
        missing, new = np.flatnonzero(~here), list[int]()
        self.found += len(vectors) - len(missing)
        fresh: dict[tuple[bytes, str | None], int] = {}
        for i in missing.tolist():
            key = vectors[i].tobytes(), None if labels is None else labels[i]
            number = self._others.get(key, fresh.get(key, -1))
            if number < 0:
                number = fresh[key] = self.size + len(new)
                new.append(i)
            numbers[i] = number
        rows = compact(numbers + self.first)
        if not new:
            return rows, None
        named = None if labels is None else tuple(labels[i] for i in new)
        return rows, Offered(self.end, vectors[new], named)

    def extend(self, vectors: Array, labels: Sequence[str | None] | None = None) -> None:
        """Add new rows, which get the next numbers.

        A call that is interrupted changes nothing, or leaves what adding them again completes.
        """
        start, end = self.size, self.size + len(vectors)
        if end > len(self._room):
            room = np.empty((max(end, 2 * len(self._room)), self.d))
            room[:start] = self._room[:start]
            # In this order: whoever is interrupted in between makes both again.
            self._shown = _read_only(room)
            self._room = room
        self._room[start:end] = vectors
        if labels is not None:
            self._labels[start:] = [*[None] * max(0, start - len(self._labels)), *labels]
        hashes = self._hashes(vectors, labels)
        if self._found.keys().isdisjoint(hashes) and len({*hashes}) == len(hashes):
            self._found.update(zip(hashes, range(start, end), strict=True))
        else:
            for number, key in enumerate(hashes, start):
                if self._found.setdefault(key, number) != number:
                    label = self.label(self.first + number)
                    self._others[vectors[number - start].tobytes(), label] = number
        self.size = end

    def cut(self, size: int) -> None:
        """Forget the rows from one on."""
        if size < self.size:
            labels = self._labels[size:] or None
            for key in self._hashes(self._room[size : self.size], labels):
                if self._found.get(key, -1) >= size:
                    del self._found[key]
            self._others = {key: row for key, row in self._others.items() if row < size}
            del self._labels[size:]
            self.size = size

    def _hashes(self, vectors: Array, labels: Sequence[str | None] | None = None) -> list[int]:
        """Return a hash of the bits of each row; sums and products wrap around."""
        bits = np.ascontiguousarray(vectors).view(np.uint64)
        # Mixed before they are multiplied: round numbers have bits in their upper half only.
        mixed = bits >> np.uint64(29)
        mixed ^= bits
        found: list[int] = mixed.dot(self._factors).tolist()
        if labels is None:
            return found
        return [
            h if name is None else h ^ hash(name) for h, name in zip(found, labels, strict=True)
        ]


def _read_only(room: Array) -> Array:
    shown = room.view()
    shown.flags.writeable = False
    return shown
