"""Worlds whose offers change: some items of a catalogue at each step, viewers, and drift."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array, integer, not_negative, positive
from projbandits.arms import FiniteArms
from projbandits.problems.base import World
from projbandits.problems.noise import Noise, as_noise
from projbandits.subspace import Subspace

SPREAD = math.sqrt(1 / 3)
"""The standard deviation of U(-1, 1), from which theta is drawn."""


@runtime_checkable
class Drift(Protocol):
    """How theta changes from one step to the next.

    Examples
    --------
    Any object with this method is one. Here theta turns round at step 100.

    >>> import projbandits as pb
    >>> class Turn:
    ...     def moved(self, theta, t, rng):
    ...         return -theta if t == 99 else theta
    >>> isinstance(Turn(), pb.problems.Drift)
    True
    """

    def moved(self, theta: Array, t: int, rng: np.random.Generator) -> Array:
        """Return the theta of step t + 1, given that of step t."""
        ...


@dataclass(frozen=True)
class Jump:
    """Theta is drawn anew from time to time, and stays the same in between.

    Parameters
    ----------
    every : int
        The number of steps after which it is drawn anew.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> jump, theta, rng = pb.problems.Jump(every=2000), np.ones(2), np.random.default_rng(0)
    >>> jump.moved(theta, 1999, rng), jump.moved(theta, 2000, rng).round(2)
    (array([1., 1.]), array([ 0.27, -0.46]))
    """

    every: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "every", integer("every", self.every, least=1))

    def moved(self, theta: Array, t: int, rng: np.random.Generator) -> Array:
        """Return the theta of step t + 1, given that of step t."""
        return theta if t % self.every else 2 * rng.random(len(theta)) - 1


@dataclass(frozen=True)
class Wander:
    """Theta takes a small step each time: sqrt(1 - rate^2) theta + rate N(0, I / 3).

    Its spread stays that of U(-1, 1). Over n steps its correlation with itself falls to
    (1 - rate^2)^(n / 2), which is one half after 1.39 / rate^2 steps.

    Parameters
    ----------
    rate : float
        The size of a step, at most 1.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> pb.problems.Wander(rate=0.02).moved(np.ones(2), 1, np.random.default_rng(0)).round(3)
    array([1.001, 0.998])
    """

    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", positive("rate", self.rate))
        if self.rate > 1:
            raise ValueError(f"rate must be at most 1, got {self.rate}: 1 draws theta anew")

    def moved(self, theta: Array, t: int, rng: np.random.Generator) -> Array:
        """Return the theta of step t + 1, given that of step t."""
        return math.sqrt(1 - self.rate**2) * theta + self.rate * SPREAD * rng.standard_normal(
            len(theta)
        )


class Truth(NamedTuple):
    """What is behind the offers of one trial.

    Parameters
    ----------
    items : ndarray of shape (N, d)
        The features of the catalogue's items.
    effects : ndarray of shape (N,)
        What each item brings beyond its features.
    kept : Subspace
        The part of an item's features that counts.
    theta : ndarray of shape (d (1 + context),)
        The parameter at the first step.
    offered, context : int
        How many items a step offers, and the length of a viewer's vector.
    drift : Drift or None
        How theta changes.
    rng : numpy.random.Generator
        Where offers, viewers and drift come from; copied before it is used.
    """

    items: Array
    effects: Array
    kept: Subspace
    theta: Array
    offered: int
    context: int
    drift: Drift | None
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class Step(World):
    """What is on offer at one step; `items` says which row of the catalogue each arm is.

    An offer need not span U: over the steps all items are seen.
    """

    items: NDArray[np.int64] = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arm_returns", self.returns)
        object.__setattr__(self, "arm_rewards", self.rewards)

    def item(self, index: int) -> int:
        """Return which item an arm on offer is."""
        return int(self.items[index])


@dataclass(frozen=True, eq=False)
class OfferedWorld(Step):
    """A world whose offers change; `steps` yields them, and itself it is the first of them.

    Parameters
    ----------
    items : ndarray of int
        Which row of the catalogue each arm on offer is.
    truth : Truth
        What is behind the offers.

    Examples
    --------
    >>> import itertools, numpy as np, projbandits as pb
    >>> problem = pb.problems.offers(catalogue=100, offered=3)
    >>> world = problem.world(np.random.default_rng(0))
    >>> one, other = itertools.islice(world.steps(), 2)
    >>> len(one.items), one.items.tolist() == other.items.tolist(), world.size
    (3, False, 100)
    """

    steady: ClassVar[bool] = False
    truth: Truth = field(kw_only=True, repr=False)

    @property
    def size(self) -> int:
        """How many items the catalogue has."""
        return len(self.truth.items)

    def steps(self) -> Iterator[Step]:
        """Yield what is on offer at each step, without end; the same whenever it is asked for."""
        return _steps(self.truth, self.subspace, self.noise)


def _steps(truth: Truth, subspace: Subspace, noise: Noise) -> Iterator[Step]:
    rng, theta, t = copy.deepcopy(truth.rng), truth.theta, 0
    order = np.arange(len(truth.items))
    while True:
        t += 1
        for j, chance in enumerate(rng.random(truth.offered)):
            i = j + int(chance * (len(order) - j))
            order[j], order[i] = order[i], order[j]
        viewer = np.append(1.0, 2 * rng.random(truth.context) - 1)
        chosen = order[: truth.offered].copy()
        X, own = np.kron(viewer, truth.items[chosen]), truth.effects[chosen]
        arms = FiniteArms(X)
        returns = arms.scores(theta) + own
        rewards = arms.scores(subspace.project(theta)) + own
        yield Step(arms, subspace, noise, returns=returns, rewards=rewards, items=chosen)
        if truth.drift is not None:
            theta = truth.drift.moved(theta, t, rng)


@dataclass(frozen=True)
class Offers:
    """A catalogue of which each step offers a part; all of it is drawn anew in each trial.

    Parameters
    ----------
    catalogue, offered, d, u, noise, effects, context, drift
        Those of `offers`, which checks them.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.problems.offers(catalogue=100)
    Offers(catalogue=100, offered=20, d=10, u=5, noise=Gaussian(scale=0.5), effects=0.0, context=0,
    drift=None)
    """

    catalogue: int
    offered: int
    d: int
    u: int
    noise: Noise
    effects: float
    context: int
    drift: Drift | None

    def world(self, rng: np.random.Generator) -> OfferedWorld:
        """Return a world with every entry of items, theta and A from U(-1, 1)."""
        X = rng.uniform(-1, 1, size=(self.catalogue, self.d))
        theta = rng.uniform(-1, 1, size=self.d * (1 + self.context))
        kept = Subspace.span(rng.uniform(-1, 1, size=(self.d, self.u)))
        own = self.effects * rng.standard_normal(self.catalogue)
        offers = self.offered, self.context, self.drift, copy.deepcopy(rng)
        truth = Truth(X, own, kept, theta, *offers)
        U = Subspace(np.asarray(np.kron(np.eye(1 + self.context), kept.basis), dtype=np.float64))
        first = next(_steps(truth, U, self.noise))
        return OfferedWorld(
            first.arms,
            U,
            self.noise,
            returns=first.returns,
            rewards=first.rewards,
            items=first.items,
            truth=truth,
        )


def offers(
    catalogue: int = 1000,
    offered: int = 20,
    d: int = 10,
    u: int = 5,
    noise: float | Noise = 0.5,
    effects: float = 0.0,
    context: int = 0,
    drift: Drift | None = None,
) -> Offers:
    """Return the problem of a catalogue of which each step offers some items at random.

    Regret is counted against the best item on offer at that step. D_k of a step is the basis of
    the arms on offer.

    Parameters
    ----------
    catalogue, offered : int
        The number of items, and how many distinct ones of them a step offers.
    d, u : int
        The numbers of features of an item, and of dimensions of the part of them that counts.
    noise : float or Noise
        The standard deviation of Gaussian noise, or a noise.
    effects : float
        The standard deviation of what an item brings beyond its features. It counts as wanted.
    context : int
        The length c of a viewer's vector z, drawn from U(-1, 1) at each step. An item x is then the
        arm (x, z_1 x, ..., z_c x) of d (1 + c) features: a viewer changes what each feature is
        worth. What counts of x counts of every product with it, so U has u (1 + c) dimensions.
    drift : Jump, Wander or None
        How theta changes from step to step.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> problem = pb.problems.offers(context=2, drift=pb.problems.Jump(every=500))
    >>> world = problem.world(np.random.default_rng(0))
    >>> world.arms, world.subspace, world.size
    (FiniteArms(20 arms, d=30), Subspace(dim=15, ambient=30), 1000)
    """
    offered = integer("offered", offered, least=1)
    d = integer("d", d, least=1)
    catalogue = integer("catalogue", catalogue, least=max(offered, d))
    u = integer("u", u, least=1, most=d)
    context = integer("context", context, least=0)
    if drift is not None and (not isinstance(drift, Drift) or isinstance(drift, type)):
        raise TypeError(
            f"drift must be None, or one such as Jump(every=2000) or Wander(rate=0.02), got "
            f"{drift!r}"
        )
    own = not_negative("effects", effects)
    return Offers(catalogue, offered, d, u, as_noise(noise), own, context, drift)
