"""Rows of a log that are alike, put together: what is left to do does not grow with the rows.

What a row adds to an estimate is a + b r: r is its return, and a and b follow from its arm, its
fold, its propensity and its context. Rows in which these are the same are one cell, of which the
count, the mean return and the sum of squared differences from it are enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from projbandits._validation import Array
from projbandits.evaluation.schema import Chunk, Ints

FOLDS = 5
"""A row is judged by a model of the other folds; row t is in fold t modulo this."""


class Tally(NamedTuple):
    """Counts, means, and sums of squared differences from them."""

    n: Array
    mean: Array
    squares: Array

    def by(self, code: Ints, count: int) -> Tally:
        """Return those of what has the same number."""
        n, mean, squares = self
        total = np.bincount(code, n, count).astype(np.float64)
        means = np.bincount(code, n * mean, count) / np.maximum(total, 1.0)
        within = np.bincount(code, squares + n * (mean - means[code]) ** 2, count)
        return Tally(total, means, within.astype(np.float64))

    def pooled(self) -> Tally:
        """Return those over the first axis."""
        size = self.n[0].size
        flat = Tally(*(x.ravel() for x in self)).by(np.arange(self.n.size) % size, size)
        return Tally(*(x.reshape(self.n[0].shape) for x in flat))

    def plus(self, other: Tally) -> Tally:
        """Return those of both."""
        return Tally(*map(np.stack, zip(self, other, strict=True))).pooled()


class Cells(NamedTuple):
    """Rows, or groups of rows, of a log.

    Parameters
    ----------
    chunk : Chunk
        A row for each cell; its outcome is the mean.
    fold : ndarray of int
        The fold.
    size : ndarray
        How many rows it has.
    squares : ndarray
        The sum of squared differences of their returns from their mean.
    """

    chunk: Chunk
    fold: Ints
    size: Array
    squares: Array

    @classmethod
    def of(cls, chunk: Chunk) -> Cells:
        """Return the rows of a chunk, each for itself."""
        n = len(chunk.outcome)
        return cls(chunk, (chunk.first + np.arange(n)) % FOLDS, np.ones(n), np.zeros(n))

    @property
    def tally(self) -> Tally:
        """The counts and means."""
        return Tally(self.size, self.chunk.outcome, self.squares)

    def by_arm(self) -> Tally:
        """Return counts and means by fold and by arm."""
        size = len(self.chunk.arms)
        found = self.tally.by(self.fold * size + self.chunk.action, FOLDS * size)
        return Tally(*(x.reshape(FOLDS, size) for x in found))

    def together(self) -> Cells:
        """Return the same, with those that are alike as one where that can be."""
        import pandas as pd

        chunk = self.chunk
        if chunk.offered is not None or chunk.columns or not chunk.complete:
            return self
        keys: list[Any] = [chunk.action * FOLDS + self.fold, *chunk.context.values()]
        if chunk.propensity is not None and by_action(chunk) is None:
            keys.append(chunk.propensity)
        named = pd.DataFrame(dict(enumerate(keys)))
        code: Any = named.groupby([*named], sort=False, dropna=False).ngroup().to_numpy()
        some = np.empty(code.max(initial=-1) + 1, dtype=np.int64)
        some[code] = np.arange(len(code))
        n, mean, squares = self.tally.by(code, len(some))
        return Cells(chunk.take(some)._replace(outcome=mean), self.fold[some], n, squares)

    def plus(self, other: Cells) -> Cells:
        """Return both, those alike as one."""
        chunk, more = self.chunk, other.chunk
        both = chunk._replace(
            action=np.concatenate([chunk.action, more.action]),
            outcome=np.concatenate([chunk.outcome, more.outcome]),
            context={
                name: np.concatenate([values, more.context[name]])
                for name, values in chunk.context.items()
            },
        )
        if chunk.propensity is not None and more.propensity is not None:
            both = both._replace(propensity=np.concatenate([chunk.propensity, more.propensity]))
        return Cells(
            both,
            np.concatenate([self.fold, other.fold]),
            np.concatenate([self.size, other.size]),
            np.concatenate([self.squares, other.squares]),
        ).together()

    def on(self, arms: Array) -> Cells:
        """Return the same cells with the vectors of their arms."""
        return self._replace(chunk=self.chunk._replace(arms=arms))

    def pieces(self, most: int) -> Iterator[Cells]:
        """Yield at most this many cells at a time, at least once."""
        for start in range(0, max(len(self.fold), 1), most):
            some = slice(start, start + most)
            part = self.chunk.take(some)
            yield Cells(part, self.fold[some], self.size[some], self.squares[some])


def by_action(chunk: Chunk) -> Array | None:
    """Return the propensity of each arm, nan if it was not chosen; None if that varies."""
    if chunk.propensity is None:
        return None
    found = np.full(int(chunk.action.max(initial=-1)) + 1, np.nan)
    found[chunk.action] = chunk.propensity
    return found if (found[chunk.action] == chunk.propensity).all() else None
