"""The reference engine: the readable loop over any strategy and any problem.

It is slow and obvious, and the specification of every faster engine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projbandits.problems import World
from projbandits.simulation.records import Record, best_shares
from projbandits.strategies import Strategy


def run(
    world: World,
    strategy: Strategy,
    checkpoints: NDArray[np.int64],
    horizon: int,
    noise_rng: np.random.Generator,
    strategy_rng: np.random.Generator,
) -> Record:
    """Return what one strategy did in one world."""
    finite, K = world.arm_rewards is not None, world.arms.size
    gaps = np.empty(horizon)
    return_gaps = np.empty(horizon)
    was_best = np.zeros(horizon, dtype=np.bool_)

    state = strategy.init(world.arms, world.subspace)
    for t in range(horizon):
        arm = strategy.select(state, world.arms, strategy_rng).arm
        if finite and not (isinstance(arm.index, int | np.integer) and 0 <= arm.index < K):
            raise ValueError(
                f"{strategy!r} must choose a row from 0 to {K - 1}, it chose {arm.index} at step "
                f"{t + 1}"
            )
        mean = world.mean_return(arm)
        state = strategy.update(state, arm, world.noise.observe(mean, noise_rng))

        gaps[t] = world.best_reward - world.reward(arm)
        return_gaps[t] = world.best_return - mean
        was_best[t] = finite and world.is_best[arm.index]

    shares, found = best_shares(was_best, checkpoints)
    return Record(
        regret=np.cumsum(gaps)[checkpoints - 1],
        return_regret=np.cumsum(return_gaps)[checkpoints - 1],
        best_share=shares if finite else None,
        found_best=found if finite else None,
    )
