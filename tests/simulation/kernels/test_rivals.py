"""Optimistic stretches: many pulls of one arm at once, against single steps."""

import math
from typing import NamedTuple

import numpy as np
import pytest

import projbandits as pb
from projbandits.simulation.kernels import optimistic_events, philox
from projbandits.simulation.kernels import rivals as facing
from projbandits.simulation.kernels.event_loop import DEPTH
from projbandits.simulation.kernels.rivals import Radius, Rivals, radius_of
from projbandits.simulation.streams import key
from tests import naive
from tests.kernels import opened
from tests.worlds import LEVEL, flag, p_value

begin, stretch = opened(philox.begin), opened(optimistic_events.stretch)
block_of, distances, face = map(opened, (facing.block_of, facing.distances, facing.face))
radius_at, width_at = opened(facing.radius_at), opened(facing.width_at)
K = 6


class Lead(NamedTuple):
    """A state in which arm i leads at step t."""

    t: int
    i: int
    q: float
    p: float
    rivals: Rivals
    nearest: float
    radius: Radius
    base: naive.Array
    slope: naive.Array


def lead(seed: int, alpha: float, t: int, most: int, *, scale: float = 1.0) -> Lead:
    """Arms, projections and pulls at random; of six arms, one is of zeros and two are equal."""
    rng = np.random.default_rng(seed)
    d = 3
    learn = rng.normal(size=(K, d))
    learn[3], learn[5] = 0.0, learn[1]
    P = pb.Subspace.span(rng.normal(size=(d, 2))).matrix
    aims = learn @ P if seed % 2 else learn
    pulls = rng.integers(1, 9, size=K) * scale
    V = np.eye(d) + (learn.T * pulls) @ learn
    inverse, b = np.linalg.inv(V), V @ (rng.normal(size=d) * 0.3)
    radius = radius_of(alpha, d, K)
    theta = inverse @ b
    scores, squares = aims @ theta, np.einsum("ka,ab,kb->k", learn, inverse, learn)
    indices = scores + radius_at(t, radius) * np.sqrt(squares)
    indices[5] = indices[1]  # equal to the last bit, as in the kernel
    scores[5], squares[5] = scores[1], squares[1]
    i = int(indices.argmax())
    f = learn[i]
    v = inverse @ f
    slopes, turns = aims @ v, (learn @ v) ** 2
    slopes[5], turns[5] = slopes[1], turns[1]
    room = np.empty(K), np.empty(K), np.empty(K), np.empty(K, np.int64)
    rivals = Rivals(scores, squares, slopes, turns, *room)
    nearest = face(rivals, i, indices)
    radii = np.array([radius_at(t + m, radius) for m in range(most + 1)])
    base, slope = naive.optimistic_indices(V, b, f, learn, aims, radii)
    base[:, 5], slope[:, 5] = base[:, 1], slope[:, 1]
    return Lead(t, i, f @ v, f @ theta, rivals, nearest, radius, base, slope)


@pytest.mark.parametrize(("d", "size"), [(10, 45), (3, 2), (2, 2000)])
def test_the_radius_is_that_of_the_strategy_and_bends_at_its_kink(d: int, size: int) -> None:
    radius, expected = radius_of(0.3, d, size), pb.UE(alpha=0.3).radius_for(d, size)
    for t in (1, 2, 50, 89, 90, 91, 92, 10**6, 10**12):
        assert radius_at(t, radius) == pytest.approx(expected(t), rel=1e-15)
        assert (t <= radius.kink) == (d * math.log(t) <= size)


def test_a_line_is_never_above_the_bound_it_stands_for() -> None:
    # If all returns are as predicted, S stays 0, and a rival's bound is 1 + m q times what the
    # leader's index has over its own.
    tight, rng = [], np.random.default_rng(0)
    for seed in range(150):
        alpha, scale = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-1, 4)
        t = 8 + int(10 ** rng.uniform(0, 6)) if seed % 3 else 3  # the kink is at step 7
        m = 0 if t == 3 else int(10 ** rng.uniform(0, 2.5))
        end = m + 4 if t == 3 else m + 2 + int(10 ** rng.uniform(0, 2.5))
        now = lead(seed, alpha, t, end, scale=scale)
        pulls = np.arange(end + 1)
        indices = now.base + (pulls * now.p)[:, None] * now.slope
        bounds = (1 + pulls * now.q)[:, None] * (indices[:, [now.i]] - indices)
        at = radius_at(t + m, now.radius), radius_at(t + end, now.radius)
        leader = now.rivals.squares[now.i], now.rivals.turns[now.i]
        block = block_of(t, m, end, 0.0, 0.0, *at, now.q, 1.0, *leader)
        for j in set(range(K)) - {now.i}:
            if now.rivals.ahead[j] == np.inf:
                assert {now.i, j} == {1, 5}
                continue
            arm = now.rivals.squares[j], now.rivals.turns[j]
            widths = (width_at(*arm, w) for w in (block.w0, block.w1))
            y0, y1 = distances(block, now.rivals.ahead[j], 0.0, arm[1], *widths)
            above = bounds[m:, j] - np.linspace(y0, y1, end - m + 1)
            assert above.min() >= -1e-9 * (1 + end * now.q)
            tight.append(above.min() / np.abs(bounds[m:, j]).max())
    assert np.median(tight) < 0.01


@pytest.mark.parametrize(
    ("seed", "alpha", "t", "most", "scale", "sd"),
    [
        (0, 0.3, 2, 60, 1.0, 1.0),
        (1, 0.3, 5, 60, 1.0, 1.0),
        (2, 0.5, 40, 150, 2.0, 0.5),
        (1, 0.5, 30, 300, 20.0, 0.5),
        (6, 0.3, 100, 150, 5.0, 0.5),  # the leader has a twin
        (7, 1.0, 1000, 300, 50.0, 0.3),
        (7, 2.0, 10**6, 300, 10.0, 0.3),
    ],
)
def test_an_optimistic_stretch_ends_when_and_where_a_walk_step_by_step_does(
    seed: int, alpha: float, t: int, most: int, scale: float, sd: float
) -> None:
    # 4,000 stretches by blocks against 4,000 by single steps: pulls and sums, level 1e-4 each.
    now = lead(seed, alpha, t, most, scale=scale)
    drift = -0.1 * sd
    stack = (
        np.empty(DEPTH, np.int64),
        np.empty(DEPTH),
        np.empty(DEPTH, np.int64),
        np.empty(DEPTH, np.bool_),
    )
    streams = begin(key(1), 0, 1), begin(key(1), 0, 2)
    walk = now.t, most, 16.0, drift, sd, now.q, now.i, now.rivals, now.radius, stack, *streams
    skips = np.array([stretch(*walk, flag()) for _ in range(4000)])
    rng = np.random.default_rng(2)
    S = np.cumsum(drift + sd * rng.normal(size=(4000, most)), axis=1)
    totals = S + now.p * np.arange(1, most + 1)
    indices = now.base[1:] + totals[:, :, None] * now.slope[1:]
    out = indices.argmax(axis=2) != now.i
    out[:, -1] = True
    pulls = out.argmax(axis=1)
    steps = np.column_stack([pulls + 1, S[np.arange(4000), pulls]])
    assert (steps[:, 0] < most).mean() > 0.05  # some end early, or there is nothing to see
    assert (steps[:, 0] > 4).mean() > 0.05  # and some go on
    for column in (0, 1):
        assert p_value(skips[:, column], steps[:, column]) > LEVEL
    assert stretch(*walk, flag(raised=True)) == (0, 0.0)
