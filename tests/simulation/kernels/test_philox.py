"""Random streams in kernels."""

import numpy as np
from scipy import stats

from projbandits.simulation.kernels import philox
from projbandits.simulation.streams import key
from tests.kernels import opened
from tests.worlds import LEVEL

begin, normal, uniform = opened(philox.begin), opened(philox.normal), opened(philox.uniform)


def test_streams_in_kernels_are_those_of_numpy() -> None:
    for seed, trial, purpose in ((0, 0, 1), (1, 7, 2), (2**70, 2**40, 1)):
        counter = np.array([0, 0, trial, purpose], np.uint64)
        rng = np.random.Generator(np.random.Philox(key=key(seed), counter=counter))
        numbers = rng.random(2000)
        inside = begin(key(seed), trial, purpose)
        assert [uniform(inside) for _ in numbers] == numbers.tolist()
        radius = np.sqrt(-2 * np.log(1 - numbers[::2]))
        angle = 2 * np.pi * numbers[1::2]
        expected = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]).ravel()
        inside = begin(key(seed), trial, purpose)
        normals = np.array([normal(inside) for _ in expected])
        np.testing.assert_allclose(normals, expected, rtol=1e-12, atol=1e-12)
        assert stats.kstest(normals, "norm").pvalue > LEVEL
