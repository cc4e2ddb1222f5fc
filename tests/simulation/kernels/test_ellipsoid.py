"""The compiled search for the most optimistic point."""

import numpy as np
import pytest

import projbandits as pb
from projbandits.simulation.kernels.convex_loop import convex_view
from projbandits.simulation.kernels.ellipsoid import optimistic_point
from projbandits.simulation.kernels.support import REGIONS
from tests.sets import confused, region_of


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("kind", ["entropy", "entropy-without-0", "ball", "ellipsoid", "box"])
def test_the_compiled_search_ends_where_repeated_support_points_do(kind: str, d: int) -> None:
    region = region_of(kind, d)
    rng = np.random.default_rng(d)
    x = np.empty(d)
    for _ in range(150):
        score = confused(region, rng, most=2.0)  # large radii make several maxima
        view = convex_view(
            False,
            1.0,
            region.basis(),
            region.spanning_points,
            REGIONS[type(region)](region),
            np.array([score.radius]),
            np.empty((0, 0)),
            pb.Subspace(np.eye(d)),
            0,
        )
        view.search.points[:] = np.nan  # nothing is left over from an earlier search
        view.inverse[:], view.aim[:] = score.ridge.inverse, score.aim
        optimistic_point(1, view, rng, x)
        expected = region.best_convex(score).x
        one, other = score.value(np.array([x, expected]))
        assert one == pytest.approx(other, rel=1e-9, abs=1e-12)
        # Some maxima are so flat that a height known to 1e-10 leaves the place open to 2e-4.
        np.testing.assert_allclose(x, expected, atol=1e-3 * region.longest)
