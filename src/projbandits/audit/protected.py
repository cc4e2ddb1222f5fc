"""The part that must not count, in pieces that have names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from projbandits._validation import Array
from projbandits.subspace import Subspace, feature_names

SCORE_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Protected:
    """The complement of U: columns where P_U only drops some, and directions otherwise.

    Parameters
    ----------
    pieces : dict of str to ndarray of shape (d,)
        A unit vector for each.
    kept_names : list of str
        The columns of U, or what the vectors of a basis of it are called.
    kept : ndarray of shape (k, d)
        A unit vector for each.
    whole : bool
        Whether the pieces are columns.
    varied : list of str
        Which of them varied over the arms offered; changing the others changes nothing.
    """

    pieces: dict[str, Array]
    kept_names: list[str]
    kept: Array
    whole: bool
    varied: list[str]

    @classmethod
    def of(cls, subspace: Subspace, columns: Sequence[str] | None, offered: Array) -> Protected:
        """Return what a subspace protects in the arms offered, one per row."""
        P, d = subspace.matrix, subspace.ambient
        names = feature_names(columns, d)
        whole = bool(np.abs(P - np.diag(np.diag(P))).max() <= 1e-9)
        if whole:
            pieces = {names[j]: np.eye(d)[j] for j in range(d) if P[j, j] < 0.5}
            names, kept = (
                [name for name in names if name not in pieces],
                np.eye(d)[P.diagonal() >= 0.5],
            )
        else:
            named, kept = Subspace(subspace.basis, tuple(names)), subspace.basis.T
            basis = named.complement().basis.T if subspace.dim < d else np.empty((0, d))
            upright = [v * np.sign(v[np.abs(v).argmax()]) for v in basis]
            pieces = {named.describe(v): v for v in upright}
            names = [named.describe(v) for v in kept]
        least = 0.0 if whole else SCORE_ROUNDING * float(np.abs(offered).max())
        varied = [name for name, v in pieces.items() if np.ptp(along(v, offered)) > least]
        return cls(pieces, names, kept, whole, varied)

    def swapped(self, X: Array, others: Array) -> Array:
        """Return the arms X, each with the protected part of another."""
        if not self.varied:
            return X.copy()
        B = self.varied_directions
        if self.whole:
            return np.where(B.any(axis=1), others, X)
        swapped: Array = X + ((others - X) @ B) @ B.T  # P_U x stays, up to rounding
        return swapped

    @cached_property
    def varied_directions(self) -> Array:
        """The pieces that varied, one per column."""
        return np.column_stack([self.pieces[name] for name in self.varied])


def along(direction: Array, X: Array) -> Array:
    """Return <direction, x> of each row, the same for equal rows."""
    values: Array = np.einsum("ij,j->i", X, direction)
    return values
