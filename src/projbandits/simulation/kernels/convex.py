"""The compiled step loop on a convex set."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from projbandits._checks import Array
from projbandits.simulation.kernels.common import LANES, copy, direction, move, observe
from projbandits.simulation.kernels.ids import Inside, Room, ids_room, inside
from projbandits.simulation.kernels.optimism import Search, search_room
from projbandits.simulation.kernels.support import Region, support
from projbandits.subspace import Subspace


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
    parameters, plan : ndarray
        What the strategy passed on.
    search : Search
        Room to work in.
    projection : ndarray of shape (d, d)
        P_U.
    residual : ndarray of shape (1,)
        `Ridge.residual`: what the estimate could not explain.
    candidates, scores, squares : ndarray of shape (n, d), (n,) and (n,)
        Room for points that a rule proposes, what they score and their squared widths.
    inside, room : Inside and Room
        Room for the belief about them in coordinates of U, and to work in.
    lanes : ndarray of shape (8,)
        Room for `argmax`.
    """

    inverse: Array
    theta: Array
    aim: Array
    basis: Array
    starts: Array
    region: Region
    parameters: Array
    plan: Array
    search: Search
    projection: Array
    residual: Array
    candidates: Array
    scores: Array
    squares: Array
    inside: Inside
    room: Room
    lanes: Array


def convex_view(
    aims_whole: bool,
    penalty: float,
    basis: Array,
    starts: Array,
    region: Region,
    parameters: Array,
    plan: Array,
    subspace: Subspace,
    proposals: int,
) -> ConvexView:
    """Return the view of a trial that is about to begin, with room for that many candidates."""
    d = basis.shape[1]
    B = subspace.basis if proposals else np.empty((d, 0))
    theta = np.zeros(d)
    aim = theta if aims_whole else np.zeros(d)
    search = search_room(len(starts) + 1, d)
    return ConvexView(
        np.eye(d) / penalty,
        theta,
        aim,
        basis,
        starts,
        region,
        parameters,
        plan,
        search,
        subspace.matrix,
        np.zeros(1),
        np.zeros((proposals, d)),
        np.zeros(proposals),
        np.zeros(proposals),
        inside(B, np.zeros((d, proposals)), penalty),
        ids_room(proposals, *B.shape),
        np.empty(LANES),
    )


def convex_steps(  # type: ignore[no-untyped-def]
    view,
    room,
    learns_whole,
    aims_whole,
    theta_true,
    wanted,
    best_return,
    best_reward,
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

    It learns on x, or on its projection, and aims along theta-hat, or along its projection. `room`
    is scratch (4 x d).
    """
    d = theta_true.size
    inverse, theta, aim = view.inverse, view.theta, view.aim
    x, v, u = room[0], room[1], room[2]
    f = x if learns_whole else room[3]
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
            _multiply(view.projection, x, f)
        q, p = direction(inverse, theta, f, v)
        w = 1.0 / (1.0 + q)
        c = (observed - p) * w
        view.residual[0] += c * (observed - p)
        move(inverse, theta, c, w, v, u)
        if not aims_whole:
            _multiply(view.projection, theta, aim)
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
        copy(view.basis[int(rng.random() * view.basis.shape[0])], x)
    else:
        support(view.region, view.aim, x)
