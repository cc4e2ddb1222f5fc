"""The compiled step loop on a convex set."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from projbandits._checks import Array
from projbandits.simulation.kernels.common import direction, move, observe
from projbandits.simulation.kernels.support import Region, support


class ConvexView(NamedTuple):
    """What a rule may look at when it chooses a point of a convex set.

    Parameters
    ----------
    inverse, theta : ndarray of shape (d, d) and (d,)
        V^-1 and theta-hat.
    aim : ndarray of shape (d,)
        The direction whose inner product with an arm estimates what is aimed at.
    basis, starts : ndarray of shape (k, d) and (m, d)
        D_k, and the support points along the axes.
    region : Region
        The set, for `support`.
    parameters : ndarray
        What the strategy passed on.
    """

    inverse: Array
    theta: Array
    aim: Array
    basis: Array
    starts: Array
    region: Region
    parameters: Array


def convex_steps(  # type: ignore[no-untyped-def]
    learns_whole,
    aims_whole,
    learn,
    aim_matrix,
    penalty,
    theta_true,
    wanted,
    best_return,
    best_reward,
    basis,
    starts,
    region,
    parameters,
    noise,
    scale,
    noise_rng,
    rng,
    checkpoints,
    horizon,
    stop,
    out,
):
    """Play one trial and fill `out` (2 x checkpoints).

    It learns on `learn` x and aims at `aim_matrix` theta-hat, unless on or at the whole of them.
    """
    d = theta_true.size
    inverse = np.eye(d) / penalty
    theta = np.zeros(d)
    aim = theta if aims_whole else np.zeros(d)
    x = np.empty(d)
    f = x if learns_whole else np.empty(d)
    v = np.empty(d)
    u = np.empty(d)
    view = ConvexView(inverse, theta, aim, basis, starts, region, parameters)
    regret = 0.0
    return_regret = 0.0
    due = 0
    for t in range(1, horizon + 1):
        if t % 4096 == 0 and stop[0]:
            break
        rule(t, view, rng, x)  # type: ignore[name-defined]  # noqa: F821  (see `bind`)
        mean, reward = 0.0, 0.0
        for a in range(d):
            mean += x[a] * theta_true[a]
            reward += x[a] * wanted[a]
        observed = observe(noise, mean, scale, noise_rng)
        if not learns_whole:
            _multiply(learn, x, f)
        q, p = direction(inverse, theta, f, v)
        w = 1.0 / (1.0 + q)
        move(inverse, theta, (observed - p) * w, w, v, u)
        if not aims_whole:
            _multiply(aim_matrix, theta, aim)
        regret += best_reward - reward
        return_regret += best_return - mean
        if t == checkpoints[due]:
            out[0, due] = regret
            out[1, due] = return_regret
            if due + 1 < checkpoints.size:
                due += 1


@njit(nogil=True, error_model="numpy", forceinline=True)
def _multiply(matrix, x, out):  # type: ignore[no-untyped-def]
    for a in range(x.size):
        total = 0.0
        for b in range(x.size):
            total += matrix[a, b] * x[b]
        out[a] = total


@njit(nogil=True, error_model="numpy", forceinline=True)
def greedy_point(t, view, rng, x):  # type: ignore[no-untyped-def]
    """Choose as `EpsilonGreedy.select` does; the parameters are epsilon_1, epsilon_2, ..."""
    if rng.random() < view.parameters[t - 1]:
        x[:] = view.basis[int(rng.random() * view.basis.shape[0])]
    else:
        support(view.region, view.aim, x)


@njit(nogil=True, error_model="numpy", forceinline=True)
def _score(view, radius, x, gradient):  # type: ignore[no-untyped-def]
    """Return the optimistic score of x and fill its gradient."""
    d = x.size
    score, square = 0.0, 0.0
    for a in range(d):
        product = 0.0
        for b in range(d):
            product += view.inverse[a, b] * x[b]
        gradient[a] = product
        square += product * x[a]
        score += view.aim[a] * x[a]
    width = math.sqrt(max(square, 0.0))
    factor = radius / width if width > 0.0 else radius
    for a in range(d):
        gradient[a] = view.aim[a] + factor * gradient[a]
    return score + radius * width


@njit(nogil=True, error_model="numpy", forceinline=True)
def optimistic_point(t, view, rng, x):  # type: ignore[no-untyped-def]
    """Choose as `Ellipsoidal.select` does, by repeated support points from the same starts."""
    radius = view.parameters[t - 1]
    d = x.size
    count = view.starts.shape[0] + 1
    X = np.empty((count, d))
    gradients = np.empty((count, d))
    heights = np.empty(count)
    gains = np.zeros(count)
    going = np.ones(count, np.bool_)
    X[:-1] = view.starts
    support(view.region, view.aim, X[-1])
    for k in range(count):
        heights[k] = _score(view, radius, X[k], gradients[k])
    top = heights.max()
    for _ in range(1000):
        for k in range(count):
            if going[k]:
                support(view.region, gradients[k], X[k])
                height = _score(view, radius, X[k], gradients[k])
                gains[k] = height - heights[k]
                heights[k] = height
        top = heights.max()
        moved = False
        for k in range(count):
            if going[k]:
                reachable = heights[k] + 100.0 * gains[k] >= top
                going[k] = gains[k] > 1e-10 * abs(top) and reachable
                moved = moved or going[k]
        if not moved:
            break
    best = 0
    while heights[best] < top - 1e-9 * abs(top):
        best += 1
    x[:] = X[best]
