"""Estimates of the sizes of noise and effects in the compiled loop, as in `strategies.effects`."""

from __future__ import annotations

import math

import numpy as np

from projbandits.ridge import LEAST_FREE, NOISE_MARGIN
from projbandits.simulation.kernels.common import inner
from projbandits.simulation.kernels.posterior import (
    NOISE,
    PENALTY,
    PULLS,
    RATIO,
    ROUNDED,
    SQUARES,
)
from projbandits.strategies.effects import (
    LEAST_PENALTY,
    PENALTY_FACTOR,
    PRIOR,
    RATIOS,
    ROUNDS,
    TAU_FACTOR,
    TAU_QUANTILE,
    TINY,
)


@inner
def assemble(ratio, learn, own, V, b):  # type: ignore[no-untyped-def]
    """Fill V and V theta-hat, and return the sum of s_i^2 / (1 + n_i rho)."""
    d, pulls, sums, penalty = b.size, own.pulls, own.sums, own.scales[PENALTY]
    explained = 0.0
    for a in range(d):
        b[a] = 0.0
        for c in range(d):
            V[a, c] = penalty if a == c else 0.0
    for i in range(pulls.size):
        if pulls[i] > 0.0:
            weight = 1.0 / (1.0 + pulls[i] * ratio)
            explained += sums[i] * sums[i] * weight
            for a in range(d):
                b[a] += sums[i] * weight * learn[i, a]
                part = pulls[i] * weight * learn[i, a]
                for c in range(d):
                    V[a, c] += part * learn[i, c]
    return explained


@inner
def factor(V):  # type: ignore[no-untyped-def]
    """Turn the lower half of V into L with L L^T = V, and return log det V."""
    d = V.shape[0]
    grown = 0.0
    for a in range(d):
        for b in range(a + 1):
            total = V[a, b]
            for k in range(b):
                total -= V[a, k] * V[b, k]
            if a == b:
                total = max(total, ROUNDED * V[a, a])
                V[a, a] = math.sqrt(total)
                grown += math.log(total)
            else:
                V[a, b] = total / V[b, b]
    return grown


@inner
def likelihood(ratio, given, learn, own, V, b):  # type: ignore[no-untyped-def]
    """Return sigma^2 at rho = `ratio` and the log-likelihood, as `Effects` has them."""
    d, n = b.size, own.scales[PULLS]
    rest = own.scales[SQUARES] - ratio * assemble(ratio, learn, own, V, b)
    grown = factor(V)
    for a in range(d):
        for k in range(a):
            b[a] -= V[a, k] * b[k]
        b[a] /= V[a, a]
        rest -= b[a] * b[a]
    rest = max(rest, TINY * own.scales[SQUARES])
    for i in range(own.pulls.size):
        grown += math.log(1.0 + own.pulls[i] * ratio)
    trace = 0.0
    for column in range(d):  # L^-1, column by column, in b
        for a in range(column, d):
            b[a] = 1.0 if a == column else 0.0
            for k in range(column, a):
                b[a] -= V[a, k] * b[k]
            b[a] /= V[a, a]
            trace += b[a] * b[a]
    free = max(n - d + own.scales[PENALTY] * trace, LEAST_FREE)
    used = given * given if given > 0.0 else rest / n
    fit = -0.5 * (n * math.log(used) + rest / used + grown)
    return rest / free * (1.0 + NOISE_MARGIN * math.sqrt(2.0 / free)), fit


@inner
def refit(ridge, tau, given, learn, own, V, b, fits):  # type: ignore[no-untyped-def]
    """Estimate rho, sigma and lambda as `Effects.fitted` does.

    A negative tau, or a `given` sigma of 0, means unknown.
    """
    scales = own.scales
    if scales[SQUARES] == 0.0:
        return
    sigma = given
    if tau >= 0.0:
        ratio = 0.0
        for _ in range(ROUNDS if given <= 0.0 else 0):
            rho = ratio * ratio
            sigma = math.sqrt(likelihood(rho, given, learn, own, V, b)[0])
            sigma = max(sigma, tau / RATIOS[-1])
            ratio = tau / sigma
        ratio = tau / sigma
    else:
        for r in range(RATIOS.size):
            rho = RATIOS[r] * RATIOS[r]
            fits[0, r], fits[1, r] = likelihood(rho, given, learn, own, V, b)
        variance = tau_estimate(fits)
        ratio = fits[0, 0]
        if given <= 0.0:
            sigma = math.sqrt(variance)
    length = 0.0
    for i in range(own.pulls.size):
        for a in range(b.size):
            length += learn[i, a] * learn[i, a]
    length /= own.pulls.size
    alone = sigma * sigma * length * scales[PULLS] / scales[SQUARES]
    penalty = PENALTY_FACTOR * (min(ridge, alone) if alone > 0.0 else ridge)
    scales[PENALTY] = max(penalty, LEAST_PENALTY * length)
    scales[RATIO], scales[NOISE] = ratio * ratio, sigma


@inner
def tau_estimate(fits):  # type: ignore[no-untyped-def]
    """Return the posterior mean of the variance; fits[0, 0] becomes `effects.tau_estimate`.

    Row 0 of `fits` has the variances, row 1 the log-likelihoods; both are overwritten.
    """
    most = -np.inf
    for r in range(RATIOS.size):
        most = max(most, fits[1, r])
    total, variance = 0.0, 0.0
    for r in range(RATIOS.size):
        fits[1, r] = math.exp(fits[1, r] - most) * PRIOR[r]
        total += fits[1, r]
        variance += fits[1, r] * fits[0, r]
    below, r = 0.5 * fits[1, 0] / total, 0  # probability up to the middle of ratio r
    fits[0, 0] = RATIOS[0]
    while below < TAU_QUANTILE and r + 1 < RATIOS.size:
        r += 1
        here = below + 0.5 * (fits[1, r - 1] + fits[1, r]) / total
        part = min((TAU_QUANTILE - below) / (here - below), 1.0) if here > below else 1.0
        fits[0, 0] = RATIOS[r - 1] + part * (RATIOS[r] - RATIOS[r - 1])
        below = here
    fits[0, 0] *= TAU_FACTOR
    return variance / total
