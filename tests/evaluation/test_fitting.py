"""Triangular factors of rows that come piece by piece."""

import numpy as np
import pytest

from projbandits.evaluation import fitting
from projbandits.evaluation.fitting import fold, merged


@pytest.mark.parametrize("width", [1, 3, 6])
def test_a_factor_has_the_squares_of_all_rows(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole blocks, a part of one and none at all; what was folded before is left as it was."""
    monkeypatch.setattr(fitting, "BLOCK_ROWS", 7)
    rng = np.random.default_rng(width)
    for n in (0, 1, 7, 24):
        rows, before = rng.normal(size=(n, width)), rng.normal(size=(9, width))
        start = fold(np.zeros((width, width)), list(before.T))
        kept = start.copy()
        found = fold(start, list(rows.T))
        every = np.vstack([before, rows])
        np.testing.assert_allclose(found.T @ found, every.T @ every, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(np.tril(found, -1), 0.0)
        np.testing.assert_array_equal(start, kept)
        together = merged([start, fold(np.zeros((width, width)), list(rows.T))], width - 1)
        np.testing.assert_allclose(np.abs(together), np.abs(found), rtol=1e-10, atol=1e-12)
