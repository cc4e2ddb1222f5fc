"""The entropy ball: support points against the dual, a dense grid and extreme directions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import projbandits as pb
from tests import naive

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
        assert (x == (0 if direction.any() else ball.tie)).all()
        return
    entropy = float((x[x > 0] * np.log(x[x > 0])).sum())
    assert entropy == pytest.approx(bound, rel=1e-10)
    if direction.max() >= 1e-3 * np.abs(direction).max():
        value = naive.entropy_ball_maximum(direction, bound)
        assert direction @ x == pytest.approx(value, rel=1e-10)


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


def test_members_with_round_off_below_zero_count_as_members() -> None:
    assert pb.EntropyBall(2).contains([-1e-12, 1.0])
    assert not pb.EntropyBall(2).contains([-1e-3, 1.0])


def test_the_longest_arm_bounds_every_arm_and_is_attained_on_the_entropy_ball() -> None:
    for d in (1, 2, 5):
        ball = pb.EntropyBall(d)
        rng = np.random.default_rng(d)
        lengths = np.linalg.norm(ball.supports(rng.normal(size=(20_000, d)) ** 3), axis=1)
        assert lengths.max() <= ball.longest * (1 + 1e-12)
        assert lengths.max() >= ball.longest * (1 - 1e-3)
