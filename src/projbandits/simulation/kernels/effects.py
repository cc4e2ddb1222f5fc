"""The compiled step loop for arms with effects of their own, as in `strategies.effects`.

Covariances are in units of sigma^2. The belief moves by rank one with each pull, as the weight
n / (1 + n rho) of the pulled arm grows, and is recomputed when tau and sigma are estimated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.simulation.kernels.common import direction, inlined, inner, observe, products
from projbandits.simulation.kernels.finite import Twice, View, finite_view
from projbandits.simulation.kernels.posterior import (
    PULLS,
    RATIO,
    SQUARES,
    Inside,
    Own,
    shift,
    work_room,
)
from projbandits.simulation.kernels.tally import START, count
from projbandits.simulation.kernels.variances import assemble, factor, refit


def effect_view(
    penalty: float,
    ratio: float,
    sigma: float,
    learn: Twice,
    aim: Twice,
    basis: NDArray[np.int64],
    parameters: Array,
    plan: Array,
) -> View:
    """Return the view of a trial that is about to begin."""
    K, d = learn[0].shape
    view = finite_view(penalty, learn, aim, basis, parameters, plan, np.empty((d, 0)))
    linear, scales = view.squares, np.array([ratio, sigma, 0.0, 0.0, penalty])
    return view._replace(
        squares=linear + ratio,
        inside=Inside(view.inside.basis, aim[1].copy(), aim[1] / penalty, learn[1] / penalty),
        room=work_room(K, d, d),
        own=Own(np.ones(K), linear, np.zeros(K), np.zeros(K), scales),
    )


@inner
def invert(view, own, V, b):  # type: ignore[no-untyped-def]
    """Recompute V^-1, and with it V^-1 f_j and the features' widths."""
    d = b.size
    inverse, linear, across = view.inverse, own.linear, view.inside.across
    assemble(own.scales[RATIO], view.learn, own, V, b)
    factor(V)
    for column in range(d):  # L^-1 first, in the lower half of the inverse
        for a in range(column, d):
            total = 1.0 if a == column else 0.0
            for k in range(column, a):
                total -= V[a, k] * inverse[k, column]
            inverse[a, column] = total / V[a, a]
    for a in range(d):
        for c in range(a, d):
            total = 0.0
            for k in range(c, d):
                total += inverse[k, a] * inverse[k, c]
            V[a, c] = total
    for a in range(d):
        for c in range(a, d):
            inverse[a, c] = V[a, c]
            inverse[c, a] = V[a, c]
    for j in range(linear.size):
        linear[j] = 0.0
    for a in range(d):
        products(view.learn_columns, inverse[a], across[a])
        for j in range(linear.size):
            linear[j] += across[a, j] * view.learn_columns[a, j]


@inlined
def place(view, own, j):  # type: ignore[no-untyped-def]
    """Update how theta enters the wanted reward of arm j, given its weight."""
    for a in range(view.theta.size):
        shrunk = (1.0 - own.weights[j]) * view.learn_columns[a, j]
        view.inside.places[a, j] = view.aim_columns[a, j] - shrunk


def effect_steps(  # type: ignore[no-untyped-def]
    view, ridge, tau, given, room, V, fits, tally, wrong, world, noise_rng, rng, horizon, stop
):
    """Play one trial; `room` (3 x d), V (d x d) and `fits` are scratch.

    A negative tau, or a `given` sigma of 0, means unknown; `wrong` is as in `finite_steps`.
    """
    own, scores, squares = view.own, view.scores, view.squares
    linear, weights, pulls, sums, scales = own.linear, own.weights, own.pulls, own.sums, own.scales
    inverse, theta, learn, inside = view.inverse, view.theta, view.learn, view.inside
    v, b, scratch = room[0], room[1], room[2]
    K, d, so_far = scores.size, theta.size, START
    for a in range(d):
        b[a] = 0.0
    for t in range(1, horizon + 1):
        if t % 4096 == 0 and stop[0]:
            break
        i = rule(t, view, rng)  # type: ignore[name-defined]  # noqa: F821  (see `bind`)
        if i < 0 or i >= K:  # before row i is read
            wrong[0], wrong[1] = t, i
            break
        observed = observe(world.noise, world.means[i], world.scale, noise_rng)
        before, weight = sums[i] * weights[i], pulls[i] * weights[i]
        pulls[i] += 1.0
        sums[i] += observed
        scales[PULLS] += 1.0
        scales[SQUARES] += observed * observed
        top = 1
        while 2 * top <= t:
            top *= 2
        if t == top or t == top + top // 2:
            refit(ridge, tau, given, learn, own, V, scratch, fits)
            invert(view, own, V, b)
            for j in range(K):
                weights[j] = 1.0 / (1.0 + pulls[j] * scales[RATIO])
                place(view, own, j)
            for a in range(d):
                products(inside.places, inverse[a], inside.among[a])
        else:
            weights[i] = 1.0 / (1.0 + pulls[i] * scales[RATIO])
            q, _ = direction(inverse, theta, learn[i], v)
            more = pulls[i] * weights[i] - weight
            shrink = more / (1.0 + more * q)
            for a in range(d):
                b[a] += (sums[i] * weights[i] - before) * learn[i, a]
                for c in range(d):
                    inverse[a, c] -= shrink * v[a] * v[c]
            products(view.learn_columns, v, view.scratch)
            for j in range(K):
                linear[j] = max(linear[j] - shrink * view.scratch[j] * view.scratch[j], 0.0)
            shift(inside.across, shrink, v, view.scratch)
            products(inside.places, v, view.scratch)
            shift(inside.among, shrink, v, view.scratch)
            place(view, own, i)
            for a in range(d):
                inside.among[a, i] = 0.0
                for c in range(d):
                    inside.among[a, i] += inverse[a, c] * inside.places[c, i]
        for a in range(d):
            theta[a] = 0.0
            for c in range(d):
                theta[a] += inverse[a, c] * b[c]
        products(view.learn_columns, theta, view.scratch)
        products(view.aim_columns, theta, scores)
        ratio = scales[RATIO]
        for j in range(K):
            alone = ratio * weights[j]
            scores[j] += alone * (sums[j] - pulls[j] * view.scratch[j])
            squares[j] = weights[j] * weights[j] * linear[j] + alone
        so_far = count(
            tally, so_far, t, 1, i, world.gaps[i], world.return_gaps[i], world.is_best[i]
        )
