"""U from groups: where groups disagree is what must not count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from projbandits._validation import Array, real_vector
from projbandits.finding.chance import Tested
from projbandits.finding.inputs import Names, length, matrices, names_of
from projbandits.finding.mixed import GroupSums, Mixed, drawn, fitted, loosened
from projbandits.finding.sums import products
from projbandits.tables import Attributes

FEWEST_GROUPS = 2
REFITS = 30
"""How many rounds of EM a resample gets, which starts from what was found."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Returns of groups that may disagree, as sums for each group.

    Parameters
    ----------
    names : tuple of str or None
        The columns of X.
    groups : Attributes
        Which groups there are.
    sums : ndarray of shape (groups, d + 2, d + 2)
        The second moments of the rows [1, x, r] of each group.
    """

    names: Names
    groups: Attributes
    sums: Array

    @classmethod
    def of(cls, X: Any, returns: Any, group: Any) -> Panel:
        """Return the sums of a first piece."""
        length("X", X)
        d = int(np.shape(X)[1])
        return cls(names_of(X), Attributes(), np.zeros((0, d + 2, d + 2))).update(X, returns, group)

    def update(self, X: Any, returns: Any, group: Any) -> Panel:
        """Return the sums with more returns."""
        n = length("X", X)
        r = real_vector("returns", returns, n)
        # As text, as the numbers of groups are names and not sizes.
        named = np.array([*map(str, np.asarray(group).ravel().tolist())], dtype=object)
        if len(named) != n:
            raise ValueError(f"group must have as many rows as X, got {len(named)} and {n}")
        groups, coded = self.groups.read("group", named)
        labels = coded.argmax(axis=1)
        sums = np.pad(self.sums, ((0, coded.shape[1] - len(self.sums)), (0, 0), (0, 0)))
        for rows, part in matrices("X", X, self.names, self.d):
            W = np.column_stack([np.ones(len(part)), part, r[rows]])
            sums = sums + products(W, labels[rows], len(sums))
        return replace(self, groups=groups, sums=sums)

    @property
    def rows(self) -> int:
        """How many returns there are."""
        return int(self.sums[:, 0, 0].sum())

    @property
    def d(self) -> int:
        """The number of features."""
        return int(self.sums.shape[1]) - 2

    @cached_property
    def model(self) -> Mixed:
        """The mixed model whose groups may differ in every direction."""
        if len(self.sums) < FEWEST_GROUPS:
            raise ValueError(
                f"group must name at least {FEWEST_GROUPS} groups, got {len(self.sums)}: what "
                "is looked for is where they disagree"
            )
        return fitted(GroupSums.of(self.sums), np.eye(self.d))

    def directions(self, r: int, rng: np.random.Generator | None = None) -> tuple[Array, Array]:
        """Return the r leading directions in which groups differ, and the sizes of all.

        A size is the standard deviation of groups along a direction. A resample draws new groups
        and new returns from the model that was found, for the same arms.
        """
        model = self.model
        if rng is not None:
            A = leading(model, r)[0]
            inside = model._replace(S=A.T @ model.S @ A)
            fresh = drawn(GroupSums.of(self.sums), A, inside, rng)
            model = fitted(fresh, np.eye(self.d), loosened(model), REFITS)
        return leading(model, r)

    def tested(self, rng: np.random.Generator) -> Tested:
        """Choose by the likelihood: how much more likely each direction makes the returns.

        A direction more has d - r numbers more to fit. It counts if the log-likelihood of the
        model whose groups differ in r + 1 directions exceeds that of r directions by more than
        (d - r) log(n) / 2, for n returns (BIC).
        """
        sums, sizes = GroupSums.of(self.sums), self.directions(0)[1]
        before = fitted(sums, np.zeros((self.d, 1))).likelihood
        gains, limits = np.full((2, len(sizes)), np.nan)
        for r in range(min(self.d - 1, len(self.sums) - 1)):
            after = fitted(sums, leading(self.model, r + 1)[0]).likelihood
            gains[r], limits[r] = after - before, 0.5 * (self.d - r) * np.log(self.rows)
            if gains[r] <= limits[r]:
                break
            before = after
        # Written as the other tests are: what is above its limit counts.
        return Tested(gains, limits, np.where(np.isnan(gains), np.nan, (gains <= limits) * 1.0))


def leading(model: Mixed, r: int) -> tuple[Array, Array]:
    """Return the r leading directions of Sigma, and the root of each eigenvalue."""
    values, vectors = np.linalg.eigh(model.S)
    sizes = np.sqrt(np.maximum(values[::-1], 0.0))
    return np.ascontiguousarray(vectors[:, ::-1][:, :r]), sizes
