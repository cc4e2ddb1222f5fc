"""Convex sets of every kind, and scores to be maximised over them."""

import itertools
from collections.abc import Callable

import numpy as np

import projbandits as pb
from projbandits.strategies.belief import Optimism
from tests.naive import Array

CUBE = np.vstack([np.eye(3), -np.eye(3)])
SETS: dict[str, pb.ConvexSet] = {
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


PRISM: tuple[Array, list[float]] = (
    np.array([[0.6, 0.8, 0], [-1, 0.5, 0], [1, -2, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]),
    [1.0, 0.7, 1.2, 0.3, 0.5, 1.5],
)
"""Along its third axis there are edges, so directions that ignore it leave ties."""
SQUARE = (np.vstack([np.eye(2), -np.eye(2)]), np.ones(4))


def _random(d: int, m: int, size: float = 1.0, shift: float = 0.0) -> pb.Polytope:
    rng = np.random.default_rng(d)
    A = np.vstack([rng.normal(size=(m, d)), np.eye(d), -np.eye(d)])
    b = size * np.concatenate([rng.uniform(0.2, 1, size=m), np.full(2 * d, 2.0)])
    return pb.Polytope(A, b + A @ np.full(d, shift))


SIGNS = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
POLYTOPES: dict[str, Callable[[], pb.Polytope]] = {
    "random": lambda: _random(4, 9),
    "tiny": lambda: _random(3, 5, size=1e-7),
    "far": lambda: _random(3, 5, shift=1e4),
    "prism": lambda: pb.Polytope(*PRISM),
    "cross": lambda: pb.Polytope(SIGNS, np.ones(16)),  # each vertex lies on eight facets
    "cone": lambda: pb.Polytope(np.vstack([SIGNS[:, :3], [0, 0, -1]]), [*[1.0] * 16, 0.0]),
    "twice": lambda: pb.Polytope(
        np.vstack([CUBE, CUBE * 1e3, CUBE]), [1] * 6 + [1e3] * 6 + [2] * 6
    ),
    "mixtures": lambda: pb.Polytope(
        np.vstack([np.eye(5), -np.eye(5)]),
        [0.4] * 5 + [0.0] * 5,
        A_eq=np.array([[1.0] * 5, [2.0] * 5, [1.0, -1.0, 0.0, 0.0, 0.0]]),
        b_eq=[1, 2, 0],
    ),
    "plane": lambda: pb.Polytope(np.vstack([CUBE, [1, 1, 1], [-1, -1, -1]]), [*np.ones(6), 0, 0]),
    "point": lambda: pb.Polytope(CUBE, [1, 2, 3, -1, -2, -3]),
    "thin": lambda: pb.Polytope(SQUARE[0], [1e-3, 1e6, 0.0, 0.0]),
}
"""Polytopes of every kind: simple, degenerate, redundant, without interior, badly scaled."""


def vast(polytope: pb.Polytope) -> pb.Polytope:
    """The polytope as if its vertices were too many to be listed."""
    polytope.__dict__["vertices"] = None
    return polytope


def confused(region: pb.ConvexSet, rng: np.random.Generator, most: float = 0.5) -> Optimism:
    """A UE score with a random history and a radius of up to 10^most."""
    X = region.supports(rng.normal(size=(rng.integers(1, 30), region.d)))
    r = X @ rng.uniform(-1, 1, region.d) + 0.5 * rng.normal(size=len(X))
    ridge = pb.Ridge.prior(region.d, 1.0).update_many(X, r)
    return Optimism(ridge.theta, 10 ** rng.uniform(-2, most), ridge)


def region_of(kind: str, d: int) -> pb.ConvexSet:
    sets: dict[str, pb.ConvexSet] = {
        "entropy": pb.EntropyBall(d),
        "entropy-without-0": pb.EntropyBall(d, bound=-0.2),
        "ball": pb.Ball(d, center=np.full(d, 0.3)),
        "ellipsoid": pb.Ellipsoid(np.diag(np.arange(1.0, d + 1) ** 2), center=-np.ones(d)),
        "box": pb.Box(-np.ones(d), 0.7 * np.ones(d)),
    }
    return sets[kind]
