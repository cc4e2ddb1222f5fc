"""The compiled loop on convex sets, against the reference loop."""

import numpy as np
import pytest

from tests.worlds import ALL, CONVEX, run


@pytest.mark.parametrize("name", CONVEX)
def test_compiled_plays_the_same_points_as_reference(name: str) -> None:
    size = {"trials": 2, "horizon": 50}
    one = run(CONVEX[name], ALL, "reference", **size)
    other = run(CONVEX[name], ALL, "compiled", **size)
    # A maximum known to 1e-10 in height is known to about 1e-5 in place.
    tolerance = 1e-4 * np.abs(one.regret).max()
    np.testing.assert_allclose(other.regret, one.regret, atol=tolerance)
    np.testing.assert_allclose(other.return_regret, one.return_regret, atol=2 * tolerance)
