"""Worlds of groups whose biases differ: what they have in common counts, the rest does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import ClassVar

import numpy as np

from projbandits._validation import integer, positive
from projbandits.arms import FiniteArms
from projbandits.problems.base import World
from projbandits.problems.noise import Noise, as_noise
from projbandits.subspace import Subspace


@dataclass(frozen=True, eq=False)
class GroupWorld(World):
    """A world whose groups take turns: step t is that of group (t - 1) mod G.

    Parameters
    ----------
    groups : sequence of World
        The world as each group sees it. All have the arms, U and P_U theta of this one.

    Examples
    --------
    >>> import itertools, numpy as np, projbandits as pb
    >>> world = pb.problems.groups(groups=2).world(np.random.default_rng(0))
    >>> one, other, again = itertools.islice(world.steps(), 3)
    >>> one is again, one is other
    (True, False)
    """

    groups: Sequence[World] = field(default=(), repr=False)
    steady: ClassVar[bool] = False

    def __identity__(self) -> tuple[object, ...]:
        return (*super().__identity__(), *(group.theta for group in self.groups))

    def steps(self) -> Iterator[World]:
        """Yield the world of the group whose turn it is."""
        return cycle(self.groups)


@dataclass(frozen=True)
class Groups:
    """Arms, phi, U and the biases of groups drawn anew in each trial.

    Parameters
    ----------
    d, arms, u, groups, bias, noise
        Those of `groups`, which checks them.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.problems.groups(groups=3, bias=1.0)
    Groups(d=10, arms=45, u=8, groups=3, bias=1.0, noise=Gaussian(scale=0.5))
    """

    d: int
    arms: int
    u: int
    groups: int
    bias: float
    noise: Noise

    def world(self, rng: np.random.Generator) -> World:
        """Return a world with theta_g = phi + b_g, phi in U and b_g outside of it."""
        X = FiniteArms(rng.uniform(-1, 1, size=(self.arms, self.d)))
        theta = rng.uniform(-1, 1, size=self.d)
        U = Subspace.span(rng.uniform(-1, 1, size=(self.d, self.u)))
        steps = rng.standard_normal((self.groups, self.d - self.u))
        thetas = U.project(theta) + self.bias * steps @ U.complement().basis.T
        worlds = tuple(World(X, U, self.noise, theta=each) for each in thetas)
        return GroupWorld(X, U, self.noise, theta=thetas.mean(axis=0), groups=worlds)


def groups(
    d: int = 10,
    arms: int = 45,
    u: int = 8,
    groups: int = 8,
    bias: float = 1.0,
    noise: float | Noise = 0.5,
) -> Groups:
    """Return worlds of groups that share what counts and differ in the rest.

    The groups take turns: step t is that of group (t - 1) mod `groups`. Their parameters are
    theta_g = phi + b_g, with phi in U, and b_g normal outside of it. U may be learnt from where
    they disagree; `projbandits.strategies.seeking.SeekingGENTRY` does.

    Parameters
    ----------
    d, arms, u : int
        The numbers of features, of arms (K), and of dimensions of U.
    groups : int
        How many groups there are.
    bias : float
        The standard deviation of b_g along each direction outside of U.
    noise : float or Noise
        The standard deviation of Gaussian noise, or a noise.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> world = pb.problems.groups(groups=3).world(np.random.default_rng(0))
    >>> one, other, *_ = world.groups
    >>> bool(np.allclose(one.arm_rewards, other.arm_rewards))
    True
    >>> bool(np.allclose(one.arm_returns, other.arm_returns))
    False
    """
    d = integer("d", d, least=2)
    return Groups(
        d,
        integer("arms", arms, least=d),
        integer("u", u, least=1, most=d - 1),
        integer("groups", groups, least=2),
        positive("bias", bias),
        as_noise(noise),
    )
