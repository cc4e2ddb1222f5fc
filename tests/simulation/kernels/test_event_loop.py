"""Stretches: many pulls of one arm at once, against single steps."""

import math

import numpy as np
import pytest

from projbandits.simulation.kernels import event_loop, philox
from projbandits.simulation.kernels.event_loop import DEPTH
from projbandits.simulation.streams import key
from tests import naive
from tests.kernels import opened
from tests.worlds import LEVEL, flag, p_value

begin, still, stretch = opened(philox.begin), opened(event_loop.still), opened(event_loop.stretch)
lead, within = opened(event_loop.lead), opened(event_loop.within)


@pytest.mark.parametrize(
    ("most", "drift", "sd", "q", "low", "high"),
    [
        (100, 0.0, 1.0, 0.1, -1.0, 1.0),
        (100, 0.0, 1.0, 0.02, -4.0, 3.0),
        (300, 0.05, 1.0, 0.01, -math.inf, 5.0),
        (64, -0.3, 0.5, 0.5, -0.8, math.inf),
        (7, 0.1, 1.0, 3.0, -0.2, 0.3),
        (250, 0.02, 0.3, 0.001, -2.0, 6.0),
    ],
)
def test_a_stretch_ends_when_and_where_a_walk_step_by_step_does(
    most: int, drift: float, sd: float, q: float, low: float, high: float
) -> None:
    # 4,000 stretches by halving against 4,000 by single steps: pulls and sums, level 1e-4 each.
    one, other = begin(key(1), 0, 0), np.random.default_rng(2)
    interval = low, high, False, False
    rest = np.empty(DEPTH, np.int64), np.empty(DEPTH), one, flag()
    skips = np.array([stretch(most, drift, sd, q, interval, *rest) for _ in range(4000)])
    steps = np.array([naive.stretch(most, drift, sd, q, low, high, other) for _ in range(4000)])
    assert (steps[:, 0] < most).mean() > 0.05  # some leave early, or there is nothing to see
    for column in (0, 1):
        assert p_value(skips[:, column], steps[:, column]) > LEVEL


@pytest.mark.parametrize("most", [2, 3, 5, 100, 1000])
@pytest.mark.parametrize("drift", [-0.5, 0.0, 0.5])
@pytest.mark.parametrize("end", [1.0, 1.5, 2.0])
def test_without_noise_a_stretch_ends_where_single_steps_do(
    most: int, drift: float, end: float
) -> None:
    # With q = 1/4, c is exactly 1 at step 4 and 1.5 at step 12, and never reaches 2.
    for is_open in (False, True):
        last = np.nextafter(end, 0.0) if is_open else end
        expected = naive.stretch(most, drift, 0.0, 0.25, -last, last, np.random.default_rng(0))
        assert still(most, drift, 0.25, (-end, end, is_open, is_open)) == expected


@pytest.mark.parametrize("K", [1, 3, 18])
def test_a_leader_leads_exactly_while_no_other_arm_has_the_largest_score(K: int) -> None:
    rng, room = np.random.default_rng(K), (np.empty(K), np.empty(K))
    for _ in range(50):  # whole numbers: ties are common, and exact
        scores, slopes = (
            rng.integers(-3, 4, K).astype(float),
            rng.integers(-1, 2, K).astype(float),
        )
        if K > 3:
            scores[-1], slopes[-1] = -np.inf, 0.0  # an arm that does not exist
        i = int(scores.argmax())
        interval = lead(scores, slopes, i, *room)
        for c in np.arange(-6, 6.25, 0.25):
            assert within(c, interval) == (i == (scores + slopes * c).argmax())
