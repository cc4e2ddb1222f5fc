"""Beliefs to compute with."""

import numpy as np

import projbandits as pb
from projbandits.strategies.belief import Moments


def some_belief(seed: int, effects: bool) -> Moments:
    rng = np.random.default_rng(seed)
    X, B = rng.normal(size=(7, 4)), rng.normal(size=(4, 4))
    P = pb.Subspace.span(rng.normal(size=(4, 2))).matrix
    own = rng.uniform(0.1, 0.5, size=7) if effects else np.zeros(7)
    return Moments(rng.normal(size=7), X @ P, X, B @ B.T, own, 0.7)
