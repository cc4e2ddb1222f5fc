"""Items that come and go, with features that change: against a ridge with a column for each."""

import math

import numpy as np
import pytest

from projbandits.strategies.effects import Effects
from projbandits.strategies.items import Items
from tests import naive

D = 3
SCALES = {"ridge": 0.3, "penalty": 0.3, "noise": 0.4}


def empty(ratio: float) -> Items:
    zero = np.zeros((D + 1, D + 1))
    return Items(0.3, 0.3, ratio, 0.4, 0, zero, zero, {}, 0, ())


def told(n: int = 60, seed: int = 0) -> list[tuple[str, naive.Array, float]]:
    """Returns of five items, of which each is shown with other features every time."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        i, x = int(rng.integers(5)), rng.normal(size=D)
        found.append((f"item {i}", x, float(x @ [1.0, -2.0, 0.5] + 0.7 * i + 0.4 * rng.normal())))
    return found


def believed(
    items: Items, labels: list[str], X: naive.Array, aims: naive.Array
) -> tuple[naive.Array, naive.Array, naive.Array]:
    """Return the mean of what is wanted, its covariance with it, and with what is returned."""
    moments = items.among(labels).moments_at(X, aims)
    own = np.diag(moments.own)
    wanted = moments.target @ moments.covariance @ moments.target.T + own
    across = moments.target @ moments.covariance @ moments.seen.T + own
    return moments.mean, wanted, across


@pytest.mark.parametrize("ratio", [0.0, 0.5, 4.0])
@pytest.mark.parametrize("weights", [None, 0.9])
def test_the_belief_is_that_of_a_ridge_with_one_more_column_for_each_item(
    ratio: float, weights: float | None
) -> None:
    rng, items, history = np.random.default_rng(5), empty(ratio), told()
    for label, x, r in history:
        if weights is not None:
            items = items.decayed(weights)
        items = items.update(label, x, r)
    labels = ["item 1", "new", "item 4", "item 0"]
    X, aims = rng.normal(size=(2, len(labels), D))
    weight = [(weights or 1.0) ** (len(history) - 1 - t) for t in range(len(history))]
    names = [*dict.fromkeys([label for label, _, _ in history] + labels)]
    mean, wanted, across = naive.with_item_effects(
        history, names, labels, X, aims, np.array(weight), 0.3, ratio, 0.4
    )
    ours = believed(items, labels, X, aims)
    for mine, other in zip(ours, (mean, wanted, across), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scales", [(None, None), (0.7, None), (None, 0.4), (0.7, 0.4)])
def test_with_features_that_do_not_change_it_is_the_model_of_a_simulation(
    scales: tuple[float | None, float | None],
) -> None:
    rng, K = np.random.default_rng(1), 6
    X = rng.normal(size=(K, D))
    before, now = Effects.prior(X, 0.3, *scales), Items.prior(D, 0.3, *scales)
    for t in range(50):
        # All arms first: how long features are goes by those that were seen.
        i = t if t < K else int(rng.integers(K))
        r = float(X[i] @ [1.0, -2.0, 0.5] + 0.7 * i + 0.4 * rng.normal())
        before, now = before.update(i, r), now.update(str(i), X[i], r)
        if before.refit_due and t >= K:
            before, now = before.fitted(*scales), now.fitted(*scales)
        if t < K:
            continue
        assert math.isclose(before.noise, now.noise, rel_tol=1e-8)
        assert math.isclose(before.penalty, now.penalty, rel_tol=1e-8)
        one = before.moments(X)
        other = now.among([str(i) for i in range(K)]).moments_at(X, X)
        for name in ("mean", "target", "seen", "covariance", "own"):
            np.testing.assert_allclose(
                getattr(one, name), getattr(other, name), rtol=1e-7, atol=1e-9
            )


def test_what_came_before_stays_as_it_was() -> None:
    history = told(40)
    states = [empty(1.0)]
    for label, x, r in history:
        states.append(states[-1].update(label, x, r))
    assert states[10].labels == [*dict.fromkeys(label for label, _, _ in history[:10])]
    one = states[10].update("late", history[0][1], 1.0)
    other = states[10].update("later", history[0][1], 2.0)
    assert (one.labels[-1], other.labels[-1]) == ("late", "later")
    again = empty(1.0)
    for label, x, r in history[:10]:
        again = again.update(label, x, r)
    np.testing.assert_array_equal(again.table, states[10].table)
    np.testing.assert_array_equal(again.theta, states[10].theta)


def test_what_has_no_name_is_an_item_of_its_own() -> None:
    named, nameless = empty(1.0), empty(1.0)
    for t, (_, x, r) in enumerate(told(10)):
        named, nameless = named.update(f"once {t}", x, r), nameless.update(None, x, r)
    np.testing.assert_array_equal(named.theta, nameless.theta)


def test_faded_weights_are_multiplied_out_before_they_vanish() -> None:
    kept, faded = empty(1.0), empty(1.0)
    for label, x, r in told(20):
        kept, faded = kept.update(label, x, r), faded.update(label, x, r)
    for _ in range(3):
        faded = faded.decayed(1e-60)
    faded = faded.update("item 0", np.ones(D), 1.0)
    fresh = empty(1.0).update("item 0", np.ones(D), 1.0)
    np.testing.assert_allclose(faded.theta, fresh.theta, rtol=1e-12)
