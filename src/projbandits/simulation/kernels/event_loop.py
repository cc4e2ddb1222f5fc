"""The event engine's kernel: an epsilon_t-greedy trial that visits only the steps that decide.

The derivation is in docs/event-engine.md, whose names are used here.
"""

from __future__ import annotations

import math

import numpy as np

from projbandits.simulation.arrays import FiniteWorld
from projbandits.simulation.kernels.bridges import NEGLIGIBLE
from projbandits.simulation.kernels.common import (
    LANES,
    argmax,
    bind,
    direction,
    inlined,
    inner,
    lowest,
    move,
    products,
)
from projbandits.simulation.kernels.philox import begin, normal, uniform
from projbandits.simulation.kernels.tally import START, Tally, count

DEPTH = 70  # a block of 2^63 steps halves 63 times
NOISE, COINS = 1, 2


@inner
def next_exploration(t, last, scale, exponent, coins):  # type: ignore[no-untyped-def]
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


@inner
def lead(scores, slopes, i, highs, lows):  # type: ignore[no-untyped-def]
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
def within(c, interval):  # type: ignore[no-untyped-def]
    """Return whether c lies in an interval, without the ends that are open."""
    low, high, low_open, high_open = interval
    return not (c < low or c > high or (low_open and c == low) or (high_open and c == high))


@inner
def still(most, drift, q, interval):  # type: ignore[no-untyped-def]
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


@inner
def stretch(most, drift, sd, q, interval, ends, sums, noise, stop):  # type: ignore[no-untyped-def]
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


@inner
def play(  # type: ignore[no-untyped-def]
    penalty, learn, aim_T, schedule, explorations, basis, world, noise, coins, tally, trace, stop
):
    """Play one trial and fill `tally` and `trace`; a raised `stop` flag ends it early.

    The schedule is min(1, scale / t^exponent), or, if its exponent is negative, `explorations`
    holds the exploring steps, drawn beforehand.
    """
    totals, inverse, theta = trace
    scale, exponent = schedule
    sd = world.scale
    d, K = aim_T.shape
    horizon = tally.steps[-1]
    scores = np.zeros(K)
    for j in range(learn.shape[0], K):
        scores[j] = -np.inf  # there is no such arm
    slopes = np.empty(K)
    highs, lows = np.empty(K), np.empty(K)
    v = np.empty(d)
    u = np.empty(d)
    lanes = np.empty(LANES)
    ends = np.empty(DEPTH, np.int64)
    sums = np.empty(DEPTH)
    theta[:] = 0.0
    inverse[:] = 0.0  # a scalar: assigning an array would be slow to compile
    for a in range(d):
        inverse[a, a] = 1.0 / penalty
    totals[:] = 0.0
    drawn, so_far = 0, START
    t = 1
    tau = 0
    while t <= horizon and not stop[0]:
        if tau < t:
            if exponent >= 0.0:
                tau = next_exploration(t, horizon, scale, exponent, coins)
            elif drawn < explorations.size:
                tau = explorations[drawn]
                drawn += 1
            else:
                tau = horizon + 1
        if t == tau:
            i = basis[int(uniform(coins) * basis.size)]
            most = 1
        else:
            i = argmax(scores, lanes)
            most = tau - t
        q, p = direction(inverse, theta, learn[i], v)
        products(aim_T, v, slopes)
        if most == 1:
            m, S = 1, world.means[i] - p + sd * normal(noise)
        else:
            drift = world.means[i] - p
            interval = lead(scores, slopes, i, highs, lows)
            if sd == 0.0:
                m, S = still(most, drift, q, interval)
            else:
                m, S = stretch(most, drift, sd, q, interval, ends, sums, noise, stop)
        c = S / (1.0 + m * q)
        move(inverse, theta, c, m / (1.0 + m * q), v, u)
        for j in range(K):
            scores[j] += c * slopes[j]
        totals[i] += S + m * p
        so_far = count(
            tally, so_far, t, m, i, world.gaps[i], world.return_gaps[i], world.is_best[i]
        )
        t += m


def _events(  # type: ignore[no-untyped-def]
    penalty, learn, aim_T, schedule, drawn, basis, worlds, key, trials, steps, out, trace, stop
):
    """Play trials one after another; every array but the schedule has one row per trial."""
    means, gaps, return_gaps, is_best, noise, scale = worlds
    pulls, totals, inverse, theta = trace
    for n in range(trials.size):
        play(
            penalty,
            learn[n],
            aim_T[n],
            schedule,
            drawn[n],
            basis[n],
            FiniteWorld(means[n], gaps[n], return_gaps[n], is_best[n], noise, scale[n]),
            begin(key, trials[n], NOISE),
            begin(key, trials[n], COINS),
            Tally(steps, out[n], pulls[n]),
            (totals[n], inverse[n], theta[n]),
            stop,
        )


events = bind(_events, "events")
