"""Exploration schedules."""

import math
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits import schedules
from tests import naive


@pytest.mark.parametrize("name", ["finite", "infinite", "smooth"])
@pytest.mark.parametrize("alpha", [0.01, 1.0, 7.5])
def test_named_schedules_are_as_printed(name: str, alpha: float) -> None:
    epsilon = schedules.resolve(name, alpha=alpha, k=4, finite=True)
    for t in (1, 2, 3, 10, 999, 10**9):
        assert epsilon(t) == pytest.approx(naive.epsilon(name, alpha, 4, t), rel=1e-14)


def test_auto_is_finite_for_finite_arms_and_infinite_otherwise() -> None:
    strategy = pb.GENTRY(alpha=0.5)
    finite = strategy.epsilon(pb.FiniteArms(np.eye(3)))
    infinite = strategy.epsilon(pb.Ball(d=3))
    assert finite(100) == naive.epsilon("finite", 0.5, 3, 100)
    assert infinite(1000) == pytest.approx(naive.epsilon("infinite", 0.5, 3, 1000))


def test_a_callable_gives_epsilon_itself() -> None:
    strategy = pb.GENTRY(schedule=lambda t: 1 / (t + 1))
    assert strategy.epsilon(pb.Ball(d=3))(3) == 0.25


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("finit", "schedule must be one of .* did you mean 'finite'"),
        (3, "schedule must be one of .* got 3"),
        (lambda t: 2.0, r"probability in \[0, 1\], got 2.0 at step 1"),
        (lambda t: -0.1, r"got -0.1 at step 1"),
        (lambda t: math.nan, "got nan at step 1"),
        (lambda t: 1 - 1 / t, "must not increase, got 0.0 at step 1 and 0.5 at step 2"),
    ],
)
def test_bad_schedules_are_refused_when_the_strategy_is_made(schedule: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pb.GENTRY(schedule=schedule)


@pytest.mark.parametrize("value", [None, "0.5", True])
def test_a_schedule_that_returns_no_number_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match=r"schedule\([12]\) must be a number"):
        pb.GENTRY(schedule=lambda t: value)


def test_a_schedule_from_a_table_is_asked_only_for_steps_that_are_played() -> None:
    table = np.linspace(0.5, 0.1, 50)
    strategy = pb.GENTRY(schedule=lambda t: table[t - 1])
    pb.simulate(pb.problems.random_arms(), strategy, trials=1, horizon=50, engine="reference")


def test_a_schedule_that_goes_wrong_later_is_caught_when_it_does() -> None:
    strategy = pb.GENTRY(schedule=lambda t: 0.5 if t == 100 else 0.1)
    with pytest.raises(ValueError, match=r"0\.1 at step 99 and 0\.5 at step 100"):
        pb.simulate(pb.problems.random_arms(), strategy, trials=1, horizon=200, progress=False)
