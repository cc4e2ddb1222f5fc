"""Subspaces and the projection onto them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import projbandits as pb
from tests import naive

Subspace: Any = pb.Subspace
FIRST = pb.Subspace.coordinates([0], d=2)
SHAPES = st.tuples(st.integers(1, 7), st.integers(1, 7), st.integers(0, 10_000))


@given(SHAPES)
@settings(max_examples=60)
def test_projection_equals_the_papers_formula(shape: tuple[int, int, int]) -> None:
    d, u, seed = shape
    A = np.random.default_rng(seed).uniform(-1, 1, size=(d, min(u, d)))
    if np.linalg.cond(A) > 1e5:
        return
    P = pb.Subspace.span(A).matrix
    np.testing.assert_allclose(P, naive.projection_matrix(A), atol=1e-9)
    np.testing.assert_allclose(P @ P, P, atol=1e-13)
    np.testing.assert_allclose(P, P.T, atol=1e-15)


def test_dependent_columns_and_wild_scales_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 3))
    plain = pb.Subspace.span(A)
    scaled = pb.Subspace.span(A * [1e-150, 1.0, 1e150])
    repeated = pb.Subspace.span(np.column_stack([A, A @ rng.normal(size=(3, 4)), np.zeros(6)]))
    assert scaled.dim == repeated.dim == 3
    np.testing.assert_allclose(scaled.matrix, plain.matrix, atol=1e-13)
    np.testing.assert_allclose(repeated.matrix, plain.matrix, atol=1e-13)


def test_nearly_dependent_columns_give_an_orthonormal_basis() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    U = pb.Subspace.span(np.column_stack([x, x + np.array([1e-7, 0, 0, 0])]))
    assert U.dim == 2
    np.testing.assert_allclose(U.basis.T @ U.basis, np.eye(2), atol=1e-14)
    np.testing.assert_allclose(U.project([1.0, 0, 0, 0]), [1, 0, 0, 0], atol=1e-5)


@pytest.mark.parametrize("apart", [1.0, 1e-2, 1e-3])
def test_a_projection_matrix_spans_what_it_projects_on(apart: float) -> None:
    # The paper's formula loses digits to the square of the condition; these are no directions.
    for seed in range(30):
        A = np.random.default_rng(seed).uniform(-1, 1, size=(10, 5))
        A[:, 1] = A[:, 0] + apart * A[:, 1]
        assert pb.Subspace.span(naive.projection_matrix(A)).dim == 5


def test_a_vector_splits_into_the_part_that_counts_and_the_rest() -> None:
    rng = np.random.default_rng(1)
    U = pb.Subspace.span(rng.normal(size=(7, 3)))
    x, theta = rng.normal(size=(2, 7))
    rest = U.complement()
    assert rest.dim == 4
    np.testing.assert_allclose(U.project(x) + rest.project(x), x, atol=1e-14)
    wanted = U.project(x) @ U.project(theta)
    corruption = rest.project(x) @ rest.project(theta)
    assert wanted + corruption == pytest.approx(x @ theta, abs=1e-13)


def test_projection_of_rows_is_the_projection_of_each() -> None:
    rng = np.random.default_rng(2)
    U = pb.Subspace.span(rng.normal(size=(5, 2)))
    X = rng.normal(size=(4, 5))
    np.testing.assert_allclose(U.project(X), [U.project(x) for x in X], atol=1e-15)


def test_coordinates_project_exactly() -> None:
    U = pb.Subspace.coordinates([2, 0], d=4)
    assert (U.matrix == np.diag([1.0, 0, 1, 0])).all()
    assert (U.complement().matrix == np.diag([0.0, 1, 0, 1])).all()


def test_the_complement_of_everything_is_nothing() -> None:
    whole = pb.Subspace.coordinates(range(3), d=3)
    assert whole.complement().dim == 0
    assert (whole.complement().project([1.0, 2.0, 3.0]) == 0).all()
    assert whole.complement().complement().dim == 3


def test_a_frame_keeps_its_columns_and_index() -> None:
    U = pb.Subspace.without("race", columns=["price", "race", "length"])
    frame = pd.DataFrame({"race": [1, 2], "length": [3, 4], "price": [5, 6]}, index=["a", "b"])
    projected = U.project(frame)
    assert list(projected.columns) == ["race", "length", "price"]
    assert list(projected.index) == ["a", "b"]
    assert projected.to_numpy().tolist() == [[0, 3, 5], [0, 4, 6]]
    row: Any = U.project(frame.loc["a"])
    assert row.to_dict() == {"race": 0.0, "length": 3.0, "price": 5.0}
    nameless = pb.Subspace.coordinates([1], d=3).project(frame)  # goes by position
    assert nameless.to_numpy().tolist() == [[0, 3, 0], [0, 4, 0]]


def test_the_direction_outside_is_named() -> None:
    plane = pb.Subspace.coordinates([0, 1], d=3)
    U = pb.Subspace.span([[0.0], [1.0], [1.0]])
    outside = U.direction_outside(plane)
    assert outside is not None
    np.testing.assert_allclose(outside, np.array([0, 1, 1]) / np.sqrt(2))
    assert plane.direction_outside(pb.Subspace.coordinates(range(3), d=3)) is None
    slightly = pb.Subspace.span([[1.0], [0.0], [1e-4]])
    assert slightly.direction_outside(plane) is not None


BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda: Subspace.span([[0.0], [0.0]]), ValueError, "rank 0"),
    (lambda: Subspace.span(np.zeros((3, 0))), ValueError, "rank 0"),
    (lambda: Subspace.span([1.0, 2.0]), ValueError, r"A must be a matrix, got .*\(2,\)"),
    (lambda: Subspace.span([[np.nan], [1.0]]), ValueError, r"A\[0, 0\] = nan"),
    (lambda: Subspace.span([[1.0, 2.0], [3.0]]), TypeError, "rows of equal length"),
    (lambda: Subspace.span([["1.0"], ["2.0"]]), TypeError, "numbers only"),
    (lambda: Subspace.coordinates([3], d=3), ValueError, "keep must be at most 2, got 3"),
    (lambda: Subspace.coordinates([], d=3), ValueError, "at least one coordinate"),
    (lambda: Subspace.coordinates(3, d=4), TypeError, r"keep must list coordinates, got 3"),
    (lambda: Subspace.coordinates([True, False], d=2), TypeError, "keep must be a whole number"),
    (lambda: Subspace.without("rcae", columns=["race"]), ValueError, "did you mean 'race'"),
    (lambda: Subspace.without([*"ab"], columns=[*"ab"]), ValueError, "leave at least one"),
    (lambda: Subspace.without("a", columns=[*"abb"]), ValueError, "distinct"),
    (lambda: Subspace.without(None, columns=["a"]), TypeError, "names must list column names"),
    (lambda: Subspace.without("a", columns=None), TypeError, "columns must list column names"),
    (lambda: FIRST.project([1.0, 2.0, 3.0]), ValueError, "x must have 2 features, .* got 3"),
    (lambda: FIRST.project([[1.0, np.inf]]), ValueError, "finite"),
    (lambda: Subspace(np.ones((3, 1))), ValueError, r"orthonormal columns.*use Subspace.span"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input_is_named(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_frame_that_does_not_match_is_refused() -> None:
    U = pb.Subspace.without("race", columns=["price", "race"])
    with pytest.raises(ValueError, match=r"column 'prices' that the subspace lacks.*'price'"):
        U.project(pd.DataFrame([[1.0, 2.0]], columns=["prices", "race"]))
    with pytest.raises(ValueError, match="must have a column 'race'"):
        U.project(pd.DataFrame([[1.0]], columns=["price"]))
    with pytest.raises(ValueError, match="distinct columns, got 'price' more than once"):
        U.project(pd.DataFrame([[1.0, 2.0, 3.0]], columns=["price", "price", "race"]))
    with pytest.raises(TypeError, match="numbers only"):
        U.project(pd.DataFrame([["cheap", 2.0]], columns=["price", "race"]))
