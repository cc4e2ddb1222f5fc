"""The event engine's kernel for optimism: a trial that visits only the steps that decide.

The derivation is in docs/event-engine.md, whose names are used here.
"""

from __future__ import annotations

import math

import numpy as np

from projbandits.simulation.arrays import FiniteWorld
from projbandits.simulation.kernels.bridges import (
    ABOVE,
    CLEAR,
    FIRST,
    SECOND,
    UNKNOWN,
    midpoint,
    touched,
    touching_midpoint,
)
from projbandits.simulation.kernels.common import (
    LANES,
    argmax,
    bind,
    direction,
    inlined,
    inner,
    move,
    products,
)
from projbandits.simulation.kernels.event_loop import COINS, DEPTH, NOISE
from projbandits.simulation.kernels.philox import begin, normal
from projbandits.simulation.kernels.rivals import (
    Rivals,
    block_of,
    face,
    radius_at,
    still_leads,
    survey,
)
from projbandits.simulation.kernels.tally import START, Tally, count

CURVED = 3
"""From this step on the radius times the leader's width is concave, in units of S."""
SHORT, LONG = 4.0, 64.0
"""Steps are played one by one while runs of one arm are shorter than SHORT on average, no run
counting for more than LONG."""


@inlined
def last_of_block(t, m, end, kink):  # type: ignore[no-untyped-def]
    """Return the end, at most `end`, of a block after m pulls on which `distances` holds.

    At the first steps and around the kink of the radius, a block is a single step.
    """
    if t + m < CURVED or t + m == kink:
        return m + 1
    return min(end, kink - t) if t + m < kink else end


@inner
def stretch(  # type: ignore[no-untyped-def]
    t, most, first, drift, sd, q, i, rivals, radius, stack, noise, coins, stop
):
    """Pull arm i from step t on until another one leads, at most `most` times.

    Returns the number of pulls m and the sum S of their returns beyond the prediction. The first
    block has about `first` pulls. `stack` is scratch for the blocks still to be visited, the next
    on top: their right ends, the values of S drawn for them, how many rivals may win in them, and
    whether S is known to touch a line there. The line is at `level` after `root` pulls, with S
    below it if `side` is 1 and above it if `side` is -1.
    """
    ends, sums, counts, touches = stack
    K, square, turn = rivals.squares.size, rivals.squares[i], rivals.turns[i]
    side, level, rise, root = 1.0, 0.0, 0.0, 0
    m, S, r0 = 0, 0.0, radius_at(t, radius)
    length = first
    while m < most and not stop[0]:
        end = last_of_block(t, m, m + int(min(length, most - m)), radius.kink)
        ends[0], counts[0], touches[0] = end, K, False
        sums[0] = S + (end - m) * drift + sd * math.sqrt(end - m) * normal(noise)
        top = 0
        while top >= 0 and not stop[0]:
            end, T, n = ends[top], sums[top], counts[top]
            width = end - m
            if width == 1:
                m, S, r0 = end, T, radius_at(t + end, radius)
                top -= 1
                v = 1.0 + m * q
                if not still_leads(rivals, i, n, S / v, m / v, r0):
                    return m, S
                continue
            half = width // 2
            if touches[top]:
                line = level + rise * (m + half - root)
                y0 = side * (level + rise * (m - root) - S)
                y1 = side * (level + rise * (end - root) - T)
                y, which = touching_midpoint(y0, y1, half, width, sd, noise, coins)
                if which == SECOND:
                    m, S = m + half, line - side * y
                    r0 = radius_at(t + m, radius)
                    continue
                touches[top], touches[top + 1] = False, which == FIRST
                middle = line - side * y
            else:
                r1 = radius_at(t + end, radius)
                block = block_of(t, m, end, S, T, r0, r1, q, sd, square, turn)
                n, above0, above1, below0, below1 = survey(rivals, block, n)
                counts[top] = n
                verdict = CLEAR
                if n > 0:
                    verdict = touched(above0, above1, below0, below1, width * (sd * sd), coins)
                if verdict == CLEAR:
                    m, S, r0 = end, T, r1
                    top -= 1
                    continue
                if verdict != UNKNOWN:
                    side = 1.0 if verdict == ABOVE else -1.0
                    level = S + (above0 if verdict == ABOVE else -below0)
                    rise = (T + (above1 if verdict == ABOVE else -below1) - level) / width
                    touches[top], root = True, m
                    continue
                touches[top + 1] = False
                middle = midpoint(S, T, half, width, sd, noise)
            top += 1
            ends[top], sums[top], counts[top] = m + half, middle, n
        length *= 2.0
    return m, S


