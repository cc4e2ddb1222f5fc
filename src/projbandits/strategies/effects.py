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
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from projbandits._checks import Array
from projbandits.strategies.belief import Belief

RATIOS = np.concatenate([[0.0], np.geomspace(0.05, 5.0, 13)])
"""The values of tau / sigma that are weighed against each other, all as likely beforehand."""

CAUTION, LEAN = 0.75, 1.0
"""The estimate of tau is `CAUTION` times its posterior mean and `LEAN` standard deviations.

While few arms have been tried that leans high, so as not to settle early; later it asks for a
little less exploration than the likelihood does.
"""

LOOSER = 0.1
"""Where arms have effects theta is held back by this much of the ridge.

What is common to all arms (a rating of six) may be many times the noise, and a belief that is sure
of the contrary does not look at arms that it has not tried.
"""

TINY = 1e-12
"""What is left of the squares when everything is explained is round-off."""


@dataclass(frozen=True, eq=False)
class Effects:
    """What is known of theta and of each arm's own effect.

    Parameters
    ----------
    features : ndarray of shape (K, d)
        The arms as they are learnt on, f_i.
    penalty : float
        lambda.
    pulls, sums : ndarray of shape (K,)
        How often each arm was pulled, and the sum of what it returned.
    squares : float
        The sum of the squares of all returns.
    ratio : float
        rho = tau^2 / sigma^2.
    noise : float
        sigma.
    """

    features: Array
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
        """Return what is known before any observation, with tau and sigma where they are known."""
        K = len(features)
        sigma = 1.0 if noise is None else noise
        ratio = _leaning(RATIOS, np.ones(len(RATIOS))) if effect is None else effect / sigma
        pulls, sums = np.zeros(K, np.int64), np.zeros(K)
        return cls(features, LOOSER * ridge, pulls, sums, 0.0, ratio**2, sigma)

    @property
    def refit_due(self) -> bool:
        """Whether tau and sigma are to be estimated anew: seldom, and at steps that double."""
        n = self.n
        top = 1 << (n.bit_length() - 1) if n else 0
        return n > 0 and n in (top, top + top // 2)

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
        return Effects, tuple(kept)  # what follows from them is not kept

    @cached_property
    def _linear(self) -> tuple[Array, Array]:
        """V^-1 and theta-hat."""
        weight = 1.0 / (1.0 + self.pulls * self.ratio)
        seen = self.pulls > 0
        f = self.features[seen]
        V = (f.T * (self.pulls * weight)[seen]) @ f
        V[np.diag_indices_from(V)] += self.penalty
        inverse = np.linalg.inv(V)
        return (inverse + inverse.T) / 2, inverse @ ((self.sums * weight)[seen] @ f)

    def belief(self, aims: Array) -> Belief:
        """Return the belief about <a_i, theta> + b_i, with a_i the rows of `aims`."""
        inverse, theta = self._linear
        weight: Array = np.asarray(1.0 / (1.0 + self.pulls * self.ratio), dtype=np.float64)
        shrink = self.pulls * self.ratio * weight
        unexplained = self.sums - self.pulls * np.einsum("ij,j->i", self.features, theta)
        return Belief(
            mean=np.einsum("ij,j->i", aims, theta) + self.ratio * weight * unexplained,
            target=aims - shrink[:, None] * self.features,
            seen=weight[:, None] * self.features,
            covariance=self.noise**2 * inverse,
            own=self.noise**2 * self.ratio * weight,
            noise=self.noise,
        )

    def likelihood(self, ratio: float, noise: float | None = None) -> tuple[float, float]:
        """Return the variance that fits best at rho = `ratio`, and the log-likelihood with it.

        The likelihood is that of the returns with theta and the effects integrated out, up to a
        constant; at a given noise, the likelihood is with that.
        """
        weight = 1.0 / (1.0 + self.pulls * ratio)
        seen = self.pulls > 0
        f = self.features[seen]
        V = (f.T * (self.pulls * weight)[seen]) @ f
        V[np.diag_indices_from(V)] += self.penalty
        L = np.linalg.cholesky(V)
        z = scipy.linalg.solve_triangular(L, (self.sums * weight)[seen] @ f, lower=True)
        rest = self.squares - ratio * float((self.sums**2 * weight).sum()) - float(z @ z)
        variance = max(rest, TINY * self.squares) / self.n
        grown = 2.0 * float(np.log(np.diag(L)).sum()) - float(np.log(weight).sum())
        used = variance if noise is None else noise**2
        return variance, -0.5 * (self.n * (math.log(used) + variance / used) + grown)

    def fitted(self, effect: float | None, noise: float | None) -> Effects:
        """Return the same observations with rho and sigma as told, or as the data has them.

        Parameters
        ----------
        effect, noise : float, optional
            tau and sigma, where they are known.
        """
        if self.squares == 0.0:
            return self
        if effect is not None:
            if noise is None:
                variance, _ = self.likelihood((effect / self.noise) ** 2)
                noise = math.sqrt(variance)
            return replace(self, ratio=(effect / noise) ** 2, noise=noise)
        variances, fits = np.array([self.likelihood(r * r, noise) for r in RATIOS]).T
        chances = np.exp(fits - fits.max())
        if noise is None:
            noise = math.sqrt(float(chances @ variances) / float(chances.sum()))
        return replace(self, ratio=_leaning(RATIOS, chances) ** 2, noise=noise)


def _leaning(ratios: Array, chances: Array) -> float:
    """Return `CAUTION` times mean and `LEAN` standard deviations of the ratios."""
    chances = chances / chances.sum()
    mean = float(chances @ ratios)
    return CAUTION * (mean + LEAN * math.sqrt(max(float(chances @ ratios**2) - mean**2, 0.0)))
