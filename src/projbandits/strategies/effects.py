"""Arm effects: what an arm has of its own, beyond its features.

The return of arm i is <f_i, theta> + b_i + noise with b_i ~ N(0, tau^2) and theta ~
N(0, sigma^2 / lambda I): the ridge model with one more coordinate for each arm. The n_i pulls of
arm i enter only by their number and their sum, and given theta the b_i are independent, so nothing
larger than d x d is ever inverted. With rho = tau^2 / sigma^2, everything in units of sigma^2:

    V        = lambda I + sum_i n_i / (1 + n_i rho) f_i f_i^T
    theta    = V^-1 sum_i s_i / (1 + n_i rho) f_i             with s_i the sum of arm i's returns
    shrink_i = n_i rho / (1 + n_i rho)
    E b_i    = shrink_i (s_i / n_i - <f_i, theta>)
    var(b_i | theta) = sigma^2 rho / (1 + n_i rho)

At rho = 0 this is `Ridge`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.arms import Arm, DecisionSet, FiniteArms
from projbandits.ridge import LEAST_FREE, NOISE_MARGIN
from projbandits.strategies.belief import Moments, wanted_rows

if TYPE_CHECKING:
    from projbandits.strategies.items import Among

RATIOS = np.concatenate([[0.0], np.geomspace(0.05, 100.0, 25)])
"""The candidate values of tau / sigma."""

PRIOR = RATIOS / (1.0 + RATIOS**2)
PRIOR[0] = PRIOR[1]
"""The prior weight of each: half-Cauchy, given that RATIOS are evenly spaced on a log scale."""

TAU_FACTOR, TAU_QUANTILE = 0.75, 0.84
"""The estimate of tau is this factor times this quantile of its posterior distribution.

While few arms have been tried it errs high, so as not to settle early; later it asks for a little
less exploration than the likelihood does.
"""

PENALTY_FACTOR = 0.1
"""Factor applied to the ridge penalty when arm effects are modelled.

