"""Rows of a log that are alike, put together: what is left to do does not grow with the rows.

What a row adds to an estimate is a + b r: r is its return, and a and b follow from its arm, its
fold, its propensity and its context. Rows in which these are the same are one cell, of which the
count, the mean return and the sum of squared differences from it are enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.evaluation.counting import FOLDS, Counted, by_number, coded, folds, scratch
from projbandits.evaluation.schema import Chunk, Ints

FEW_CELLS = 2**16
"""Room for this many is always made."""


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
        return cls(chunk, folds(chunk.first, n), np.ones(n), np.zeros(n))

    @classmethod
    def together(cls, chunk: Chunk) -> Cells:
        """Return the rows of a chunk, those alike as one cell if many are."""
        alike = Alike.of(chunk, None) if chunk.chances is None else None
        return cls.of(chunk) if alike is None else alike.cells(chunk, alike.tally(chunk))

    @classmethod
    def joined(cls, parts: Sequence[Cells]) -> Cells:
        """Return the cells of several parts; those alike become one."""
        import pandas as pd

        if len(parts) == 1:
            return parts[0]
        each = [part.chunk for part in parts]
        fold = np.concatenate([part.fold for part in parts])
        size = np.concatenate([part.size for part in parts])
        squares = np.concatenate([part.squares for part in parts])
        action = np.concatenate([chunk.action for chunk in each])
        mean = np.concatenate([chunk.outcome for chunk in each])
        known = [chunk.propensity for chunk in each if chunk.propensity is not None]
        propensity = np.concatenate(known) if known else None
        context = {
            name: np.concatenate([c.context[name] for c in each]) for name in each[0].context
        }
        code, distinct = pd.factorize(fold + FOLDS * action)
        for values in (propensity, *context.values()):
            if values is not None:
                numbers, labels = pd.factorize(values)
                code, distinct = pd.factorize(code * len(labels) + numbers)
        count = len(distinct)
        n = np.bincount(code, size, count).astype(np.float64)
        means = np.bincount(code, size * mean, count) / n
        away = squares + size * (mean - means[code]) ** 2
        within = np.bincount(code, away, count).astype(np.float64)
        some = np.empty(count, dtype=np.int64)
        some[code] = np.arange(len(code))
        alike = Chunk(
            0,
            each[0].arms,
            action[some],
            means,
            None if propensity is None else propensity[some],
            context={name: values[some] for name, values in context.items()},
        )
        return cls(alike, fold[some], n, within)

    def on(self, arms: Array) -> Cells:
        """Return the same cells with the vectors of their arms."""
        return self._replace(chunk=self.chunk._replace(arms=arms))

    def pieces(self, most: int) -> Iterator[Cells]:
        """Yield at most this many cells at a time, at least once."""
        for start in range(0, max(len(self.fold), 1), most):
            some, part = slice(start, start + most), self.chunk.part(start, start + most)
            yield Cells(part, self.fold[some], self.size[some], self.squares[some])


class Alike(NamedTuple):
    """Which rows of a chunk are alike.

    Parameters
    ----------
    code : ndarray of int
        A number for each row: that of its context, its fold and its arm, as places in an array.
    contexts : int
        How many contexts have numbers, propensities included where these vary within an arm.
    labels : list of ndarray
        The distinct values of each column of the context, in the order of their numbers.
    propensities : ndarray or None
        The propensity by number, or by arm, if these do not vary within it.
    """

    code: Ints
    contexts: int
    labels: list[NDArray[Any]]
    propensities: Array | None

    @classmethod
    def of(cls, chunk: Chunk, chances: Array | None) -> Alike | None:
        """Return which rows are alike; None if few are.

        Parameters
        ----------
        chunk : Chunk
            The rows.
        chances : ndarray of shape (K,) or None
            The propensity of each arm, None if that varies.
        """
        n, size = len(chunk.outcome), len(chunk.arms)
        room = max(n, FEW_CELLS)
        if chunk.offered is not None or chunk.columns or not chunk.complete:
            return None
        p, code, count, labels = chunk.propensity, coded(chunk), FOLDS * size, []
        for values in chunk.context.values():
            numbered = _numbered(values, room // count)
            if numbered is None:
                return None
            _add(code, count, numbered[0])
            labels.append(numbered[1])
            count *= len(numbered[1])
        if p is not None and chances is None:
            chances = by_number(code, p, count)
            if chances is None:
                numbered = _numbered(p, room // count)
                if numbered is None:
                    return None
                _add(code, count, numbered[0])
                count *= len(numbered[1])
                chances = np.repeat(numbered[1], count // len(numbered[1]))
        return cls(code, count // (FOLDS * size), labels, chances)

    def tally(self, chunk: Chunk) -> Counted:
        """Return counts and means by number."""
        return Counted.of(self.code, self.contexts * FOLDS * len(chunk.arms), chunk.outcome)

    def cells(self, chunk: Chunk, tally: Counted) -> Cells:
        """Return the cells of a chunk, whose rows were counted by `code`."""
        size = len(chunk.arms)
        at = np.flatnonzero(tally.n)
        rest, action = np.divmod(at, size)
        number, fold = np.divmod(rest, FOLDS)
        context = {}
        for name, distinct in zip(chunk.context, self.labels, strict=True):
            number, place = np.divmod(number, len(distinct))
            context[name] = distinct[place]
        p = self.propensities
        if p is not None:
            p = p[action if len(p) == size else at]
        alike = Chunk(0, chunk.arms, action, tally.mean[at], p, context=context)
        return Cells(alike, fold, tally.n[at], tally.squares[at])


def _add(code: Ints, times: int, numbers: Ints) -> None:
    """Add some numbers, this many times each."""
    code += np.multiply(numbers, times, out=scratch.room("more", len(code), np.int64))


def _numbered(values: NDArray[Any], most: int) -> tuple[Ints, NDArray[Any]] | None:
    """Return a number for each value, and their values; None if one is missing or they are many.

    Whole numbers that lie close together are their own numbers, which is quicker.
    """
    if values.dtype.kind in "iu" and len(values):
        least, largest = int(values.min()), int(values.max())
        if largest - least < most:
            distinct = np.arange(least, largest + 1).astype(values.dtype)
            numbers = scratch.room("more", len(values), np.int64)
            return np.subtract(values, least, out=numbers, casting="unsafe"), distinct
    import pandas as pd

    found, distinct = pd.factorize(values)
    return None if len(distinct) > most or (found < 0).any() else (found, np.asarray(distinct))
