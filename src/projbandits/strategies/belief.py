"""Beliefs about theta, and what they imply for the arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from projbandits._cached import cached_property
from projbandits._checks import Array
from projbandits.arms import Arm, DecisionSet
from projbandits.ridge import Ridge


@dataclass(frozen=True, eq=False)
class Moments:
    """Means and covariances of what K arms are worth and what they would return.

    The wanted reward of arm j is <target_j, theta> + own_j. Its return is, up to a known constant,
    <seen_j, theta> + own_j plus noise. theta has the covariance below; the own_j are independent of
    it and of each other.

    Parameters
    ----------
    mean : ndarray of shape (K,)
        The mean of the wanted reward of each arm.
    target, seen : ndarray of shape (K, d)
        How theta enters the wanted reward and the return.
    covariance : ndarray of shape (d, d)
        The covariance of theta, sigma^2 V^-1.
    own : ndarray of shape (K,)
        The variance of own_j, the arm's effect beyond its features; zero without arm effects.
    noise : float
        sigma, the standard deviation of the noise.
    """

    mean: Array
    target: Array
    seen: Array
    covariance: Array
    own: Array
    noise: float

    @property
    def spread(self) -> Array:
        """The variance of each arm's mean return, <seen_j, theta> + own_j."""
        turned = np.einsum("ij,jk->ik", self.seen, self.covariance)
        spread: Array = np.einsum("ij,ij->i", turned, self.seen)
        return spread + self.own


class Belief(Protocol):
    """What a strategy may ask of a belief, whatever it is made of."""

    @property
    def noise(self) -> float:
        """The standard deviation of the noise, sigma, as given or as estimated."""
        ...

    def best(self, arms: DecisionSet) -> Arm:
        """Return the arm with the largest mean; ties go to the lowest index."""
        ...

    def optimistic(self, arms: DecisionSet, radius: float) -> Arm:
        """Return the arm with the largest mean + radius * width, widths in units of sigma."""
        ...

    def sampled(self, arms: DecisionSet, rng: np.random.Generator, draws: int) -> Sequence[Arm]:
        """Return the best arm under each draw of the belief."""
        ...

    def directions(self, normals: Array) -> Array:
        """Return the wanted part of theta: its mean, and a draw for each row of normal numbers."""
        ...

    def moments(self, X: Array) -> Moments:
        """Return the moments of the arms in the rows of X."""
        ...


@dataclass(frozen=True)
class Optimism:
    """The optimistic score <aim, x> + radius |x|_{V^-1}, a convex function of the arm."""

    aim: Array
    radius: float
    ridge: Ridge

    def value(self, X: Array) -> Array:
        """Return the score of each row of X."""
        scores: Array = np.einsum("ij,j->i", X, self.aim)
        return scores + self.radius * self.ridge.width(X)

    def gradient(self, X: Array) -> Array:
        """Return, for each row of X, the parameter in the ellipsoid that favours it most."""
        widths = self.ridge.width(X)[:, None]
        reach = (X @ self.ridge.inverse) * (self.radius / np.where(widths > 0, widths, 1.0))
        return self.aim + reach

    def directions(self) -> Array:
        """Return `aim`: the best arm by the estimate is a good place to start from."""
        return self.aim[None]


@dataclass(frozen=True, eq=False)
class LinearBelief:
    """theta ~ N(theta-hat, sigma^2 V^-1).

    Parameters
    ----------
    ridge : Ridge
        The estimate.
    aim : ndarray of shape (d,)
        The direction whose inner product with an arm is its mean.
    wanted : ndarray of shape (d, d) or None
        P_U, if the projection is aimed at.
    given : float or None
        sigma, if it is known.
    """

    ridge: Ridge
    aim: Array
    wanted: Array | None
    given: float | None

    @cached_property
    def noise(self) -> float:
        """The noise as given, or as estimated from the residuals, on the high side."""
        return self.ridge.cautious_noise if self.given is None else self.given

    def best(self, arms: DecisionSet) -> Arm:
        """Return the support point of the aim."""
        return arms.best(self.aim)

    def optimistic(self, arms: DecisionSet, radius: float) -> Arm:
        """Return the arm that is best if the estimate errs in its favour."""
        return arms.best_convex(Optimism(self.aim, radius, self.ridge))

    def _drawn(self, normals: Array) -> Array:
        """Return the wanted part of theta-hat + sigma Q z for each row z, with Q Q^T = V^-1."""
        thetas: Array = self.ridge.theta + self.noise * normals @ self.ridge.root.T
        return thetas if self.wanted is None else thetas @ self.wanted

    def sampled(self, arms: DecisionSet, rng: np.random.Generator, draws: int) -> list[Arm]:
        """Return the support point of each draw."""
        return [arms.best(c) for c in self._drawn(rng.standard_normal((draws, arms.d)))]

    def directions(self, normals: Array) -> Array:
        """Return the aim, and a draw for each row of normal numbers."""
        return np.vstack([self.aim, self._drawn(normals)])

    def moments(self, X: Array) -> Moments:
        """Return the moments of the arms in the rows of X."""
        # einsum sums every row in the same order, so equal arms have equal means and tie.
        return Moments(
            mean=np.einsum("ij,j->i", X, self.aim),
            target=wanted_rows(X, self.wanted),
            seen=X,
            covariance=self.noise**2 * self.ridge.inverse,
            own=np.zeros(len(X)),
            noise=self.noise,
        )


def wanted_rows(X: Array, wanted: Array | None) -> Array:
    """Return how theta enters the wanted reward of each row of X."""
    return X if wanted is None else np.einsum("ij,jk->ik", X, wanted)