What all arms share (a rating of six) may be many times the noise, and a belief that rules this out
never tries new arms. So the penalty is at most this factor times the ridge, and times the penalty
at which features alone would explain returns as large as those seen.
"""

LEAST_PENALTY = 1e-8
"""The least penalty per squared length of the features: V^-1 must keep half its digits."""

ROUNDS = 9
"""How many times sigma is re-estimated when tau is known."""

TINY = 1e-12
"""Unexplained squares below this share of all squares are round-off."""


@dataclass(frozen=True, eq=False)
class Effects:
    """What is known of theta and of each arm's own effect.

    Parameters
    ----------
    features : ndarray of shape (K, d)
        The arms as they are learnt on, f_i.
    ridge : float
        The ridge of the strategy.
    penalty : float
        lambda; see `PENALTY_FACTOR`.
    pulls, sums : ndarray of shape (K,)
        How often each arm was pulled, and the sum of its returns.
    squares : float
        The sum of the squares of all returns.
    ratio : float
        rho = tau^2 / sigma^2.
    noise : float
        sigma.
    """

    features: Array
    ridge: float
    penalty: float
    pulls: NDArray[np.int64]
    sums: Array
    squares: float
    ratio: float
    noise: float

    @classmethod
    def prior(
        cls, features: Array, ridge: float, effect: float | None, noise: float | None
    ) -> Effects:
        """Return what is known before any observation, with tau and sigma if they are given."""
        K = len(features)
        ratio, sigma = prior_scales(effect, noise)
        pulls, sums = np.zeros(K, np.int64), np.zeros(K)
        return cls(features, ridge, PENALTY_FACTOR * ridge, pulls, sums, 0.0, ratio**2, sigma)

    @property
    def refit_due(self) -> bool:
        """Whether to re-estimate tau and sigma: after 1, 2, 3, 4, 6, 8, 12, ... observations."""
        return is_refit_due(self.n)

    @property
    def n(self) -> int:
        """The number of observations."""
        return int(self.pulls.sum())

    def update(self, index: int, observed: float) -> Effects:
        """Return what is known after arm `index` returned `observed`."""
        pulls, sums = self.pulls.copy(), self.sums.copy()
        pulls[index] += 1
        sums[index] += observed
        return replace(self, pulls=pulls, sums=sums, squares=self.squares + observed**2)

    def __reduce__(self) -> tuple[Any, ...]:
        kept = (getattr(self, field.name) for field in fields(self))
        return Effects, tuple(kept)  # without what is cached

    def _solved(self, ratios: Array) -> tuple[Array, Array, Array]:
        """Return Q with Q Q^T = V^-1, Q^T V theta-hat, and log det V, at each rho.

        From the rows whose squares sum to V, as V itself has fewer digits.
        """
        seen = self.pulls > 0
        n, s, f = self.pulls[seen], self.sums[seen], self.features[seen]
        weight = 1.0 / (1.0 + np.multiply.outer(ratios, n))
        m, d = f.shape
        rows = np.zeros((len(ratios), m + d, d + 1))
        rows[:, :m, :d] = np.sqrt(n * weight)[:, :, None] * f
        rows[:, :m, d] = s * np.sqrt(weight / n)
        rows[:, m + np.arange(d), np.arange(d)] = math.sqrt(self.penalty)
        R: Array = np.asarray(np.linalg.qr(rows, mode="r"))
        sizes = np.abs(np.diagonal(R[:, :d, :d], axis1=1, axis2=2))
        grown: Array = 2.0 * np.log(sizes).sum(axis=1)
        return np.asarray(np.linalg.inv(R[:, :d, :d]), dtype=np.float64), R[:, :d, d], grown

    @cached_property
    def _linear(self) -> tuple[Array, Array]:
        """V^-1 and theta-hat."""
        Q, target, _ = (part[0] for part in self._solved(np.array([self.ratio])))
        return Q @ Q.T, Q @ target

    @property
    def theta(self) -> Array:
        """theta-hat."""
        return self._linear[1]

    def moments_at(self, features: Array, aims: Array) -> Moments:
        """Return `moments`, if the arms have the features that they always had."""
        if not np.array_equal(features, self.features):
            raise ValueError(
                f"arm_effects needs the same arms at every step, got {len(features)} after "
                f"{len(self.pulls)}, or others: leave it out, or offer all in their order"
            )
        return self.moments(aims)

    def moments(self, aims: Array) -> Moments:
        """Return the moments of <a_i, theta> + b_i, with a_i the rows of `aims`."""
        inverse, theta = self._linear
        weight: Array = np.asarray(1.0 / (1.0 + self.pulls * self.ratio), dtype=np.float64)
        shrink = self.pulls * self.ratio * weight
        unexplained = self.sums - self.pulls * np.einsum("ij,j->i", self.features, theta)
        return Moments(
            mean=np.einsum("ij,j->i", aims, theta) + self.ratio * weight * unexplained,
            target=aims - shrink[:, None] * self.features,
            seen=weight[:, None] * self.features,
            covariance=self.noise**2 * inverse,
            own=self.noise**2 * self.ratio * weight,
            noise=self.noise,
        )

    def likelihood(self, ratios: Array, noise: float | None = None) -> tuple[Array, Array]:
        """Return sigma^2, on the high side, and the log-likelihood at each value of rho.

        The variance is the unexplained squares over the free observations, with a standard
        error added, as in `Ridge.cautious_noise`. The likelihood is that of the returns with theta
        and the effects integrated out, up to a constant, at its best variance or the given noise.
        """
        weight = 1.0 / (1.0 + np.multiply.outer(ratios, self.pulls))
        Q, z, grown = self._solved(ratios)
        rest = self.squares - ratios * (weight @ self.sums**2) - (z**2).sum(axis=1)
        rest = np.maximum(rest, TINY * self.squares)
        trace = (Q**2).sum(axis=(1, 2))
        free = np.maximum(self.n - z.shape[1] + self.penalty * trace, LEAST_FREE)
        grown = grown - np.log(weight).sum(axis=1)
        used = rest / self.n if noise is None else noise**2
        fit = -0.5 * (self.n * np.log(used) + rest / used + grown)
        return cautious(rest, free), fit

    def fitted(self, effect: float | None, noise: float | None) -> Effects:
        """Return the same observations with rho, sigma and lambda as given or as estimated.

        Parameters
        ----------
        effect, noise : float, optional
            tau and sigma, if they are known.
        """
        if self.squares == 0.0:
            return self
        ratio, sigma = fitted_scales(self.likelihood, effect, noise)
        length = float((self.features**2).sum(axis=1).mean())
        penalty = fitted_penalty(self.ridge, sigma, length, self.n, self.squares)
        return replace(self, ratio=ratio**2, noise=sigma, penalty=penalty)


@dataclass(frozen=True, eq=False)
class EffectBelief:
    """A belief about arms with effects of their own.

    Parameters
    ----------
    effects : Effects or Among
        What is known of the same arms at every step, or of the items on offer.
    learnt : callable
        Returns arms as they are learnt on.
    wanted : ndarray of shape (d, d) or None
        P_U, if the projection is aimed at.
    """

    effects: Effects | Among
    learnt: Callable[[Array], Array]
    wanted: Array | None

    @property
    def noise(self) -> float:
        """The noise as given, or as estimated, on the high side."""
        return self.effects.noise

    def moments(self, X: Array) -> Moments:
        """Return the moments of all arms, the rows of X."""
        return self.effects.moments_at(self.learnt(X), wanted_rows(X, self.wanted))

    def directions(self, normals: Array) -> Array:
        """Return the wanted part of theta: its mean, and a draw for each row of normal numbers."""
        if not isinstance(self.effects, Effects):
            raise ValueError("arm_effects weighs each arm on offer, got too many: offer fewer")
        inverse, theta = self.effects._linear
        drawn = self.noise * normals @ np.linalg.cholesky(inverse).T
        return wanted_rows(np.vstack([theta, theta + drawn]), self.wanted)

    def _all(self, arms: DecisionSet) -> tuple[FiniteArms, Moments]:
        assert isinstance(arms, FiniteArms)  # see `LinearStrategy.init`
        return arms, self.moments(arms.vectors)

    def best(self, arms: DecisionSet) -> Arm:
        """Return the arm with the largest mean, effects included."""
        finite, moments = self._all(arms)
        return finite.arm(int(moments.mean.argmax()))

    def optimistic(self, arms: DecisionSet, radius: float) -> Arm:
        """Return the arm that is best if the belief errs in its favour."""
        finite, moments = self._all(arms)
        scores = moments.mean + radius * np.sqrt(moments.spread) / moments.noise
        return finite.arm(int(scores.argmax()))

    def sampled(self, arms: DecisionSet, rng: np.random.Generator, draws: int) -> list[Arm]:
        """Return the best arm under each draw of theta and of the arms' effects."""
        finite, moments = self._all(arms)
        root = np.linalg.cholesky(moments.covariance)
        theta = rng.standard_normal((draws, len(root))) @ root.T
        own = np.sqrt(moments.own) * rng.standard_normal((draws, finite.size))
        best = (moments.mean + theta @ moments.target.T + own).argmax(axis=1)
        return [finite.arm(int(row)) for row in best]


