"""The estimate from a whole log, by triangular factors of its pieces.

A factor of rows [x, r] is an upper triangular matrix with the same Gram matrix. The factor of two
pieces is that of their factors, one on top of the other, so pieces may be read anywhere and in any
size: the result differs by round-off alone, and by that of the features, not of their squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dtpqrt

from projbandits._validation import Array
from projbandits.ridge import Ridge
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    import pandas as pd

BLOCK_ROWS = 2048
"""How many rows are folded into a factor at a time; they stay in the cache."""
PANEL = 4
"""How many columns are eliminated at a time; the others follow by products of matrices."""


@dataclass(frozen=True, eq=False)
class Fit:
    """What a whole log says of theta.

    Parameters
    ----------
    ridge : Ridge
        The estimate on whole arms.
    subspace : Subspace
        The part that counts.
    names : tuple of str
        What the features are called.
    """

    ridge: Ridge
    subspace: Subspace
    names: tuple[str, ...]

    @property
    def theta(self) -> Array:
        """theta-hat, the effect of each feature on the return."""
        return self.ridge.theta

    @property
    def projected(self) -> Array:
        """P_U theta-hat: its product with an arm is the estimated projection reward."""
        return self.subspace.matrix @ self.ridge.theta

    def table(self) -> pd.DataFrame:
        """Return theta-hat and what of it counts, a row for each feature, with standard errors."""
        import pandas as pd

        errors = self.ridge.noise * np.sqrt(self.ridge.inverse.diagonal())
        columns = {"estimate": self.theta, "standard_error": errors, "counted": self.projected}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="feature"))

    def __repr__(self) -> str:
        return f"Fit({self.ridge.n:,} rows, d={self.ridge.d}, noise={self.ridge.noise:.3g})"


def fold(factor: Array, columns: Sequence[Array]) -> Array:
    """Return the factor of what a factor stands for and of more rows, given column by column."""
    width, n = len(columns), len(columns[0])
    total = np.array(factor, order="F")
    rows = np.empty((min(n, BLOCK_ROWS), width), order="F")
    for start in range(0, n, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, n)
        for j, column in enumerate(columns):
            rows[: stop - start, j] = column[start:stop]
        # What is below the diagonal is neither read nor written.
        total, *_ = dtpqrt(
            0, min(PANEL, width), total, rows[: stop - start], overwrite_a=True, overwrite_b=True
        )
    return total


def merged(factors: Sequence[Array]) -> Array:
    """Return the factor of all that some factors stand for."""
    total = np.zeros_like(factors[0])
    for factor in factors:
        total = fold(total, list(factor.T))
    return total


def factor_of(X: Array, outcomes: Array) -> Array:
    """Return the factor of some rows."""
    d = X.shape[1]
    return fold(np.zeros((d + 1, d + 1)), [*X.T, outcomes])


def factor_of_means(arms: Array, n: Array, means: Array, rest: float) -> Array:
    """Return the factor of rows that repeat some arms: of each arm's mean, and of what it leaves.

    Rows of one arm are sqrt(n) times their mean, and what their returns differ from it; `rest` is
    the root of the sum of squares of all these differences.
    """
    seen = n > 0
    roots = np.sqrt(n[seen])
    factor = factor_of(roots[:, None] * arms[seen], roots * means[seen])
    return fold(factor, [*np.zeros((arms.shape[1], 1)), np.array([rest])])
