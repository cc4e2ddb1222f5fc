"""The paper's synthetic settings a, b (random finite arms) and c (the entropy ball), and others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from projbandits._validation import integer, one_of
from projbandits.arms import DecisionSet, EntropyBall, FiniteArms
from projbandits.problems.base import World
from projbandits.problems.noise import Noise, as_noise
from projbandits.subspace import Subspace

SUBSPACE_KINDS = ("random", "coordinates")


@dataclass(frozen=True)
class RandomArms:
    """Settings a and b: arms, theta and U drawn anew in each trial.

    Parameters
    ----------
    d, arms, u, noise, subspace
        Those of `random_arms`, which checks them.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.problems.random_arms(noise=pb.problems.Uniform())
    RandomArms(d=10, arms=45, u=5, noise=Uniform(scale=0.5), subspace='random')
    """

    d: int
    arms: int
    u: int
    noise: Noise
    subspace: str

    def world(self, rng: np.random.Generator) -> World:
        """Return a world with every entry of the arms, theta and A from U(-1, 1)."""
        drawn = 2.0 * rng.random((self.arms + 1, self.d)) - 1.0  # at once, as calls take long
        U = _draw_subspace(self.subspace, self.d, self.u, rng)
        return World(FiniteArms(drawn[:-1]), U, self.noise, theta=drawn[-1])


@dataclass(frozen=True)
class EntropyBallWorlds:
    """Setting c: the entropy ball with theta and U drawn anew in each trial.

    Parameters
    ----------
    d, u, noise, bound, subspace, tie
        Those of `entropy_ball`, which checks them.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.problems.entropy_ball(bound=4)
    EntropyBallWorlds(d=4, u=2, noise=Gaussian(scale=0.5), bound=4.0, subspace='random', tie=None)
    """

    d: int
    u: int
    noise: Noise
    bound: float
    subspace: str
    tie: tuple[float, ...] | None = None

    def world(self, rng: np.random.Generator) -> World:
        """Return a world with every entry of theta and A from U(-1, 1)."""
        theta = rng.uniform(-1, 1, size=self.d)
        U = _draw_subspace(self.subspace, self.d, self.u, rng)
        return World(self._ball, U, self.noise, theta=theta)

    @cached_property
    def _ball(self) -> EntropyBall:
        # One for all worlds: finding its longest arm and its basis takes longer than a trial.
        return EntropyBall(self.d, self.bound, tie=self.tie)


@dataclass(frozen=True)
class RandomTheta:
    """A given decision set, with theta and U drawn anew in each trial.

    Parameters
    ----------
    arms, u, noise, subspace
        Those of `random_theta`, which checks them.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.problems.random_theta(pb.Ball(4), u=2)
    RandomTheta(arms=Ball(d=4, radius=1.0), u=2, noise=Gaussian(scale=0.5), subspace='random')
    """

    arms: DecisionSet
    u: int
    noise: Noise
    subspace: str

    def world(self, rng: np.random.Generator) -> World:
        """Return a world with every entry of theta and A from U(-1, 1)."""
        theta = rng.uniform(-1, 1, size=self.arms.d)
        U = _draw_subspace(self.subspace, self.arms.d, self.u, rng)
        return World(self.arms, U, self.noise, theta=theta)


def random_arms(
    d: int = 10,
    arms: int = 45,
    u: int = 5,
    noise: float | Noise = 0.5,
    subspace: str = "random",
) -> RandomArms:
    """Return setting a, or with `subspace="coordinates"` setting b.

    Parameters
    ----------
    d, arms, u : int
        The numbers of features, of arms (K), and of dimensions of U.
    noise : float or Noise
        The standard deviation of Gaussian noise, or a noise.
    subspace : {"random", "coordinates"}
        U is the span of a random d x u matrix, or of the first u coordinates.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> world = pb.problems.random_arms().world(np.random.default_rng(0))
    >>> world.arms, world.subspace
    (FiniteArms(45 arms, d=10), Subspace(dim=5, ambient=10))
    """
    d = integer("d", d, least=1)
    one_of("subspace", subspace, SUBSPACE_KINDS)
    u = integer("u", u, least=1, most=d)
    return RandomArms(d, integer("arms", arms, least=d), u, as_noise(noise), subspace)


def entropy_ball(
    d: int = 4,
    u: int = 2,
    noise: float | Noise = 0.5,
    bound: float = 5.0,
    subspace: str = "random",
    tie: npt.ArrayLike | None = None,
) -> EntropyBallWorlds:
    """Return setting c: arms from {x >= 0 : sum x log x <= bound}.

    Parameters
    ----------
    d, u : int
        The numbers of features and of dimensions of U.
    noise : float or Noise
        The standard deviation of Gaussian noise, or a noise.
    bound : float
        The bound on the negative entropy.
    subspace : {"random", "coordinates"}
        U is the span of a random d x u matrix, or of the first u coordinates.
    tie : array of shape (d,), optional
        The arm to play while every arm is a maximiser, as at first, when theta-hat is 0; by
        default the first arm of D_k. See docs/readings.md.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> pb.problems.entropy_ball().world(np.random.default_rng(0)).arms
    EntropyBall(d=4, bound=5.0)
    """
    d = integer("d", d, least=1)
    one_of("subspace", subspace, SUBSPACE_KINDS)
    u = integer("u", u, least=1, most=d)
    ball = EntropyBall(d, bound, tie=tie)
    given = None if tie is None else tuple(ball.tie.tolist())
    return EntropyBallWorlds(d, u, as_noise(noise), ball.bound, subspace, given)


def random_theta(
    arms: DecisionSet, *, u: int, noise: float | Noise = 0.5, subspace: str = "random"
) -> RandomTheta:
    """Return the problem of a given decision set, with theta and U drawn anew in each trial.

    Parameters
    ----------
    arms : DecisionSet
        What may be chosen, the same in every trial.
    u : int
        The number of dimensions of U.
    noise : float or Noise
        The standard deviation of Gaussian noise, or a noise.
    subspace : {"random", "coordinates"}
        U is the span of a random d x u matrix, or of the first u coordinates.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> problem = pb.problems.random_theta(pb.Ball(4), u=2)
    >>> problem.world(np.random.default_rng(0)).subspace
    Subspace(dim=2, ambient=4)
    """
    if not isinstance(arms, DecisionSet):
        raise TypeError(f"arms must be a DecisionSet, such as pb.Ball(4), got {arms!r}")
    one_of("subspace", subspace, SUBSPACE_KINDS)
    return RandomTheta(arms, integer("u", u, least=1, most=arms.d), as_noise(noise), subspace)


def _draw_subspace(kind: str, d: int, u: int, rng: np.random.Generator) -> Subspace:
    if kind == "coordinates":
        return Subspace.coordinates(range(u), d)
    return Subspace.span(rng.uniform(-1, 1, size=(d, u)))
