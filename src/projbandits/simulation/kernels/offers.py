"""The compiled step loop where what is on offer changes, drawn as `problems.offers` draws it.

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
from projbandits.simulation.kernels.common import (
    argmax,
    direction,
    inlined,
    inner,
    move,
    observe,
    products,
)
from projbandits.simulation.kernels.posterior import quadratic
from projbandits.simulation.kernels.tally import START, count


class Items(NamedTuple):
    """The catalogue and what is true of it, at the step being played.

    Parameters
    ----------
    whole, kept : ndarray of shape (N, d)
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
        Which noise of `common.NOISES`, and its parameter.
    """

    whole: Array
    kept: Array
    effects: Array
    order: NDArray[np.int64]
    theta: Array
    viewer: Array
    every: int
    rate: float
    noise: int
    scale: float


class Shown(NamedTuple):
    """The arms on offer, filled at each step; the view of the rule refers to some of it.

    Parameters
    ----------
    whole, kept : ndarray of shape (K, D)
        The arms, and their projections.
    whole_columns, kept_columns : ndarray of shape (D, K)
        Their transposes.
    returns, rewards : ndarray of shape (K,)
        Their mean returns and projection rewards.
    into : ndarray of shape (u, d)
        B^T for an item, where the rule reads `view.inside`.
    folded : ndarray of shape (d, d)
        V^-1 for this viewer.
    room : ndarray of shape (2, D)
        Room to work in.
    """

    whole: Array
    kept: Array
    whole_columns: Array
    kept_columns: Array
    returns: Array
    rewards: Array
    into: Array
    folded: Array
    room: Array


@inlined
def draw(items, K, rng):  # type: ignore[no-untyped-def]
    """Draw the offer of a step, and its viewer."""
    order, viewer = items.order, items.viewer
    for j in range(K):
        i = j + int(rng.random() * (order.size - j))
        order[j], order[i] = order[i], order[j]
    for b in range(1, viewer.size):
        viewer[b] = 2.0 * rng.random() - 1.0


@inlined
def lay_out(features, items, rows, columns):  # type: ignore[no-untyped-def]
    """Fill the arms with the items on offer, and their products with the viewer's vector."""
    d = features.shape[1]
    for j in range(rows.shape[0]):
        item = items.order[j]
        for b in range(items.viewer.size):
            for a in range(d):
                value = items.viewer[b] * features[item, a]
                rows[j, b * d + a] = value
                columns[b * d + a, j] = value


@inlined
def drift(t, items, rng):  # type: ignore[no-untyped-def]
    """Move theta after step t."""
    theta = items.theta
    if items.every > 0 and t % items.every == 0:
        for a in range(theta.size):
            theta[a] = 2.0 * rng.random() - 1.0
    if items.rate > 0.0:
        stays = math.sqrt(1.0 - items.rate * items.rate)
        for a in range(theta.size):
            theta[a] = stays * theta[a] + items.rate * SPREAD * rng.standard_normal()


@inner
def spanning(m, view):  # type: ignore[no-untyped-def]
    """Return row m of D_k of the arms on offer, which are in general position.

    `view.plan` is empty if D_k is the first k arms. Otherwise its first rows are the arms'
    transpose, and below is room for QR with pivoting: an arm's products with a viewer's vector do
    not change which is farthest, so d rows are enough. It stops at the row that is asked for.
    """
    plan, norms, D = view.plan, view.scratch, view.theta.size
    if plan.size == 0:
        return m
    d, K, dots = plan.shape[0] - D - 1, norms.size, plan[plan.shape[0] - 1]
    for a in range(d):
        for j in range(K):
            plan[D + a, j] = plan[a, j]
    for n in range(m + 1):
        for j in range(K):
            norms[j] = 0.0
        for a in range(D, D + d):
            for j in range(K):
                norms[j] += plan[a, j] * plan[a, j]
        farthest = argmax(norms, view.lanes)
        if n == m:
            break
        for j in range(K):
            dots[j] = 0.0
        for a in range(D, D + d):
            part = plan[a, farthest] / norms[farthest]
            for j in range(K):
                dots[j] += part * plan[a, j]
        for a in range(D, D + d):
            part = plan[a, farthest]
            for j in range(K):
                plan[a, j] -= part * dots[j]
            plan[a, farthest] = 0.0
    return farthest


