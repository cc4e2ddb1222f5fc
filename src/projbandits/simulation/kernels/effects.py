"""Arms with effects of their own in the compiled loop, as in `strategies.effects`.

Covariances are in units of sigma^2. The belief moves by rank one with each pull, as the weight
n / (1 + n rho) of the pulled arm grows. Where the scales are estimated anew, Python does what is
left of `Effects.fitted` and makes the belief from the sums of the arms; `likelihoods` differs from
its twin there in that it takes V by its entries, not by a factor, which is five times as fast.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from projbandits.ridge import LEAST_FREE, cautious_variance
from projbandits.simulation.kernels.belief import root
from projbandits.simulation.kernels.compiler import call, inlined, kernel, part
from projbandits.simulation.kernels.linear import (
    ACROSS,
    AMONG,
    COUNT,
    DIRECTION,
    LINEAR,
    MOVED,
    NOISE,
    PENALTY,
    PLACES,
    PULLS,
    RATIO,
    RETURNS,
    SCORES,
    SQUARES,
    SUMS,
    TOLD,
    WEIGHTS,
    State,
    begin_state,
    direction,
    product,
    shift,
)
from projbandits.strategies.effects import TINY, Effects, fitted_penalty, fitted_scales

_cautious_variance = part(cautious_variance)


def begin_effects(
    strategy: Any, learn: Any, aim: Any, parameters: Any, plan: Any, basis: Any
) -> State:
    """Return the state of a trial that is about to begin."""
    d = learn.shape[1]
    prior = Effects.prior(d, strategy.penalty, *strategy.known_scales)
    scales = np.array([prior.ratio, prior.noise, 0.0, 0.0, prior.penalty])
    state = begin_state(prior.penalty, learn, aim, parameters, plan, basis, np.eye(d), scales)
    believe(state)
    state.arms[SCORES, len(learn) :] = -np.inf
    return state


@inlined
def update_effects(i, observed, state):
    """Learn one observation of arm i, and all that follows for the others."""
    arms, scales, inverse = state.arms, state.scales, state.inverse
    places, among = state.inside[PLACES], state.inside[AMONG]
    pulls, sums, weights, moved = arms[PULLS], arms[SUMS], arms[WEIGHTS], arms[MOVED]
    v, told, theta, linear = state.room[DIRECTION], state.room[TOLD], state.theta, arms[LINEAR]
    d, ratio = theta.size, scales[RATIO]
    before, weight = sums[i] * weights[i], pulls[i] * weights[i]
    pulls[i] += 1.0
    sums[i] += observed
    scales[COUNT] += 1.0
    scales[RETURNS] += observed * observed
    weights[i] = 1.0 / (1.0 + pulls[i] * ratio)
    q, _ = direction(inverse, theta, state.learn[i], v)
    more = pulls[i] * weights[i] - weight
    shrink = more / (1.0 + more * q)
    for a in range(d):
        told[a] += (sums[i] * weights[i] - before) * state.learn[i, a]
        for c in range(d):
            inverse[a, c] -= shrink * v[a] * v[c]
    product(state.learn_T, v, moved)
    for j in range(moved.size):
        linear[j] = max(linear[j] - shrink * moved[j] * moved[j], 0.0)
    shift(state.inside[ACROSS], shrink, v, moved)
    product(places, v, moved)
    shift(among, shrink, v, moved)
    product(inverse, told, theta)
    for a in range(d):
        places[a, i] = state.aim_T[a, i] - (1.0 - weights[i]) * state.learn_T[a, i]
    for a in range(d):
        among[a, i] = 0.0
        for c in range(d):
            among[a, i] += inverse[a, c] * places[c, i]
    product(state.learn_T, theta, moved)
    product(state.aim_T, theta, arms[SCORES])
    for j in range(state.learn.shape[0]):
        alone = ratio * weights[j]
        arms[SCORES, j] += alone * (sums[j] - pulls[j] * moved[j])
        arms[SQUARES, j] = weights[j] * weights[j] * linear[j] + alone
    for j in range(state.learn.shape[0], moved.size):
        arms[SCORES, j] = -np.inf


def refit(state: State, strategy: Any) -> None:
    """Estimate rho, sigma and lambda anew, as `Effects.fitted` does, and make the belief anew."""
    scales, K = state.scales, len(state.learn)
    if scales[RETURNS] == 0.0:
        return

    def likelihood(ratios: Any, noise: float | None = None) -> Any:
        found = np.empty((2, len(ratios)))
        arms = state.learn, state.arms[PULLS, :K], state.arms[SUMS, :K]
        room = np.empty((2, *state.inverse.shape))
        call(likelihoods, ratios, noise or 0.0, *arms, scales, *room, found)
        return found

    ratio, sigma = fitted_scales(likelihood, *strategy.known_scales)
    length = float((state.learn**2).sum(axis=1).mean())
    scales[RATIO], scales[NOISE] = ratio**2, sigma
    scales[PENALTY] = fitted_penalty(
        strategy.penalty, sigma, length, scales[COUNT], scales[RETURNS]
    )
    believe(state)
    state.arms[SCORES, K:] = -np.inf


def believe(state: State) -> None:
    """Make the belief from the sums of the arms."""
    arms, X_T = state.arms, state.learn_T
    rho, n = state.scales[RATIO], arms[PULLS]
    w = arms[WEIGHTS] = 1.0 / (1.0 + n * rho)
    V = state.scales[PENALTY] * np.eye(len(X_T)) + (X_T * (n * w)) @ X_T.T
    inverse = np.linalg.inv(V)
    state.inverse[:] = (inverse + inverse.T) / 2
    state.room[TOLD] = X_T @ (w * arms[SUMS])
    state.theta[:] = state.inverse @ state.room[TOLD]
    state.inside[PLACES] = state.aim_T - (1.0 - w) * X_T
    state.inside[AMONG] = state.inverse @ state.inside[PLACES]
    state.inside[ACROSS] = state.inverse @ X_T
    arms[LINEAR] = (state.inside[ACROSS] * X_T).sum(axis=0)
    own = rho * w * (arms[SUMS] - n * (state.theta @ X_T))
    arms[SCORES] = state.theta @ state.aim_T + own
    arms[SQUARES] = w * w * arms[LINEAR] + rho * w


@kernel
def likelihoods(ratios, noise, learn, pulls, sums, scales, V, Q, found):
    """Fill in what `Effects.likelihood` returns; a noise of 0 means unknown. V and Q are room."""
    K, d, n, penalty = pulls.size, learn.shape[1], scales[COUNT], scales[PENALTY]
    told = np.empty(d)
    for k in range(ratios.size):
        V[:], told[:], rest, grown = 0.0, 0.0, scales[RETURNS], 0.0
        for j in range(K):
            weight = 1.0 / (1.0 + pulls[j] * ratios[k])
            rest -= ratios[k] * sums[j] * sums[j] * weight
            grown -= math.log(weight)
            for a in range(d):
                told[a] += sums[j] * weight * learn[j, a]
                for b in range(d):
                    V[a, b] += pulls[j] * weight * learn[j, a] * learn[j, b]
        for a in range(d):
            V[a, a] += penalty
        grown -= root(V, Q)
        trace = 0.0
        for b in range(d - 1, -1, -1):  # Q^-1, row by row, in the lower half
            told[b] /= Q[b, b]
            rest -= told[b] * told[b]
            for a in range(b):
                told[a] -= Q[a, b] * told[b]
            for c in range(b, d):
                entry = 1.0 if b == c else 0.0
                for a in range(b + 1, c + 1):
                    entry -= Q[b, a] * V[c, a]
                V[c, b] = entry / Q[b, b]
                trace += V[c, b] * V[c, b]
        rest = max(rest, TINY * scales[RETURNS])
        free = max(n - d + penalty * trace, LEAST_FREE)
        used = noise * noise if noise > 0.0 else rest / n
        found[0, k] = _cautious_variance(rest, free)
        found[1, k] = -0.5 * (n * math.log(used) + rest / used + grown)
