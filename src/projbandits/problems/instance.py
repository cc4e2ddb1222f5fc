"""One given world, the same in every trial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from projbandits._identity import identity
from projbandits.arms import DecisionSet, FiniteArms
from projbandits.exceptions import UnknownIdentityError
from projbandits.problems.base import World
from projbandits.problems.noise import Noise, as_noise
from projbandits.subspace import Subspace


@dataclass(frozen=True, eq=False, repr=False)
class Instance:
    """A problem whose every trial is the same world.

    Parameters
    ----------
    given : World
        That world; `instance` makes it.

    Examples
    --------
    >>> import projbandits as pb
    >>> U = pb.Subspace.coordinates(keep=[0], d=2)
    >>> pb.problems.instance([[1, 0], [0, 1]], theta=[1.0, 5.0], subspace=U).given.arms
    FiniteArms(2 arms, d=2)
    """

    given: World

    def world(self, rng: np.random.Generator) -> World:
        """Return the given world."""
        return self.given

    def __repr__(self) -> str:
        world = self.given
        parts = (world.arms, f"u={world.subspace.dim}", world.noise, _short_name(world))
        return f"instance({', '.join(map(str, parts))})"


def instance(
    arms: DecisionSet | npt.ArrayLike,
    *,
    subspace: Subspace,
    theta: npt.ArrayLike | None = None,
    returns: npt.ArrayLike | None = None,
    rewards: npt.ArrayLike | None = None,
    noise: float | Noise = 0.5,
) -> Instance:
    """Return the problem of one given world, the same in every trial.

    Parameters
    ----------
    arms : DecisionSet or array of shape (K, d)
        What may be chosen.
    subspace : Subspace
        What counts.
    theta : array of shape (d,), optional
        The parameter.
    returns, rewards : arrays of shape (K,), optional
        Instead of theta: the mean return and the projection reward of each arm.
    noise : float or Noise
        The standard deviation of Gaussian noise, or a noise.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> U = pb.Subspace.coordinates(keep=[0], d=2)
    >>> problem = pb.problems.instance(np.eye(2), theta=[1.0, 5.0], subspace=U)
    >>> problem.world(np.random.default_rng(0)).best_arm.index
    0
    """
    decision_set = arms if isinstance(arms, DecisionSet) else FiniteArms(arms)
    columns = decision_set.columns if isinstance(decision_set, FiniteArms) else None
    named: Any = theta
    if columns is not None and hasattr(named, "reindex"):
        theta = named.reindex(list(columns))  # a named theta is matched by name
    return Instance(
        World(
            decision_set,
            subspace,
            as_noise(noise),
            theta=None if theta is None else np.asarray(theta),
            returns=None if returns is None else np.asarray(returns),
            rewards=None if rewards is None else np.asarray(rewards),
        )
    )


def _short_name(world: World) -> str:
    """Return a short name of the numbers in a world, so that other numbers have another label."""
    try:
        return identity((world.arms, world.subspace, world.theta, world.returns, world.rewards))[:8]
    except UnknownIdentityError:  # a set of the user's own; whatever needs an identity raises
        return "unknown"
