"""Logs that others wrote, whose truth is known."""

from typing import Any

import numpy as np
import pandas as pd

import projbandits as pb

ARMS = pd.DataFrame(
    np.random.default_rng(3).normal(size=(6, 3)), columns=["a", "b", "race"], index=list("uvwxyz")
)
THETA = np.array([1.0, -0.5, 2.0])
U = pb.Subspace.without("race", columns=ARMS.columns)
LOGGED = np.array([0.3, 0.1, 0.2, 0.15, 0.05, 0.2])
OTHER = np.array([0.1, 0.4, 0.1, 0.2, 0.1, 0.1])


def table(n: int, seed: int = 0, effects: Any = 0.0) -> pd.DataFrame:
    """A log of a fixed policy, with a segment that changes nothing."""
    rng = np.random.default_rng(seed)
    action = rng.choice(6, size=n, p=LOGGED)
    means = ARMS.to_numpy() @ THETA + effects
    return pd.DataFrame(
        {
            "item": ARMS.index.to_numpy()[action],
            "p": LOGGED[action],
            "click": means[action] + rng.normal(size=n),
            "segment": rng.integers(0, 2, n),
            "pi": OTHER[action],
            "minute": np.arange(n),
            **{f"p_{label}": LOGGED[i] for i, label in enumerate(ARMS.index)},
        }
    )


def log(source: Any, **changed: Any) -> pb.Log:
    given = {"arms": ARMS, "action": "item", "propensity": "p", "outcome": "click", **changed}
    return pb.Log.from_table(source, **given)


def other(arms: Any, context: Any) -> Any:
    return OTHER


def by_segment(arms: Any, context: Any) -> Any:
    return OTHER if context["segment"] else LOGGED
