"""Convex decision sets: support points against closed forms, duals, vertices and dense search."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import projbandits as pb
from projbandits.arms import ConvexSet
from projbandits.ridge import Ridge
from projbandits.simulation import compiled
from projbandits.simulation.kernels.convex import convex_view
from projbandits.simulation.kernels.optimism import optimistic_point
from projbandits.strategies.ellipsoid import Optimism
from projbandits.testing import check_decision_set
from tests import naive

CUBE = np.vstack([np.eye(3), -np.eye(3)])
SETS: dict[str, ConvexSet] = {
    "entropy": pb.EntropyBall(d=4, bound=5.0),
    "entropy-1d": pb.EntropyBall(d=1, bound=5.0),
    "entropy-zero": pb.EntropyBall(d=3, bound=0.0),
    "entropy-without-0": pb.EntropyBall(d=3, bound=-0.5),
    "ball": pb.Ball(d=3, radius=2.0),
    "ball-centred": pb.Ball(d=2, radius=0.5, center=[3.0, -1.0]),
    "ellipsoid": pb.Ellipsoid([[4.0, 1.0], [1.0, 1.0]]),
    "ellipsoid-centred": pb.Ellipsoid(np.diag([1e-6, 1.0, 1e4]), center=[1.0, 2.0, 3.0]),
    "ellipsoid-flat": pb.Ellipsoid(np.diag([1.0, 0.0, 2.0])),
    "box": pb.Box([-1.0, 0.0, 2.0], [1.0, 3.0, 2.0]),
    "cube": pb.Polytope(CUBE, np.ones(6)),
    "simplex": pb.Polytope(-np.eye(3), np.zeros(3), A_eq=[[1, 1, 1]], b_eq=[1]),
    "segment": pb.Polytope(-np.eye(2), np.zeros(2), A_eq=[[1, 2]], b_eq=[2]),
    "point": pb.Polytope(CUBE, [1, 2, 3, -1, -2, -3]),
    "origin": pb.Polytope(CUBE, np.zeros(6)),
    "implied-plane": pb.Polytope(np.vstack([CUBE, [1, 1, 1], [-1, -1, -1]]), [*np.ones(6), 0, 0]),
    "redundant": pb.Polytope(np.vstack([CUBE, CUBE * 1e3, CUBE]), [1] * 6 + [1e3] * 6 + [2] * 6),
}


@pytest.mark.parametrize("name", SETS)
def test_every_set_conforms(name: str) -> None:
    check_decision_set(SETS[name])


@pytest.mark.parametrize(
    ("name", "rank"),
    [("ellipsoid-flat", 2), ("simplex", 3), ("segment", 2), ("point", 1), ("implied-plane", 2)],
)
def test_rank_is_the_dimension_of_the_span(name: str, rank: int) -> None:
    assert SETS[name].rank == rank


def test_the_origin_alone_spans_nothing() -> None:
    assert SETS["origin"].rank == 0
    assert SETS["origin"].basis().shape == (0, 3)


def test_a_set_whose_axis_points_are_dependent_still_shows_its_span() -> None:
    # A kite along the diagonal: all axes have the ends (0, 0) and (1, 1) as support points.
    A = [[0.5, -0.6], [-0.6, 0.5], [0.5, -0.4], [-0.4, 0.5]]
    thin = pb.Polytope(A, [0.0, 0.0, 0.1, 0.1])
    ends = thin.supports(np.vstack([np.eye(2), -np.eye(2)]))
    assert np.linalg.matrix_rank(ends, tol=1e-9) == 1
    assert thin.rank == 2


directions = st.lists(
    st.one_of(st.just(0.0), st.integers(-(10**6), 10**6).map(lambda i: i * 1e-3)),
    min_size=2,
    max_size=5,
)


@given(directions, st.sampled_from([5.0, 0.3, 40.0]))
@settings(max_examples=150)
def test_entropy_ball_reaches_its_dual_bound(c: list[float], bound: float) -> None:
    direction = np.array(c)
    ball = pb.EntropyBall(d=len(c), bound=bound)
    x = ball.maximize(direction)
    assert ball.contains(x)
    if direction.max() <= 0:
        assert (x == 0).all()
        return
    entropy = float((x[x > 0] * np.log(x[x > 0])).sum())
    assert entropy == pytest.approx(bound, rel=1e-10)
    if direction.max() >= 1e-3 * np.abs(direction).max():
        value = naive.entropy_ball_maximum(direction, bound)
        assert direction @ x == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("c", [[-1.0, -2.0], [0.0, -1.0], [0.0, 0.0]])
def test_entropy_ball_at_zero(c: list[float]) -> None:
    assert (pb.EntropyBall(d=2, bound=5.0).maximize(c) == 0).all()


def test_entropy_ball_survives_extreme_directions() -> None:
    ball = pb.EntropyBall(d=3)
    lonely = ball.maximize([1.0, -1.0, -1e300])
    for scale in (1e-300, 1e300):
        x = ball.maximize(np.array([1.0, 0.5, -1.0]) * scale)
        np.testing.assert_allclose(x, ball.maximize([1.0, 0.5, -1.0]), rtol=1e-12)
    assert lonely[2] == 0
    tiny = ball.maximize([1e-300, -1.0, -1.0])
    s = tiny[0]
    assert s * math.log(s) == pytest.approx(5.0, rel=1e-12)
    assert (tiny[1:] == 0).all()


def test_entropy_ball_below_zero_minimises_within_the_set() -> None:
    ball = pb.EntropyBall(d=2, bound=-0.6)
    x = ball.maximize([-1.0, -1.0])
    u = np.linspace(0, 1, 1501)[1:]
    grid = np.stack(np.meshgrid(u, u), axis=-1).reshape(-1, 2)
    inside = grid[(grid * np.log(grid)).sum(axis=1) <= -0.6]
    assert -x.sum() >= (-inside.sum(axis=1)).max() - 1e-12
    assert ball.contains(x)


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


def test_members_with_round_off_below_zero_count_as_members() -> None:
    assert pb.EntropyBall(2).contains([-1e-12, 1.0])
    assert not pb.EntropyBall(2).contains([-1e-3, 1.0])


def test_a_polytope_far_from_the_origin_is_still_exact() -> None:
    shift = np.array([1e4, -2e4, 3e4])
    region = pb.Polytope(CUBE, np.ones(6) + CUBE @ shift)
    np.testing.assert_allclose(
        region.maximize([1.0, -2.0, 0.5]), shift + np.array([1, -1, 1]), rtol=1e-14
    )


def _confused(region: ConvexSet, rng: np.random.Generator, most: float = 0.5) -> Optimism:
    """A UE score with a random history and a radius of up to 10^most."""
    X = region.supports(rng.normal(size=(rng.integers(1, 30), region.d)))
    r = X @ rng.uniform(-1, 1, region.d) + 0.5 * rng.normal(size=len(X))
    ridge = Ridge.prior(region.d, 1.0).update_many(X, r)
    return Optimism(ridge.theta, 10 ** rng.uniform(-2, most), ridge)


def _region(kind: str, d: int) -> ConvexSet:
    sets: dict[str, ConvexSet] = {
        "entropy": pb.EntropyBall(d),
        "entropy-without-0": pb.EntropyBall(d, bound=-0.2),
        "ball": pb.Ball(d, center=np.full(d, 0.3)),
        "ellipsoid": pb.Ellipsoid(np.diag(np.arange(1.0, d + 1) ** 2), center=-np.ones(d)),
        "box": pb.Box(-np.ones(d), 0.7 * np.ones(d)),
    }
    return sets[kind]


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("kind", ["entropy", "ball", "ellipsoid", "box"])
def test_repeated_support_points_come_within_a_millionth_of_a_dense_search(
    kind: str, d: int
) -> None:
    region = _region(kind, d)
    rng = np.random.default_rng(d)
    dense = region.supports(rng.normal(size=(20_000, d)))
    for _ in range(25):
        score = _confused(region, rng)
        found = score.value(region.best_convex(score).x[None])[0]
        values = score.value(dense)
        assert found >= values.max() - 1e-6 * (values.max() - values.min())


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("kind", ["entropy", "entropy-without-0", "ball", "ellipsoid", "box"])
def test_the_compiled_search_ends_where_repeated_support_points_do(kind: str, d: int) -> None:
    region = _region(kind, d)
    rng = np.random.default_rng(d)
    x = np.empty(d)
    for _ in range(150):
        score = _confused(region, rng, most=2.0)  # large radii make several maxima
        view = convex_view(
            False,
            1.0,
            region.basis(),
            region.spanning_points,
            compiled._region(region),
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


def test_on_finitely_many_arms_every_arm_is_looked_at() -> None:
    rng = np.random.default_rng(5)
    arms = pb.FiniteArms(rng.normal(size=(30, 3)))
    score = _confused(pb.Ball(3), rng)
    values = [
        x @ score.aim + score.radius * math.sqrt(x @ score.ridge.inverse @ x) for x in arms.vectors
    ]
    assert arms.best_convex(score).index == int(np.argmax(values))


def test_the_longest_arm_bounds_every_arm_and_is_attained_on_the_entropy_ball() -> None:
    for d in (1, 2, 5):
        ball = pb.EntropyBall(d)
        rng = np.random.default_rng(d)
        lengths = np.linalg.norm(ball.supports(rng.normal(size=(20_000, d)) ** 3), axis=1)
        assert lengths.max() <= ball.longest * (1 + 1e-12)
        assert lengths.max() >= ball.longest * (1 - 1e-3)


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
