"""A mixed model by EM on sums: returns of groups that disagree.

In group g a return is <x, mu + A w_g> + noise, with w_g ~ N(0, S) and noise of variance sigma^2.
All that is used of the data is, for each group, the sums of x x^T, r x and r^2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from projbandits._validation import Array

CONVERGED = 1e-6
"""EM ends when an iteration raises the log-likelihood by less than this share of it."""
ITERATIONS = 300
LEAST_NOISE = 1e-6
"""sigma^2 is at least this share of the mean squared return: without noise EM would stand still."""
TINY_SHARE = 1e-9
"""Of the mean curvature, what is added where the data say nothing of mu."""


class GroupSums(NamedTuple):
    """The sums of each group: n, sum r^2, sum r x and sum x x^T."""

    n: Array
    rr: Array
    xr: Array
    xx: Array

    @classmethod
    def of(cls, sums: Array) -> GroupSums:
        """Take them from the second moments of the rows [1, x, r]."""
        return cls(sums[:, 0, 0], sums[:, -1, -1], sums[:, 1:-1, -1], sums[:, 1:-1, 1:-1])


class Mixed(NamedTuple):
    """A mixed model: what groups have in common, how they differ, and the noise.

    Parameters
    ----------
    mu : ndarray of shape (d,)
        What the groups have in common.
    S : ndarray of shape (k, k)
        The covariance of w_g.
    noise : float
        sigma^2.
    likelihood : float
        The log-likelihood.
    """

    mu: Array
    S: Array
    noise: float
    likelihood: float


def fitted(
    sums: GroupSums, A: Array, start: Mixed | None = None, rounds: int = ITERATIONS
) -> Mixed:
    """Return the model of largest likelihood, by EM from a plain or a given start.

    Each round takes the posterior of w_g, then S and sigma^2 from it; mu is the generalised least
    squares estimate given the two before, which makes fewer rounds do.

    Parameters
    ----------
    sums : GroupSums
        The data.
    A : ndarray of shape (d, k)
        Where groups may differ: b_g = A w_g.
    start : Mixed, optional
        Where to start, for such an A.
    rounds : int
        How many rounds at most.
    """
    total, n = float(sums.n.sum()), len(sums.n)
    model = _plain(sums, A) if start is None else start
    GA = sums.xx @ A
    H = A.T @ GA
    least = _least_noise(sums)
    likelihood = -math.inf
    for left_over in range(rounds, -1, -1):
        mu, S, noise, _ = model
        # Cov(w_g | data) = (I + S H_g / sigma^2)^-1 S, which exists for singular S too.
        inner = np.eye(len(S)) + S @ H / noise
        C = np.linalg.solve(inner, np.broadcast_to(S, inner.shape))
        GAC = GA @ C / noise
        curvature = (sums.xx - GAC @ GA.swapaxes(1, 2)).sum(axis=0)
        target = (sums.xr - (GAC @ (A.T @ sums.xr[..., None]))[..., 0]).sum(axis=0)
        curvature = 0.5 * (curvature + curvature.T)
        curvature += TINY_SHARE * np.trace(sums.xx.sum(axis=0)) / len(mu) * np.eye(len(mu))
        mu = np.linalg.solve(curvature, target)
        left = sums.xr - sums.xx @ mu
        q = left @ A / noise
        squares = sums.rr - (sums.xr + left) @ mu
        w = (C @ q[..., None])[..., 0]
        found = -0.5 * float(
            total * math.log(2 * math.pi * noise)
            + np.linalg.slogdet(inner)[1].sum()
            + squares.sum() / noise
            - np.vdot(q, w)
        )
        model = Mixed(mu, S, noise, found)
        if left_over == 0 or found - likelihood <= CONVERGED * abs(found):
            break
        likelihood = found
        unexplained = squares.sum() - 2 * noise * np.vdot(q, w)
        unexplained += np.vdot(w, (H @ w[..., None])[..., 0]) + np.vdot(H, C.swapaxes(1, 2))
        S = (C + w[:, :, None] * w[:, None, :]).sum(axis=0) / n
        model = Mixed(mu, 0.5 * (S + S.T), max(unexplained / total, least), found)
    return model


def _least_noise(sums: GroupSums) -> float:
    return max(LEAST_NOISE * float(sums.rr.sum() / sums.n.sum()), 1e-300)


def loosened(model: Mixed) -> Mixed:
    """Return a model to start from for other data: groups may differ in every direction again.

    EM hardly leaves a direction without variance.
    """
    largest = np.linalg.eigvalsh(model.S)[-1]
    return model._replace(S=model.S + 0.1 * largest * np.eye(len(model.S)))


def _plain(sums: GroupSums, A: Array) -> Mixed:
    """Return a model to start from: one regression for all, and groups that differ alike."""
    xx, xr = sums.xx.sum(axis=0), sums.xr.sum(axis=0)
    mu = np.linalg.lstsq(xx, xr, rcond=1e-9)[0]
    left = float(sums.rr.sum() - 2 * mu @ xr + mu @ xx @ mu)
    noise = max(left / float(sums.n.sum()), _least_noise(sums))
    size = np.trace(xx) / float(sums.n.sum())  # E|x|^2
    return Mixed(mu, np.eye(A.shape[1]) * noise / max(float(size), 1e-300), noise, -math.inf)


def drawn(sums: GroupSums, A: Array, model: Mixed, rng: np.random.Generator) -> GroupSums:
    """Return the sums of fresh returns for the same arms, as the model would bring them.

    sum r x is normal around G_g beta_g with the covariance sigma^2 G_g, and what least squares
    leaves of sum r^2 is sigma^2 times a chi-square.
    """
    G, d = len(sums.n), A.shape[0]
    values, vectors = np.linalg.eigh(sums.xx)
    values = np.maximum(values, 0.0)
    seen = values > 1e-12 * values.max(axis=1, keepdims=True)
    w = rng.standard_normal((G, len(model.S))) @ _root(model.S)
    beta = model.mu + w @ A.T
    noise = math.sqrt(model.noise) * rng.standard_normal((G, d)) * seen
    along = np.sqrt(values) * np.einsum("gij,gi->gj", vectors, beta) * seen + noise
    xr = np.einsum("gij,gj->gi", vectors, np.sqrt(values) * along)
    free = np.maximum(sums.n - seen.sum(axis=1), 0)
    rest = np.where(free > 0, rng.chisquare(np.maximum(free, 1)), 0.0)
    return sums._replace(xr=xr, rr=(along**2).sum(axis=1) + model.noise * rest)


def _root(S: Array) -> Array:
    values, vectors = np.linalg.eigh(S)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T)
