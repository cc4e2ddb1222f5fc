"""A world as the arrays that kernels take, made once for all strategies."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.arms import FiniteArms
from projbandits.problems import World

VECTOR = 16
"""Loops over this many arms at a time are vector instructions, and those over the rest are not."""


class FiniteWorld(NamedTuple):
    """What a kernel knows of a world of K arms.

    Parameters
    ----------
    means : ndarray of shape (K,)
        The mean return of each arm.
    gaps, return_gaps : ndarray of shape (K,)
        What each arm costs in projection reward and in return.
    is_best : ndarray of shape (K,)
        Whether it is a best projection arm.
    noise : int
        Which noise, by `kernels.common.NOISE_CODES`.
    scale : float
        The noise's parameter.
    """

    means: Array
    gaps: Array
    return_gaps: Array
    is_best: NDArray[np.bool_]
    noise: int
    scale: Any


class ConvexWorld(NamedTuple):
    """What a kernel knows of a world on a convex set.

    Parameters
    ----------
    theta, wanted : ndarray of shape (d,)
        The parameter, and P_U of it.
    best_return, best_reward : float
        The largest mean return and projection reward.
    noise : int
        Which noise, by `kernels.common.NOISE_CODES`.
    scale : float
        The noise's parameter.
    """

    theta: Array
    wanted: Array
    best_return: float
    best_reward: float
    noise: int
    scale: float


class Arrays:
    """The arrays of one finite world; each is made when first asked for."""

    def __init__(self, world: World) -> None:
        assert isinstance(world.arms, FiniteArms)
        self.world = world
        self.arms = world.arms

    @cached_property
    def truth(self) -> FiniteWorld:
        """What the kernels know of the world."""
        from projbandits.simulation.kernels.common import NOISE_CODES

        world = self.world
        assert world.arm_returns is not None
        assert world.arm_rewards is not None
        return FiniteWorld(
            np.ascontiguousarray(world.arm_returns),
            world.best_reward - world.arm_rewards,
            world.best_return - world.arm_returns,
            np.ascontiguousarray(world.is_best),
            NOISE_CODES[type(world.noise)],
            world.noise.scale,
        )

    @cached_property
    def whole(self) -> tuple[Array, Array]:
        """The arms and their transpose."""
        return _with_transpose(self.arms.vectors)

    @cached_property
    def projected(self) -> tuple[Array, Array]:
        """The arms' projections and their transpose."""
        return _with_transpose(self.arms.vectors @ self.world.seen.matrix)

    def basis(self, method: str) -> NDArray[np.int64]:
        """Return the rows of D_k."""
        return np.array(self.arms.basis_rows(method), dtype=np.int64)


def widened(columns: Array) -> Array:
    """Return matrices with an arm per column and columns of zeros up to a multiple of `VECTOR`.

    An arm of zeros whose score is -inf never leads, and nothing is learnt from it.
    """
    out = np.zeros((*columns.shape[:-1], -(-columns.shape[-1] // VECTOR) * VECTOR))
    out[..., : columns.shape[-1]] = columns
    return out


def _with_transpose(X: Array) -> tuple[Array, Array]:
    return np.array(X, order="C"), np.array(X.T, order="C")
