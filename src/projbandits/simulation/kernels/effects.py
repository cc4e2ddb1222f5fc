"""The compiled step loop where arms have effects of their own, as `strategies.effects` has it.

Covariances are in units of sigma^2. The belief moves by rank one with each pull, as the weight
n / (1 + n rho) of the pulled arm grows, and is made anew when tau and sigma are estimated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from projbandits._checks import Array
from projbandits.simulation.kernels.common import LANES, direction, observe, products
from projbandits.simulation.kernels.ids import Room, ids_room
from projbandits.simulation.kernels.scales import (
    PULLS,
    RATIO,
    SQUARES,
    assemble,
    factor,
    refit,
)


class EffectView(NamedTuple):
    """What a rule may look at when it chooses among arms with effects.

    Parameters
    ----------
    scores : ndarray of shape (K,)
        The mean of what is aimed at, effects included.
    squares : ndarray of shape (K,)
        The squared width of each arm, effects included.
    linear : ndarray of shape (K,)
        |f_j|^2_{V^-1}, the squared width of the features' part.
    weights : ndarray of shape (K,)
        1 / (1 + n_j rho).
    scales : ndarray of shape (5,)
        rho, sigma, the number of pulls, the sum of the squares of the returns, and lambda.
    inverse, theta : ndarray of shape (d, d) and (d,)
        V^-1 and theta-hat.
    learn, learn_T, aim_T : ndarray of shape (K, d), (d, K), (d, K)
        The arms as they are learnt on and aimed at.
    basis, parameters, scratch, lanes
        As in `steps.View`.
    across : ndarray of shape (d, K)
        V^-1 f_j.
    room : Room
        Room to work in.
    rule : int
        Which rule of `effect_rules.any_rule` chooses.
    """

    scores: Array
    squares: Array
    linear: Array
    weights: Array
    scales: Array
    inverse: Array
    theta: Array
    learn: Array
    learn_T: Array  # noqa: N815
    aim_T: Array  # noqa: N815
    basis: NDArray[np.int64]
    parameters: Array
    scratch: Array
    lanes: Array
    across: Array
    room: Room
    rule: int


def effect_view(
    penalty: float,
    ratio: float,
    sigma: float,
    learn: tuple[Array, Array],
    aim_T: Array,
    basis: NDArray[np.int64],
    parameters: Array,
    rule: int,
) -> EffectView:
    """Return the view of a trial that is about to begin."""
    K, d = learn[0].shape
    linear = np.zeros(K)
    for column in learn[1]:
        linear += column * column / penalty
    return EffectView(
        np.zeros(K),
        linear + ratio,
        linear,
        np.ones(K),
        np.array([ratio, sigma, 0.0, 0.0, penalty]),
        np.eye(d) / penalty,
        np.zeros(d),
        *learn,
        aim_T,
        basis,
        parameters,
        np.empty(K),
        np.empty(LANES),
        learn[1] / penalty,
        ids_room(K, d, d),
        rule,
    )


@njit(nogil=True, error_model="numpy")
def invert(view, pulls, sums, V, b):  # type: ignore[no-untyped-def]
    """Make V^-1 anew, and with it V^-1 f_j and the features' widths."""
    d = b.size
    inverse, linear, across = view.inverse, view.linear, view.across
    assemble(view.scales[RATIO], view, pulls, sums, V, b)
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
        products(view.learn_T, inverse[a], across[a])
        for j in range(linear.size):
            linear[j] += across[a, j] * view.learn_T[a, j]


def effect_steps(  # type: ignore[no-untyped-def]
    view,
    ridge,
    tau,
    told_noise,
    pulls,
    sums,
    room,
    V,
    fits,
    recent,
    wrong,
    means,
    gaps,
    return_gaps,
    is_best,
    noise,
    scale,
    noise_rng,
    rng,
    checkpoints,
    horizon,
    stop,
    out,
):
    """Play one trial and fill `out` (3 x checkpoints); return the last share of best plays.

    `room` (3 x d), V (d x d) and `fits` are scratch; `pulls` and `sums` begin at zero;
    `wrong` is as in `steps`.
    """
    scores, squares, linear, weights, scales = (
        view.scores,
        view.squares,
        view.linear,
        view.weights,
        view.scales,
    )
    inverse, theta, learn = view.inverse, view.theta, view.learn
    v, b, scratch = room[0], room[1], room[2]
    K, d, window = scores.size, theta.size, recent.size
    best_plays = 0
    regret = 0.0
    return_regret = 0.0
    due = 0
    slot = 0
    for a in range(d):
        b[a] = 0.0
    for t in range(1, horizon + 1):
        if t % 4096 == 0 and stop[0]:
            break
        i = rule(t, view, rng)  # type: ignore[name-defined]  # noqa: F821  (see `bind`)
        if i < 0 or i >= K:  # before anything is read there
            wrong[0], wrong[1] = t, i
            break
        observed = observe(noise, means[i], scale, noise_rng)
        before, weight = sums[i] * weights[i], pulls[i] * weights[i]
        pulls[i] += 1.0
        sums[i] += observed
        scales[PULLS] += 1.0
        scales[SQUARES] += observed * observed
        top = 1
        while 2 * top <= t:
            top *= 2
        if t == top or t == top + top // 2:
            refit(ridge, tau, told_noise, view, pulls, sums, V, scratch, fits)
            invert(view, pulls, sums, V, b)
            for j in range(K):
                weights[j] = 1.0 / (1.0 + pulls[j] * scales[RATIO])
        else:
            weights[i] = 1.0 / (1.0 + pulls[i] * scales[RATIO])
            q, _ = direction(inverse, theta, learn[i], v)
            more = pulls[i] * weights[i] - weight
            shrink = more / (1.0 + more * q)
            for a in range(d):
                b[a] += (sums[i] * weights[i] - before) * learn[i, a]
                for c in range(d):
                    inverse[a, c] -= shrink * v[a] * v[c]
            products(view.learn_T, v, view.scratch)
            for j in range(K):
                linear[j] = max(linear[j] - shrink * view.scratch[j] * view.scratch[j], 0.0)
            for a in range(d):
                part = shrink * v[a]
                for j in range(K):
                    view.across[a, j] -= part * view.scratch[j]
        for a in range(d):
            theta[a] = 0.0
            for c in range(d):
                theta[a] += inverse[a, c] * b[c]
        products(view.learn_T, theta, view.scratch)
        products(view.aim_T, theta, scores)
        ratio = scales[RATIO]
        for j in range(K):
            own = ratio * weights[j]
            scores[j] += own * (sums[j] - pulls[j] * view.scratch[j])
            squares[j] = weights[j] * weights[j] * linear[j] + own
        regret += gaps[i]
        return_regret += return_gaps[i]
        slot = slot + 1 if slot + 1 < window else 0
        best_plays += int(is_best[i]) - int(recent[slot])
        recent[slot] = is_best[i]
        if t == checkpoints[due]:
            out[0, due] = regret
            out[1, due] = return_regret
            out[2, due] = best_plays / min(t, window)
            if due + 1 < checkpoints.size:
                due += 1
    return best_plays / min(horizon, window)
