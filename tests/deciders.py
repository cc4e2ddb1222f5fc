"""What tests of a decider share."""

from typing import Any

import numpy as np

import projbandits as pb
from tests import naive

NAMED = pb.Subspace.without("age", columns=["age", "price", "size"])


def some_arms(rng: np.random.Generator, arms: int = 6, d: int = 3) -> naive.Array:
    return rng.normal(size=(arms, d))


def fingerprint(decider: pb.Decider) -> Any:
    """Everything that a refused call must leave as it was."""
    return (
        decider.ridge.factor.tobytes(),
        decider.steps,
        decider.columns,
        [d.id for d in decider.pending],
        decider.history().position,
    )
