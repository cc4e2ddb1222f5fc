"""Returns counted by a number for each row, beside a loop over them."""

from typing import Any

import numpy as np
import pytest

from projbandits.evaluation.counting import Counted
from tests import naive


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(0).normal(size=500),
        1e6 + 1e-3 * np.random.default_rng(0).normal(size=500),
        np.random.default_rng(0).integers(0, 2, 500).astype(float),
        np.repeat(0.1, 500),
    ],
    ids=["plain", "far from zero", "clicks", "constant"],
)
def test_sums_by_number_are_those_written_out(values: Any) -> None:
    """Squares are about the mean of each number, and lose no digits where that is large."""
    code = np.random.default_rng(1).integers(0, 9, 500)
    code[code == 4] = 5
    found = Counted.of(code, 9, values)
    n, mean, squares = naive.sums_by_number(code, values, 9)
    np.testing.assert_array_equal(found.n, n)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-14)
    np.testing.assert_allclose(found.squares, squares, rtol=1e-9, atol=1e-28)
