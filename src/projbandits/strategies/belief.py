"""Beliefs about theta, and what they imply for the arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from projbandits._validation import Array
from projbandits.arms import Arm, DecisionSet
from projbandits.ridge import Ridge


@dataclass(frozen=True, eq=False)
class Moments:
    """Means and covariances of what K arms are worth and what they would return.

    The wanted reward of arm j is <target_j, theta> + own_j. Its return is, up to a known constant,
    <seen_j, theta> + own_j plus noise. theta has the covariance below; the own_j are independent of
    it and of each other.

    Where returns have a level that is learnt, it is the first coordinate, as it deviates from its
    mean given theta: that has the variance sigma^2 / mass, and depends on nothing else. A return
    then has 1 there, and the rest of `seen` is x less the mean of the features so far.

    Parameters
    ----------
    mean : ndarray of shape (K,)
        The mean of the wanted reward of each arm.
    target, seen : ndarray of shape (K, d), or (K, 1 + d) with a level
        How theta enters the wanted reward and the return.
    covariance : ndarray of shape (d, d) or (1 + d, 1 + d)
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
    def mean_variance(self) -> Array:
        """The variance of each arm's mean return, <seen_j, theta> + own_j."""
        turned = np.einsum("ij,jk->ik", self.seen, self.covariance)
        return np.asarray(np.einsum("ij,ij->i", turned, self.seen) + self.own)

    @property
    def return_variance(self) -> Array:
        """The variance of the next return of each arm."""
        return self.mean_variance + self.noise**2

    def leads(self, h: int) -> Leads:
        """Return the leads of all arms over arm h."""
        beyond = self.target - self.target[h]
        moved = beyond @ self.covariance
        squares: Array = np.einsum("ij,ij->i", beyond, moved) + self.own + self.own[h]
        squares[h] = 0.0
        behind = self.mean[h] - self.mean
        return Leads(behind, beyond, moved, np.sqrt(np.maximum(squares, 0.0)))


class Leads(NamedTuple):
    """The leads of K arms over another: how much more each is worth.

    Parameters
    ----------
    behind : ndarray of shape (K,)
        Less their means.
    beyond, moved : ndarray of shape (K, d), or (K, 1 + d) with a level
        How theta enters them, and their covariances with theta.
    deviation : ndarray of shape (K,)
        Their standard deviations.
    """

    behind: Array
    beyond: Array
    moved: Array
    deviation: Array


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
    """The optimistic score <aim, x> + radius w(x), a convex function of the arm.

    w is the width of the mean return, |x|_{V^-1} without an intercept. While there is nothing to
    tell the level, every arm is as wide as another, and the mean alone decides.
    """

    aim: Array
    radius: float
    ridge: Ridge

    @property
    def _radius(self) -> float:
        return self.radius if self.ridge.mass else 0.0

    def _widths(self, X: Array) -> Array:
        return self.ridge.width(X) if self.ridge.mass else np.ones(len(X))

    def value(self, X: Array) -> Array:
        """Return the score of each row of X."""
        scores: Array = np.einsum("ij,j->i", X, self.aim)
        return scores + self._radius * self._widths(X)

    def gradient(self, X: Array) -> Array:
        """Return, for each row of X, the parameter in the ellipsoid that favours it most."""
        widths = self._widths(X)[:, None]
        away = X - self.ridge.centre
        reach = (away @ self.ridge.inverse) * (self._radius / np.where(widths > 0, widths, 1.0))
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
        target, seen, covariance = with_level(
            self.ridge, self.noise, wanted_rows(X, self.wanted), X, np.zeros(len(X))
        )
        # einsum sums every row in the same order, so equal arms have equal means and tie.
        return Moments(
            mean=np.einsum("ij,j->i", X, self.aim),
            target=target,
            seen=seen,
            covariance=covariance,
            own=np.zeros(len(X)),
            noise=self.noise,
        )


def with_level(
    ridge: Ridge, noise: float, target: Array, seen: Array, shrink: Array
) -> tuple[Array, Array, Array]:
    """Return `Moments.target`, `seen` and `covariance`, with a level if returns have one.

    Parameters
    ----------
    ridge : Ridge
        What is known of theta and of the level.
    noise : float
        sigma.
    target, seen : ndarray of shape (K, d)
        How theta enters the wanted reward and the return.
    shrink : ndarray of shape (K,)
        How much of the level is explained away by what is known of each arm's own effect.
    """
    covariance = noise**2 * ridge.inverse
    if not ridge.intercept:
        return target, seen, covariance
    mass = ridge.mass
    # Given theta, the level is its mean less <centre, theta>, and an error of its own.
    left = 1.0 - shrink
    target = np.column_stack([-shrink, target + np.multiply.outer(shrink, ridge.centre)])
    seen = np.column_stack([left, seen - np.multiply.outer(left, ridge.centre)])
    whole = np.zeros((1 + ridge.d, 1 + ridge.d))
    whole[1:, 1:] = covariance
    whole[0, 0] = noise**2 / (mass or 1.0)
    return target, seen if mass else np.zeros_like(seen), whole


def wanted_rows(X: Array, wanted: Array | None) -> Array:
    """Return how theta enters the wanted reward of each row of X."""
    return X if wanted is None else np.einsum("ij,jk->ik", X, wanted)
