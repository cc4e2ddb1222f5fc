"""The compiled loop on finitely many arms, against the reference loop step by step."""

import numpy as np
import pytest

from tests.worlds import ALL, FINITE, run


@pytest.mark.parametrize("name", FINITE)
def test_compiled_plays_the_same_arms_as_reference(name: str) -> None:
    # The same streams, so the same choices: with distinct gaps, equal regret at each step.
    size = {"trials": 3, "horizon": 250, "checkpoints": range(1, 251)}
    one = run(FINITE[name], ALL, "reference", **size)
    other = run(FINITE[name], ALL, "compiled", **size)
    np.testing.assert_allclose(other.regret, one.regret, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(other.return_regret, one.return_regret, rtol=1e-10, atol=1e-10)
    assert np.array_equal(other.best_share, one.best_share)  # type: ignore[arg-type]
    assert np.array_equal(other.found_best, one.found_best)  # type: ignore[arg-type]
    assert set(other.engines) == {"compiled"}
