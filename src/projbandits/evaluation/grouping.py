"""A first look at a log: sums by arm and fold, factors, and how likely each arm was."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from projbandits._validation import Array
from projbandits.evaluation.cells import FOLDS, Cells, Tally, by_action
from projbandits.evaluation.fit import factor_of, factor_of_means, fold, merged
from projbandits.evaluation.schema import SUM, Chunk, Schema, chunks_of
from projbandits.evaluation.spreading import Progress, spread
from projbandits.ridge import Ridge

MOST_CELLS = 2**17
"""With more cells, a log is read again instead; or with more than half as many as rows."""
FEW_CELLS = 2**12
"""This many are always kept."""
SCALED_PENALTY = 0.1
"""The ridge of theta-hat, on features in units of their root mean square."""


@dataclass(eq=False)
class Look:
    """What a first look at some rows shows.

    Parameters
    ----------
    rows : int
        How many there are.
    sums : Tally or None
        By fold and by arm; None where arms are not numbered throughout.
    factors : list of ndarray or None
        By fold, where there are no sums.
    chances : ndarray of shape (K,) or None
        The propensity of each arm, nan if it was not chosen; None if that varied.
    stated : ndarray of shape (K,) or None
        The probabilities that the log states for all arms; None if they varied, or it states none.
    states : bool
        Whether it states them.
    cells : Cells or None
        All rows, put together; None if few are alike. The arms are left out of them.
    least, largest : float
        The least and the largest outcome.
    """

    rows: int
    sums: Tally | None
    factors: list[Array] | None
    chances: Array | None
    stated: Array | None = None
    states: bool = False
    cells: Cells | None = None
    least: float = np.inf
    largest: float = -np.inf

    def by_fold(self, arms: Array | None) -> list[Array]:
        """Return the triangular factor of the rows in each fold."""
        if self.sums is None or arms is None:
            return self.factors or []
        rows = zip(*self.sums, strict=True)
        return [factor_of_means(arms, n, mean, squares.sum() ** 0.5) for n, mean, squares in rows]

    def plus(self, other: Look) -> Look:
        """Return what both show."""
        sums = factors = chances = stated = cells = None
        if self.sums is not None and other.sums is not None:
            sums = self.sums.plus(other.sums)
        if self.factors is not None and other.factors is not None:
            pairs = zip(self.factors, other.factors, strict=True)
            factors = [fold(one, list(two.T)) for one, two in pairs]
        if self.chances is not None and other.chances is not None:
            one, two = self.chances, other.chances
            if not (np.isfinite(one) & np.isfinite(two) & (one != two)).any():
                chances = np.where(np.isnan(one), two, one)
        if self.stated is not None and other.stated is not None:
            stated = self.stated if (self.stated == other.stated).all() else None
        if self.cells is not None and other.cells is not None:
            cells = _few(self.cells.plus(other.cells), self.rows + other.rows)
        return Look(
            self.rows + other.rows, sums, factors, chances, stated, self.states or other.states,
            cells, min(self.least, other.least), max(self.largest, other.largest),
        )  # fmt: skip


def look(
    schema: Schema | None,
    pieces: Iterable[Any],
    numbered: bool,
    together: bool,
    executor: Executor | None,
    progress: Progress | None,
) -> Look:
    """Look at all pieces of a log.

    Parameters
    ----------
    numbered : bool
        Whether arms have the same numbers throughout.
    together : bool
        Whether to put rows together that are alike.
    """
    total: Look | None = None
    for seen in spread(partial(_look_at, schema, numbered, together), pieces, executor):
        if seen is not None:
            total = seen if total is None else total.plus(seen)
            if progress is not None:
                progress(seen.rows)
    if total is None or total.rows == 0:
        raise ValueError("log must have at least one row, got none")
    return total


def _look_at(schema: Schema | None, numbered: bool, together: bool, piece: Any) -> Look | None:
    total: Look | None = None
    for chunk in chunks_of(schema, piece):
        # Few rows have been alike so far, so it is not worth looking for more.
        seen = _look(chunk, numbered, together and (total is None or total.cells is not None))
        total = seen if total is None else total.plus(seen)
    return total


def _look(chunk: Chunk, numbered: bool, together: bool) -> Look:
    n = len(chunk.outcome)
    least, largest = chunk.outcome.min(initial=np.inf), chunk.outcome.max(initial=-np.inf)
    if not numbered:
        X = chunk.arms[chunk.action]
        starts = [(number - chunk.first) % FOLDS for number in range(FOLDS)]
        factors = [factor_of(X[start::FOLDS], chunk.outcome[start::FOLDS]) for start in starts]
        return Look(n, None, factors, None, least=least, largest=largest)
    chances = stated = cells = None
    if chunk.offered is None:
        known = by_action(chunk)
        if known is not None:
            chances = np.full(len(chunk.arms), np.nan)
            chances[: len(known)] = known
        if chunk.chances is not None and n and (chunk.chances == chunk.chances[0]).all():
            stated = chunk.chances[0]
    states, rows = chunk.chances is not None, Cells.of(chunk)
    if together and (stated is not None or not states) and chunk.offered is None:
        rows = rows.together()
        cells = _few(rows, n)
    return Look(n, rows.by_arm(), None, chances, stated, states, cells, least, largest)


def _few(cells: Cells, rows: int) -> Cells | None:
    """Return cells without their arms, None if they are many."""
    few = len(cells.fold) <= min(max(rows // 2, FEW_CELLS), MOST_CELLS)
    return cells.on(cells.chunk.arms[:0]) if few else None


def fixed(seen: Look) -> Array | None:
    """Return the probabilities of all arms if they never varied and are all known."""
    if seen.stated is not None:
        return seen.stated
    if seen.chances is None or not abs(seen.chances.sum() - 1) <= SUM:
        return None
    return seen.chances


def theta(factor: Array, n: float) -> Array:
    """Return theta-hat by a ridge on features in units of their root mean square."""
    sizes = np.linalg.norm(factor[:, :-1], axis=0) / np.sqrt(max(n, 1.0))
    scale = np.where(sizes > 0, sizes, 1.0)
    found: Array = Ridge(SCALED_PENALTY, int(n), factor / np.append(scale, 1.0)).theta / scale
    return found


def cross_fitted(factors: list[Array], n: int) -> tuple[Array, Array]:
    """Return the factor of all folds, and for each fold theta-hat from the others."""
    rest = n * (FOLDS - 1) / FOLDS
    thetas = [theta(merged(factors[:f] + factors[f + 1 :]), rest) for f in range(FOLDS)]
    return merged(factors), np.array(thetas)
