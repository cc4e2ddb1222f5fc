"""The information-directed strategies: their formulas against slow twins, and what they are for."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits._checks import Array
from projbandits.simulation.kernels.improvement import hidden
from projbandits.strategies.belief import Moments
from projbandits.strategies.directed import directed
from projbandits.strategies.improvement import improvement
from projbandits.strategies.information import Prospect, two_actions
from tests import naive


def some_belief(seed: int, effects: bool) -> Moments:
    rng = np.random.default_rng(seed)
    X, B = rng.normal(size=(7, 4)), rng.normal(size=(4, 4))
    P = pb.Subspace.span(rng.normal(size=(4, 2))).matrix
    own = rng.uniform(0.1, 0.5, size=7) if effects else np.zeros(7)
    return Moments(rng.normal(size=7), X @ P, X, B @ B.T, own, 0.7)


def by_hand(belief: Moments, shrink: Array | None = None) -> tuple[float, Array, Array]:
    b = belief
    return naive.expected_improvement(
        b.mean, b.target, b.seen, b.covariance, b.own, b.noise, shrink
    )


@pytest.mark.parametrize("effects", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_improvement_is_that_of_the_loops(seed: int, effects: bool) -> None:
    belief = some_belief(seed, effects)
    found = improvement(belief)
    _, gaps, info = by_hand(belief)
    assert found.greedy == int(belief.mean.argmax())
    np.testing.assert_allclose(found.gaps, gaps, rtol=1e-10)
    np.testing.assert_allclose(found.info, info, rtol=1e-10)


@pytest.mark.parametrize("effects", [False, True])
def test_information_is_how_fast_a_pull_shrinks_the_hidden_gain(effects: bool) -> None:
    belief = some_belief(0, effects)
    for z, info in enumerate(improvement(belief).info):
        ends = [by_hand(belief, e * np.eye(7)[z])[0] for e in (-1e-5, 1e-5)]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(info, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_with_a_ridge_the_formulas_are_those_of_the_document(seed: int) -> None:
    # As docs/strategies.md writes them: V, sigma apart, and no own parts.
    rng = np.random.default_rng(seed)
    strategy = pb.EIIDS(noise=0.6)
    X = rng.normal(size=(6, 3))
    arms, U = pb.FiniteArms(X), pb.Subspace.span(rng.normal(size=(3, 2)))
    state = strategy.init(arms, U)
    for i in rng.integers(6, size=9):
        state = strategy.update(state, arms.arm(int(i)), rng.normal())
    F, inverse, theta = X @ U.matrix, state.ridge.inverse, state.ridge.theta
    h = int((F @ theta).argmax())
    A = np.zeros((3, 3))
    for y in range(6):
        if y != h:
            w = F[y] - F[h]
            s = 0.6 * math.sqrt(w @ inverse @ w)
            u = float(-w @ theta) / s
            g = inverse @ w
            A += math.exp(-u * u / 2) / math.sqrt(2 * math.pi) / (2 * s) * np.outer(g, g)
    expected = [0.6**2 * (x @ A @ x) / (1 + x @ inverse @ x) for x in X]
    found = strategy.prospect(state, strategy.belief(state).moments(X))
    np.testing.assert_allclose(found.info, expected, rtol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_two_actions_are_the_best_on_a_grid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    h = int(rng.integers(5))
    gaps, info = rng.exponential(size=5), rng.exponential(size=5)
    gaps[h] = gaps.min() * rng.uniform(0.1, 1)
    info[h] *= rng.choice([0.0, 0.1, 1.0])
    j, p = two_actions(Prospect(h, gaps, info))
    value = ((1 - p) * gaps[h] + p * gaps[j]) ** 2 / ((1 - p) * info[h] + p * info[j])
    least = naive.two_actions(h, gaps, info)
    assert value <= least * (1 + 1e-9)
    assert value >= least * (1 - 1e-3)  # no grid point is farther from the least


def test_nothing_to_learn_means_the_greedy_arm() -> None:
    for gap in (0.0, 1.0):
        prospect = Prospect(1, np.array([gap + 1, gap, gap]), np.zeros(3))
        assert two_actions(prospect)[1] == 0.0


def test_equal_arms_leave_the_choice_to_the_first() -> None:
    prospect = Prospect(0, np.array([1.0, 2.0, 2.0 + 1e-14]), np.array([0.0, 1.0, 1.0 + 1e-14]))
    assert two_actions(prospect)[0] == 1


@pytest.mark.parametrize("effects", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_directed_information_is_the_log_of_how_a_pull_shrinks_the_widest(
    seed: int, effects: bool
) -> None:
    belief = some_belief(seed, effects)
    K, h, radius = 7, int(belief.mean.argmax()), 1.5
    # The own parts as further coordinates of theta.
    wanted, seen = (np.hstack([M, np.eye(K)]) for M in (belief.target, belief.seen))
    C = np.zeros((4 + K, 4 + K))
    C[:4, :4] = belief.covariance
    C[4:, 4:] = np.diag(belief.own)
    beyond = wanted - wanted[h]
    s = np.sqrt(np.einsum("ij,jk,ik->i", beyond, C, beyond))
    above = belief.mean - belief.mean[h] + radius * s
    plausible = [y for y in range(K) if above[y] >= 0]
    w = beyond[max(plausible, key=lambda y: s[y])]
    found = directed(belief, radius)
    np.testing.assert_allclose(found.gaps, above.max() + belief.mean[h] - belief.mean)
    for z in range(K):
        x = seen[z]
        after = C - np.outer(C @ x, C @ x) / (x @ C @ x + belief.noise**2)
        assert found.info[z] == pytest.approx(math.log((w @ C @ w) / (w @ after @ w)), rel=1e-8)


def test_the_published_radius_is_the_formula() -> None:
    strategy = pb.DirectedIDS(radius="published", bound=3.0, noise=0.5, ridge=2.0)
    arms = pb.FiniteArms([[1.0, 0.0], [0.0, 2.0]])
    state = strategy.init(arms, pb.Subspace.coordinates([0], d=2))
    for i in (0, 1, 1):
        state = strategy.update(state, arms.arm(i), 1.0)
    det = (2 + 1) * (2 + 8) / 2**2
    expected = math.sqrt(2 * math.log(4**2) + math.log(det)) + math.sqrt(2) * 3 / 0.5
    assert strategy.reach(state) == pytest.approx(expected)
    assert pb.DirectedIDS().reach(state) == pytest.approx(math.sqrt(math.log(4) / 2))


def test_before_anything_is_seen_the_published_radius_is_that_of_the_prior() -> None:
    # log det V - d log lambda is zero then, and may round to less.
    for d in range(1, 11):
        for ridge in (0.1, 0.3, 0.7, 3.0):
            strategy = pb.DirectedIDS(radius="published", noise=1.0, ridge=ridge)
            state = strategy.init(pb.FiniteArms(np.eye(d)), pb.Subspace.coordinates([0], d=d))
            assert strategy.reach(state) == pytest.approx(math.sqrt(ridge), abs=1e-6)


def test_eiratio_takes_the_best_ratio_that_is_repaid_and_ends_greedy() -> None:
    rng = np.random.default_rng(0)
    arms, U = pb.FiniteArms(rng.normal(size=(8, 3))), pb.Subspace.coordinates([0, 1], d=3)
    strategy = pb.EIRatio(horizon=60, noise=0.5)
    state = strategy.init(arms, U)
    strange = 0
    for t in range(1, 61):
        h, gaps, info = improvement(strategy.belief(state).moments(arms.vectors))
        best = h
        for z in range(8):
            repaid = (60 - t) * info[z] >= gaps[z] - gaps[h]
            if repaid and info[z] / gaps[z] > info[best] / gaps[best]:
                best = z
        choice = strategy.select(state, arms, rng)
        assert (choice.index, choice.probability) == (best, 1.0)
        strange += best != h
        state = strategy.update(state, choice.arm, rng.normal())
    assert strange > 5
    assert best == h
    assert strategy.select(state, arms, rng).index == int(
        strategy.belief(state).moments(arms.vectors).mean.argmax()
    )


def test_eiratio_is_greedy_where_no_arm_repays_and_the_best_tells_nothing() -> None:
    # The best arm has no features, so it tells nothing and its information is zero.
    X = np.array([[-1.0, 0.0, 0.5], [0.0, -1.0, -0.5], [0.0, 0.0, 0.0], [-0.5, -0.5, 0.3]])
    problem = pb.problems.instance(
        X, theta=[1.0, 1.0, 0.2], subspace=pb.Subspace.coordinates([0, 1], 3), noise=0.3
    )
    for engine in ("reference", "compiled"):
        result = pb.simulate(
            problem,
            pb.EIRatio(horizon=300),
            trials=5,
            horizon=300,
            engine=engine,
            progress=False,
        )
        assert result.found_best is not None
        assert result.found_best.all()


def test_where_all_is_sure_both_engines_are_greedy() -> None:
    # Without noise the chances of other arms fall below the smallest numbers.
    problem = pb.problems.random_arms(d=3, arms=6, u=1, noise=0.0)
    size = {"trials": 20, "horizon": 300, "checkpoints": np.arange(1, 301), "progress": False}
    strategies = [pb.EIRatio(horizon=300), pb.EIIDS()]
    slow, fast = (
        pb.simulate(problem, strategies, engine=engine, **size)  # type: ignore[arg-type]
        for engine in ("reference", "compiled")
    )
    np.testing.assert_allclose(fast.regret, slow.regret, atol=1e-9)
    assert (np.diff(slow.regret[:, :, 100:]) == 0).mean() > 0.95


def test_an_arm_that_is_not_plausible_is_not_the_widest() -> None:
    # Arm 2 is by far the widest, and so far behind that it cannot be better.
    belief = Moments(
        mean=np.array([0.0, -1.0, -50.0]),
        target=np.diag([1.0, 1.0, 10.0]),
        seen=np.eye(3),
        covariance=np.eye(3),
        own=np.zeros(3),
        noise=1.0,
    )
    assert directed(belief, 2.0).info[2] == 0.0
    assert directed(belief, 2.0).info[1] > 0.0
    assert directed(belief, 20.0).info[2] > directed(belief, 20.0).info[1]


def test_draws_have_the_belief_as_their_distribution() -> None:
    # 40,000 draws: covariances to five standard errors of the largest, and the mean likewise.
    strategy = pb.ProjectedTS(noise=0.5)
    arms, U = pb.FiniteArms([[1.0, 0.2], [0.3, 2.0]]), pb.Subspace.coordinates([0], d=2)
    state = strategy.init(arms, U)
    for i, r in ((0, 1.0), (1, -1.0), (0, 0.5)):
        state = strategy.update(state, arms.arm(i), r)
    normals = np.random.default_rng(0).standard_normal((40_000, 2))
    drawn = strategy.belief(state).directions(normals)[1:]
    deviation = 0.5 * math.sqrt(state.ridge.inverse[0, 0])
    assert drawn[:, 0].mean() == pytest.approx(state.ridge.theta[0], abs=5 * deviation / 200)
    assert drawn[:, 0].std() == pytest.approx(deviation, rel=5 / math.sqrt(2 * 40_000))
    assert (drawn[:, 1] == 0).all()


@pytest.mark.parametrize("noise", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("n", [4, 30, 1000])
def test_the_noise_is_estimated_on_the_high_side(noise: float, n: int) -> None:
    # The squared estimate, less the standard error that is added, averages at least sigma^2
    # whatever theta is; 300 worlds leave an error of 12 % at n = 4 and less later.
    rng = np.random.default_rng(0)
    squares = []
    for _ in range(300):
        X, theta = rng.uniform(-1, 1, size=(n, 3)), rng.uniform(-1, 1, size=3)
        ridge = pb.Ridge.prior(3, 0.1).update_many(X, X @ theta + noise * rng.normal(size=n))
        squares.append(ridge.cautious_noise**2)
    assert np.mean(squares) > noise**2
    if n == 1000:
        assert np.sqrt(np.mean(squares)) == pytest.approx(noise, rel=0.05)


def test_before_anything_but_zeros_was_seen_the_noise_does_not_matter() -> None:
    arms = pb.FiniteArms(np.random.default_rng(0).normal(size=(9, 4)))
    U = pb.Subspace.coordinates([0, 1], d=4)
    for kind in (pb.EIIDS, pb.DirectedIDS):
        chosen = set()
        for noise in (None, 0.01, 100.0):
            strategy = kind(noise=noise)
            state = strategy.init(arms, U)
            for i in (3, 5):
                state = strategy.update(state, arms.arm(i), 0.0)
            chosen.add(strategy.select(state, arms, np.random.default_rng(1)).index)
        assert len(chosen) == 1


def test_the_kernel_polynomial_is_the_expected_improvement() -> None:
    for u in np.linspace(0, 6, 200):
        phi = math.exp(-u * u / 2) / math.sqrt(2 * math.pi)
        exact = 1 - u * 0.5 * math.erfc(u / math.sqrt(2)) / phi
        assert hidden(u) == pytest.approx(exact, rel=1e-13 * (1 + 40 * u * u))
    for u in (20.0, 35.0):  # its series for large u
        assert hidden(u) == pytest.approx((1 - 3 / u**2 + 15 / u**4 - 105 / u**6) / u**2, rel=1e-6)


def test_thompson_sampling_tells_its_probabilities_on_request() -> None:
    strategy = pb.ProjectedTS()
    rng = np.random.default_rng(0)
    arms, U = pb.FiniteArms(rng.normal(size=(4, 3))), pb.Subspace.coordinates([0, 1], d=3)
    state = strategy.init(arms, U)
    for i in (0, 1, 2):
        state = strategy.update(state, arms.arm(i), rng.normal())
    shares = strategy.shares(state, arms, rng, draws=4000)
    counts = Counter(strategy.select(state, arms, rng).index for _ in range(4000))
    assert shares.sum() == pytest.approx(1.0)
    assert math.isnan(strategy.select(state, arms, rng).probability)
    for i, share in enumerate(shares):  # five standard errors of a difference
        assert abs(counts[i] / 4000 - share) < 5 * math.sqrt(2 * 0.25 / 4000)


def test_on_a_convex_set_they_choose_among_points_that_the_state_determines() -> None:
    ball, U = pb.Ball(3), pb.Subspace.coordinates([0, 1], d=3)
    strategy = pb.EIIDS()
    state = strategy.update(strategy.init(ball, U), pb.Arm(np.array([1.0, 0.0, 0.0])), 0.7)
    X = strategy.candidates(state, ball).vectors
    assert (strategy.candidates(state, ball).vectors == X).all()
    np.testing.assert_allclose(X[0], ball.maximize(strategy.aim(state)))
    np.testing.assert_allclose(X[-3:], ball.basis())
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
    assert np.abs(X[1:17, 2]).max() < 1e-12  # what draws propose is best for a projected theta
    later = strategy.candidates(state._replace(step=state.step + 1), ball).vectors
    assert not np.allclose(X[1:17], later[1:17])
    rng = np.random.default_rng(0)
    for _ in range(20):
        chosen = strategy.select(state, ball, rng).arm.x
        assert (np.abs(X - chosen).max(axis=1) == 0).any()


@pytest.mark.parametrize("subspace", ["random", "coordinates"])
def test_they_pay_a_fraction_of_gentrys_regret(subspace: str) -> None:
    # 60 trials of 3,000 steps: a quarter and a sixth hold at 10,000 steps, where GENTRY's regret
    # has grown further; docs/strategies.md has the figures.
    result = pb.simulate(
        pb.problems.random_arms(subspace=subspace),
        [pb.EIIDS(), pb.EIRatio(horizon=3000), pb.DirectedIDS(), pb.GENTRY(basis="first")],
        trials=60,
        horizon=3000,
        seed=1,
        progress=False,
    )
    means = result.regret[:, :, -1].mean(axis=1)
    assert (means[:3] < 0.5 * means[3]).all()


def test_bad_parameters_are_named() -> None:
    with pytest.raises(ValueError, match=r"noise must be positive, got 0\.0"):
        pb.EIIDS(noise=0.0)
    with pytest.raises(ValueError, match="horizon must be at least 1, got 0"):
        pb.EIRatio(horizon=0)
    with pytest.raises(ValueError, match="radius must be one of 'practical', 'published'"):
        pb.DirectedIDS(radius="wide")
    with pytest.raises(ValueError, match=r"bound must be positive, got -1\.0"):
        pb.DirectedIDS(bound=-1.0)
    assert repr(pb.EIIDS()) == "EIIDS()"
    assert repr(pb.EIRatio(horizon=10, ridge=1.0)) == "EIRatio(horizon=10, ridge=1.0)"


@pytest.mark.parametrize("strategy", [pb.EIIDS(), pb.DirectedIDS()], ids=repr)
def test_the_probabilities_of_all_arms_are_those_of_the_choices(strategy: Any) -> None:
    rng = np.random.default_rng(4)
    arms = pb.FiniteArms(rng.normal(size=(6, 3)))
    state = strategy.init(arms, pb.Subspace.coordinates([0, 1], 3))
    mixed = 0
    for _ in range(40):
        chances = strategy.probabilities(state, arms)
        assert chances.sum() == pytest.approx(1.0)
        choice = strategy.select(state, arms, rng)
        assert chances[choice.index] == pytest.approx(choice.probability)
        mixed += (chances > 0).sum() == 2
        state = strategy.update(state, choice.arm, float(rng.normal()))
    assert mixed > 0
