"""What a problem is: a source of worlds, one for each trial."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array, real_vector
from projbandits.arms import Arm, DecisionSet, FiniteArms
from projbandits.problems.noise import Noise
from projbandits.subspace import Subspace

NO_GAP = 1e-12
"""If P_U theta is below this, relative to theta, it is round-off and theta lies outside of U."""


@dataclass(frozen=True, eq=False)
class World:
    """One trial's truth: what may be chosen, what counts, and what each choice brings.

    Playing arm x returns <x, theta> + eta (equation 1), of which <P_U x, P_U theta> counts and the
    rest is corruption (equation 3). Either `theta` is given, and rewards are linear in the arm, or,
    on finitely many arms, the mean `returns` and the projection `rewards` of each arm are (a
    misspecified world).

    Parameters
    ----------
    arms : DecisionSet
        D.
    subspace : Subspace
        U, which must lie in span(D) (Assumption 1).
    noise : Noise
        How a return scatters around its mean.
    theta : ndarray of shape (d,), optional
        The parameter. P_U theta must not be zero (Assumption 1): there would be nothing to learn.
    returns, rewards : ndarray of shape (K,), optional
        The mean return and the projection reward of each arm.
    estimate : Subspace, optional
        What strategies are given in place of U, where it is not known; U still judges them.

    Attributes
    ----------
    arm_returns, arm_rewards : ndarray of shape (K,) or None
        The mean return and the projection reward of each of finitely many arms, as given or from
        theta.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> arms, U = pb.FiniteArms(np.eye(2)), pb.Subspace.coordinates(keep=[0], d=2)
    >>> noise = pb.problems.Gaussian(0.5)
    >>> world = pb.problems.World(arms, U, noise, theta=np.array([1.0, 5.0]))
    >>> world.arm_returns, world.arm_rewards, world.best_arm.index
    (array([1., 5.]), array([1., 0.]), 0)
    """

    steady: ClassVar[bool] = True
    """Whether every step is the same."""

    arms: DecisionSet
    subspace: Subspace
    noise: Noise
    theta: Array | None = None
    returns: Array | None = None
    rewards: Array | None = None
    estimate: Subspace | None = None
    arm_returns: Array | None = field(init=False, repr=False, default=None)
    arm_rewards: Array | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        if not isinstance(self.subspace, Subspace):
            raise TypeError(f"subspace must be a Subspace, got {self.subspace!r}")
        if self.subspace.dim == 0:
            raise ValueError("subspace must have a dimension of at least 1, got 0")
        columns = self.arms.columns if isinstance(self.arms, FiniteArms) else None
        self.subspace.check_fits(self.arms.d, columns)
        self.seen.check_fits(self.arms.d, columns)
        if self.theta is not None:
            if self.returns is not None or self.rewards is not None:
                raise ValueError("theta and returns, rewards exclude each other, got both")
            object.__setattr__(self, "theta", real_vector("theta", self.theta, self.arms.d))
            wanted = self.subspace.matrix @ self._theta
            if np.abs(wanted).max() <= NO_GAP * np.abs(self._theta).max():
                raise ValueError(
                    "theta must have a part in the subspace (Assumption 1), got one with P_U theta "
                    "= 0, where every arm is best: give theta such a part, or pass returns and "
                    "rewards instead"
                )
            if isinstance(self.arms, FiniteArms):
                object.__setattr__(self, "arm_returns", self.arms.scores(self._theta))
                object.__setattr__(self, "arm_rewards", self.arms.scores(wanted))
        else:
            if not isinstance(self.arms, FiniteArms):
                raise ValueError("theta must be given on an infinite decision set, got none")
            if self.returns is None or self.rewards is None:
                raise ValueError("theta, or both returns and rewards, must be given")
            for name in ("returns", "rewards"):
                vector = real_vector(name, getattr(self, name), self.arms.size)
                object.__setattr__(self, name, vector)
                object.__setattr__(self, f"arm_{name}", vector)
        outside = None
        if self.arms.rank < self.arms.d:
            outside = self.subspace.direction_outside(self.arms.span())
        if outside is not None:
            raise ValueError(
                "subspace must lie in the span of the arms (Assumption 1), got one with the "
                f"direction {self.subspace.describe(outside)} that the arms cannot show: "
                "add arms or leave that direction out of the subspace"
            )

    def __identity__(self) -> tuple[Any, ...]:
        known = self.arms, self.subspace, self.noise, self.theta, self.returns, self.rewards
        return known if self.estimate is None else (*known, self.estimate)

    @property
    def seen(self) -> Subspace:
        """What strategies are given: U, or the estimate of it."""
        return self.subspace if self.estimate is None else self.estimate

    @property
    def _theta(self) -> Array:
        assert self.theta is not None
        return self.theta

    @cached_property
    def _wanted(self) -> Array:
        return self.subspace.project(self._theta)

    @property
    def size(self) -> float:
        """How many arms there are, over all steps."""
        return self.arms.size

    def steps(self) -> Iterator[World]:
        """Yield the world as it is at each step, without end."""
        return repeat(self)

    def item(self, index: int) -> int:
        """Return which of the `size` arms one on offer is."""
        return index

    def mean_return(self, arm: Arm) -> float:
        """Return <x, theta>, the mean of what is observed."""
        if self.arm_returns is not None:
            return float(self.arm_returns[arm.index])
        return float(arm.x @ self._theta)

    def reward(self, arm: Arm) -> float:
        """Return <P_U x, P_U theta>, the projection reward."""
        if self.arm_rewards is not None:
            return float(self.arm_rewards[arm.index])
        return float(arm.x @ self._wanted)

    @cached_property
    def best_arm(self) -> Arm:
        """The best projection arm X_U^* (equation 5); of equals the one with the lowest index."""
        if self.arm_rewards is not None:
            assert isinstance(self.arms, FiniteArms)
            return self.arms.arm(int(self.arm_rewards.argmax()))
        return self.arms.best(self._wanted)

    @cached_property
    def best_reward(self) -> float:
        """The largest projection reward."""
        return self.reward(self.best_arm)

    @cached_property
    def best_return(self) -> float:
        """The largest mean return."""
        if self.arm_returns is not None:
            return float(self.arm_returns.max())
        return self.mean_return(self.arms.best(self._theta))

    @cached_property
    def is_best(self) -> NDArray[np.bool_]:
        """Which of finitely many arms earn the largest projection reward, up to round-off."""
        assert self.arm_rewards is not None
        return are_best(self.arm_rewards)


def are_best(rewards: Array) -> NDArray[np.bool_]:
    """Tell which entries of each row are its largest, up to round-off."""
    size = np.abs(rewards).max(axis=-1, keepdims=True)
    return np.asarray(rewards >= rewards.max(axis=-1, keepdims=True) - 1e-12 * size)


@runtime_checkable
class Problem(Protocol):
    """A source of worlds. Its `repr` is its label.

    Examples
    --------
    Any object with this method is one.

    >>> from dataclasses import dataclass
    >>> import numpy as np, projbandits as pb
    >>> @dataclass(frozen=True)
    ... class TwoArms:
    ...     gap: float
    ...     def world(self, rng):
    ...         arms, U = pb.FiniteArms(np.eye(2)), pb.Subspace.coordinates(keep=[0, 1], d=2)
    ...         theta = np.array([0.5 + self.gap, 0.5])
    ...         return pb.problems.World(arms, U, pb.problems.Gaussian(0.5), theta=theta)
    >>> isinstance(TwoArms(0.1), pb.problems.Problem)
    True
    >>> pb.testing.check_problem(TwoArms(0.1))
    """

    def world(self, rng: np.random.Generator) -> World:
        """Return the world of one trial, made with this trial's own generator."""
        ...