@inlined
def fold(theta, viewer, out):  # type: ignore[no-untyped-def]
    """Fill out with theta for this viewer."""
    for a in range(out.size):
        out[a] = 0.0
    for b in range(viewer.size):
        for a in range(out.size):
            out[a] += viewer[b] * theta[b * out.size + a]


@inlined
def fold_inverse(inverse, viewer, out):  # type: ignore[no-untyped-def]
    """Fill out with V^-1 for this viewer."""
    d = out.shape[0]
    for a in range(d):
        for e in range(d):
            out[a, e] = 0.0
    for b in range(viewer.size):
        for c in range(viewer.size):
            weight = viewer[b] * viewer[c]
            for a in range(d):
                for e in range(d):
                    out[a, e] += weight * inverse[b * d + a, c * d + e]


@inlined
def believe(view, shown, viewer, widths):  # type: ignore[no-untyped-def]
    """Fill what the rule may read of the arms on offer."""
    inside, squares, folded = view.inside, view.squares, shown.folded
    d = folded.shape[0]
    aim_T, learn_T, row = view.aim_columns[:d], view.learn_columns[:d], shown.room[0, :d]
    fold(view.theta, viewer, row)
    products(aim_T, row, view.scores)
    if not widths:
        return
    fold_inverse(view.inverse, viewer, folded)
    quadratic(folded, learn_T, view.scratch, squares)
    for j in range(squares.size):
        squares[j] = max(squares[j], 0.0)
    for a in range(shown.into.shape[0]):
        products(shown.kept_columns[:d], shown.into[a], inside.places[a])
        products(folded, shown.into[a], row)
        products(aim_T, row, inside.among[a])
        products(learn_T, row, inside.across[a])


@inlined
def learn(i, observed, view, room):  # type: ignore[no-untyped-def]
    """Move the belief by one observation of the arm in row i."""
    q, p = direction(view.inverse, view.theta, view.learn[i], room[0])
    w = 1.0 / (1.0 + q)
    c = (observed - p) * w
    view.residual[0] += c * (observed - p)
    move(view.inverse, view.theta, c, w, room[0], room[1])


def offer_steps(  # type: ignore[no-untyped-def]
    view, shown, widths, tally, wrong, items, offer_rng, noise_rng, rng, horizon, stop
):
    """Play one trial; `wrong` is as in `finite_steps`."""
    K, d, so_far = view.scores.size, items.whole.shape[1], START
    returns, rewards, room = shown.returns, shown.rewards, shown.room
    for t in range(1, horizon + 1):
        if t % 4096 == 0 and stop[0]:
            break
        draw(items, K, offer_rng)
        lay_out(items.whole, items, shown.whole, shown.whole_columns)
        lay_out(items.kept, items, shown.kept, shown.kept_columns)
        believe(view, shown, items.viewer, widths)
        i = rule(t, view, rng)  # type: ignore[name-defined]  # noqa: F821  (see `bind`)
        if i < 0 or i >= K:  # before row i is read
            wrong[0], wrong[1] = t, i
            break
        fold(items.theta, items.viewer, room[0, :d])
        products(shown.whole_columns[:d], room[0, :d], returns)
        products(shown.kept_columns[:d], room[0, :d], rewards)
        best_return, best_reward = -np.inf, -np.inf
        for j in range(K):
            own = items.effects[items.order[j]]
            returns[j] += own
            rewards[j] += own
            best_return = max(best_return, returns[j])
            best_reward = max(best_reward, rewards[j])
        learn(i, observe(items.noise, returns[i], items.scale, noise_rng), view, room)
        gap, return_gap = best_reward - rewards[i], best_return - returns[i]
        so_far = count(tally, so_far, t, 1, items.order[i], gap, return_gap, False)
        drift(t, items, offer_rng)
