"""Random streams: each trial has its own, one for each purpose.

They are spawned from the seed by trial and purpose alone, so a result does not depend on how many
trials are asked for, on the other strategies, or on where and in what order they run; and every
strategy meets the same worlds, so differences between strategies are paired.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

PURPOSES = ("world", "noise", "strategy")


def stream(seed: int, trial: int, purpose: str) -> np.random.Generator:
    """Return the generator of one trial for one purpose.

    Examples
    --------
    >>> from projbandits.simulation.streams import stream
    >>> stream(0, 7, "noise").random() == stream(0, 7, "noise").random()
    True
    """
    place = (trial, PURPOSES.index(purpose))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=place)))


@lru_cache(maxsize=16)
def key(seed: int) -> NDArray[np.uint64]:
    """Return the key under which the event engine scrambles its counters of trial and purpose.

    Its many short trials would spend more time on making generators than on using them; see
    `kernels.philox`.
    """
    return np.random.SeedSequence(seed).generate_state(2, np.uint64).astype(np.uint64)
