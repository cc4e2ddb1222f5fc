"""Finitely many arms on offer, which were checked already."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.arms import Arm, FiniteArms
from projbandits.arms.base import independent_rows
from projbandits.arms.finite import ARMS_DEPENDENT

MANY_ARMS = 4096
"""From more arms than this, D_k is sought among `SAMPLED` d of them first."""

SAMPLED = 16

WEIGHED = 100_000
"""From more arms than this, a strategy weighs some: the best by the belief and its draws, and D_k.

Which it weighs is determined by the belief, so whoever decides again weighs the same.
"""


class Offer(FiniteArms):
    """Finitely many arms that were checked already; a view, not a copy.

    D_k may be any k independent arms that span all of them (Assumption 1). Where there are more
    than `MANY_ARMS` arms it is sought among 16 d of them: evenly spread ones for "pivoted-qr", the
    first ones for "first". If those have full rank they span what all arms do. Otherwise the arm
    farthest from their span is added, until none lies outside.

    `labels` are what the arms are called, as the ledger writes it.
    """

    def __init__(
        self,
        vectors: Array,
        columns: tuple[str, ...] | None = None,
        labels: tuple[str, ...] | None = None,
    ) -> None:
        self.vectors = vectors.view()
        self.vectors.flags.writeable = False
        self.columns = columns
        self.labels = labels
        self._rows: dict[str, list[int]] = {}
        self.numbers: tuple[Any, Any] = None, None  # their rows in the ledger, and its numbering

    @property
    def vast(self) -> bool:
        """Whether there are more arms than a strategy can weigh one by one."""
        return self.size > WEIGHED

    @cached_property
    def longest(self) -> float:
        """The length of the longest arm."""
        return float(np.sqrt(np.einsum("ij,ij->i", self.vectors, self.vectors).max()))

    def basis_rows(self, method: str = "pivoted-qr") -> list[int]:
        """Return the rows of D_k."""
        if method not in self._rows:
            self._rows[method] = self._seek(method)
        return self._rows[method]

    def _seek(self, method: str) -> list[int]:
        if self.size > MANY_ARMS:
            some = np.arange(min(SAMPLED * self.d, self.size))
            if method == "pivoted-qr":
                some = some * (self.size - 1) // (len(some) - 1)
            found = independent_rows(self.vectors[some], method, ARMS_DEPENDENT)
            rows: list[int] = some[found].tolist()
            return rows if len(rows) == self.d else self._complete(rows)
        return independent_rows(self.vectors, method, ARMS_DEPENDENT)

    def _complete(self, rows: list[int]) -> list[int]:
        """Return rows with those added that lie outside of their span, each column at one scale."""
        X = self.vectors
        scale = np.maximum(X.max(axis=0), -X.min(axis=0))
        scale[scale == 0.0] = 1.0
        while len(rows) < self.d:
            inside = X[rows] / scale
            _, sizes, turned = np.linalg.svd(inside, full_matrices=True)
            outside = (turned[len(sizes) :] / scale).T
            far = np.concatenate(
                [
                    np.abs(X[start : start + MANY_ARMS] @ outside).max(axis=1)
                    for start in range(0, self.size, MANY_ARMS)
                ]
            )
            row = int(far.argmax())
            if far[row] <= ARMS_DEPENDENT * sizes.max(initial=1.0):
                break
            rows = [*rows, row]
        return rows

    def best(self, direction: npt.ArrayLike) -> Arm:
        """Return the arm with the largest score; ties go to the lowest index."""
        return self.arm(int(self.scores(np.asarray(direction)).argmax()))

    def holds(self, vectors: NDArray[Any], labels: tuple[str, ...] | None = None) -> bool:
        """Tell whether these are its arms, in the same order."""
        return self.labels == labels and self.has_rows(vectors)

    def has_rows(self, vectors: NDArray[Any]) -> bool:
        """Tell whether these are its arms, whatever they are called."""
        mine = self.vectors
        if mine.shape != vectors.shape or mine[0, 0] != vectors[0, 0]:
            return False
        return bool((mine == vectors).all())

    def own(self) -> None:
        """Take a copy of the arms, which no one else can change."""
        self.vectors = self.vectors.copy()
        self.vectors.flags.writeable = False

    def without(self, taken: Sequence[int]) -> tuple[Offer, NDArray[np.int64]]:
        """Return the offer without some arms, and the rows that are left."""
        left = np.delete(np.arange(self.size), taken)
        labels = self.labels
        if labels is not None:
            labels = tuple(labels[i] for i in left.tolist())
        return Offer(self.vectors[left], self.columns, labels), left
