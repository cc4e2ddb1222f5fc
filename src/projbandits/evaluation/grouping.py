"""A first look at a log: sums by arm and fold, factors, and how likely each arm was."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from projbandits._validation import Array
from projbandits.evaluation.cells import Alike, Cells
from projbandits.evaluation.counting import FOLDS, Counted, by_number, coded, folds
from projbandits.evaluation.fit import factor_of_means, fold, merged
from projbandits.evaluation.schema import SUM, Chunk

MOST_PARTS = 16
"""How many chunks of cells are kept before they are put together."""
MOST_CELLS = 2**17
"""With more cells, a log is read again instead."""
SCALED_PENALTY = 0.1
"""The ridge of theta-hat, on features in units of their root mean square."""


@dataclass(eq=False)
class Sums:
    """The counts, means and sums of squared differences from them, by fold and by arm."""

    n: Array
    mean: Array
    squares: Array

    def plus(self, other: Sums) -> Sums:
        """Return the sums of both; arms that the other knows beside these are added."""
        one, two = self._wide(other.n.shape[1]), other._wide(self.n.shape[1])
        n = one.n + two.n
        share = two.n / np.maximum(n, 1.0)
        away = two.mean - one.mean
        squares = one.squares + two.squares + away**2 * one.n * share
        return Sums(n, one.mean + away * share, squares)

    def _wide(self, size: int) -> Sums:
        more = size - self.n.shape[1]
        if more <= 0:
            return self
        return Sums(*(np.pad(x, ((0, 0), (0, more))) for x in (self.n, self.mean, self.squares)))

    def factor(self, arms: Array, number: int) -> Array:
        """Return the triangular factor of the rows in a fold."""
        n, rest = self.n[number], float(np.sqrt(self.squares[number].sum()))
        return factor_of_means(arms[: len(n)], n, self.mean[number], rest)

    def total(self) -> tuple[Array, Array, float]:
        """Return counts and means by arm, and the sum of squares within arms."""
        n, mean, squares = Counted(self.n, self.mean, self.squares).pooled(self.n.shape)
        return n, mean, float(squares.sum())


@dataclass(eq=False)
class Look:
    """What a first look at some rows shows.

    Parameters
    ----------
    rows : int
        How many there are.
    sums : Sums or None
        By arm; None where arms are not numbered throughout.
    factors : list of ndarray or None
        By fold, where there are no sums.
    chances : ndarray of shape (K,) or None
        The propensity of each arm, nan if it was not chosen; None if that varied.
    stated : ndarray of shape (K,) or None
        The probabilities that the log states for all arms; None if they varied, or it states none.
    states : bool
        Whether it states them.
    cells : tuple of Cells, or None
        All rows, put together; None if few are alike. The arms are left out of them.
    least, largest : float
        The least and the largest outcome.
    """

    rows: int
    sums: Sums | None
    factors: list[Array] | None
    chances: Array | None
    stated: Array | None = None
    states: bool = False
    cells: tuple[Cells, ...] | None = None
    least: float = np.inf
    largest: float = -np.inf

    def by_fold(self, arms: Array | None) -> list[Array]:
        """Return the triangular factor of the rows in each fold."""
        if self.sums is None or arms is None:
            return self.factors or []
        return [self.sums.factor(arms, number) for number in range(FOLDS)]

    def plus(self, other: Look) -> Look:
        """Return what both show."""
        sums = factors = chances = None
        if self.sums is not None and other.sums is not None:
            sums = self.sums.plus(other.sums)
        if self.factors is not None and other.factors is not None:
            pairs = zip(self.factors, other.factors, strict=True)
            factors = [fold(one, list(two.T)) for one, two in pairs]
        if self.chances is not None and other.chances is not None:
            both = self.chances, other.chances
            if len(both[0]) == len(both[1]):
                differ = np.isfinite(both[0]) & np.isfinite(both[1]) & (both[0] != both[1])
                chances = None if differ.any() else np.where(np.isnan(both[0]), both[1], both[0])
        stated = None
        if self.stated is not None and other.stated is not None:
            stated = self.stated if (self.stated == other.stated).all() else None
        cells = None
        if self.cells is not None and other.cells is not None:
            cells = fewer(self.cells + other.cells)
        return Look(
            self.rows + other.rows, sums, factors, chances, stated, self.states or other.states,
            cells, min(self.least, other.least), max(self.largest, other.largest),
        )  # fmt: skip

    def compact(self) -> Look:
        """Return the same with as few cells as there can be, to be sent."""
        if self.cells is None:
            return self
        one = Cells.joined(self.cells)
        return replace(self, cells=(one.on(one.chunk.arms[:0]),))


def fewer(parts: tuple[Cells, ...]) -> tuple[Cells, ...] | None:
    """Return cells, put together if they have many parts; None if they are many even then."""
    if len(parts) < MOST_PARTS:
        return parts
    one = Cells.joined(parts)
    return (one,) if len(one.fold) <= MOST_CELLS else None


def look(chunk: Chunk, numbered: bool, together: bool = True) -> Look:
    """Look at a chunk.

    Parameters
    ----------
    chunk : Chunk
        The rows.
    numbered : bool
        Whether arms have the same numbers throughout.
    together : bool
        Whether to put rows together that are alike.
    """
    least, largest = (
        float(chunk.outcome.min(initial=np.inf)),
        float(chunk.outcome.max(initial=-np.inf)),
    )
    if not numbered:
        d = chunk.arms.shape[1]
        X = chunk.arms[chunk.action]
        of = folds(chunk.first, len(X))
        factors = [
            fold(np.zeros((d + 1, d + 1)), [*X[of == f].T, chunk.outcome[of == f]])
            for f in range(FOLDS)
        ]
        return Look(len(X), None, factors, None, least=least, largest=largest)
    n, size = len(chunk.outcome), len(chunk.arms)
    chances = stated = None
    if chunk.propensity is not None and chunk.offered is None:
        chances = by_number(chunk.action, chunk.propensity, size)
    if chunk.chances is not None and chunk.offered is None and len(chunk.chances):
        same = bool((chunk.chances == chunk.chances[0]).all())
        stated = chunk.chances[0] if same else None
    states = chunk.chances is not None
    alike = None
    if together and (stated is not None or not states):
        alike = Alike.of(chunk, chances)
    if alike is None:
        tally, cells = Counted.of(coded(chunk), FOLDS * size, chunk.outcome), None
    else:
        tally = alike.tally(chunk)
        cells = (alike.cells(chunk, tally),)
    sums = Sums(*tally.pooled((-1, FOLDS, size)))
    return Look(n, sums, None, chances, stated, states, cells, least, largest)


def fixed(seen: Look) -> Array | None:
    """Return the probabilities of all arms if they never varied and are all known."""
    if seen.stated is not None:
        return seen.stated
    if seen.chances is None or not abs(seen.chances.sum() - 1) <= SUM:
        return None
    return seen.chances


def theta(factor: Array, n: float) -> Array:
    """Return theta-hat by a ridge on features in units of their root mean square."""
    from projbandits.ridge import Ridge

    d = len(factor) - 1
    sizes = np.linalg.norm(factor[:, :d], axis=0) / np.sqrt(max(n, 1.0))
    scale = np.where(sizes > 0, sizes, 1.0)
    scaled = factor / np.append(scale, 1.0)
    found: Array = Ridge(SCALED_PENALTY, int(n), scaled).theta / scale
    return found


def cross_fitted(factors: list[Array], n: int) -> tuple[Array, Array]:
    """Return the factor of all folds, and for each fold theta-hat from the others."""
    d = len(factors[0]) - 1
    thetas: Any = [
        theta(merged(factors[:f] + factors[f + 1 :], d), n * (FOLDS - 1) / FOLDS)
        for f in range(FOLDS)
    ]
    return merged(factors, d), np.array(thetas)
