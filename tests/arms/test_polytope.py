"""Polytopes: support points against their vertices."""

import numpy as np
import pytest

import projbandits as pb
from tests import naive
from tests.sets import CUBE


def test_a_set_whose_axis_points_are_dependent_still_shows_its_span() -> None:
    # A kite along the diagonal: all axes have the ends (0, 0) and (1, 1) as support points.
    A = [[0.5, -0.6], [-0.6, 0.5], [0.5, -0.4], [-0.4, 0.5]]
    thin = pb.Polytope(A, [0.0, 0.0, 0.1, 0.1])
    ends = thin.supports(np.vstack([np.eye(2), -np.eye(2)]))
    assert np.linalg.matrix_rank(ends, tol=1e-9) == 1
    assert thin.rank == 2


def test_polytopes_match_their_vertices() -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        A = np.vstack([rng.normal(size=(5, 3)), CUBE])
        b = np.concatenate([rng.uniform(0.2, 1, size=5), np.full(6, 2.0)])
        corners = naive.vertices(A, b)
        region = pb.Polytope(A, b)
        for c in rng.normal(size=(10, 3)):
            value = (corners @ c).max()
            assert c @ region.maximize(c) == pytest.approx(value, rel=1e-10)


def test_a_redundant_constraint_far_away_moves_nothing() -> None:
    region = pb.Polytope(np.vstack([CUBE, [1, 1, 1]]), [1] * 6 + [1e9])
    np.testing.assert_allclose(region.maximize([1.0, -2.0, 0.5]), [1, -1, 1], rtol=1e-12)


@pytest.mark.parametrize("thin", [1e-2, 1e-3])
def test_sides_of_very_different_length_are_kept_apart(thin: float) -> None:
    box = pb.Polytope(np.vstack([np.eye(2), -np.eye(2)]), [thin, 1e6, 0.0, 0.0])
    assert box.maximize([1.0, 0.0])[0] == pytest.approx(thin, rel=1e-12)
    assert box.rank == 2
    assert pb.Box([0.0, 0.0], [thin, 1e6]).rank == 2


def test_a_polytope_far_from_the_origin_is_still_exact() -> None:
    shift = np.array([1e4, -2e4, 3e4])
    region = pb.Polytope(CUBE, np.ones(6) + CUBE @ shift)
    np.testing.assert_allclose(
        region.maximize([1.0, -2.0, 0.5]), shift + np.array([1, -1, 1]), rtol=1e-14
    )
