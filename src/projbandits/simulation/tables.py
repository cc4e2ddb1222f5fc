"""A world of finitely many arms as the arrays that kernels take, made once for all strategies."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from projbandits._checks import Array
from projbandits.arms import FiniteArms
from projbandits.problems import World


class Tables:
    """The arrays of one finite world; each is made when first asked for."""

    def __init__(self, world: World) -> None:
        assert isinstance(world.arms, FiniteArms)
        assert world.arm_returns is not None
        assert world.arm_rewards is not None
        self.world = world
        self.arms = world.arms
        self.means: Array = np.ascontiguousarray(world.arm_returns)
        self.gaps: Array = world.best_reward - world.arm_rewards
        self.return_gaps: Array = world.best_return - world.arm_returns
        self.is_best = np.ascontiguousarray(world.is_best)

    @cached_property
    def whole(self) -> tuple[Array, Array]:
        """The arms and their transpose."""
        return _with_transpose(self.arms.vectors)

    @cached_property
    def projected(self) -> tuple[Array, Array]:
        """The arms' projections and their transpose."""
        return _with_transpose(self.arms.vectors @ self.world.subspace.matrix)

    def basis(self, method: str) -> NDArray[np.int64]:
        """Return the rows of D_k."""
        return np.array(self.arms.basis_rows(method), dtype=np.int64)


def _with_transpose(X: Array) -> tuple[Array, Array]:
    return np.array(X, order="C"), np.array(X.T, order="C")