def tau_estimate(likelihoods: Array) -> float:
    """Return the estimate of tau / sigma from the likelihoods of RATIOS; see `TAU_FACTOR`."""
    chances = likelihoods * PRIOR / (likelihoods @ PRIOR)
    return TAU_FACTOR * float(np.interp(TAU_QUANTILE, chances.cumsum() - chances / 2, RATIOS))


def prior_scales(effect: float | None, noise: float | None) -> tuple[float, float]:
    """Return tau / sigma and sigma before any observation, with tau and sigma if they are given."""
    sigma = 1.0 if noise is None else noise
    return tau_estimate(np.ones(len(RATIOS))) if effect is None else effect / sigma, sigma


def is_refit_due(n: int) -> bool:
    """Tell whether to re-estimate tau and sigma: after 1, 2, 3, 4, 6, 8, 12, ... observations."""
    top = 1 << (n.bit_length() - 1) if n else 0
    return n > 0 and n in (top, top + top // 2)


def cautious(rest: Array, free: Array) -> Array:
    """Return sigma^2 on the high side, from unexplained squares and free observations."""
    return np.asarray(rest / free * (1.0 + NOISE_MARGIN * np.sqrt(2.0 / free)))


def fitted_scales(
    likelihood: Callable[..., tuple[Array, Array]], effect: float | None, noise: float | None
) -> tuple[float, float]:
    """Return tau / sigma and sigma, as given or as estimated.

    Parameters
    ----------
    likelihood : callable
        As `Effects.likelihood`.
    effect, noise : float, optional
        tau and sigma, if they are known.
    """
    if effect is not None:
        ratio, sigma = 0.0, noise or 0.0
        for _ in range(ROUNDS if noise is None else 0):
            sigma = math.sqrt(likelihood(np.array([ratio**2]))[0][0])
            sigma = max(sigma, effect / RATIOS[-1])
            ratio = effect / sigma
        return effect / sigma, sigma
    variances, fits = likelihood(RATIOS**2, noise)
    likelihoods = np.exp(fits - fits.max())
    chances = likelihoods * PRIOR
    sigma = noise or math.sqrt(float(chances @ variances) / float(chances.sum()))
    return tau_estimate(likelihoods), sigma


def fitted_penalty(ridge: float, sigma: float, length: float, n: float, squares: float) -> float:
    """Return lambda; see `PENALTY_FACTOR`.

    Parameters
    ----------
    ridge, sigma : float
        The ridge of the strategy, and the noise.
    length : float
        The mean squared length of the features.
    n, squares : float
        The number of returns, and the sum of their squares.
    """
    alone = sigma**2 * length * n / squares
    penalty = PENALTY_FACTOR * (min(ridge, alone) if alone > 0.0 else ridge)
    return max(penalty, LEAST_PENALTY * length)
