"""The reference engine: the readable loop over any strategy and any problem.

It is slow and obvious, and the specification of every faster engine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projbandits._checks import Array
from projbandits.problems import World
from projbandits.strategies import Strategy


def run(
    world: World,
    strategy: Strategy,
    steps: NDArray[np.int64],
    horizon: int,
    noise_rng: np.random.Generator,
    strategy_rng: np.random.Generator,
) -> tuple[Array, NDArray[np.int64] | None]:
    """Play one world.

    Returns
    -------
    answers : ndarray of shape (3, step)
        Regret, return regret and plays of a best arm up to some steps.
    pulls : ndarray of shape (K,), or None
        How often each arm was played, if there are finitely many.
    """
    finite, K = world.arm_rewards is not None, world.arms.size
    costs = np.zeros((3, horizon))
    pulls = np.zeros(int(K), np.int64) if finite else None

    state = strategy.init(world.arms, world.seen)
    for t in range(horizon):
        arm = strategy.select(state, world.arms, strategy_rng).arm
        if finite and not (isinstance(arm.index, int | np.integer) and 0 <= arm.index < K):
            raise ValueError(
                f"{strategy!r} must choose a row from 0 to {K - 1}, it chose {arm.index} at step "
                f"{t + 1}"
            )
        now = world.at(t + 1)
        mean = now.mean_return(arm)
        state = strategy.update(state, arm, now.noise.observe(mean, noise_rng))

        costs[0, t] = now.best_reward - now.reward(arm)
        costs[1, t] = now.best_return - mean
        if pulls is not None:
            costs[2, t] = now.is_best[arm.index]
            pulls[arm.index] += 1
    return np.cumsum(costs, axis=1)[:, steps - 1], pulls
