"""U from attributes: what is left out is the span of C = cov(x, z)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from projbandits._validation import Array
from projbandits.finding.chance import CHANCES, Tested, orthonormalised
from projbandits.finding.inputs import Names, length, matrices, names_of
from projbandits.finding.sums import Folded, Sample, joined
from projbandits.tables import Attributes

AT_ONCE = 20
"""How many shuffles are made together."""
NO_SPREAD = 1e-9
"""A singular value below this share of the largest is round-off."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """Items whose attributes are known, and items without labels, as sums of products.

    Parameters
    ----------
    names : tuple of str or None
        The columns of X.
    attributes : Attributes
        What the columns of z are.
    folded : Folded
        The second moments of [x, z].
    kept : Sample
        Some of the rows.
    unlabelled : Folded or None
        The second moments of items without labels.
    shrink : bool
        Whether correlations of features are shrunk, see `shrunk`.
    """

    names: Names
    attributes: Attributes
    folded: Folded
    kept: Sample
    unlabelled: Folded | None = None
    shrink: bool = False

    @classmethod
    def of(cls, X: Any, z: Any) -> Labelled:
        """Return the sums of a first piece."""
        n = length("X", X)
        names = names_of(X)
        made: Labelled | None = None
        known, Z = Attributes().read("z", z)
        _same_length(n, len(Z))
        for rows, part in matrices("X", X, names, None):
            made = (
                cls._first(names, known, part, Z[rows])
                if made is None
                else made._more(known, part, Z[rows])
            )
        assert made is not None
        return made

    @classmethod
    def _first(cls, names: Names, known: Attributes, X: Array, Z: Array) -> Labelled:
        # Numbers are shifted; categories are 0 or 1 as they are, as more of them may come.
        number = np.array([value is None for _, value in known.keys])
        shift = np.append(X.mean(axis=0), np.where(number, Z.mean(axis=0), 0.0))
        folded = Folded.of(np.hstack([X, Z]), shift)
        return cls(names, known, folded, Sample.none(X.shape[1]).update(0, X, Z))

    def _more(self, known: Attributes, X: Array, Z: Array) -> Labelled:
        return replace(
            self,
            attributes=known,
            folded=self.folded.update(np.hstack([X, Z])),
            kept=self.kept.update(self.folded.n, X, Z),
        )

    def update(self, X: Any, z: Any) -> Labelled:
        """Return the sums with more items whose attributes are known."""
        n = length("X", X)
        known, Z = self.attributes.read("z", z)
        _same_length(n, len(Z))
        made = self
        for rows, part in matrices("X", X, self.names, self.d):
            made = made._more(known, part, Z[rows])
        return made

    def with_items(self, Y: Any) -> Labelled:
        """Return the sums with more items that have no labels."""
        found = self.unlabelled
        for _, part in matrices("items", Y, self.names, self.d):
            found = Folded.of(part) if found is None else found.update(part)
        return replace(self, unlabelled=found)

    @property
    def rows(self) -> int:
        """How many items have labels."""
        return self.folded.n

    @property
    def d(self) -> int:
        """The number of features."""
        return int(self.kept.X.shape[1])

    def _turned(self, M: Array, N: Array | None) -> Array:
        """Return C in units in which every feature and every attribute counts alike.

        C = cov(x, z) of the labelled items. With others, or shrunk, C = Sigma_x B, where B is the
        regression of z on x, held back as `penalty` says, and Sigma_x the covariance of all items.
        """
        d, m = self.d, float(M[0, 0])
        R, C, T = self._standardised(M)
        if N is None and not self.shrink:
            return C
        explained = np.trace(C.T @ np.linalg.pinv(R, rcond=NO_SPREAD, hermitian=True) @ C)
        weight = penalty(float(explained / max(np.trace(T), 1.0)), d, m)
        if np.isinf(weight):  # B is then along C, and Sigma_x makes up for nothing
            return C
        everyone, n = R, m
        if N is not None:
            assert self.unlabelled is not None
            labelled = self.folded._replace(shift=self.folded.shift[:d])
            units = 1 / scale(self.folded.covariance(M)[:d, :d])
            among = M[: d + 1, : d + 1], N
            everyone = units[:, None] * joined(labelled, self.unlabelled, among) * units
            n += float(N[0, 0])
        if self.shrink:
            everyone = shrunk(everyone, n)
        held_back = R + weight / m * everyone
        inverse = np.linalg.pinv(held_back, rcond=NO_SPREAD, hermitian=True)
        return np.asarray(everyone @ inverse @ C)

    def _standardised(self, M: Array) -> tuple[Array, Array, Array]:
        """Return the moments of labelled items: x with x, x with z, and z with z.

        They are in units of the features' and the attributes' own spread.
        """
        S, d = self.folded.covariance(M), self.d
        x, z = np.diag(1 / scale(S[:d, :d])), inverse_root(S[d:, d:])
        return x @ S[:d, :d] @ x, x @ S[:d, d:] @ z, z.T @ S[d:, d:] @ z

    def moments(self, rng: np.random.Generator | None = None) -> tuple[Array, Array | None]:
        """Return the moments of labelled and other items, or those of a resample."""
        both = self.folded, self.unlabelled
        if rng is not None:
            M, N = (None if part is None else part.resampled(rng) for part in both)
        else:
            M, N = (None if part is None else part.sums.sum(axis=0) for part in both)
        assert M is not None
        return M, N

    def directions(self, r: int, rng: np.random.Generator | None = None) -> tuple[Array, Array]:
        """Return the r leading directions of C as orthonormal columns, and all their sizes.

        Directions are ordered by how far they go with attributes, in units of the features' and
        the attributes' own spread.
        """
        M, N = self.moments(rng)
        left, sizes, _ = np.linalg.svd(self._turned(M, N), full_matrices=False)
        sizes = sizes[sizes > NO_SPREAD * sizes.max(initial=0.0)]
        spread = scale(self.folded.covariance(M)[: self.d, : self.d])
        return orthonormalised(spread[:, None] * left[:, :r]), sizes

    def tested(self, rng: np.random.Generator) -> Tested:
        """Test direction after direction of cov(x, z) of the labelled items, by shuffling z.

        At step r, z loses its part along the r directions found so far. Rows of z that is shuffled
        have no relation to x; the share of shuffles that reach the size of the next direction is
        its p-value. Where not all rows are kept, those kept are shuffled, and sizes are brought to
        the number of all rows: they shrink with its root.
        """
        M, _ = self.moments()
        _, sizes, right = np.linalg.svd(self._standardised(M)[1], full_matrices=False)
        S, d = self.folded.covariance(M), self.d
        X = (self.kept.X - self.kept.X.mean(axis=0)) / scale(S[:d, :d])
        Z = (self.kept.Z - self.kept.Z.mean(axis=0)) @ inverse_root(S[d:, d:])
        k = len(X)
        smaller = np.sqrt(max(k - 1, 1) / max(self.rows - 1, 1)) / k
        shuffled = smaller * _shuffled(X, Z, rng)
        by_chance = []
        for r in range(min(int((sizes > NO_SPREAD * sizes.max(initial=0.0)).sum()), d - 1)):
            # Attributes may be more than features: what is left of them is no span of `right`.
            rest = shuffled - shuffled @ right[:r].T @ right[:r]
            by_chance.append(np.linalg.norm(rest, 2, axis=(1, 2)))
        return Tested.of(sizes, np.array(by_chance))


def _shuffled(X: Array, Z: Array, rng: np.random.Generator) -> Array:
    """Return X^T Z with the rows of Z shuffled, of shape (CHANCES, d, q)."""
    d, q = X.shape[1], Z.shape[1]
    found = np.empty((CHANCES, d, q))
    for start in range(0, CHANCES, AT_ONCE):
        some = found[start : start + AT_ONCE]
        # Several in one product, which reads X once.
        stacked = np.hstack([Z[rng.permutation(len(Z))] for _ in some])
        some[:] = (X.T @ stacked).reshape(d, len(some), q).swapaxes(0, 1)
    return found


def penalty(explained: float, d: int, m: float) -> float:
    """Return how far the regression of z on x is held back, in rows: d (1 - R^2) / R^2.

    That is the ridge whose error is the least for coefficients of this size (Hoerl, Kennard and
    Baldwin 1975). It is infinite where nothing is explained, or where rows are too few to tell.

    Parameters
    ----------
    explained : float
        The share of the attributes' variance that the regression explains on its own rows. R^2 is
        this share adjusted for the number of features.
    d : int
        The number of features.
    m : float
        The number of rows.

    Examples
    --------
    >>> from projbandits.finding.attributes import penalty
    >>> round(penalty(0.5, d=10, m=1e9), 4), penalty(0.1, d=10, m=50), penalty(1.0, d=10, m=50)
    (10.0, inf, 0.0)
    """
    free = m - 1 - d
    left = (1 - explained) * (m - 1) / free if free > 0 else 1.0
    return d * max(left, 0.0) / (1 - left) if left < 1 else np.inf


def shrunk(S: Array, n: float) -> Array:
    """Return a covariance of n rows with its correlations shrunk towards 0.

    They lose the share of their squares that noise explains (Schaefer and Strimmer 2005): the sum
    of var(r_ij) = (1 - r_ij^2)^2 / (n - 1) over that of r_ij^2, at most 1. Variances stay.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.finding.attributes import shrunk
    >>> shrunk(np.array([[4.0, 1.0], [1.0, 1.0]]), n=13)
    array([[4.    , 0.8125],
           [0.8125, 1.    ]])
    """
    size = scale(S)
    R = S / np.outer(size, size)
    np.fill_diagonal(R, 0.0)
    noise = float(((1 - R**2) ** 2).sum() - len(R)) / max(n - 1, 1.0)
    squares = float((R**2).sum())
    share = min(1.0, noise / squares) if squares > 0 else 0.0
    return np.asarray((1 - share) * S + share * np.diag(S.diagonal()))


def scale(S: Array) -> Array:
    """Return the standard deviation of each feature; 1 where it never varies."""
    variance = S.diagonal()
    return np.sqrt(np.where(variance > 0, variance, 1.0))


def inverse_root(S: Array) -> Array:
    """Return a matrix T with T^T S T = I, on all that varies, for columns of any scale."""
    units = 1 / scale(S)
    values, vectors = np.linalg.eigh(units[:, None] * S * units)
    large = values > NO_SPREAD * values.max(initial=0.0)
    root = vectors[:, large] / np.sqrt(values[large]) @ vectors[:, large].T
    return np.asarray(units[:, None] * root)


def _same_length(rows: int, others: int) -> None:
    if rows != others:
        raise ValueError(f"z must have as many rows as X, got {others} and {rows}")
