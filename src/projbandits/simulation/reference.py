"""The reference engine: the readable loop over any strategy and any problem.

It is slow and obvious, and the specification of every faster engine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
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
    finite = world.arm_rewards is not None
    costs = np.zeros((3, horizon))
    pulls = np.zeros(int(world.size), np.int64) if finite else None

    state = strategy.init(world.arms, world.seen)
    for t, here in zip(range(horizon), world.steps(), strict=False):
        arm, K = strategy.select(state, here.arms, strategy_rng).arm, here.arms.size
        if finite and not (isinstance(arm.index, int | np.integer) and 0 <= arm.index < K):
            raise ValueError(
                f"{strategy!r} must choose a row from 0 to {K - 1}, it chose {arm.index} at step "
                f"{t + 1}"
            )
        mean = here.mean_return(arm)
        state = strategy.update(state, arm, here.noise.observe(mean, noise_rng))

        costs[0, t] = here.best_reward - here.reward(arm)
        costs[1, t] = here.best_return - mean
        if pulls is not None and arm.index is not None:
            costs[2, t] = here.is_best[arm.index]
            pulls[here.item(arm.index)] += 1
    return np.cumsum(costs, axis=1)[:, steps - 1], pulls
