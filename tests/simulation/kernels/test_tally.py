"""The tally of the compiled loops, against counting step by step."""

import numpy as np
import pytest

from projbandits.simulation.kernels import tally as tallying
from projbandits.simulation.kernels.tally import START, begin_tally
from tests.kernels import opened

count = opened(tallying.count)


@pytest.mark.parametrize("longest", [1, 4, 50])
def test_plays_counted_together_come_to_the_same_as_one_by_one(longest: int) -> None:
    rng = np.random.default_rng(longest)
    gaps, return_gaps = np.array([0.0, 0.5, 1.25]), np.array([2.0, 0.0, 0.75])
    lengths = rng.integers(1, longest + 1, size=30)
    arms = rng.integers(3, size=30)
    horizon = int(lengths.sum())
    steps = np.unique(np.append(rng.integers(1, horizon + 1, size=12), [1, horizon]))
    tally, so_far, t = begin_tally(steps, 3), START, 1
    for m, arm in zip(lengths, arms, strict=True):
        so_far = count(tally, so_far, t, m, arm, gaps[arm], return_gaps[arm], arm == 0)
        t += m
    each = np.repeat(arms, lengths)
    singly = np.array([gaps[each], return_gaps[each], each == 0]).cumsum(axis=1)
    np.testing.assert_array_equal(tally.out, singly[:, steps - 1])
    assert so_far == (*singly[:, -1], len(steps))
    np.testing.assert_array_equal(tally.pulls, np.bincount(each))


def test_steps_that_were_not_reached_stay_unanswered() -> None:
    tally = begin_tally(np.array([2, 5, 9]), 2)
    assert count(tally, START, 1, 5, 1, 1.0, 2.0, True) == (5.0, 10.0, 5, 2)
    np.testing.assert_array_equal(tally.out, [[2, 5, 0], [4, 10, 0], [2, 5, 0]])
