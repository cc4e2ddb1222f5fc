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
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from projbandits._checks import Array
from projbandits.strategies.belief import Belief

RATIOS = np.concatenate([[0.0], np.geomspace(0.05, 5, 13)**2])
"""The values of rho that are compared; between them nothing is decided by the data."""

CAUTION = 0.5
"""How much of the likelihood's tau is believed when it is estimated; see docs/strategies.md."""


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
    def prior(cls, features: Array, penalty: float, ratio: float, noise: float) -> Effects:
        """Return what is known before any observation."""
        K = len(features)
        return cls(features, penalty, np.zeros(K, np.int64), np.zeros(K), 0.0, ratio, noise)

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
        weight = 1.0 / (1.0 + self.pulls * self.ratio)
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

    def profile(self) -> tuple[Array, Array]:
        """Return, for each of `RATIOS`, the noise that fits best and the log-likelihood with it.

        The likelihood is that of the returns with theta and the effects integrated out.
        """
        if self.n == 0:
            return np.full(len(RATIOS), self.noise), np.zeros(len(RATIOS))
        seen = self.pulls > 0
        f, pulls, sums = self.features[seen], self.pulls[seen], self.sums[seen]
        weight = 1.0 / (1.0 + pulls * RATIOS[:, None])
        V = np.einsum("rk,ki,kj->rij", pulls * weight, f, f)
        V += self.penalty * np.eye(f.shape[1])
        b = (sums * weight) @ f
        L = np.linalg.cholesky(V)
        z = np.array([scipy.linalg.solve_triangular(l, x, lower=True) for l, x in zip(L, b)])
        rest = self.squares - (RATIOS[:, None] * sums**2 * weight).sum(axis=1) - (z**2).sum(axis=1)
        variance = np.maximum(rest, 1e-12 * self.squares) / self.n
        logdet = np.log(np.einsum("rii->ri", L)).sum(axis=1) * 2
        logdet += np.log1p(pulls * RATIOS[:, None]).sum(axis=1)
        with np.errstate(divide="ignore"):
            return np.sqrt(variance), -0.5 * (self.n * np.log(variance) + logdet)

    def fitted(self, effect: float | None, noise: float | None) -> Effects:
        """Return the same observations with rho and sigma as told, or as the data has them.

        Parameters
        ----------
        effect, noise : float, optional
            tau and sigma, where they are known.
        """
        if effect is not None and noise is not None:
            return replace(self, ratio=(effect / noise) ** 2, noise=noise)
        sigmas, likelihood = self.profile()
        if noise is not None:  # at a given sigma the likelihood is another one
            excess = 0.5 * self.n * (np.log(sigmas**2 / noise**2) + 1 - sigmas**2 / noise**2)
            likelihood, sigmas = likelihood + excess, np.full(len(RATIOS), noise)
        if effect is None:
            import os
            mode=os.environ.get("MODE","ml")
            i = int(likelihood.argmax())
            ratio = CAUTION**2 * RATIOS[i]
            if mode!="ml":
                w=np.exp(likelihood-likelihood.max()); w/=w.sum()
                i=int(np.searchsorted(np.cumsum(w),0.5))
                tau=(w*np.sqrt(RATIOS)).sum()*CAUTION
                ratio=tau**2
        else:
            taus = np.sqrt(RATIOS) * sigmas
            i = int(np.abs(taus - effect).argmin())
            ratio = (effect / sigmas[i]) ** 2 if sigmas[i] > 0 else 0.0
        return replace(self, ratio=float(ratio), noise=float(sigmas[i]))
