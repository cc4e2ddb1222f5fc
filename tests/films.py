"""A decider that must account for itself: films, of which group and age are protected."""

from typing import Any

import numpy as np
import pandas as pd

import projbandits as pb

COLUMNS = ["drama", "length", "group", "age"]
U = pb.Subspace.without(["group", "age"], columns=COLUMNS)
THETA = np.array([1.0, -0.5, 2.0, 0.3])


def constant(t: int) -> float:
    return 0.4


def world(rng: np.random.Generator, arms: int = 6) -> pd.DataFrame:
    """Arms whose length leans on their age; the group is 0 or 1."""
    table = pd.DataFrame(rng.normal(size=(arms, 4)), columns=COLUMNS)
    table["group"] = rng.integers(2, size=arms)
    table["length"] = 0.9 * table["age"] + 0.1 * table["length"]
    return table


def played(
    strategy: Any = None, steps: int = 60, count: int = 1, intercept: bool = True
) -> pb.Decider:
    rng = np.random.default_rng(0)
    strategy = strategy or pb.GENTRY(schedule=constant)
    decider = pb.Decider(strategy, subspace=U, seed=0, intercept=intercept)
    for _ in range(steps):
        for decision in decider.ask(world(rng), count=count):
            decider.tell(decision.id, float(decision.arm @ THETA + rng.normal()))
    return decider
