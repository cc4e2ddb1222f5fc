"""Optimism while one arm is pulled: which others may take the lead within a block of steps.

The derivation is in docs/event-engine.md, whose names are used here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.simulation.kernels.bridges import NEGLIGIBLE
from projbandits.simulation.kernels.compiler import inlined

SMALLEST = 1e-300


class Radius(NamedTuple):
    """alpha sqrt(log t min(d log t, |D|)), as in `Ellipsoidal.radius_for`.

    Parameters
    ----------
    alpha, d, size : float
        The factor, the number of features and the number of arms.
    kink : int
        The last step at which d log t is not more than |D|.
    """

    alpha: float
    d: float
    size: float
    kink: int


def radius_of(alpha: float, d: int, size: int) -> Radius:
    """Return the radius of a strategy on `size` arms in d dimensions."""
    kink = math.floor(math.exp(size / d)) if size < 40 * d else 2**62  # no horizon is longer
    return Radius(alpha, float(d), float(size), kink)


class Rivals(NamedTuple):
    """The arms as the leader's pulls move them.

    After m pulls, with w = m / (1 + m q) and c = S / (1 + m q), arm j has the score
    scores[j] + c slopes[j] and the squared width squares[j] - w turns[j].

    Parameters
    ----------
    scores, squares : ndarray of shape (K,)
        Estimates of what is aimed at, and squared widths, before the first pull.
    slopes, turns : ndarray of shape (K,)
        g_j, and h_j squared.
    ahead, relative : ndarray of shape (K,)
        By how much the leader's score exceeds that of arm j, and g_j minus the leader's.
    room, order : ndarray of shape (K,)
        Room to work in; the arms that are still looked at come first in `order`.
    """

    scores: Array
    squares: Array
    slopes: Array
    turns: Array
    ahead: Array
    relative: Array
    room: Array
    order: NDArray[np.int64]


class Block(NamedTuple):
    """Pulls m + 1 to `end` of one arm, from S to T; 0 and 1 stand for its two ends.

    Parameters
    ----------
    v0, v1 : float
        1 + m q.
    w0, w1 : float
        m / (1 + m q).
    r0, r1 : float
        The radius.
    leads0, leads1 : float
        The leader's width.
    S, T : float
        Sums of returns beyond the prediction.
    radius_bend, width_bend, steepest : float
        What bounds how far a rival's bound may bend below its chord; see `distances`.
    least : float
        Half the variance of S over the block, times `NEGLIGIBLE`.
    """

    v0: float
    v1: float
    w0: float
    w1: float
    r0: float
    r1: float
    leads0: float
    leads1: float
    S: float
    T: float
    radius_bend: float
    width_bend: float
    steepest: float
    least: float


@inlined
def radius_at(t, radius):
    """Return the radius at step t."""
    log = math.log(t)
    return radius.alpha * math.sqrt(log * min(radius.d * log, radius.size))


@inlined
def width_at(square, turn, w):
    """Return the width of an arm after m pulls of the leader."""
    return math.sqrt(max(square - turn * w, 0.0))


@inlined
def face(rivals, i, indices):
    """Fill in where the arms stand beside the leader i.

    Returns the squared distance of S, in one pull's terms, at which the nearest of them would win.
    An arm equal to the leader in everything stays equal, and never wins: it is put out of reach.
    """
    scores, squares, slopes, turns, ahead, relative, room, _ = rivals
    best, score, slope, square, turn = indices[i], scores[i], slopes[i], squares[i], turns[i]
    for j in range(scores.size):
        a, g = score - scores[j], slopes[j] - slope
        twin = a == 0.0 and g == 0.0 and squares[j] == square and turns[j] == turn
        margin = np.inf if twin else best - indices[j]
        ahead[j], relative[j] = np.inf if twin else a, g
        room[j] = margin * margin / (g * g)
    nearest = np.inf
    for j in range(scores.size):
        if room[j] < nearest:
            nearest = room[j]
    return nearest


@inlined
def block_of(t, m, end, S, T, r0, r1, q, sd, square, turn):
    """Return a block of the pulls of a leader whose squared width and turn are given."""
    v0, v1 = 1.0 + m * q, 1.0 + end * q
    w0, w1 = m / v0, end / v1
    width, start = float(end - m), float(t + m)
    return Block(
        v0,
        v1,
        w0,
        w1,
        r0,
        r1,
        width_at(square, turn, w0),
        width_at(square, turn, w1),
        S,
        T,
        width * width / 8.0 * r0 / (start * start * math.log(start)) * v1,
        width * width / 32.0 * r1,
        q * q / v0,
        0.5 * NEGLIGIBLE * width * sd * sd,
    )


@inlined
def distances(block, ahead, relative, turn, width0, width1):
    """Return how far, at both ends, a line that is never above a rival's bound is from the walk.

    The line is the chord of B_j, lowered by as much as B_j may bend below it.
    """
    scaled = 1.0 / max(width0 * block.v0, SMALLEST)
    bent = min(turn * scaled * (turn * scaled) * scaled, width0 * block.steepest)
    bend = block.radius_bend * width1 + block.width_bend * bent
    y0 = block.v0 * (ahead + block.r0 * (block.leads0 - width0)) - relative * block.S - bend
    y1 = block.v1 * (ahead + block.r1 * (block.leads1 - width1)) - relative * block.T - bend
    return y0, y1


@inlined
def survey(rivals, block, n):
    """Find which of the first n rivals in `order` may win within a block, and put them first.

    If n is K, all arms are looked at and `order` is made anew. Returns how many may win, and the
    distances of S, at both ends, from a line above it and from one below that it would have to
    cross.
    """
    _, squares, _, turns, ahead, relative, room, order = rivals
    if n == squares.size:
        for j in range(n):
            width0 = width_at(squares[j], turns[j], block.w0)
            width1 = width_at(squares[j], turns[j], block.w1)
            y0, y1 = distances(block, ahead[j], relative[j], turns[j], width0, width1)
            room[j] = min(min(y0, y1), y0 * y1 - block.least * (relative[j] * relative[j]))
        n = 0
        for j in range(squares.size):
            if not room[j] > 0.0:
                order[n] = j
                n += 1
    left = 0
    above0, above1, below0, below1 = np.inf, np.inf, np.inf, np.inf
    for k in range(n):
        j = order[k]
        g = relative[j]
        width0 = width_at(squares[j], turns[j], block.w0)
        width1 = width_at(squares[j], turns[j], block.w1)
        y0, y1 = distances(block, ahead[j], g, turns[j], width0, width1)
        if y0 > 0.0 and y1 > 0.0 and y0 * y1 > block.least * (g * g):
            continue
        order[k] = order[left]
        order[left] = j
        left += 1
        if g > 0.0:
            above0, above1 = min(above0, y0 / g), min(above1, y1 / g)
        elif g < 0.0:
            below0, below1 = min(below0, y0 / -g), min(below1, y1 / -g)
        else:
            above0, above1, below0, below1 = 0.0, 0.0, 0.0, 0.0
    return left, above0, above1, below0, below1


@inlined
def still_leads(rivals, i, n, c, w, r):
    """Return whether arm i leads the first n rivals in `order`, or all arms if n is K."""
    scores, squares, slopes, turns, _, _, room, order = rivals
    best = (scores[i] + c * slopes[i]) + r * width_at(squares[i], turns[i], w)
    winners = 0
    if n == squares.size:
        for j in range(n):
            room[j] = (scores[j] + c * slopes[j]) + r * width_at(squares[j], turns[j], w)
        for j in range(n):
            winners += room[j] > best or (room[j] == best and j < i)
    else:
        for k in range(n):
            j = order[k]
            index = (scores[j] + c * slopes[j]) + r * width_at(squares[j], turns[j], w)
            winners += index > best or (index == best and j < i)
    return winners == 0
