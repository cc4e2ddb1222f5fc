"""Results with given numbers, as if they had been simulated."""

import dataclasses
from typing import Any

import numpy as np

import projbandits as pb
from projbandits.paper import Experiment


def made_up(strategies: tuple[Any, ...], regret: Any, found: Any = None) -> pb.Result:
    """Return a result with the given regret (strategy x trial x checkpoint)."""
    regret = np.asarray(regret, dtype=np.float64)
    shaped = np.empty((len(strategies), regret.shape[1], regret.shape[2]))
    shaped[:] = regret
    real = pb.simulate(pb.problems.random_arms(), strategies, trials=1, horizon=1, progress=False)
    return dataclasses.replace(
        real,
        steps=np.unique(np.geomspace(1, 10_000, regret.shape[2]).astype(np.int64)),
        regret=shaped,
        return_regret=shaped,
        found_best=None if found is None else np.asarray(found, dtype=np.bool_),
        horizon=10_000,
    )


A = Experiment(name="x", problem=pb.problems.random_arms, strategies=(pb.GENTRY(), pb.UE()))
