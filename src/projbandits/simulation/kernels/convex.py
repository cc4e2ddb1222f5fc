"""A trial on a convex set as arrays, and the compiled step there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from projbandits._validation import Array
from projbandits.simulation.kernels.belief import draw, root, sigma_of
from projbandits.simulation.kernels.compiler import inlined, part
from projbandits.simulation.kernels.linear import (
    ACROSS,
    AMONG,
    DIRECTION,
    HALF,
    MATRIX,
    PLACES,
    SCORES,
    SQUARES,
    TURNED,
    State,
    begin_state,
    count,
    move,
    observe,
    product,
)
from projbandits.simulation.kernels.search import Search, search_room
from projbandits.simulation.kernels.support import Region, copy, dimension, support
from projbandits.strategies.information import BELIEF_DRAWS, TURNS
from projbandits.subspace import Subspace


class ConvexWorld(NamedTuple):
    """What is true of a world on a convex set; a rule never sees it.

    Parameters
    ----------
    theta, wanted : ndarray of shape (d,)
        The parameter, and P_U of it.
    best_return, best_reward : float
        The largest mean return and projection reward.
    noise, scale : int and float
        Which noise, by `linear.NOISE_CODES`, and its parameter.
    """

    theta: Array
    wanted: Array
    best_return: float
    best_reward: float
    noise: int
    scale: float


class ConvexState(NamedTuple):
    """The belief, the set, and room to work in.

    Parameters
    ----------
    linear : State
        The belief, and what is known of the points that a rule proposes, as of finitely many arms.
    aim : ndarray of shape (d,)
        The direction whose inner product with an arm estimates what is aimed at.
    x, learnt : ndarray of shape (d,)
        The point that the rule chooses, and as it is learnt on.
    points, starts : ndarray of shape (k, d) and (m, d)
        D_k, and the support points along the axes.
    region : Region
        The set, for `support`.
    search : Search
        What a search for the most optimistic point leaves to the next, and room to work in.
    width : ndarray of shape (1,)
        The squared width |f|^2_{V^-1} of the last arm before it was played; infinite at first.
    projection : ndarray of shape (d, d)
        P_U.
    learns_whole, aims_whole : bool
        Whether it learns on whole arms, and aims at the return.
    """

    linear: State
    aim: Array
    x: Array
    learnt: Array
    points: Array
    starts: Array
    region: Region
    search: Search
    width: Array
    projection: Array
    learns_whole: bool
    aims_whole: bool


def begin_convex(
    penalty: float,
    whole: tuple[bool, bool],
    points: Array,
    starts: Array,
    region: Region,
    parameters: Array,
    plan: Array,
    subspace: Subspace,
    proposals: int,
) -> ConvexState:
    """Return the state of a trial that is about to begin, with room for proposed points."""
    d = points.shape[1]
    B = subspace.basis if proposals else None
    rows = np.zeros((proposals, d))
    x = np.zeros(d)
    linear = begin_state(penalty, rows, rows, parameters, plan, np.empty(0, np.int64), B)
    return ConvexState(
        linear,
        linear.theta if whole[1] else np.zeros(d),
        x,
        x if whole[0] else np.zeros(d),
        np.array(points),
        np.array(starts),
        region,
        search_room(len(starts) + 2, d),
        np.full(1, np.inf),
        np.array(subspace.matrix, order="C"),
        *whole,
    )


@inlined
def multiply(d, matrix, x, out):
    """Fill out with the product of a symmetric matrix with x."""
    for a in range(d):
        total = 0.0
        for b in range(d):
            total += matrix[a, b] * x[b]
        out[a] = total


@inlined
def projected(state, x, out):
    """Fill out with P_U x."""
    multiply(x.size, state.projection, x, out)


@inlined
def play_point(t, state, world, tally, rng):
    """Play the point x at step t: observe, update, count."""
    linear, x, f, v = state.linear, state.x, state.learnt, state.linear.room[DIRECTION]
    d, inverse, theta = dimension(state.region), linear.inverse, linear.theta
    mean, reward = 0.0, 0.0
    for a in range(d):
        mean += x[a] * world.theta[a]
        reward += x[a] * world.wanted[a]
    observed = observe(world.noise, mean, world.scale, rng)
    if not state.learns_whole:
        multiply(d, state.projection, x, f)
    multiply(d, inverse, f, v)
    q, p = 0.0, 0.0
    for a in range(d):
        q += v[a] * f[a]
        p += theta[a] * f[a]
    state.width[0] = q
    w = 1.0 / (1.0 + q)
    c = (observed - p) * w
    linear.residual[0] += c * (observed - p)
    move(inverse, theta, c, w, v, linear.room[HALF], d)
    if not state.aims_whole:
        multiply(d, state.projection, theta, state.aim)
    count(tally, t, 1, 0, world.best_reward - reward, world.best_return - mean, 0.0)


@inlined
def propose(t, state):
    """Fill the points of `GaussianBeliefStrategy.candidates`, and the belief about them."""
    linear, points = state.linear, state.linear.learn
    Q, z, drawn = linear.room[MATRIX:], linear.room[HALF], linear.room[TURNED]
    root(linear.inverse, Q)
    sigma = sigma_of(t, linear)
    start = t % TURNS * BELIEF_DRAWS - 1
    for i in range(points.shape[0]):
        if i > BELIEF_DRAWS:
            copy(state.points[i - 1 - BELIEF_DRAWS], points[i])
            continue
        if i == 0:
            copy(state.aim, z)
        else:
            draw(linear.theta, sigma, Q, linear.plan[start + i], drawn)
            projected(state, drawn, z)
        support(state.region, z, points[i])
    believe(state)


@part
def believe(state):
    """Fill the proposed points' means and widths, and the belief about them inside of U."""
    linear, points, inside = state.linear, state.linear.learn, state.linear.inside
    scores, squares, B = linear.arms[SCORES], linear.arms[SQUARES], linear.B
    v, within = linear.room[DIRECTION], linear.room[MATRIX:]
    d, u = B.shape
    for i in range(points.shape[0]):
        multiply(d, linear.inverse, points[i], v)
        scores[i], squares[i] = 0.0, 0.0
        for a in range(d):
            scores[i] += state.aim[a] * points[i, a]
            squares[i] += v[a] * points[i, a]
        product(B, points[i], inside[PLACES, :, i])
        product(B, v, inside[ACROSS, :, i])
    for b in range(u):
        multiply(d, linear.inverse, B[:, b], v)
        product(B, v, within[b, :u])
        product(inside[PLACES], within[b, :u], inside[AMONG, b])
