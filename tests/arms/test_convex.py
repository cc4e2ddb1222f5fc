"""Convex decision sets: support points against closed forms and dense search."""

import math
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.testing import check_decision_set
from tests.sets import SETS, SQUARE, confused, region_of


@pytest.mark.parametrize("name", SETS)
def test_every_set_conforms(name: str) -> None:
    check_decision_set(SETS[name])


@pytest.mark.parametrize("name", SETS)
def test_in_direction_0_the_first_arm_of_the_basis_is_best(name: str) -> None:
    region = SETS[name]
    nowhere = region.maximize(np.zeros(region.d))
    expected = region.basis()[0] if region.rank else np.zeros(region.d)
    np.testing.assert_array_equal(nowhere, expected)
    assert region.contains(nowhere)


@pytest.mark.parametrize(
    ("make", "tie"),
    [
        (lambda tie: pb.EntropyBall(2, tie=tie), [0.0, 0.0]),
        (lambda tie: pb.Ball(2, center=[1.0, 1.0], tie=tie), [1.0, 1.0]),
        (lambda tie: pb.Ellipsoid(np.diag([4.0, 1.0]), tie=tie), [-1.0, 0.5]),
        (lambda tie: pb.Box([0.0, 0.0], [1.0, 1.0], tie=tie), [0.5, 1.0]),
        (lambda tie: pb.Polytope(*SQUARE, tie=tie), [0.5, 1.0]),
    ],
)
def test_the_point_for_direction_0_can_be_chosen(make: Any, tie: list[float]) -> None:
    chosen = make(tie)
    np.testing.assert_array_equal(chosen.maximize([0.0, 0.0]), tie)
    np.testing.assert_array_equal(chosen.maximize([1.0, -0.5]), make(None).maximize([1.0, -0.5]))
    assert f"tie={tie}" in repr(chosen)
    assert "tie=" not in repr(make(None))
    with pytest.raises(ValueError, match=r"tie must lie in the set, got \[9\.0, 0\.0\] for"):
        make([9.0, 0.0])


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("ellipsoid-flat", 2),
        ("simplex", 3),
        ("segment", 2),
        ("point", 1),
        ("origin", 0),
        ("implied-plane", 2),
    ],
)
def test_rank_is_the_dimension_of_the_span(name: str, rank: int) -> None:
    assert SETS[name].rank == len(SETS[name].basis()) == rank


@pytest.mark.parametrize(
    "name", [n for n, s in SETS.items() if isinstance(s, pb.Ellipsoid | pb.Ball)]
)
def test_round_sets_match_their_closed_form(name: str) -> None:
    region = SETS[name]
    rng = np.random.default_rng(0)
    shape = region.shape if isinstance(region, pb.Ellipsoid) else None
    for c in rng.normal(size=(50, region.d)):
        if isinstance(region, pb.Ball):
            value = c @ region.center + region.radius * np.linalg.norm(c)
        else:
            assert isinstance(region, pb.Ellipsoid)
            value = c @ region.center + math.sqrt(c @ shape @ c)
        assert c @ region.maximize(c) == pytest.approx(value, rel=1e-12)


def test_an_ellipsoid_keeps_its_thin_axes_and_survives_large_directions() -> None:
    thin = pb.Ellipsoid(np.diag([1e-15, 1.0]))
    assert thin.maximize([1.0, 0.0])[0] == pytest.approx(math.sqrt(1e-15), rel=1e-12)
    assert thin.rank == 2
    assert pb.Ellipsoid(np.diag([4.0, 1.0])).maximize([1e308, 1e308]) == pytest.approx(
        np.array([4.0, 1.0]) / math.sqrt(5)
    )


def test_a_flat_ellipsoid_is_flat_however_it_is_turned() -> None:
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turned = pb.Ellipsoid(Q @ np.diag([1.0, 0.0, 2.0]) @ Q.T)
    assert turned.rank == 2
    assert turned.contains(0.5 * Q[:, 0])
    assert not turned.contains(0.5 * Q[:, 0] + 1e-3 * Q[:, 1])


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("kind", ["entropy", "ball", "ellipsoid", "box"])
def test_repeated_support_points_come_within_a_millionth_of_a_dense_search(
    kind: str, d: int
) -> None:
    region = region_of(kind, d)
    rng = np.random.default_rng(d)
    dense = region.supports(rng.normal(size=(20_000, d)))
    for _ in range(25):
        score = confused(region, rng)
        found = score.value(region.best_convex(score).x[None])[0]
        values = score.value(dense)
        assert found >= values.max() - 1e-6 * (values.max() - values.min())


BAD: list[tuple[Any, str]] = [
    (lambda: pb.Polytope([[1.0, 0.0]], [1.0]), "unbounded along the direction"),
    (lambda: pb.Polytope([[1.0], [-1.0]], [0.0, -1.0]), "polytope is empty"),
    (lambda: pb.Polytope(np.zeros((1, 2)), [-1.0]), "polytope is empty"),
    (lambda: pb.Polytope([[1.0]], [1.0], A_eq=[[1.0]]), "given together"),
    (lambda: pb.Polytope([[1.0]], [1.0, 2.0]), "b must have length 1, got length 2"),
    (lambda: pb.Polytope([[1.0]], [1.0], A_eq=[[1.0, 2.0]], b_eq=[1.0]), "1 columns"),
    (
        lambda: pb.Polytope([[1.0], [-1.0]], [1e20, 0.0]),
        "b must not exceed 1e15 in size, got 1e.20",
    ),
    (lambda: pb.Ellipsoid(np.zeros((0, 0))), "at least one row"),
    (lambda: pb.Box([1.0], [0.0]), r"lower\[0\] = 1.0 and upper\[0\] = 0.0"),
    (lambda: pb.Box([1.0], [2.0, 3.0]), "upper must have length 1"),
    (lambda: pb.Ball(2, radius=0.0), "radius must be positive, got 0.0"),
    (lambda: pb.Ball(0), "d must be at least 1, got 0"),
    (lambda: pb.Ball(2, center=[1.0]), "center must have length 2"),
    (lambda: pb.Ellipsoid([[1.0, 0.0], [1.0, 1.0]]), "symmetric"),
    (lambda: pb.Ellipsoid([[1.0, 0.0], [0.0, -1.0]]), "eigenvalues -1 and 1"),
    (lambda: pb.Ellipsoid([[1.0, 0.0]]), "square"),
    (lambda: pb.EntropyBall(2, bound=-1.0), "bound must exceed -d/e = -0.735759, got -1.0"),
    (lambda: pb.EntropyBall(2, bound=math.nan), "bound must be finite"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_sets_are_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("name", SETS)
def test_contains_refuses_what_lies_outside(name: str) -> None:
    region = SETS[name]
    c = np.ones(region.d)
    outside = region.maximize(c) + c * 1e-3 * (1 + region.longest)
    assert not region.contains(outside)
