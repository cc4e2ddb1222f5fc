"""The estimate from a whole log, by triangular factors of its pieces.

A factor of rows [x, r] is an upper triangular matrix with the same Gram matrix. The factor of two
pieces is that of their factors, one on top of the other, so pieces may be read anywhere and in any
size: the result differs by round-off alone, and by that of the features, not of their squares.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg.lapack import dtpqrt

from projbandits._validation import Array
from projbandits.evaluation.schema import Chunk, Schema, chunks_of, finite
from projbandits.evaluation.sources import Piece
from projbandits.evaluation.spreading import Progress, spread
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


def merged(factors: Iterable[Array], d: int) -> Array:
    """Return the factor of all that some factors stand for."""
    total = np.zeros((d + 1, d + 1))
    for factor in factors:
        total = fold(total, list(factor.T))
    return total


def factor_of_means(arms: Array, n: Array, means: Array, rest: float) -> Array:
    """Return the factor of rows that repeat some arms: of each arm's mean, and of what it leaves.

    Rows of one arm are sqrt(n) times their mean, and what their returns differ from it; `rest` is
    the root of the sum of squares of all these differences.
    """
    d, seen = arms.shape[1], n > 0
    roots = np.sqrt(n[seen])
    columns = [*(roots[:, None] * arms[seen]).T, roots * means[seen]]
    factor = fold(np.zeros((d + 1, d + 1)), columns)
    return fold(factor, [*np.zeros((d, 1)), np.array([rest])])


def factor_of(chunk: Chunk) -> Array:
    """Return the factor of a chunk's chosen arms and outcomes."""
    size, d = chunk.arms.shape
    if chunk.complete and size < len(chunk.outcome):
        n = np.bincount(chunk.action, minlength=size).astype(np.float64)
        means = np.bincount(chunk.action, chunk.outcome, minlength=size) / np.maximum(n, 1.0)
        rest = float(np.linalg.norm(chunk.outcome - means[chunk.action]))
        return factor_of_means(chunk.arms, n, means, rest)
    X = chunk.arms[chunk.action]
    return fold(np.zeros((d + 1, d + 1)), [*X.T, chunk.outcome])


def fit(
    schema: Schema | None,
    pieces: Iterable[Any],
    d: int,
    executor: Executor | None,
    progress: Progress | None,
) -> tuple[int, Array]:
    """Return how many rows a log has, and their factor."""
    total, count = np.zeros((d + 1, d + 1)), 0
    for n, factor in spread(partial(_factor, schema, d), pieces, executor):
        total, count = fold(total, list(factor.T)), count + n
        if progress is not None:
            progress(n)
    return count, total


def _factor(schema: Schema | None, d: int, piece: Any) -> tuple[int, Array]:
    total, count = np.zeros((d + 1, d + 1)), 0
    for n, factor in _factors(schema, d, piece):
        total, count = fold(total, list(factor.T)), count + n
    return count, total


def _factors(schema: Schema | None, d: int, piece: Any) -> Iterable[tuple[int, Array]]:
    if schema is not None and schema.catalogue is None:
        yield from _plainly(schema, d, piece)
    else:
        for chunk in chunks_of(schema, piece):
            yield len(chunk.outcome), factor_of(chunk)


def _plainly(schema: Schema, d: int, piece: Piece) -> Iterable[tuple[int, Array]]:
    """Yield factors of columns as they are, without making a matrix of them."""
    names = [*(schema.features or ()), schema.outcome]
    for first, table in piece.tables(names):
        columns = [finite(table, name, first) for name in names]
        yield len(columns[-1]), fold(np.zeros((d + 1, d + 1)), columns)
