"""The event engine's kernel: an epsilon_t-greedy trial that visits only the steps that decide.

The derivation is in docs/event-engine.md, whose names are used here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.simulation.kernels.bridges import NEGLIGIBLE
from projbandits.simulation.kernels.compiler import inlined, kernel, part
from projbandits.simulation.kernels.linear import (
    Tally,
    count,
    direction,
    first_largest,
    lowest,
    move,
    product,
)
from projbandits.simulation.kernels.philox import begin, normal, uniform

DEPTH = 70  # a block of 2^63 steps halves 63 times
NOISE, COINS = 1, 2


@part
def next_exploration(t, last, scale, exponent, coins):
    """Return the first step from t on that explores, or last + 1, for min(1, scale / t^exponent).

    Thinning: propose a geometric jump with the current epsilon, which bounds all later ones, and
    accept with probability epsilon there over epsilon here.
    """
    while t <= last:
        bound = min(1.0, scale / math.pow(t, exponent))
        if bound <= 0.0:
            return last + 1
        if bound < 1.0:
            jump = math.log(1.0 - uniform(coins)) / math.log1p(-bound)
            if jump > last - t:
                return last + 1
            t += int(jump)
        if uniform(coins) * bound < min(1.0, scale / math.pow(t, exponent)):
            return t
        t += 1
    return last + 1


@part
def lead(scores, slopes, i, highs, lows):
    """Return the interval of c in which arm i leads, and whether each end is excluded.

    The score of arm j is scores[j] + slopes[j] c; at an end another arm draws level, and a tie
    goes to the lower index. `highs` and `lows` are scratch for the ends that each arm sets: without
    branches, the divisions vectorise.
    """
    score, slope = scores[i], slopes[i]
    for j in range(scores.size):
        steeper = slopes[j] - slope
        end = (score - scores[j]) / steeper
        highs[j] = end if steeper > 0.0 else np.inf
        lows[j] = -end if steeper < 0.0 else np.inf
    high, low = lowest(highs), lowest(lows)
    at_high, at_low = 0, 0
    for j in range(i):
        at_high += highs[j] == high
        at_low += lows[j] == low
    return -low, high, at_low > 0, at_high > 0


@inlined
def within(c, interval):
    """Return whether c lies in an interval, without the ends that are open."""
    low, high, low_open, high_open = interval
    return not (c < low or c > high or (low_open and c == low) or (high_open and c == high))


@part
def still(most, drift, q, interval):
    """Pull one arm as `stretch` does when there is no noise.

    c = m drift / (1 + m q) then moves one way only, from 0 inside the interval, so the first step
    outside is found by bisection.
    """
    if within(most * drift / (1.0 + most * q), interval):
        return most, most * drift
    before, first = 0, most
    while first - before > 1:
        m = before + (first - before) // 2
        if within(m * drift / (1.0 + m * q), interval):
            before = m
        else:
            first = m
    return first, first * drift


@part
def stretch(most, drift, sd, q, interval, ends, sums, noise, stop):
    """Pull one arm until c = S / (1 + m q) leaves the interval, at most `most` times.

    Returns the number of pulls m and the sum S of their returns beyond the prediction.
    `ends` and `sums` are scratch: the right ends of the blocks still to be visited, the next on
    top, and the values of S drawn for them.
    """
    low, high, _, _ = interval
    m, S = 0, 0.0
    top = 0
    ends[0] = most
    sums[0] = most * drift + sd * math.sqrt(most) * normal(noise)
    while top >= 0 and not stop[0]:
        end, T = ends[top], sums[top]
        width = end - m
        if width == 1:
            m, S = end, T
            top -= 1
            if not within(S / (1.0 + m * q), interval):
                break
            continue
        below = high * (1.0 + m * q) - S
        below_end = high * (1.0 + end * q) - T
        above = S - low * (1.0 + m * q)
        above_end = T - low * (1.0 + end * q)
        least = 0.5 * NEGLIGIBLE * width * sd * sd
        if (
            below > 0.0
            and below_end > 0.0
            and above > 0.0
            and above_end > 0.0
            and below * below_end >= least
            and above * above_end >= least
        ):
            m, S = end, T
            top -= 1
            continue
        half = width // 2
        spread = sd * math.sqrt(half * ((width - half) / width))
        top += 1
        ends[top] = m + half
        sums[top] = S + (T - S) * (half / width) + spread * normal(noise)
    return m, S


class Trace(NamedTuple):
    """How trials ended, a row each, and what is asked about them.

    Parameters
    ----------
    steps : ndarray of shape (n,)
        The steps that are asked about.
    out, pulls : ndarray of shape (trials, 3, n) and (trials, K)
        The answers of `Tally`.
    totals : ndarray of shape (trials, K)
        The sum of the returns of each arm.
    inverse, theta : ndarray of shape (trials, d, d) and (trials, d)
        The final belief.
    """

    steps: NDArray[np.int64]
    out: Array
    pulls: NDArray[np.int64]
    totals: Array
    inverse: Array
    theta: Array


@inlined
def begin_trial(n, penalty, learn, trace):
    """Return the tally of trial n, its belief before the first step, and the scores."""
    inverse, theta, scores = trace.inverse[n], trace.theta[n], np.zeros(learn.shape[2])
    theta[:] = 0.0
    inverse[:] = 0.0  # a scalar: assigning an array would be slow to compile
    trace.totals[n] = 0.0
    for a in range(theta.size):
        inverse[a, a] = 1.0 / penalty
    for j in range(trace.pulls.shape[1], scores.size):
        scores[j] = -np.inf  # there is no such arm
    tally = Tally(trace.steps, trace.out[n], trace.pulls[n], np.zeros(3), np.zeros(1, np.int64))
    return tally, inverse, theta, scores


@kernel
def events(penalty, learn, aim_T, schedule, drawn, basis, world, key, trials, trace, stop):
    """Play trials one after another; every array but the schedule has one row per trial.

    The schedule is min(1, scale / t^exponent), or, if its exponent is negative, `drawn` holds the
    exploring steps, drawn beforehand. A raised `stop` flag ends it early.
    """
    scale, exponent = schedule
    d, K = aim_T.shape[1], aim_T.shape[2]
    horizon = trace.steps[-1]
    slopes, highs, lows = np.empty(K), np.empty(K), np.empty(K)
    v, u = np.empty(d), np.empty(d)
    ends, sums = np.empty(DEPTH, np.int64), np.empty(DEPTH)
    for n in range(trials.size):
        noise, coins = begin(key, trials[n], NOISE), begin(key, trials[n], COINS)
        tally, inverse, theta, scores = begin_trial(n, penalty, aim_T, trace)
        sd, used, t, tau = world.scale[n], 0, 1, 0
        while t <= horizon and not stop[0]:
            if tau < t:
                if exponent >= 0.0:
                    tau = next_exploration(t, horizon, scale, exponent, coins)
                elif used < drawn.shape[1]:
                    tau = drawn[n, used]
                    used += 1
                else:
                    tau = horizon + 1
            if t == tau:
                i = basis[n, int(uniform(coins) * basis.shape[1])]
                most = 1
            else:
                i = first_largest(scores)
                most = tau - t
            q, p = direction(inverse, theta, learn[n, i], v)
            product(aim_T[n], v, slopes)
            drift = world.means[n, i] - p
            if most == 1:
                m, S = 1, drift + sd * normal(noise)
            else:
                interval = lead(scores, slopes, i, highs, lows)
                if sd == 0.0:
                    m, S = still(most, drift, q, interval)
                else:
                    m, S = stretch(most, drift, sd, q, interval, ends, sums, noise, stop)
            c = S / (1.0 + m * q)
            move(inverse, theta, c, m / (1.0 + m * q), v, u)
            for j in range(K):
                scores[j] += c * slopes[j]
            trace.totals[n, i] += S + m * p
            costs = world.costs
            count(tally, t, m, i, costs[n, 0, i], costs[n, 1, i], costs[n, 2, i])
            t += m
