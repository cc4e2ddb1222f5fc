"""How many directions to leave out: as many as go further than chance, one after another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from projbandits._validation import Array

CHANCES = 199
"""How often chance is tried."""
ROUND_OFF = 1e-9
"""Chance that falls short by no more than this share goes as far."""
CHANCE_LEVEL = 0.05
"""A direction counts if chance goes as far with at most this probability."""


class Tested(NamedTuple):
    """The sizes of directions, and what chance alone brings.

    Parameters
    ----------
    sizes : ndarray of shape (r,)
        How large each direction is, the largest first.
    limits : ndarray of shape (r,)
        What chance stays below with probability 0.95; nan where that was not asked.
    p_values : ndarray of shape (r,)
        How often chance goes as far; nan where that was not asked.
    """

    sizes: Array
    limits: Array
    p_values: Array

    @classmethod
    def of(cls, sizes: Array, by_chance: Array) -> Tested:
        """Return the test of each size by draws of chance, of shape (directions, draws)."""
        limits, p_values = np.full((2, len(sizes)), np.nan)
        for r, draws in enumerate(by_chance):
            limits[r] = np.quantile(draws, 1 - CHANCE_LEVEL)
            as_far = draws >= sizes[r] * (1 - ROUND_OFF)
            p_values[r] = (1 + as_far.sum()) / (1 + len(draws))
        return cls(sizes, limits, p_values)

    @property
    def beyond(self) -> int:
        """How many directions go further than chance, before the first that does not."""
        clear = np.append(self.p_values <= CHANCE_LEVEL, False)
        return int(clear.argmin())


def orthonormalised(A: Array) -> Array:
    """Return orthonormal columns with the same span as the first, the first two and so on."""
    return np.asarray(np.linalg.qr(A)[0])
