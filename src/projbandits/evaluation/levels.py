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


def with_ones(arms: Array) -> Array:
    """Return arms with a column of ones before their features."""
    return np.column_stack([np.ones(len(arms)), arms])


def wanted_with_level(subspace: Subspace, value: str) -> Array:
    """Return the projection onto what counts, where the level stands first: of returns alone."""
    whole = value == "return"
    P = np.eye(subspace.ambient) if whole else subspace.matrix
    return np.asarray(block_diag(np.eye(1) * whole, P))


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


def _none(arms: Array, context: Any) -> Array:
    raise NotImplementedError("it is asked by another policy")


class OfFeatures(Policy):
    """A policy that is shown the arms of such a log without the column of ones."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(_none, policy.label)
        self._policy = policy
        self.learns, self.drawn = policy.learns, policy.drawn

    def chances(self, chunk: Chunk) -> Chances:
        """Return the probabilities at each row."""
        return self._policy.chances(chunk._replace(arms=chunk.arms[:, 1:]))
