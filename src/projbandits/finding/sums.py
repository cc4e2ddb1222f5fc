"""Sums over rows that are read once and not kept, in folds that stand for fresh samples.

Each row belongs to a fold, by a hash of its number. So however the rows are cut into pieces, the
sums are the same; and a resample of the folds is a resample of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array

MOST_FOLDS, LEAST_FOLDS = 50, 10
"""How many folds there are, and how many at least where each takes much room."""
FOLD_ROOM = 20_000_000
"""How many numbers the folds may take."""
KEPT_ROWS = 10_000
"""How many rows are kept, drawn at random, for what sums cannot tell."""
PIECE = 32_768
"""How many rows are looked at at a time."""

Hashes = NDArray[np.uint64]


def hashes(first: int, count: int) -> Hashes:
    """Return the hashes of row numbers: as good as random, the same in every run (splitmix64).

    Examples
    --------
    >>> from projbandits.finding.sums import hashes
    >>> bool((hashes(0, 10)[5:] == hashes(5, 5)).all())
    True
    """
    z = np.arange(first + 1, first + count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def products(W: Array, labels: NDArray[np.int64], count: int) -> Array:
    """Return sum w w^T over the rows of each label, of shape (count, q, q)."""
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(count + 1))
    sums = np.zeros((count, W.shape[1], W.shape[1]))
    sorted_rows = W[order]
    for label, (start, end) in enumerate(pairwise(ends.tolist())):
        rows = sorted_rows[start:end]
        sums[label] = rows.T @ rows
    return sums


def pieces(n: int) -> Iterator[slice]:
    """Yield the rows 0 to n - 1 piece by piece."""
    return (slice(start, min(start + PIECE, n)) for start in range(0, n, PIECE))


class Folded(NamedTuple):
    """Second moments of the rows [1, w - shift], fold by fold.

    Parameters
    ----------
    n : int
        How many rows were read.
    shift : ndarray of shape (q,)
        The mean of the first piece: sums of squares around it do not cancel.
    sums : ndarray of shape (folds, 1 + q, 1 + q)
        The moments.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.finding.sums import Folded
    >>> rows = np.array([[1.0], [3.0]])
    >>> Folded.of(rows[:1]).update(rows[1:]).covariance()
    array([[1.]])
    """

    n: int
    shift: Array
    sums: Array

    @classmethod
    def of(cls, W: Array, shift: Array | None = None) -> Folded:
        """Return the moments of a first piece."""
        q = W.shape[1]
        folds = max(LEAST_FOLDS, min(MOST_FOLDS, FOLD_ROOM // (q + 1) ** 2))
        start = W.mean(axis=0) if shift is None else shift
        return cls(0, start, np.zeros((folds, q + 1, q + 1))).update(W)

    def update(self, W: Array) -> Folded:
        """Return the moments with more rows, which may have new columns at the end."""
        more = W.shape[1] - len(self.shift)
        shift = np.append(self.shift, np.zeros(more))
        sums = np.pad(self.sums, ((0, 0), (0, more), (0, more)))
        rows = np.ones((len(W), 1 + len(shift)))
        np.subtract(W, shift, out=rows[:, 1:])
        folds = (hashes(self.n, len(W)) % np.uint64(len(sums))).astype(np.int64)
        return Folded(self.n + len(W), shift, sums + products(rows, folds, len(sums)))

    def resampled(self, rng: np.random.Generator) -> Array:
        """Return the moments of a fresh sample: as many folds, drawn with replacement.

        Folds without a row are no part of it.
        """
        filled = self.sums[:, 0, 0] > 0
        count = max(int(filled.sum()), 1)
        weights = np.zeros(len(self.sums))
        weights[filled] = rng.multinomial(count, np.full(count, 1 / count))
        return np.asarray(np.tensordot(weights, self.sums, axes=1))

    def covariance(self, moments: Array | None = None) -> Array:
        """Return the covariance of the columns, of all rows or by given moments."""
        M = self.sums.sum(axis=0) if moments is None else moments
        mean = M[0, 1:] / M[0, 0]
        return np.asarray(M[1:, 1:] / M[0, 0] - np.outer(mean, mean))


def joined(one: Folded, other: Folded, moments: tuple[Array, Array]) -> Array:
    """Return the covariance of the rows of both, by given moments of each."""
    (M, N), apart = moments, other.shift - one.shift
    n, k = M[0, 0], N[0, 0]
    means = M[0, 1:] / n, N[0, 1:] / k + apart
    mean = (n * means[0] + k * means[1]) / (n + k)
    spread = sum(
        size * (cov + np.outer(at - mean, at - mean))
        for size, cov, at in (
            (n, one.covariance(M), means[0]),
            (k, other.covariance(N), means[1]),
        )
    )
    return np.asarray(spread / (n + k))


class Sample(NamedTuple):
    """Some of the rows, drawn at random: those with the lowest hashes of their numbers."""

    hashes: Hashes
    X: Array
    Z: Array

    @classmethod
    def none(cls, d: int) -> Sample:
        """Return a sample of nothing yet."""
        return cls(np.empty(0, np.uint64), np.empty((0, d)), np.empty((0, 0)))

    def update(self, first: int, X: Array, Z: Array) -> Sample:
        """Return a sample of more rows, the first of which has this number."""
        drawn = np.concatenate([self.hashes, hashes(first + 2**40, len(X))])
        new = Z.shape[1] - self.Z.shape[1]
        whole_X = np.vstack([self.X, X])
        whole_Z = np.vstack([np.pad(self.Z, ((0, 0), (0, new))), Z])
        if len(drawn) > KEPT_ROWS:
            least = np.sort(np.argpartition(drawn, KEPT_ROWS)[:KEPT_ROWS])
            drawn, whole_X, whole_Z = drawn[least], whole_X[least], whole_Z[least]
        return Sample(drawn, whole_X, whole_Z)


def degrees(one: Array, other: Array) -> float:
    """Return the largest angle between two subspaces of one dimension, by orthonormal bases.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.finding.sums import degrees
    >>> round(degrees(np.array([[1.0], [0.0]]), np.array([[0.6], [0.8]])), 2)
    53.13
    """
    if one.shape[1] == 0:
        return math.nan
    outside = np.linalg.norm(other - one @ (one.T @ other), 2)
    return math.degrees(math.asin(min(1.0, float(outside))))
