"""Bridges that touch a line, against bridges kept only if they do."""

import numpy as np
import pytest

from projbandits.simulation.kernels import bridges, philox
from projbandits.simulation.kernels.bridges import (
    ABOVE,
    BELOW,
    CLEAR,
    FIRST,
    NEITHER,
    SECOND,
    UNKNOWN,
)
from projbandits.simulation.streams import key
from tests import naive
from tests.kernels import opened
from tests.worlds import LEVEL, p_value

begin, touched = opened(philox.begin), opened(bridges.touched)
touching_midpoint = opened(bridges.touching_midpoint)


@pytest.mark.parametrize(
    ("y0", "y1", "half", "width"), [(1.0, 1.0, 5, 10), (0.5, 3.0, 3, 7), (2.0, 0.1, 1, 2)]
)
def test_a_touching_bridge_is_halfway_where_rejection_finds_it(
    y0: float, y1: float, half: int, width: int
) -> None:
    sd = 0.7
    noise, coins = begin(key(3), 0, 1), begin(key(3), 0, 2)
    drawn = [touching_midpoint(y0, y1, half, width, sd, noise, coins) for _ in range(4000)]
    found, which = np.array(drawn).T
    rng = np.random.default_rng(4)
    expected = naive.touching_midpoints(y0, y1, half, width, sd, rng, 4000)
    assert p_value(found, expected) > LEVEL
    assert ((found < 0) == (which == NEITHER)).all()
    # Within the line, a touch in the first half has the odds of that half alone.
    inside = found > 0
    first = np.exp(-2 * y0 * found / (sd * sd * half))[inside]
    second = np.exp(-2 * y1 * found / (sd * sd * (width - half)))[inside]
    chance = first / (first + second - first * second)
    z = ((which[inside] == FIRST) - chance).sum() / np.sqrt((chance * (1 - chance)).sum())
    assert abs(z) < 4
    assert set(which) == {FIRST, SECOND, NEITHER}


def test_a_line_is_touched_as_often_as_a_bridge_touches_it() -> None:
    coins = begin(key(5), 0, 2)
    chance = np.exp(-2 * 0.5 * 0.8 / 1.3)
    for sides, verdict in (((0.5, 0.8, 9.0, 9.0), ABOVE), ((9.0, 9.0, 0.5, 0.8), BELOW)):
        found = np.array([touched(*sides, 1.3, coins) for _ in range(4000)])
        assert set(found) == {verdict, CLEAR}
        error = np.sqrt(chance * (1 - chance) / 4000)
        assert abs((found == verdict).mean() - chance) < 4 * error
    assert touched(9.0, 9.0, 9.0, 9.0, 1.3, coins) == CLEAR
    assert touched(0.5, 0.8, 0.5, 0.8, 1.3, coins) == UNKNOWN
    assert touched(0.5, -0.8, 9.0, 9.0, 1.3, coins) == UNKNOWN
    assert touched(0.5, 0.8, 9.0, 9.0, 0.0, coins) == UNKNOWN
