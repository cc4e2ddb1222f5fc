"""Logs of deciders that learn a level: their linear model has a column of ones, policies do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from projbandits._validation import Array
from projbandits.evaluation.policies import Chances, Policy
from projbandits.evaluation.schema import Chunk
from projbandits.subspace import Subspace

VARIES = 1e-12
"""Arms vary along a direction if their variance there is a larger share of their squares."""


def with_ones(arms: Array) -> Array:
    """Return arms with a column of ones before their features."""
    return np.column_stack([np.ones(len(arms)), arms])


def wanted_with_level(subspace: Subspace, value: str, squares: Array, spread: Array) -> Array:
    """Return W, so that [1, x] W is what counts of x, behind the level: of returns alone.

    The level takes what is one number for all arms, such as a constant, so that the projection
    value is known but for this number. It is left out, as it is of theta-hat, if it is the same
    for all arms in what counts of them too; else differences of arms are not known either.

    Parameters
    ----------
    subspace : Subspace
        The part that counts.
    value : {"projection", "return"}
        What is asked for.
    squares : ndarray of shape (d,)
        The mean squares of the features on offer.
    spread : ndarray of shape (d, d)
        Their covariance.
    """
    if value == "return":
        return np.eye(subspace.ambient + 1)
    varies = np.diag(spread) > VARIES * squares
    scale = np.where(varies, np.sqrt(np.diag(spread)), np.inf)
    values, vectors = np.linalg.eigh(spread / np.outer(scale, scale))
    scale = np.where(varies, scale, 1.0)
    varying = np.linalg.qr(scale[:, None] * vectors[:, values > VARIES * len(values)])[0]
    P, kept = subspace.matrix, varying @ varying.T
    if np.abs((P - kept @ P) @ kept).max() < VARIES**0.5:
        P = kept @ P
    return np.asarray(block_diag(np.zeros((1, 1)), P.T))


@dataclass(frozen=True, eq=False)
class LevelPiece:
    """A piece of a log whose arms have a column of ones first."""

    piece: Any

    def chunks(self) -> Iterator[Chunk]:
        """Yield its rows."""
        for chunk in self.piece.chunks():
            yield chunk._replace(arms=with_ones(chunk.arms))


class LevelRows:
    """The rows of a log with a column of ones before the features of all arms."""

    names: tuple[str, ...] = ()

    def __init__(self, rows: Any) -> None:
        self._rows = rows
        self.rows: int | None = rows.rows

    def pieces(self) -> Iterator[LevelPiece]:
        """Yield the pieces of the log."""
        return map(LevelPiece, self._rows.pieces())


class OfFeatures(Policy):
    """A policy that is shown the arms of such a log without the column of ones."""

    def __init__(self, policy: Policy) -> None:
        self._policy, self.label = policy, policy.label
        self.learns, self.drawn = policy.learns, policy.drawn

    def chances(self, chunk: Chunk) -> Chances:
        """Return the probabilities at each row."""
        return self._policy.chances(chunk._replace(arms=chunk.arms[:, 1:]))
