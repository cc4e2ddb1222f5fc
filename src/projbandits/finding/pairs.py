"""U from pairs: twins differ in what must not count, and the differences span it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from projbandits._validation import Array
from projbandits.finding.chance import CHANCES, Tested
from projbandits.finding.inputs import Names, length, matrices, names_of
from projbandits.finding.sums import Folded

PAIR_ROUND_OFF = 1e-12


@dataclass(frozen=True, eq=False)
class Twins:
    """Pairs that differ only in what must not count, as sums of the squared differences.

    Parameters
    ----------
    names : tuple of str or None
        The columns.
    folded : Folded
        The second moments of the differences, around 0.
    """

    names: Names
    folded: Folded

    @classmethod
    def of(cls, X1: Any, X2: Any) -> Twins:
        """Return the sums of a first piece."""
        length("X1", X1)
        names = names_of(X1) or names_of(X2)
        d = int(np.shape(X1)[1])
        nobody = Folded.of(np.zeros((0, d)), np.zeros(d))
        return cls(names, nobody).update(X1, X2)

    def update(self, X1: Any, X2: Any) -> Twins:
        """Return the sums with more pairs."""
        if length("X1", X1) != length("X2", X2):
            raise ValueError(
                f"X2 must have as many rows as X1, got {length('X2', X2)} and {length('X1', X1)}"
            )
        folded = self.folded
        others = matrices("X2", X2, self.names, self.d)
        for (_, one), (_, other) in zip(
            matrices("X1", X1, self.names, self.d), others, strict=True
        ):
            folded = folded.update(one - other)
        return replace(self, folded=folded)

    @property
    def rows(self) -> int:
        """How many pairs there are."""
        return self.folded.n

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.folded.shift)

    def directions(self, r: int, rng: np.random.Generator | None = None) -> tuple[Array, Array]:
        """Return the r leading directions of the differences, and the sizes of all.

        A size is the root of the mean squared difference along a direction.
        """
        folded = self.folded
        M = folded.sums.sum(axis=0) if rng is None else folded.resampled(rng)
        squares, vectors = np.linalg.eigh(M[1:, 1:] / max(M[0, 0], 1.0))
        sizes = np.sqrt(np.maximum(squares[::-1], 0.0))
        return np.ascontiguousarray(vectors[:, ::-1][:, :r]), sizes

    def tested(self, rng: np.random.Generator) -> Tested:
        """Test direction after direction, by comparison with noise.

        With r directions taken out, d - r are left. If only noise were left, the same in every
        direction, the longest would be longer than the others by chance; how much longer depends
        on nothing but the number of pairs and of directions.
        """
        sizes = self.directions(0)[1]
        by_chance = []
        for r in range(self.d - 1):
            left = sizes[r:]
            if left[0] <= PAIR_ROUND_OFF * sizes[0]:
                break
            length_left = float(np.linalg.norm(left))
            by_chance.append(length_left * longest(self.rows, self.d - r, CHANCES, rng))
            if (by_chance[-1] >= left[0]).mean() > 0.5:
                break  # far from any doubt; what follows is shorter still
        return Tested.of(sizes, np.array(by_chance))


def longest(rows: int, d: int, draws: int, rng: np.random.Generator) -> Array:
    """Return the largest singular value of matrices of normal noise, as a share of their norm."""
    if rows <= d:
        noise = rng.standard_normal((draws, rows, d))
    else:  # the triangle of its QR factorisation, drawn at once (Bartlett)
        noise = np.triu(rng.standard_normal((draws, d, d)), 1)
        places = np.arange(d)
        noise[:, places, places] = np.sqrt(rng.chisquare(rows - places, size=(draws, d)))
    lengths = np.linalg.norm(noise, axis=(1, 2))
    return np.asarray(np.linalg.norm(noise, 2, axis=(1, 2)) / lengths)
