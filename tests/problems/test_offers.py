"""Offers that change: which items, for whom, and what they bring as theta moves."""

import math
from itertools import islice
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.problems import Bernoulli, Jump, OfferedWorld, Wander
from projbandits.testing import check_problem


def world(seed: int = 0, **options: Any) -> OfferedWorld:
    return pb.problems.offers(**options).world(np.random.default_rng(seed))


def thetas(there: OfferedWorld, steps: int) -> np.ndarray[Any, Any]:
    """The theta of each step, from the returns on offer, which show it where K >= d."""
    found = []
    for step in islice(there.steps(), steps):
        assert isinstance(step.arms, pb.FiniteArms)
        assert step.returns is not None
        found.append(np.linalg.lstsq(step.arms.vectors, step.returns, rcond=None)[0])
    return np.array(found)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"offered": 1, "catalogue": 10},
        {"context": 2, "effects": 0.5, "drift": Jump(every=1)},
        {"offered": 3, "noise": Bernoulli(0.5), "drift": Wander(rate=1.0)},
    ],
    ids=str,
)
def test_offers_are_a_problem(options: dict[str, Any]) -> None:
    check_problem(pb.problems.offers(**options))


def test_every_item_is_as_likely_to_be_offered_and_none_twice() -> None:
    there, steps = world(catalogue=12, offered=5, d=3, u=2), 4000
    items = np.array([step.items for step in islice(there.steps(), steps)])
    assert all(len(set(row)) == 5 for row in items.tolist())
    share = np.bincount(items.ravel(), minlength=12) / steps
    first = np.bincount(items[:, 0], minlength=12) / steps
    # Five standard errors of 5/12, and of 1/12 for the first place.
    assert np.abs(share - 5 / 12).max() <= 5 * math.sqrt(5 / 12 * 7 / 12 / steps)
    assert np.abs(first - 1 / 12).max() <= 5 * math.sqrt(1 / 12 * 11 / 12 / steps)
    repeats = (items[1:, :, None] == items[:-1, None, :]).any(axis=2).mean()
    assert abs(repeats - 5 / 12) <= 5 * math.sqrt(5 / 12 * 7 / 12 / steps)


def test_an_arm_is_an_item_and_its_products_with_the_viewer() -> None:
    there = world(context=2, effects=0.7, d=3, u=2, offered=4, catalogue=9)
    items, effects, kept, theta = there.truth[:4]
    viewers = []
    for step in islice(there.steps(), 50):
        assert isinstance(step.arms, pb.FiniteArms)
        for j, x in enumerate(step.arms.vectors):
            item, arm = step.item(j), step.arms.arm(j)
            viewer = x.reshape(3, 3)[:, 0] / x[0]
            np.testing.assert_allclose(x, np.concatenate([z * items[item] for z in viewer]))
            of_item = sum(z * theta[3 * b : 3 * b + 3] for b, z in enumerate(viewer))
            reward = kept.project(items[item]) @ kept.project(of_item)
            assert step.reward(arm) == pytest.approx(reward + effects[item])
            assert step.mean_return(arm) == pytest.approx(items[item] @ of_item + effects[item])
        viewers.append(viewer)
    assert np.std(np.array(viewers)[:, 0]) <= 1e-12
    assert 0.8 <= np.abs(viewers)[:, 1:].max() <= 1
    assert abs(np.std(effects) - 0.7) <= 5 * 0.7 / math.sqrt(18)


def test_regret_is_against_the_best_on_offer() -> None:
    for step in islice(world(effects=1.0).steps(), 20):
        assert step.rewards is not None
        assert step.returns is not None
        assert step.best_reward == step.rewards.max()
        assert step.best_return == step.returns.max()


def test_the_steps_are_the_same_whenever_they_are_asked_for() -> None:
    there = world(context=1, drift=Wander(rate=0.5))
    one, two = (list(islice(there.steps(), 30)) for _ in range(2))
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a.items, b.items)
        assert np.array_equal(a.returns, b.returns)  # type: ignore[arg-type]
    assert np.array_equal(there.items, one[0].items)
    assert np.array_equal(there.rewards, one[0].rewards)  # type: ignore[arg-type]


def test_theta_stays_or_jumps_after_so_many_steps() -> None:
    still = thetas(world(), 30)
    np.testing.assert_allclose(still, np.tile(still[0], (30, 1)), atol=1e-12)
    moved = np.abs(np.diff(thetas(world(drift=Jump(every=10)), 41), axis=0)).max(axis=1)
    assert np.flatnonzero(moved > 1e-9).tolist() == [9, 19, 29, 39]
    jumps = thetas(world(drift=Jump(every=1)), 400)
    # U(-1, 1), within five standard errors.
    assert np.abs(jumps).max() <= 1 + 1e-9
    assert abs((jumps**2).mean() - 1 / 3) <= 5 * math.sqrt(4 / 45 / jumps.size)


def test_a_theta_that_wanders_keeps_its_spread() -> None:
    rate, steps = 0.4, 1500
    path = thetas(world(drift=Wander(rate=rate)), steps)
    pushes = path[1:] - math.sqrt(1 - rate**2) * path[:-1]
    # Normal numbers of variance rate^2 / 3; five standard errors of their variance.
    variance = rate**2 / 3
    assert abs((pushes**2).mean() - variance) <= 5 * variance * math.sqrt(2 / pushes.size)
    # theta itself has about n rate^2 / 2 independent values.
    assert abs((path**2).mean() * 3 - 1) <= 5 * math.sqrt(2 / (pushes.size * rate**2 / 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"offered": 0}, "offered must be at least 1, got 0"),
        ({"catalogue": 5}, "catalogue must be at least 20, got 5"),
        ({"u": 11}, "u must be at most 10, got 11"),
        ({"context": -1}, "context must be at least 0, got -1"),
        ({"effects": -0.5}, "effects must not be negative, got -0.5"),
    ],
    ids=str,
)
def test_wrong_numbers_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pb.problems.offers(**options)


def test_wrong_drifts_are_refused() -> None:
    with pytest.raises(TypeError, match=r"drift must be None, or one such as Jump\(every=2000\)"):
        pb.problems.offers(drift="jump")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"rate must be at most 1, got 1\.5"):
        Wander(rate=1.5)
    with pytest.raises(ValueError, match="every must be at least 1, got 0"):
        Jump(every=0)
