"""Effects of arms and items: the belief against a ridge with one more coordinate for each."""

import math

import numpy as np
import pytest
from scipy import stats

import projbandits as pb
from projbandits.strategies.effects import PENALTY_FACTOR, TAU_FACTOR, TAU_QUANTILE, Effects
from projbandits.testing import check_strategy
from tests import naive
from tests.everyone import WITH_EFFECTS
from tests.worlds import run

K, D, RIDGE = 6, 3, 3.0


def told(
    ratio: float, noise: float, n: int = 25, seed: int = 0, unit: float = 1.0
) -> tuple[Effects, naive.Array, naive.Array]:
    """Return the belief after some pulls, the arms, and each pull's arm and return."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(K, D))
    effects = Effects.prior(D, RIDGE, math.sqrt(ratio) * noise, noise, arms=X)
    pulls = []
    for _ in range(n):
        i = int(rng.integers(K - 1))  # the last arm is never pulled
        r = unit * float(X[i] @ [1.0, -2.0, 0.5] + 0.7 * i + noise * rng.normal())
        effects = effects.update(i, X[i], r)
        pulls.append((i, r))
    return effects, X, np.array(pulls)


@pytest.mark.parametrize("ratio", [0.0, 0.5, 4.0])
def test_the_belief_is_that_of_a_ridge_with_one_more_coordinate_for_each_arm(ratio: float) -> None:
    effects, arms, pulls = told(ratio, noise=0.4)
    aims = np.random.default_rng(9).normal(size=(K, D))
    mean, covariance, spread = naive.with_arm_effects(
        arms, aims, pulls, effects.penalty, ratio, 0.4
    )
    belief = effects.moments_at(arms, aims)
    np.testing.assert_allclose(belief.mean, mean, rtol=1e-9)
    ours = belief.target @ belief.covariance @ belief.target.T + np.diag(belief.own)
    np.testing.assert_allclose(ours, covariance[:K, :K], rtol=1e-9, atol=1e-12)
    across = belief.target @ belief.covariance @ belief.seen.T + np.diag(belief.own)
    np.testing.assert_allclose(across, covariance[:K, K:], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(belief.mean_variance, spread, rtol=1e-9)


def test_the_likelihood_is_that_of_the_returns() -> None:
    effects, arms, pulls = told(1.0, noise=0.4)
    rows = pulls[:, 0].astype(int)
    X, Z = arms[rows], np.eye(K)[rows]

    def direct(ratio: float, variance: float) -> float:
        shape = np.eye(len(rows)) + X @ X.T / effects.penalty + ratio * Z @ Z.T
        return float(stats.multivariate_normal(cov=variance * shape).logpdf(pulls[:, 1]))

    def best(ratio: float) -> float:
        shape = np.eye(len(rows)) + X @ X.T / effects.penalty + ratio * Z @ Z.T
        variance = float(pulls[:, 1] @ np.linalg.solve(shape, pulls[:, 1])) / len(rows)
        assert direct(ratio, variance) >= max(direct(ratio, f * variance) for f in (0.99, 1.01))
        return direct(ratio, variance)

    ratios = [0.0, 0.3, 2.0]
    fits = effects.likelihood(np.array(ratios))[1]
    np.testing.assert_allclose(np.diff(fits), np.diff([best(r) for r in ratios]), rtol=1e-8)
    given = effects.likelihood(np.array(ratios), noise=0.4)[1]
    expected = [direct(ratio, 0.16) for ratio in ratios]
    np.testing.assert_allclose(np.diff(given), np.diff(expected), rtol=1e-8)


def test_what_is_told_is_taken() -> None:
    effects, _, _ = told(1.0, noise=0.4)
    both = effects.fitted(0.8, 0.2)
    assert (both.ratio, both.noise) == pytest.approx((16.0, 0.2))
    tau = effects.fitted(0.8, None)
    assert math.sqrt(tau.ratio) * tau.noise == pytest.approx(0.8)
    sigma = effects.fitted(None, 0.2)
    assert sigma.noise == 0.2


def test_the_variance_is_what_is_left_over_the_free_observations_and_a_standard_error() -> None:
    effects, arms, pulls = told(1.0, noise=0.4)
    rows = pulls[:, 0].astype(int)
    X, Z = arms[rows], np.eye(K)[rows]
    V = X.T @ np.linalg.solve(np.eye(len(rows)) + 2.0 * Z @ Z.T, X) + effects.penalty * np.eye(D)
    shape = np.eye(len(rows)) + X @ X.T / effects.penalty + 2.0 * Z @ Z.T
    left = float(pulls[:, 1] @ np.linalg.solve(shape, pulls[:, 1]))
    free = len(rows) - D + effects.penalty * float(np.trace(np.linalg.inv(V)))
    expected = left / free * (1 + math.sqrt(2 / free))
    assert effects.likelihood(np.array([2.0]))[0] == pytest.approx(expected)


def test_an_estimated_tau_is_a_quantile_of_its_posterior() -> None:
    # By a fine grid and half-Cauchy density; the coarse one is good to a few per cent.
    effects, _, _ = told(1.0, noise=0.4)
    fine = np.geomspace(0.01, 300.0, 3000)
    fits = effects.likelihood(fine**2)[1]
    chances = np.exp(fits - fits.max()) * fine / (1 + fine**2)
    quantile = np.interp(TAU_QUANTILE, chances.cumsum() / chances.sum(), fine)
    found = effects.fitted(None, None)
    assert math.sqrt(found.ratio) == pytest.approx(TAU_FACTOR * quantile, rel=0.1)


@pytest.mark.parametrize("told_effect", [None, 0.8])
def test_estimates_do_not_depend_on_the_unit_of_returns(told_effect: float | None) -> None:
    unit = 1000.0
    effects, large = told(1.0, noise=0.4)[0], told(1.0, noise=0.4, unit=unit)[0]
    one = effects.fitted(told_effect, None)
    other = large.fitted(told_effect and unit * told_effect, None)
    assert (other.ratio, other.penalty) == pytest.approx((one.ratio, one.penalty))
    assert other.noise == pytest.approx(unit * one.noise)


def test_the_noise_is_not_taken_for_small_while_data_are_few() -> None:
    # 100 worlds without effects: the root mean square of the estimate at each of these steps. What
    # effects might explain is not counted as noise, so it may fall a little short of 0.5.
    rng = np.random.default_rng(0)
    squares: dict[int, list[float]] = {3: [], 12: [], 24: []}
    for _ in range(100):
        X, theta = rng.uniform(-1, 1, size=(15, 4)), rng.uniform(-1, 1, size=4)
        effects = Effects.prior(4, 0.1, None, None, arms=X)
        for t in range(1, 25):
            i = int(rng.integers(15))
            effects = effects.update(i, X[i], float(X[i] @ theta + 0.5 * rng.normal()))
            if effects.refit_due:
                effects = effects.fitted(None, None)
            if t in squares:
                squares[t].append(effects.noise**2)
    for found in squares.values():
        assert math.sqrt(np.mean(found)) > 0.45


def test_the_penalty_is_looser_than_the_ridge_and_than_returns_ask_for() -> None:
    effects, arms, pulls = told(1.0, noise=0.4)
    assert Effects.prior(D, 0.3, None, None).penalty == pytest.approx(0.03)
    found = effects.fitted(None, 0.01)
    length = np.mean([f @ f for f in arms])
    alone = 0.01**2 * length / np.mean(pulls[:, 1] ** 2)
    assert found.penalty == pytest.approx(PENALTY_FACTOR * alone)
    assert effects.fitted(None, 100.0).penalty == pytest.approx(PENALTY_FACTOR * RIDGE)


def test_returns_of_nothing_but_zeros_change_no_scale() -> None:
    effects = Effects.prior(2, 1.0, None, None)
    seen = effects.update(0, np.ones(2), 0.0)
    assert (seen.fitted(None, None).ratio, seen.fitted(None, None).noise) == (effects.ratio, 1.0)


def test_thompson_sampling_draws_from_the_belief() -> None:
    # 20,000 draws: shares within five standard errors of those of the belief's own covariance.
    effects, arms, _ = told(0.5, noise=0.4)
    strategy = pb.ProjectedTS(arm_effects=0.4)
    U = pb.Subspace.coordinates([0, 1], D)
    state = strategy.init(pb.FiniteArms(arms), U)._replace(effects=effects)
    rng = np.random.default_rng(1)
    shares = strategy.shares(state, pb.FiniteArms(arms), rng, draws=20_000)
    belief = strategy.belief(state).moments(arms)
    covariance = belief.target @ belief.covariance @ belief.target.T + np.diag(belief.own)
    drawn = rng.multivariate_normal(belief.mean, covariance, size=20_000).argmax(axis=1)
    expected = np.bincount(drawn, minlength=K) / 20_000
    np.testing.assert_allclose(shares, expected, atol=5 * math.sqrt(2 * 0.25 / 20_000))


def test_tau_and_sigma_are_found_where_there_is_enough_to_see() -> None:
    # 60 arms of which each has an effect of deviation 0.8, twice the noise; 20 pulls each. The
    # posterior of tau has a relative deviation of about 1 / sqrt(120).
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    means = X @ [1.0, 2.0, 3.0] + 0.8 * rng.normal(size=60)
    pulls = np.repeat(np.arange(60), 20)
    for noise in (0.4, 0.02):
        effects = Effects.prior(3, 1.0, None, None, arms=X)
        for i in pulls:
            effects = effects.update(int(i), X[i], means[i] + noise * rng.normal())
        found = effects.fitted(None, None).fitted(None, None)  # lambda follows sigma once later
        assert found.noise == pytest.approx(noise, rel=0.1)
        assert math.sqrt(found.ratio) * found.noise == pytest.approx(TAU_FACTOR * 0.8, rel=0.4)


def test_scales_are_estimated_at_steps_that_double() -> None:
    effects, arms, _ = told(1.0, noise=0.4, n=0)
    due = []
    for n in range(1, 50):
        effects = effects.update(0, arms[0], 1.0)
        if effects.refit_due:
            due.append(n)
    assert due == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48]


@pytest.mark.parametrize("strategy", WITH_EFFECTS, ids=repr)
def test_every_strategy_conforms_with_arm_effects(strategy: pb.Strategy) -> None:
    arms = pb.FiniteArms(np.random.default_rng(0).normal(size=(5, 3)))
    check_strategy(strategy, sets=[arms])


def test_an_arm_that_is_better_than_its_features_say_is_found() -> None:
    # Two arms with the same features, and the second has 1 more of its own: without effects they
    # cannot be told apart.
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    problem = pb.problems.instance(
        X,
        returns=[1.0, 2.0, 0.5],
        rewards=[1.0, 2.0, 0.0],
        subspace=pb.Subspace.coordinates([0], 2),
        noise=0.3,
    )
    result = run(problem, [pb.EIIDS(), pb.EIIDS(arm_effects="auto")], trials=20, horizon=1000)
    assert result.found_best is not None
    without, with_effects = result.found_best.mean(axis=1)
    assert without < 0.1
    assert with_effects > 0.9


def test_bad_input() -> None:
    U = pb.Subspace.coordinates([0], 2)
    with pytest.raises(ValueError, match="arm_effects needs finitely many arms, got Ball"):
        pb.GENTRY(arm_effects=1.0).init(pb.Ball(2), U)
    with pytest.raises(ValueError, match="arm_effects must be positive, got -1"):
        pb.GENTRY(arm_effects=-1.0)
    with pytest.raises(ValueError, match="must be 'auto' or a positive number, got 'yes'"):
        pb.GENTRY(arm_effects="yes")
    with pytest.raises(ValueError, match="not proven for arm_effects"):
        pb.DirectedIDS(radius="published", arm_effects=1.0)
    strategy = pb.GENTRY(arm_effects=1.0)
    state = strategy.init(pb.FiniteArms(np.eye(2)), U)
    with pytest.raises(ValueError, match="the same arms at every step, got 1 after 2"):
        strategy.select(state, pb.FiniteArms(np.eye(2)[:1]), np.random.default_rng(0))
    with pytest.raises(ValueError, match="or others"):
        strategy.select(state, pb.FiniteArms(np.eye(2)[::-1]), np.random.default_rng(0))
    for index in (None, -1, 2):
        with pytest.raises(ValueError, match="an index of the 2 arms that have effects"):
            strategy.update(state, pb.Arm(np.array([1.0, 0.0]), index), 1.0)
    assert repr(pb.EIIDS(noise=0.5, arm_effects="auto")) == "EIIDS(noise=0.5, arm_effects='auto')"


def test_noise_told_far_too_small_crashes_nothing_and_something_is_learnt() -> None:
    # V^-1 of one pulled arm and hardly any penalty is close to singular. Random exploration costs
    # 138 here.
    problem = pb.problems.random_arms(d=4, arms=12, u=2)
    for strategy in (pb.ProjectedTS, pb.EIIDS, pb.DirectedIDS):
        for effects in ("auto", 1e-6, 100.0):
            told_wrong = strategy(noise=1e-6, arm_effects=effects)
            result = run(problem, told_wrong, trials=10, horizon=200)
            assert result.regret[0, :, -1].mean() < 138 / 2


def test_a_tau_told_far_too_large_is_weighed_in_both_engines() -> None:
    problem = pb.problems.random_arms(d=4, arms=9, u=2)
    strategies = [pb.EIIDS(arm_effects=20.0), pb.DirectedIDS(arm_effects=20.0)]
    slow, fast = (
        run(problem, strategies, engine, trials=3, checkpoints=range(1, 61))
        for engine in ("reference", "compiled")
    )
    np.testing.assert_allclose(fast.regret, slow.regret, atol=1e-9)
    effects, _, _ = told(1.0, noise=0.4, n=3)
    assert effects.fitted(20.0, None).noise >= 0.2


def empty(ratio: float) -> Effects:
    return Effects.prior(D, RIDGE, math.sqrt(ratio) * 0.4, 0.4)


def shown(n: int = 60, seed: int = 0) -> list[tuple[str, naive.Array, float]]:
    """Returns of five items, of which each is shown with other features every time."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        i, x = int(rng.integers(5)), rng.normal(size=D)
        found.append((f"item {i}", x, float(x @ [1.0, -2.0, 0.5] + 0.7 * i + 0.4 * rng.normal())))
    return found


