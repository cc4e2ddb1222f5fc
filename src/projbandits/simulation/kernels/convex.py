"""The compiled step loop on a convex set."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from projbandits._validation import Array
from projbandits.simulation.kernels.common import (
    LANES,
    copy,
    inlined,
    move,
    observe,
    products,
)
from projbandits.simulation.kernels.posterior import (
    Inside,
    Room,
    inside_of,
    root,
    sigma_of,
    spread,
    work_room,
)
from projbandits.simulation.kernels.search import Search, search_room
from projbandits.simulation.kernels.support import Region, dimension, support
from projbandits.simulation.kernels.tally import START, count
from projbandits.strategies.information import BELIEF_DRAWS, TURNS
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
        What a search for the most optimistic point leaves to the next, and room to work in.
    told : ndarray of shape (1,)
        The squared width |f|^2_{V^-1} of the last arm before it was played; infinite at first.
    projection : ndarray of shape (d, d)
        P_U.
    residual : ndarray of shape (1,)
        `Ridge.residual`: what the estimate could not explain.
    candidates, scores, squares : ndarray of shape (n, d), (n,) and (n,)
        Room for points that a rule proposes, their scores and their squared widths.
    inside, room : Inside and Room
        Room for the belief about them in coordinates of U, and to work in.
    lanes : ndarray of shape (8,)
        Room for `argmax`.
    own : None
        Points of a convex set have no effects of their own.
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
    told: Array
    projection: Array
    residual: Array
    candidates: Array
    scores: Array
    squares: Array
    inside: Inside
    room: Room
    lanes: Array
    own: None


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
    """Return the view of a trial that is about to begin, with room for `proposals` candidates."""
    d = basis.shape[1]
    B = subspace.basis if proposals else np.empty((d, 0))
    theta = np.zeros(d)
    aim = theta if aims_whole else np.zeros(d)
    search = search_room(len(starts) + 2, d)
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
        np.full(1, np.inf),
        subspace.matrix,
        np.zeros(1),
        np.zeros((proposals, d)),
        np.zeros(proposals),
        np.zeros(proposals),
        inside_of(B, np.zeros((d, proposals)), penalty),
        work_room(proposals, *B.shape),
        np.empty(LANES),
        None,
    )


def convex_steps(  # type: ignore[no-untyped-def]
    view, room, learns_whole, aims_whole, tally, world, noise_rng, rng, horizon, stop
):
    """Play one trial.

    It learns on x, or on its projection, and aims along theta-hat, or along its projection. `room`
    is scratch (4 x d).
    """
    d, so_far = dimension(view.region), START
    inverse, theta, aim = view.inverse, view.theta, view.aim
    x, v, u = room[0], room[1], room[2]
    f = x if learns_whole else room[3]
    for t in range(1, horizon + 1):
        if t % 4096 == 0 and stop[0]:
            break
        rule(t, view, rng, x)  # type: ignore[name-defined]  # noqa: F821  (see `bind`)
        mean, reward = 0.0, 0.0
        for a in range(d):
            mean += x[a] * world.theta[a]
            reward += x[a] * world.wanted[a]
        observed = observe(world.noise, mean, world.scale, noise_rng)
        if not learns_whole:
            _multiply(d, view.projection, x, f)
        _multiply(d, inverse, f, v)
        q, p = 0.0, 0.0
        for a in range(d):
            q += v[a] * f[a]
            p += theta[a] * f[a]
        view.told[0] = q
        w = 1.0 / (1.0 + q)
        c = (observed - p) * w
        view.residual[0] += c * (observed - p)
        move(inverse, theta, c, w, v, u, d)
        if not aims_whole:
            _multiply(d, view.projection, theta, aim)
        gap, return_gap = world.best_reward - reward, world.best_return - mean
        so_far = count(tally, so_far, t, 1, 0, gap, return_gap, False)


@inlined
def _multiply(d, matrix, x, out):  # type: ignore[no-untyped-def]
    for a in range(d):
        total = 0.0
        for b in range(d):
            total += matrix[a, b] * x[b]
        out[a] = total


@inlined
def _believe(view):  # type: ignore[no-untyped-def]
    """Fill the candidates' means and widths, and the belief about them in coordinates of U."""
    inside, within, v = view.inside, view.room.matrix, view.room.rows[0]
    d, u = inside.basis.shape
    for i in range(view.scores.size):
        x = view.candidates[i]
        products(view.inverse, x, v)
        score, square = 0.0, 0.0
        for a in range(d):
            score += view.aim[a] * x[a]
            square += v[a] * x[a]
        view.scores[i], view.squares[i] = score, square
        for b in range(u):
            place, across = 0.0, 0.0
            for a in range(d):
                place += inside.basis[a, b] * x[a]
                across += inside.basis[a, b] * v[a]
            inside.places[b, i], inside.across[b, i] = place, across
    x = view.room.rows[1]
    for b in range(u):
        for a in range(d):
            x[a] = inside.basis[a, b]
        products(view.inverse, x, v)
        for c in range(u):
            total = 0.0
            for a in range(d):
                total += inside.basis[a, c] * v[a]
            within[b, c] = total
    for b in range(u):
        products(inside.places, within[b, :u], inside.among[b])


@inlined
def propose(t, view):  # type: ignore[no-untyped-def]
    """Fill the candidates of `GaussianBeliefStrategy.candidates`, and the belief about them."""
    room = view.room
    z, drawn, x = room.rows[0], room.rows[1], room.rows[2]
    root(view.inverse, room.matrix)
    sigma = sigma_of(t, view, view.own)
    start = t % TURNS * BELIEF_DRAWS - 1
    for i in range(view.scores.size):
        if i == 0:
            support(view.region, view.aim, x)
        elif i <= BELIEF_DRAWS:
            copy(view.plan[start + i], z)
            spread(view.theta, sigma, room.matrix, z, drawn)
            products(view.projection, drawn, z)
            support(view.region, z, x)
        else:
            copy(view.basis[i - 1 - BELIEF_DRAWS], x)
        copy(x, view.candidates[i])
    _believe(view)
