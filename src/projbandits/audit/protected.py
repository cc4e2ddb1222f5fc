"""The part that must not count, in pieces that have names, and the groups it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.subspace import Subspace, feature_names

LEVELS_APART = 6
"""A piece with at most this many values has a group for each; others are cut at their terciles."""

LEVELS_LOOKED_AT = 1000
"""Among this many, more values than `LEVELS_APART` are mostly found."""

SCORE_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Protected:
    """The complement of U: columns where P_U only drops some, and directions otherwise.

    Parameters
    ----------
    pieces : dict of str to ndarray of shape (d,)
        A unit vector for each.
    whole : bool
        Whether the pieces are columns.
    varied : list of str
        Which of them varied over the arms offered; changing the others changes nothing.
    """

    pieces: dict[str, Array]
    whole: bool
    varied: list[str]

    @classmethod
    def of(cls, subspace: Subspace, columns: Sequence[str] | None, offered: Array) -> Protected:
        """Return what a subspace protects in the arms offered, one per row."""
        P = subspace.matrix
        d = len(P)
        names = feature_names(columns, d)
        whole = bool(np.abs(P - np.diag(np.diag(P))).max() <= 1e-9)
        if whole:
            pieces = {names[j]: np.eye(d)[j] for j in range(d) if P[j, j] < 0.5}
        else:
            named = Subspace(subspace.basis, tuple(names))
            basis = named.complement().basis.T if subspace.dim < d else np.empty((0, d))
            upright = [v * np.sign(v[np.abs(v).argmax()]) for v in basis]
            pieces = {named.describe(v): v for v in upright}
        least = 0.0 if whole else SCORE_ROUNDING * float(np.abs(offered).max())
        varied = [name for name, v in pieces.items() if np.ptp(along(v, offered)) > least]
        return cls(pieces, whole, varied)

    def swapped(self, X: Array, others: Array) -> Array:
        """Return the arms X, each with the protected part of another."""
        if not self.varied:
            return X.copy()
        B = self.varied_directions
        if not self.whole:
            swapped: Array = X + ((others - X) @ B) @ B.T  # P_U x stays, up to rounding
            return swapped
        return np.where(self._columns, others, X)

    @cached_property
    def varied_directions(self) -> Array:
        """The pieces that varied, one per column."""
        return np.column_stack([self.pieces[name] for name in self.varied])

    @cached_property
    def _columns(self) -> NDArray[np.bool_]:
        return np.asarray(self.varied_directions.any(axis=1))


def along(direction: Array, X: Array) -> Array:
    """Return <direction, x> of each row, the same for equal rows."""
    values: Array = np.einsum("ij,j->i", X, direction)
    return values


def groups(values: Array, counts: NDArray[np.int64] | None = None) -> list[tuple[str, Any]]:
    """Return the groups of a piece: a label, and a test for membership.

    Parameters
    ----------
    values : ndarray
        What was offered of it.
    counts : ndarray of int, optional
        How often each was.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.audit.protected import groups
    >>> [label for label, _ in groups(np.array([0.0, 1.0, 1 / 3]))]
    ['0', '0.333', '1']
    >>> [label for label, _ in groups(np.arange(1950.0, 2020.0))]
    ['up to 1973', '1973 to 1996', 'above 1996']
    """
    some = np.unique(values[:LEVELS_LOOKED_AT])  # to sort all of them takes time
    levels = np.unique(values) if len(some) <= LEVELS_APART else some
    if len(levels) <= LEVELS_APART:
        pairs = zip(_texts(levels), levels, strict=True)
        return [(label, lambda x, v=v: x == v) for label, v in pairs]
    counts = np.ones(len(values), dtype=np.int64) if counts is None else counts
    ends = np.unique(_terciles(values, counts))
    ends = ends[ends < values.max()]  # else none lies above
    texts = _texts(ends)
    labels = [f"up to {texts[0]}"] if texts else ["all"]
    labels += [f"{low} to {high}" for low, high in pairwise(texts)]
    labels += [f"above {texts[-1]}"] if texts else []
    bounds = [-np.inf, *ends, np.inf]
    return [
        (label, lambda x, low=low, high=high: (x > low) & (x <= high))
        for label, low, high in zip(labels, bounds[:-1], bounds[1:], strict=True)
    ]


def _terciles(values: Array, counts: NDArray[np.int64]) -> Array:
    """Return the terciles of values with their counts, as np.quantile has them."""
    if (counts == 1).all():
        return np.quantile(values, [1 / 3, 2 / 3])
    order = values.argsort()
    upto = counts[order].cumsum()
    ranks = (int(upto[-1]) - 1) * np.array([1 / 3, 2 / 3])
    low, high = (
        values[order][np.searchsorted(upto, f(ranks), "right")] for f in (np.floor, np.ceil)
    )
    terciles: Array = low + (high - low) * (ranks - np.floor(ranks))
    return terciles


def _texts(values: NDArray[np.float64]) -> list[str]:
    """Return numbers as short as tells them apart, with all digits before the dot up to 1e6."""
    whole = max((len(str(int(abs(value)))) for value in values if abs(value) < 1e6), default=3)
    for digits in range(max(3, whole), 18):
        texts = [f"{value:.{digits}g}" for value in values]
        if len(set(texts)) == len(texts):
            break
    return texts
