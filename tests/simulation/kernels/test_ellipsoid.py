"""The compiled search for the most optimistic point."""

import numpy as np
import pytest

import projbandits as pb
from projbandits.arms import ConvexSet
from projbandits.simulation import compiled
from projbandits.simulation.arrays import ConvexWorld
from projbandits.simulation.kernels.convex import convex_view
from projbandits.simulation.kernels.ellipsoid import CALM, LOOPS
from projbandits.simulation.kernels.support import REGIONS
from projbandits.simulation.kernels.tally import begin_tally
from tests.sets import confused, region_of
from tests.worlds import flag


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("kind", ["entropy", "entropy-without-0", "ball", "ellipsoid", "box"])
def test_the_compiled_search_ends_where_repeated_support_points_do(kind: str, d: int) -> None:
    region = region_of(kind, d)
    rng = np.random.default_rng(d)
    world = ConvexWorld(np.zeros(d), np.zeros(d), 0.0, 0.0, 0, 0.0)
    tally = begin_tally(np.ones(1, np.int64), 1)
    room = np.empty((4, d))
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
        LOOPS["optimistic"]["convex"](view, room, True, False, tally, world, rng, rng, 1, flag())
        x = room[0].copy()
        expected = region.best_convex(score).x
        one, other = score.value(np.array([x, expected]))
        assert one == pytest.approx(other, rel=1e-9, abs=1e-12)
        # Some maxima are so flat that a height known to 1e-10 leaves the place open to 2e-4.
        np.testing.assert_allclose(x, expected, atol=1e-3 * region.longest)


def test_the_kernel_for_four_dimensions_plays_as_the_one_for_any_number() -> None:
    world, strategy = pb.problems.entropy_ball().world(np.random.default_rng(3)), pb.UE(alpha=0.05)
    rule = compiled.rule_of(strategy, world, 300)
    assert rule is not None
    tallies = []
    for fixed in ((0,) * 4, ()):
        view, *rest = compiled._convex(world, strategy, rule)
        assert len(view.region.fixed) == 4
        view = view._replace(region=view.region._replace(fixed=fixed))
        rngs = np.random.default_rng(1), np.random.default_rng(2)
        tallies.append(begin_tally(np.arange(1, 301), 1))
        truth = compiled._convex_world(world)
        LOOPS["optimistic"]["convex"](view, *rest, tallies[-1], truth, *rngs, 300, flag())
    assert np.array_equal(tallies[0].out, tallies[1].out)
    assert tallies[0].out[0, -1] > 0


@pytest.mark.parametrize("alpha", [0.01, 0.3])
def test_following_the_maxima_finds_what_a_search_from_all_starts_does(alpha: float) -> None:
    world = pb.problems.entropy_ball().world(np.random.default_rng(0))
    arms, rng = world.arms, np.random.default_rng(1)
    assert isinstance(arms, ConvexSet)
    assert world.theta is not None
    truth = ConvexWorld(world.theta, world.theta, 0.0, 0.0, 0, 0.5)
    tally, rooms = begin_tally(np.ones(1, np.int64), 1), np.empty((2, 4, 4))
    following, anew = views = [
        convex_view(
            True,
            1.0,
            arms.basis(),
            arms.spanning_points,
            REGIONS[type(arms)](arms),
            np.zeros(1),
            np.empty((0, 0)),
            world.subspace,
            0,
        )
        for _ in range(2)
    ]
    short, calm = np.empty(400), 0
    for t in range(400):
        V_inverse, theta = following.inverse.copy(), following.theta.copy()
        anew.inverse[:], anew.theta[:], anew.told[:] = V_inverse, theta, np.inf
        calm += following.told[0] < CALM
        for view, room in zip(views, rooms, strict=True):
            view.parameters[:] = pb.UE(alpha=alpha).radius(t + 1, arms)
            LOOPS["optimistic"]["convex"](view, room, True, True, tally, truth, rng, rng, 1, flag())
        one, other = (
            x @ theta + following.parameters[0] * np.sqrt(x @ V_inverse @ x) for x in rooms[:, 0]
        )
        short[t] = (other - one) / max(abs(other), 1e-12)
    assert calm > 200
    assert (short > 1e-9).mean() <= 0.01
    assert short.max() < 1e-3
