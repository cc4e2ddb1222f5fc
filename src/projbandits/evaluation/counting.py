"""Returns counted by a number for each row: how many, their mean and their squares about it."""

from __future__ import annotations

from functools import lru_cache
from threading import local
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.evaluation.schema import Chunk, Ints

FOLDS = 5
"""A row is judged by a model of the other folds; row t is in fold t modulo this."""
CANCELS = 1e-3
"""Where less than this share of a sum of squares is left, differences are squared instead."""


class Scratch(local):
    """Room for a chunk's numbers, used again for the next chunk of the thread.

    New pages take as long as the work itself where memory goes back at once, as in Dask's workers.
    """

    def __init__(self) -> None:
        self._kept: dict[str, NDArray[Any]] = {}

    def room(self, name: str, n: int, dtype: type = np.float64) -> NDArray[Any]:
        """Return room for n numbers; what it held before is lost."""
        kept = self._kept.get(name)
        if kept is None or len(kept) < n:
            kept = self._kept[name] = np.empty(n, dtype=dtype)
        return kept[:n]


scratch = Scratch()


@lru_cache(maxsize=8)
def _counted(n: int, size: int) -> Ints:
    return np.arange(n + FOLDS) % FOLDS * size


def folds(first: int, n: int, size: int = 1) -> Ints:
    """Return the fold of each row of a chunk, times a size; chunks of one size share them."""
    start = first % FOLDS
    return _counted(n, size)[start : start + n]


def coded(chunk: Chunk) -> Ints:
    """Return a number for each row, by fold and arm; it is lost with the next chunk."""
    n = len(chunk.outcome)
    base = folds(chunk.first, n, len(chunk.arms))
    code: Ints = np.add(base, chunk.action, out=scratch.room("codes", n, np.int64))
    return code


class Counted(NamedTuple):
    """Counts, means and sums of squared differences from them, by a number of each row."""

    n: Array
    mean: Array
    squares: Array

    @classmethod
    def of(cls, code: Ints, count: int, values: Array) -> Counted:
        """Return those of some values."""
        n = np.bincount(code, minlength=count).astype(np.float64)
        room = np.multiply(values, values, out=scratch.room("numbers", len(values)))
        clicks = _same(room, values)  # they are their own squares
        if not clicks:
            whole = np.bincount(code, room, minlength=count).astype(np.float64)
            np.copyto(room, values)  # what cannot be written to is copied by bincount each time
        total = np.bincount(code, room, minlength=count).astype(np.float64)
        if clicks:
            whole = total
        mean = total / np.maximum(n, 1.0)
        squares = whole - n * mean**2
        squares[n <= 1] = 0.0
        if (squares[n > 1] < CANCELS * whole[n > 1]).any():
            away = np.subtract(values, mean.take(code, mode="clip", out=room), out=room)
            np.multiply(away, away, out=away)
            squares = np.bincount(code, away, minlength=count).astype(np.float64)
        return cls(n, mean, squares)

    def pooled(self, shape: tuple[int, ...]) -> Counted:
        """Return those over the first axis, for numbers that are places in an array."""
        n, mean, squares = (x.reshape(shape) for x in self)
        if len(n) == 1:
            return Counted(n[0], mean[0], squares[0])
        total = n.sum(axis=0)
        means = (n * mean).sum(axis=0) / np.maximum(total, 1.0)
        return Counted(total, means, (squares + n * (mean - means) ** 2).sum(axis=0))


def by_number(code: Ints, values: Array, count: int) -> Array | None:
    """Return the value of each number, nan if no row has it; None if rows of one differ."""
    found = np.full(count, np.nan)
    if not code.flags.writeable:  # take would copy it to new pages
        own = scratch.room("more", len(code), np.int64)
        np.copyto(own, code)
        code = own
    # The first rows have most numbers already, and to write takes longer than to read.
    for rows in (slice(64 * count), slice(None)):
        found[code[rows]] = values[rows]
        there = found.take(code, mode="clip", out=scratch.room("numbers", len(code)))
        if _same(there, values):
            return found
    return None


def _same(one: Array, other: Array) -> bool:
    return bool(np.equal(one, other, out=scratch.room("whether", len(one), np.bool_)).all())