@inner
def play(  # type: ignore[no-untyped-def]
    penalty, learn, learn_T, aim_T, same, radius, world, noise, coins, tally, trace, stop
):
    """Play one trial and fill `tally` and `trace`; a raised `stop` flag ends it early.

    `same` tells whether what is learnt on is also what is aimed at.
    """
    totals, inverse, theta = trace
    sd = world.scale
    d, K = aim_T.shape
    horizon = tally.steps[-1]
    scores, squares, slopes, turns = np.zeros(K), np.zeros(K), np.empty(K), np.empty(K)
    for j in range(learn.shape[0], K):
        scores[j] = -np.inf  # there is no such arm
    indices = np.empty(K)
    rivals = Rivals(
        scores,
        squares,
        slopes,
        turns,
        np.empty(K),
        np.empty(K),
        np.empty(K),
        np.empty(K, np.int64),
    )
    v, u, lanes = np.empty(d), np.empty(d), np.empty(LANES)
    stack = (
        np.empty(DEPTH, np.int64),
        np.empty(DEPTH),
        np.empty(DEPTH, np.int64),
        np.empty(DEPTH, np.bool_),
    )
    theta[:] = 0.0
    inverse[:] = 0.0  # a scalar: assigning an array would be slow to compile
    for a in range(d):
        inverse[a, a] = 1.0 / penalty
        for j in range(K):
            squares[j] += learn_T[a, j] * learn_T[a, j] / penalty
    totals[:] = 0.0
    so_far = START
    t, i, run, usual = 1, 0, 0.0, LONG
    while t <= horizon and not stop[0]:
        r = radius_at(t, radius)
        for j in range(K):
            indices[j] = scores[j] + r * math.sqrt(squares[j])
        before, i = i, argmax(indices, lanes)
        if i != before:
            usual += 0.25 * (min(run, LONG) - usual)
            run = 0.0
        q, p = direction(inverse, theta, learn[i], v)
        products(aim_T, v, slopes)
        if same:
            for j in range(K):
                turns[j] = slopes[j] * slopes[j]
        else:
            products(learn_T, v, turns)
            for j in range(K):
                turns[j] *= turns[j]
        drift = world.means[i] - p
        if run < SHORT and usual < SHORT:
            m, S = 1, drift + sd * normal(noise)
        else:
            first = float(t)
            if sd > 0.0:
                first = max(1.0, min(first, face(rivals, i, indices) / (sd * sd)))
            else:
                face(rivals, i, indices)
            most = horizon + 1 - t
            m, S = stretch(
                t, most, first, drift, sd, q, i, rivals, radius, stack, noise, coins, stop
            )
        c, w = S / (1.0 + m * q), m / (1.0 + m * q)
        move(inverse, theta, c, w, v, u)
        for j in range(K):
            scores[j] += c * slopes[j]
            squares[j] = max(squares[j] - turns[j] * w, 0.0)
        totals[i] += S + m * p
        so_far = count(
            tally, so_far, t, m, i, world.gaps[i], world.return_gaps[i], world.is_best[i]
        )
        t += m
        run += m


def _optimistic_events(  # type: ignore[no-untyped-def]
    penalty, learn, learn_T, aim_T, same, radius, worlds, key, trials, steps, out, trace, stop
):
    """Play trials one after another; every array has one row per trial."""
    means, gaps, return_gaps, is_best, noise, scale = worlds
    pulls, totals, inverse, theta = trace
    for n in range(trials.size):
        play(
            penalty,
            learn[n],
            learn_T[n],
            aim_T[n],
            same,
            radius,
            FiniteWorld(means[n], gaps[n], return_gaps[n], is_best[n], noise, scale[n]),
            begin(key, trials[n], NOISE),
            begin(key, trials[n], COINS),
            Tally(steps, out[n], pulls[n]),
            (totals[n], inverse[n], theta[n]),
            stop,
        )


optimistic_events = bind(_optimistic_events, "optimistic_events")
