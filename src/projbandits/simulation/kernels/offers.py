"""The compiled step where what is on offer changes, drawn as `problems.offers` draws it.

Nothing carries over from one offer to the next but the belief, so scores, widths and the belief
inside of U are computed anew at each step. All arms of a step are an item times the same viewer
z = (1, z_1, ...): with theta and V^-1 in blocks, one per entry of z, they are those of the item x
under sum_b z_b theta_b and sum_bc z_b z_c (V^-1)_bc. So all but the update is in d dimensions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.problems.offers import SPREAD
from projbandits.simulation.kernels.belief import quadratic
from projbandits.simulation.kernels.compiler import inlined, part
from projbandits.simulation.kernels.linear import (
    ACROSS,
    AMONG,
    HALF,
    MATRIX,
    MOVED,
    NARROW,
    PLACES,
    SCORES,
    SQUARES,
    TURNED,
    WORK,
    count,
    first_largest,
    learn,
    observe,
    product,
)


class Items(NamedTuple):
    """The catalogue and what is true of it, at the step being played.

    Parameters
    ----------
    features : ndarray of shape (2, N, d)
        The items, and their projections.
    effects : ndarray of shape (N,)
        What each brings beyond its features.
    order : ndarray of shape (N,)
        The items in an order that begins with those on offer.
    theta : ndarray of shape (D,)
        The parameter.
    viewer : ndarray of shape (1 + c,)
        1, and the viewer's vector.
    every, rate : int and float
        How theta jumps and wanders; 0 if it does not.
    noise, scale : int and float
        Which noise, by `linear.NOISE_CODES`, and its parameter.
    """

    features: Array
    effects: Array
    order: NDArray[np.int64]
    theta: Array
    viewer: Array
    every: int
    rate: float
    noise: int
    scale: float


class Shown(NamedTuple):
    """The arms on offer, filled at each step; the state of the rule refers to some of it.

    Parameters
    ----------
    rows : ndarray of shape (2, K, D)
        The arms, and their projections.
    columns : ndarray of shape (2, D, W)
        Their transposes.
    into : ndarray of shape (u, d)
        B^T for an item, where the rule looks inside of U.
    pivoted : ndarray of shape (d, W)
        Room to choose D_k in; empty if it is the first k arms.
    """

    rows: Array
    columns: Array
    into: Array
    pivoted: Array


@inlined
def offer(keeps, state, shown, items, rng):
    """Draw the offer of a step, and its viewer, and fill in what the rule may read."""
    order, viewer, rows, columns = items.order, items.viewer, shown.rows, shown.columns
    K, d = rows.shape[1], items.features.shape[2]
    for j in range(K):
        i = j + int(rng.random() * (order.size - j))
        order[j], order[i] = order[i], order[j]
    for b in range(1, viewer.size):
        viewer[b] = 2.0 * rng.random() - 1.0
    for side in range(2):
        for j in range(K):
            for b in range(viewer.size):
                for a in range(d):
                    value = viewer[b] * items.features[side, order[j], a]
                    rows[side, j, b * d + a] = value
                    columns[side, b * d + a, j] = value
    scores, row = state.arms[SCORES], state.room[TURNED, :d]
    fold(state.theta, viewer, row)
    product(state.aim_T, row, scores)
    for j in range(K, scores.size):
        scores[j] = -np.inf
    if keeps != NARROW:
        widen(state, shown, viewer)


@part
def widen(state, shown, viewer):
    """Fill in the squared widths, and the belief inside of U."""
    inside, squares, into = state.inside, state.arms[SQUARES], shown.into
    learn_T = state.learn_T if state.learn_T.size > 0 else state.aim_T
    d, folded = into.shape[1], state.room[MATRIX:]
    row = state.room[TURNED, :d]
    for a in range(d):
        for e in range(d):
            folded[a, e] = 0.0
    for b in range(viewer.size):
        for c in range(viewer.size):
            weight = viewer[b] * viewer[c]
            for a in range(d):
                for e in range(d):
                    folded[a, e] += weight * state.inverse[b * d + a, c * d + e]
    quadratic(folded, learn_T[:d], state.arms[WORK], squares)
    for j in range(squares.size):
        squares[j] = max(squares[j], 0.0)
    for a in range(into.shape[0]):
        product(shown.columns[1], into[a], inside[PLACES, a])
        for e in range(d):
            row[e] = 0.0
            for c in range(d):
                row[e] += folded[e, c] * into[a, c]
        product(state.aim_T, row, inside[AMONG, a])
        product(learn_T, row, inside[ACROSS, a])


@part
def farthest_row(m, state, shown):
    """Return row m of D_k of the arms on offer, which are in general position.

    That is QR with pivoting up to the row that is asked for. An arm's products with a viewer's
    vector do not change which is farthest, so d rows are enough.
    """
    pivoted, norms, dots = shown.pivoted, state.arms[WORK], state.arms[MOVED]
    if pivoted.size == 0:
        return m
    d, K = pivoted.shape
    farthest = 0
    for a in range(d):
        for j in range(K):
            pivoted[a, j] = shown.columns[0, a, j]
    for n in range(m + 1):
        for j in range(K):
            norms[j] = 0.0
            dots[j] = 0.0
        for a in range(d):
            for j in range(K):
                norms[j] += pivoted[a, j] * pivoted[a, j]
        farthest = first_largest(norms)
        if n == m:
            break
        for a in range(d):
            share = pivoted[a, farthest] / norms[farthest]
            for j in range(K):
                dots[j] += share * pivoted[a, j]
        for a in range(d):
            share = pivoted[a, farthest]
            for j in range(K):
                pivoted[a, j] -= share * dots[j]
            pivoted[a, farthest] = 0.0
    return farthest


@inlined
def fold(theta, viewer, out):
    """Fill out with theta for this viewer."""
    for a in range(out.size):
        out[a] = 0.0
        for b in range(viewer.size):
            out[a] += viewer[b] * theta[b * out.size + a]


@inlined
def take(t, i, state, shown, items, tally, offer_rng, noise_rng):
    """Play arm i at step t, count, and let theta drift."""
    returns, rewards = state.arms[MOVED], state.arms[WORK]
    row, theta = state.room[HALF, : items.features.shape[2]], items.theta
    fold(theta, items.viewer, row)
    product(shown.columns[0], row, returns)
    product(shown.columns[1], row, rewards)
    best_return, best_reward = -np.inf, -np.inf
    for j in range(shown.rows.shape[1]):
        own = items.effects[items.order[j]]
        returns[j] += own
        rewards[j] += own
        best_return = max(best_return, returns[j])
        best_reward = max(best_reward, rewards[j])
    learn(i, observe(items.noise, returns[i], items.scale, noise_rng), state)
    gap, return_gap = best_reward - rewards[i], best_return - returns[i]
    count(tally, t, 1, items.order[i], gap, return_gap, 0.0)
    if items.every > 0 and t % items.every == 0:
        for a in range(theta.size):
            theta[a] = 2.0 * offer_rng.random() - 1.0
    if items.rate > 0.0:
        stays = math.sqrt(1.0 - items.rate * items.rate)
        for a in range(theta.size):
            theta[a] = stays * theta[a] + items.rate * SPREAD * offer_rng.standard_normal()
