"""Polytopes: support points against their vertices."""

import numpy as np
import pytest

import projbandits as pb
from tests import naive
from tests.sets import CUBE, POLYTOPES, vast


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


@pytest.mark.parametrize("name", POLYTOPES)
def test_all_vertices_are_found_once(name: str) -> None:
    region = POLYTOPES[name]()
    A = np.vstack([region.A, region.A_eq, -region.A_eq])
    b = np.concatenate([region.b, region.b_eq, -region.b_eq])
    middle, half = region.scaled.middle, region.scaled.half
    lengths = np.linalg.norm(A * half, axis=1)  # where the bounding box is a cube
    expected = naive.vertices(A * half / lengths[:, None], (b - A @ middle) / lengths)
    assert region.vertices is not None
    found = (region.vertices - middle) / half
    apart = np.abs(found[:, None] - expected).max(axis=2)
    assert (apart.min(axis=0) < 1e-8).all()
    assert (apart.min(axis=1) < 1e-8).all()
    assert len(found) == len(np.unique(expected.round(6) + 0.0, axis=0))


@pytest.mark.parametrize("name", POLYTOPES)
@pytest.mark.parametrize("many", [False, True])
def test_support_points_are_as_high_as_those_of_a_general_solver(name: str, many: bool) -> None:
    region = vast(POLYTOPES[name]()) if many else POLYTOPES[name]()
    rng = np.random.default_rng(0)
    for i in range(30):
        c = rng.normal(size=region.d) / (region.upper - region.lower).clip(1e-7)
        c *= rng.random(region.d) < (0.6 if i % 2 else 1.0)
        height, size = c @ region._solved(c), np.abs(c) @ (region.upper - region.lower)
        assert c @ region.maximize(c) == pytest.approx(height, rel=1e-12, abs=1e-10 * size)
        assert region.contains(region.maximize(c))


def test_round_off_does_not_break_ties_between_vertices() -> None:
    rng = np.random.default_rng(0)
    for name in ("prism", "cross", "mixtures"):
        region = POLYTOPES[name]()
        for c in (region.A[0], region.A[0] + region.A[1]):
            near = c + 1e-15 * rng.normal(size=(20, region.d))
            same = np.tile(region.maximize(c), (20, 1))
            np.testing.assert_allclose(region.supports(near), same, atol=1e-12)


def test_what_has_too_many_vertices_has_support_points_all_the_same() -> None:
    cube = pb.Polytope(np.vstack([np.eye(11), -np.eye(11)]), np.ones(22))
    assert cube.vertices is None
    c = np.random.default_rng(0).normal(size=11)
    np.testing.assert_array_equal(cube.maximize(c), np.sign(c))


def test_constraints_that_contradict_one_another_within_round_off_are_left_to_highs() -> None:
    doubtful = pb.Polytope([[1.0], [-1.0]], [5e-11, -1e-10])
    assert doubtful.vertices is None
    assert doubtful.maximize([1.0])[0] == pytest.approx(7.5e-11, abs=1e-10)


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
