"""The event engine's kernel for optimism: a trial that visits only the steps that decide.

The derivation is in docs/event-engine.md, whose names are used here.
"""

from __future__ import annotations

import math

import numpy as np

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
from projbandits.simulation.kernels.compiler import inlined, kernel, part
from projbandits.simulation.kernels.event_loop import COINS, DEPTH, NOISE, begin_trial
from projbandits.simulation.kernels.linear import (
    count,
    direction,
    first_largest,
    move,
    product,
)
from projbandits.simulation.kernels.philox import begin, normal
from projbandits.simulation.kernels.rivals import (
    Rivals,
    block_of,
    face,
    radius_at,
    still_leads,
    survey,
)

CURVED = 3
"""From this step on the radius times the leader's width is concave, in units of S."""
SHORT, LONG = 4.0, 64.0
"""Steps are played one by one while runs of one arm are shorter than SHORT on average, no run
counting for more than LONG."""


@inlined
def last_of_block(t, m, end, kink):
    """Return the end, at most `end`, of a block after m pulls on which `distances` holds.

    At the first steps and around the kink of the radius, a block is a single step.
    """
    if t + m < CURVED or t + m == kink:
        return m + 1
    return min(end, kink - t) if t + m < kink else end


@part
def stretch(t, most, first, drift, sd, q, i, rivals, radius, stack, noise, coins, stop):
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


@kernel
def optimistic_events(
    penalty, learn, learn_T, aim_T, same, radius, world, key, trials, trace, stop
):
    """Play trials one after another; every array has one row per trial.

    `same` tells whether what is learnt on is also what is aimed at. A raised `stop` flag ends it
    early.
    """
    d, K = aim_T.shape[1], aim_T.shape[2]
    horizon = trace.steps[-1]
    slopes, turns, indices, squares = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    ahead, relative, room, order = np.empty(K), np.empty(K), np.empty(K), np.empty(K, np.int64)
    v, u = np.empty(d), np.empty(d)
    stack = (
        np.empty(DEPTH, np.int64),
        np.empty(DEPTH),
        np.empty(DEPTH, np.int64),
        np.empty(DEPTH, np.bool_),
    )
    for n in range(trials.size):
        noise, coins = begin(key, trials[n], NOISE), begin(key, trials[n], COINS)
        tally, inverse, theta, scores = begin_trial(n, penalty, aim_T, trace)
        rivals = Rivals(scores, squares, slopes, turns, ahead, relative, room, order)
        squares[:] = 0.0
        for a in range(d):
            for j in range(K):
                squares[j] += learn_T[n, a, j] * learn_T[n, a, j] / penalty
        sd, t, i, run, usual = world.scale[n], 1, 0, 0.0, LONG
        while t <= horizon and not stop[0]:
            r = radius_at(t, radius)
            for j in range(K):
                indices[j] = scores[j] + r * math.sqrt(squares[j])
            before, i = i, first_largest(indices)
            if i != before:
                usual += 0.25 * (min(run, LONG) - usual)
                run = 0.0
            q, p = direction(inverse, theta, learn[n, i], v)
            product(aim_T[n], v, slopes)
            if same:
                for j in range(K):
                    turns[j] = slopes[j] * slopes[j]
            else:
                product(learn_T[n], v, turns)
                for j in range(K):
                    turns[j] *= turns[j]
            drift = world.means[n, i] - p
            if run < SHORT and usual < SHORT:
                m, S = 1, drift + sd * normal(noise)
            else:
                first, nearest = float(t), face(rivals, i, indices)
                if sd > 0.0:
                    first = max(1.0, min(first, nearest / (sd * sd)))
                most = horizon + 1 - t
                m, S = stretch(
                    t, most, first, drift, sd, q, i, rivals, radius, stack, noise, coins, stop
                )
            c, w = S / (1.0 + m * q), m / (1.0 + m * q)
            move(inverse, theta, c, w, v, u)
            for j in range(K):
                scores[j] += c * slopes[j]
                squares[j] = max(squares[j] - turns[j] * w, 0.0)
            trace.totals[n, i] += S + m * p
            costs = world.costs
            count(tally, t, m, i, costs[n, 0, i], costs[n, 1, i], costs[n, 2, i])
            t += m
            run += m
