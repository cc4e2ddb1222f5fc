"""Random streams: each trial has its own, one for each purpose.

They are spawned from the seed by trial and purpose alone, so a result does not depend on how many
trials are asked for, on the strategies beside, or on who runs them in what order; and every
strategy meets the same worlds and the same noise, so differences between strategies are paired.
"""

from __future__ import annotations

import numpy as np

PURPOSES = ("world", "noise", "strategy")


def stream(seed: int, trial: int, purpose: str) -> np.random.Generator:
    """Return the generator of one trial for one purpose.

    Examples
    --------
    >>> from projbandits.simulation.streams import stream
    >>> stream(0, 7, "noise").random() == stream(0, 7, "noise").random()
    True
    """
    key = (trial, PURPOSES.index(purpose))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