def believed(
    items: Effects, labels: list[str], X: naive.Array, aims: naive.Array
) -> tuple[naive.Array, naive.Array, naive.Array]:
    """Return the mean of what is wanted, its covariance with it, and with what is returned."""
    moments = items.offered(labels).moments_at(X, aims)
    own = np.diag(moments.own)
    wanted = moments.target @ moments.covariance @ moments.target.T + own
    across = moments.target @ moments.covariance @ moments.seen.T + own
    return moments.mean, wanted, across


@pytest.mark.parametrize("ratio", [0.0, 0.5, 4.0])
@pytest.mark.parametrize("weights", [None, 0.9])
def test_the_belief_is_that_of_a_ridge_with_one_more_column_for_each_item(
    ratio: float, weights: float | None
) -> None:
    rng, items, history = np.random.default_rng(5), empty(ratio), shown()
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
def test_an_arm_that_never_changes_is_an_item(
    scales: tuple[float | None, float | None],
) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(K, D))
    arms, items = Effects.prior(D, RIDGE, *scales, arms=X), Effects.prior(D, RIDGE, *scales)
    for t in range(50):
        # All arms first: how long features are goes by those that were seen.
        i = t if t < K else int(rng.integers(K))
        r = float(X[i] @ [1.0, -2.0, 0.5] + 0.7 * i + 0.4 * rng.normal())
        arms, items = arms.update(i, X[i], r), items.update(str(i), X[i], r)
        if arms.refit_due and t >= K:
            arms, items = arms.fitted(*scales), items.fitted(*scales)
    assert math.isclose(arms.penalty, items.penalty, rel_tol=1e-12)
    one, other = arms.moments_at(X, X), items.offered([*map(str, range(K))]).moments_at(X, X)
    for name in ("mean", "target", "seen", "covariance", "own"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12)
    assert one.noise == pytest.approx(other.noise, rel=1e-12)


def test_what_came_before_stays_as_it_was() -> None:
    history = shown(40)
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
    for t, (_, x, r) in enumerate(shown(10)):
        named, nameless = named.update(f"once {t}", x, r), nameless.update(None, x, r)
    np.testing.assert_array_equal(named.theta, nameless.theta)


def test_faded_weights_are_multiplied_out_before_they_vanish() -> None:
    kept, faded = empty(1.0), empty(1.0)
    for label, x, r in shown(20):
        kept, faded = kept.update(label, x, r), faded.update(label, x, r)
    for _ in range(3):
        faded = faded.decayed(1e-60)
    faded = faded.update("item 0", np.ones(D), 1.0)
    fresh = empty(1.0).update("item 0", np.ones(D), 1.0)
    np.testing.assert_allclose(faded.theta, fresh.theta, rtol=1e-12)
