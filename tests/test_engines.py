"""The engines mean the same: compiled equals reference, events equals it in distribution."""

import dataclasses
import inspect
import math
from threading import Timer
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import projbandits as pb
from projbandits.arms import ConvexSet
from projbandits.problems import Bernoulli, Problem, Uniform
from projbandits.simulation import compiled, engines, events, executors
from projbandits.simulation.arrays import Arrays
from projbandits.simulation.kernels.event_loop import DEPTH, still, stretch
from projbandits.simulation.kernels.philox import begin, normal, uniform
from projbandits.simulation.kernels.support import REGIONS, support
from projbandits.simulation.request import Spec
from projbandits.simulation.streams import key, stream
from projbandits.strategies import LinearStrategy
from projbandits.strategies.belief import Moments
from projbandits.strategies.information import Prospect
from tests import naive
from tests.everyone import everyone

FIVE: list[LinearStrategy] = [
    pb.GENTRY(),
    pb.CURSE(alpha=0.3, basis="first"),
    pb.REGRET(ridge=2.0),
    pb.UE(alpha=0.3),
    pb.ProjectedUE(),
]
BELIEVING: list[LinearStrategy] = [
    pb.EIIDS(),
    pb.EIIDS(noise=0.2, ridge=1.0),
    pb.EIRatio(horizon=200),
    pb.DirectedIDS(),
    pb.DirectedIDS(radius="published"),
    pb.DirectedIDS(radius="published", bound=2.0, noise=0.4, ridge=2.0),
    pb.ProjectedTS(),
]
BEFORE = {type(strategy) for strategy in FIVE + BELIEVING}
ALL = [*FIVE, *BELIEVING, *(new for new in everyone() if type(new) not in BEFORE)]
U3 = pb.Subspace.coordinates([0, 1], d=3)
THETA = [1.0, 0.5, -0.7]


def given(arms: Any, subspace: pb.Subspace = U3, **options: Any) -> Problem:
    return pb.problems.instance(arms, theta=THETA, subspace=subspace, **options)


TWINS = np.random.default_rng(0).uniform(-1, 1, size=(5, 3))[[0, 1, 1, 2, 3, 4, 0]]
PLANE = np.random.default_rng(1).uniform(-1, 1, size=(6, 2)) @ np.eye(2, 3)
FINITE: dict[str, Problem] = {
    "setting-a": pb.problems.random_arms(),
    "setting-b": pb.problems.random_arms(subspace="coordinates"),
    "uniform": pb.problems.random_arms(noise=Uniform(0.5)),
    "bernoulli": pb.problems.random_arms(noise=Bernoulli(0.5)),
    "no-noise": pb.problems.random_arms(noise=0.0),
    "wine": pb.problems.wine(arms=40),
    "twins": given(TWINS),
    "zero-arm": given(np.vstack([np.zeros(3), np.eye(3)])),
    "best-arm-of-zeros": given(np.vstack([-np.eye(3)[:2], np.zeros(3), np.eye(3)[2]]), noise=0.3),
    "k-below-d": given(PLANE),
    "single": given([[1.0, 2.0, 0.0]], pb.Subspace.span([[1.0], [2.0], [0.0]])),
}
CONVEX: dict[str, Problem] = {
    "setting-c": pb.problems.entropy_ball(),
    "entropy-below-0": pb.problems.entropy_ball(bound=-0.5),
    "ball": given(pb.Ball(3)),
    "ball-centred": given(pb.Ball(3, center=[1.0, 2.0, 0.0]), noise=Uniform()),
    "ellipsoid": given(pb.Ellipsoid([[2.0, 0.5, 0], [0.5, 1.0, 0], [0, 0, 4.0]], center=[1, 0, 0])),
    "box": given(pb.Box([-1.0, 0.0, -1.0], [1.0, 1.0, 2.0]), noise=Bernoulli()),
}


def run(problem: Problem, strategies: Any, engine: str, **options: Any) -> pb.Result:
    return pb.simulate(problem, strategies, engine=engine, progress=False, **options)


@pytest.mark.parametrize("name", FINITE)
def test_compiled_plays_the_same_arms_as_reference(name: str) -> None:
    # The same streams, so the same choices: with distinct gaps, equal regret at each step.
    size = {"trials": 3, "horizon": 250, "checkpoints": range(1, 251)}
    one = run(FINITE[name], ALL, "reference", **size)
    other = run(FINITE[name], ALL, "compiled", **size)
    np.testing.assert_allclose(other.regret, one.regret, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(other.return_regret, one.return_regret, rtol=1e-10, atol=1e-10)
    assert np.array_equal(other.best_share, one.best_share)  # type: ignore[arg-type]
    assert np.array_equal(other.found_best, one.found_best)  # type: ignore[arg-type]
    assert set(other.engines) == {"compiled"}


@pytest.mark.parametrize("name", CONVEX)
def test_compiled_plays_the_same_points_as_reference(name: str) -> None:
    size = {"trials": 2, "horizon": 50}
    one = run(CONVEX[name], ALL, "reference", **size)
    other = run(CONVEX[name], ALL, "compiled", **size)
    # A maximum known to 1e-10 in height is known to about 1e-5 in place.
    tolerance = 1e-4 * np.abs(one.regret).max()
    np.testing.assert_allclose(other.regret, one.regret, atol=tolerance)
    np.testing.assert_allclose(other.return_regret, one.return_regret, atol=2 * tolerance)


@pytest.mark.parametrize("name", CONVEX)
def test_compiled_support_points_are_those_of_the_set(name: str) -> None:
    arms = CONVEX[name].world(np.random.default_rng(0)).arms
    assert isinstance(arms, ConvexSet)
    region = REGIONS[type(arms)](arms)
    rng = np.random.default_rng(1)
    x = np.empty(arms.d)
    for i in range(2000):
        c = rng.normal(size=arms.d) * 10 ** rng.uniform(-6, 6, size=arms.d)
        c = -np.abs(c) if i % 3 == 0 else c
        c[rng.integers(arms.d)] *= i % 5 > 0
        support(region, c, x)
        np.testing.assert_allclose(x, arms.maximize(c), rtol=1e-8, atol=1e-10)


def p_value(one: Any, other: Any) -> float:
    """Of Kolmogorov and Smirnov's two-sample test; conservative where values repeat."""
    return float(stats.ks_2samp(one.round(9), other.round(9), method="asymp").pvalue)


GREEDY = [pb.GENTRY(), pb.CURSE(alpha=0.5), pb.REGRET(alpha=2.0, schedule="smooth")]
LEVEL = 1e-4


def flag(*, raised: bool = False) -> NDArray[np.uint8]:
    return np.full(1, raised, np.uint8)


@pytest.mark.parametrize(
    "name", ["setting-a", "setting-b", "no-noise", "wine", "twins", "zero-arm", "k-below-d"]
)
def test_events_agree_with_steps_in_distribution(name: str) -> None:
    # 2,000 trials each, other seeds, the compiled loop standing for the reference, which it equals
    # above. Kolmogorov and Smirnov's two-sample test of both regrets at two steps, and Fisher's of
    # the share that found the best arm; each at level 1e-4, 15 tests for each of 7 worlds.
    size = {"trials": 2000, "horizon": 500, "checkpoints": [100, 500]}
    steps = run(FINITE[name], GREEDY, "compiled", seed=1, **size)
    skips = run(FINITE[name], GREEDY, "events", seed=2, **size)
    assert steps.found_best is not None
    assert skips.found_best is not None
    for i in range(len(GREEDY)):
        for one, other in (
            (steps.regret, skips.regret),
            (steps.return_regret, skips.return_regret),
        ):
            for checkpoint in (0, 1):
                a, b = one[i, :, checkpoint], other[i, :, checkpoint]
                assert p_value(a, b) > LEVEL
        found = [[f[i].sum(), (~f[i]).sum()] for f in (steps.found_best, skips.found_best)]
        assert stats.fisher_exact(np.array(found)).pvalue > LEVEL


@pytest.mark.parametrize(
    ("most", "drift", "sd", "q", "low", "high"),
    [
        (100, 0.0, 1.0, 0.1, -1.0, 1.0),
        (100, 0.0, 1.0, 0.02, -4.0, 3.0),
        (300, 0.05, 1.0, 0.01, -math.inf, 5.0),
        (64, -0.3, 0.5, 0.5, -0.8, math.inf),
        (7, 0.1, 1.0, 3.0, -0.2, 0.3),
        (250, 0.02, 0.3, 0.001, -2.0, 6.0),
    ],
)
def test_a_stretch_ends_when_and_where_a_walk_step_by_step_does(
    most: int, drift: float, sd: float, q: float, low: float, high: float
) -> None:
    # 4,000 stretches by halving against 4,000 by single steps: pulls and sums, level 1e-4 each.
    one, other = begin(key(1), 0, 0), np.random.default_rng(2)
    interval = low, high, False, False
    rest = np.empty(DEPTH, np.int64), np.empty(DEPTH), one, flag()
    skips = np.array([stretch(most, drift, sd, q, interval, *rest) for _ in range(4000)])
    steps = np.array([naive.stretch(most, drift, sd, q, low, high, other) for _ in range(4000)])
    assert (steps[:, 0] < most).mean() > 0.05  # some leave early, or there is nothing to see
    for column in (0, 1):
        assert p_value(skips[:, column], steps[:, column]) > LEVEL


def test_streams_in_kernels_are_those_of_numpy() -> None:
    for seed, trial, purpose in ((0, 0, 1), (1, 7, 2), (2**70, 2**40, 1)):
        counter = np.array([0, 0, trial, purpose], np.uint64)
        rng = np.random.Generator(np.random.Philox(key=key(seed), counter=counter))
        numbers = rng.random(2000)
        inside = begin(key(seed), trial, purpose)
        assert [uniform(inside) for _ in numbers] == numbers.tolist()
        radius = np.sqrt(-2 * np.log(1 - numbers[::2]))
        angle = 2 * np.pi * numbers[1::2]
        expected = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]).ravel()
        inside = begin(key(seed), trial, purpose)
        normals = np.array([normal(inside) for _ in expected])
        np.testing.assert_allclose(normals, expected, rtol=1e-12, atol=1e-12)
        assert stats.kstest(normals, "norm").pvalue > LEVEL


class Varied:
    """Worlds of several shapes, as somebody else's problem may have them."""

    def world(self, rng: np.random.Generator) -> pb.problems.World:
        arms = pb.FiniteArms(rng.normal(size=(rng.integers(3, 5), 3)))
        return pb.problems.World(arms, U3, pb.problems.Gaussian(rng.random()), theta=rng.random(3))

    def __repr__(self) -> str:
        return "Varied()"


class Blurred(Varied):
    """Worlds of one shape in some of which round-off leaves fewer arms to the basis."""

    def world(self, rng: np.random.Generator) -> pb.problems.World:
        near = pb.FiniteArms([[1.0, 1.0], [1.0, 1.0 + 3e-11]])
        arms = near if rng.random() < 0.5 else pb.FiniteArms(np.eye(2))
        U = pb.Subspace.coordinates([0], d=2)
        return pb.problems.World(arms, U, pb.problems.Gaussian(), theta=rng.random(2))


@pytest.mark.parametrize(
    "problem", [Varied(), Blurred(), *FINITE.values()], ids=["varied", "blurred", *FINITE]
)
def test_worlds_played_together_come_to_the_same_as_one_by_one(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    strategies = [*GREEDY, pb.GENTRY(schedule=always), pb.GENTRY(basis="first"), pb.UE()]
    size = {"trials": 40, "horizon": 100}
    together = run(problem, strategies, "auto", **size)
    monkeypatch.setattr(engines, "BATCH", 1)
    single = run(problem, strategies, "auto", **size)
    assert np.array_equal(together.regret, single.regret)
    assert np.array_equal(together.best_share, single.best_share)  # type: ignore[arg-type]


def test_events_would_be_told_from_a_strategy_that_explores_a_quarter_more() -> None:
    size = {"trials": 2000, "horizon": 500, "checkpoints": [500]}
    steps = run(FINITE["setting-a"], pb.GENTRY(alpha=1.0), "compiled", seed=1, **size)
    skips = run(FINITE["setting-a"], pb.GENTRY(alpha=1.25), "events", seed=2, **size)
    assert p_value(steps.regret[0, :, 0], skips.regret[0, :, 0]) < LEVEL


@pytest.mark.parametrize("name", [n for n in FINITE if n not in ("uniform", "bernoulli")])
def test_without_noise_and_coins_events_equal_reference_exactly(name: str) -> None:
    # No exploration and no noise leave nothing to chance.
    world = FINITE[name].world(np.random.default_rng(5))
    still = pb.problems.Instance(
        pb.problems.World(
            world.arms,
            world.subspace,
            pb.problems.Gaussian(0.0),
            returns=world.arm_returns,
            rewards=world.arm_rewards,
        )
    )
    strategies = [pb.GENTRY(schedule=never), pb.CURSE(schedule=never), pb.REGRET(schedule=never)]
    size = {"trials": 1, "horizon": 300, "checkpoints": range(1, 301)}
    one, other = (
        run(still, strategies, "reference", **size),
        run(still, strategies, "events", **size),
    )
    np.testing.assert_allclose(other.regret, one.regret, rtol=1e-9, atol=1e-9)
    assert np.array_equal(other.best_share, one.best_share)  # type: ignore[arg-type]


@pytest.mark.parametrize("most", [2, 3, 5, 100, 1000])
@pytest.mark.parametrize("drift", [-0.5, 0.0, 0.5])
@pytest.mark.parametrize("end", [1.0, 1.5, 2.0])
def test_without_noise_a_stretch_ends_where_single_steps_do(
    most: int, drift: float, end: float
) -> None:
    # With q = 1/4, c is exactly 1 at step 4 and 1.5 at step 12, and never reaches 2.
    for is_open in (False, True):
        last = np.nextafter(end, 0.0) if is_open else end
        expected = naive.stretch(most, drift, 0.0, 0.25, -last, last, np.random.default_rng(0))
        assert still(most, drift, 0.25, (-end, end, is_open, is_open)) == expected


@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.CURSE(), pb.REGRET(alpha=5.0)], ids=repr)
def test_arms_that_are_level_without_noise_are_not_walked_step_by_step(strategy: Any) -> None:
    horizon = 10**12
    level = np.zeros(3)
    problem = pb.problems.instance(np.eye(3), returns=level, rewards=level, subspace=U3, noise=0.0)
    world = problem.world(np.random.default_rng(0))
    stop = flag()
    late = Timer(60, stop.fill, [1])  # a walk would take hours; cut short it is seen all the same
    late.start()
    _, trace = events.run({0: world}, strategy, np.array([horizon]), 0, stop)
    late.cancel()
    assert trace.pulls.sum() == horizon
    assert trace.pulls[0, 1:].max() < 1000  # a tie goes to the first


def test_a_raised_flag_stops_events_while_they_are_played() -> None:
    # Some 8 million explorations a trial, which take many seconds.
    problem, strategy, steps = FINITE["setting-a"], pb.GENTRY(alpha=1e5), np.array([1000, 10**9])
    spec = Spec(problem, (strategy,), ("events",), 2, 10**9, 0, steps)
    run(problem, strategy, "events", trials=1, horizon=1)  # whatever has to be compiled is by now
    stop = flag()
    raising = Timer(0.3, stop.fill, [1])
    raising.start()
    (records,) = executors.run_chunk(spec, range(2), stop)
    raising.join()
    assert (records.regret[:, -1] == 0.0).all()  # never came there
    assert records.regret[0, 0] > 0.0  # but began


def test_a_raised_flag_stops_within_a_stretch_and_a_schedule() -> None:
    interval = -1.0, 1.0, False, False
    rest = np.empty(DEPTH, np.int64), np.empty(DEPTH), begin(key(1), 0, 0), flag(raised=True)
    assert stretch(100, 0.0, 1.0, 0.1, interval, *rest) == (0, 0.0)
    rng = np.random.default_rng(0)
    assert events._exploring_steps(always, 100, rng, flag(raised=True)) == []
    assert events._exploring_steps(always, 100, rng, flag()) != []


def rises(t: int) -> float:
    return 1e-5 if t < 2_000_000 else 1e-3


def awakes(t: int) -> float:
    return 0.0 if t < 2_000_000 else 1e-3


@pytest.mark.parametrize("schedule", [rises, awakes])
def test_a_schedule_that_increases_late_is_refused(schedule: Any) -> None:
    # Beyond the steps that are all looked at; thinning would miss most of the explorations.
    with pytest.raises(ValueError, match=r"schedule must not increase, got .* and 0.001 at step"):
        run(FINITE["twins"], pb.GENTRY(schedule=schedule), "events", trials=1, horizon=4_000_000)


def test_a_schedule_may_become_too_small_to_jump_by() -> None:
    world = FINITE["twins"].world(np.random.default_rng(0))
    strategy = pb.GENTRY(schedule=lambda t: 1e-320)
    _, trace = events.run({0: world}, strategy, np.array([9]), 0, flag())
    assert trace.pulls.sum() == 9


def never(t: int) -> float:
    return 0.0


def always(t: int) -> float:
    return 0.3


def test_a_constant_schedule_explores_at_its_rate() -> None:
    problem = given(np.eye(3))
    strategies = [pb.GENTRY(schedule=always)]
    size = {"trials": 2000, "horizon": 300, "checkpoints": [300]}
    one, other = (
        run(problem, strategies, "compiled", seed=1, **size),
        run(problem, strategies, "events", seed=2, **size),
    )
    assert p_value(one.regret[0, :, 0], other.regret[0, :, 0]) > LEVEL


def test_a_horizon_of_one_is_one_step() -> None:
    result = run(pb.problems.random_arms(), GREEDY, "events", trials=20, horizon=1)
    assert result.steps.tolist() == [1]
    assert (result.regret >= 0).all()


def test_checkpoints_do_not_change_a_run_of_events() -> None:
    few = run(
        pb.problems.random_arms(), GREEDY, "events", trials=5, horizon=5000, checkpoints=[700, 5000]
    )
    many = run(pb.problems.random_arms(), GREEDY, "events", trials=5, horizon=5000)
    at = np.searchsorted(many.steps, 5000)
    np.testing.assert_allclose(few.regret[..., 1], many.regret[..., at])
    assert np.array_equal(few.found_best, many.found_best)  # type: ignore[arg-type]


def test_pull_counts_agree_with_steps_in_distribution() -> None:
    # Gaps that are powers of a large base write the pull counts of a trial into its regret.
    X = np.array([[1.0, 0.0, 0.2], [0.0, 1.0, -0.3], [0.6, 0.6, 0.9], [-0.2, 0.8, 0.4]])
    gaps = np.array([0.0, 1.0, 1e3, 1e6])
    problem = pb.problems.instance(
        X, returns=X @ np.array(THETA), rewards=-gaps, subspace=U3, noise=0.5
    )
    size = {"trials": 2000, "horizon": 400, "checkpoints": [400]}
    for strategy in GREEDY:
        pulls = []
        for engine, seed in (("compiled", 1), ("events", 2)):
            regret = run(problem, strategy, engine, seed=seed, **size).regret[0, :, 0].round()
            pulls.append([regret % 1e3, regret // 1e3 % 1e3, regret // 1e6])
        for one, other in zip(*pulls, strict=True):
            assert p_value(one, other) > LEVEL


@pytest.mark.parametrize("horizon", [1000, 10**6, 10**9])
@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.REGRET(alpha=5.0)], ids=repr)
def test_the_belief_is_the_ridge_solution_of_the_pulls(
    strategy: LinearStrategy, horizon: int
) -> None:
    for trial in range(5):
        world = pb.problems.random_arms().world(stream(0, trial, "world"))
        arrays = Arrays(world)
        steps = np.array([horizon])
        assert isinstance(strategy, pb.GENTRY | pb.REGRET)
        _, traces = events.run({trial: world}, strategy, steps, 0, flag())
        trace = events.Trace(*(rows[0] for rows in traces))
        assert trace.pulls.sum() == horizon
        learn = (arrays.whole if strategy.learns_on == "arm" else arrays.projected)[0]
        V = np.eye(10) + (learn.T * trace.pulls) @ learn
        theta = np.linalg.solve(V, learn.T @ trace.totals)
        exact = np.linalg.inv(V)
        size = np.sqrt(np.diag(exact))
        assert (trace.inverse == trace.inverse.T).all()
        assert np.linalg.eigvalsh(trace.inverse)[0] > 0
        # Both sides lose the condition number of V, which grows with the horizon.
        np.testing.assert_allclose(trace.inverse, exact, atol=1e-15 * horizon + 1e-12)
        assert np.abs((trace.theta - theta) / size).max() < 1e-2 / math.sqrt(1e-3 * horizon) + 1e-4


def test_auto_takes_the_fastest_engine_that_is_exact() -> None:
    names = {
        "events": run(FINITE["setting-a"], pb.GENTRY(), "auto", trials=1, horizon=5),
        "compiled": run(FINITE["uniform"], [pb.GENTRY(), pb.UE()], "auto", trials=1, horizon=5),
        "reference": run(
            given(pb.Polytope(np.vstack([np.eye(3), -np.eye(3)]), np.ones(6))),
            pb.GENTRY(),
            "auto",
            trials=1,
            horizon=5,
        ),
    }
    for name, result in names.items():
        assert set(result.engines) == {name}


@pytest.mark.parametrize(
    ("engine", "problem", "strategy", "reason"),
    [
        ("events", "setting-a", pb.UE(), "UE is not epsilon_t-greedy"),
        ("events", "uniform", pb.GENTRY(), "it needs Gaussian noise, got Uniform"),
        ("events", "setting-c", pb.GENTRY(), "it needs finitely many arms, got EntropyBall"),
        ("compiled", "polytope", pb.GENTRY(), "no compiled support points for Polytope"),
        ("compiled", "large", pb.GENTRY(), "would cost it accuracy"),
    ],
)
def test_an_engine_that_cannot_serve_says_why(
    engine: str, problem: str, strategy: LinearStrategy, reason: str
) -> None:
    others = {
        "polytope": given(pb.Polytope(np.vstack([np.eye(3), -np.eye(3)]), np.ones(6))),
        "large": given(1e6 * np.eye(3)),
    }
    with pytest.raises(ValueError, match=f"engine '{engine}' cannot run .* here: .*{reason}"):
        run({**FINITE, **CONVEX, **others}[problem], strategy, engine, trials=1, horizon=5)


class Worst(pb.GENTRY):
    """GENTRY that plays the arm it thinks least of."""

    def greedy(self, state: pb.State, arms: pb.DecisionSet) -> pb.Arm:
        return arms.best(-self.aim(state))


class Bold(pb.UE):
    """UE with another radius."""

    def radius(self, t: int, arms: pb.DecisionSet) -> float:
        return 100.0


class Sided(pb.LinearStrategy):
    """What a class brings in from beside its parents, not from below them."""

    def greedy(self, state: pb.State, arms: pb.DecisionSet) -> pb.Arm:
        return arms.best(-self.aim(state))


class Mixed(pb.GENTRY, Sided):
    """GENTRY whose greedy arm comes from a class that stands behind EpsilonGreedy."""


@pytest.mark.parametrize(
    ("strategy", "what"), [(Worst(), "greedy"), (Bold(), "radius"), (Mixed(), "greedy")], ids=repr
)
def test_a_changed_part_of_the_choice_is_seen(strategy: LinearStrategy, what: str) -> None:
    size = {"trials": 2, "horizon": 60}
    auto = run(FINITE["setting-a"], strategy, "auto", **size)
    assert auto.engines == ("reference",)
    assert (auto.regret == run(FINITE["setting-a"], strategy, "reference", **size).regret).all()
    for engine in ("compiled", "events") if isinstance(strategy, pb.GENTRY) else ("compiled",):
        with pytest.raises(ValueError, match=f"defines {what} anew but no compiled_rule"):
            run(FINITE["setting-a"], strategy, engine, **size)


@pytest.mark.parametrize("strategy", everyone(), ids=repr)
def test_no_part_of_a_strategy_can_be_changed_unseen(strategy: LinearStrategy) -> None:
    # Every method and property by itself, in a subclass and on the instance.
    kind, world = type(strategy), FINITE["twins"].world(np.random.default_rng(0))
    assert compiled.why_not(world, strategy) is None
    fields = {field.name for field in dataclasses.fields(strategy)}
    given = {name: getattr(strategy, name) for name in fields}
    parts = [n for n in dir(kind) if not n.startswith("__") and n not in {"_abc_impl", *fields}]
    assert {"select", "greedy", "learnt", "init", "aim", "update", "known_scales"} <= {*parts}
    for name in set(parts) - {"compiled_rule", "learns_on", "aims_at"}:
        original = inspect.getattr_static(kind, name)
        twin = property(original.fget) if isinstance(original, property) else lambda *a, **k: 0
        changed = type("Changed", (kind,), {name: twin})(**given)
        assert compiled.why_not(world, changed) is not None, name
        if not isinstance(original, property):
            object.__setattr__(patched := kind(**given), name, twin)
            assert compiled.why_not(world, patched) is not None, name
    declared = type("Declared", (kind,), {"aims_at": "return", "note": "a name of its own"})
    assert compiled.why_not(world, declared(**given)) is None


class Deaf(pb.EIIDS):
    """EIIDS with another prospect, which no kernel knows."""

    def prospect(self, state: pb.State, belief: Moments) -> Prospect:
        return Prospect(0, np.ones(len(belief.mean)), np.zeros(len(belief.mean)))


class Changed(pb.GENTRY):
    """GENTRY with a choice of its own, which no kernel knows."""

    def select(self, state: pb.State, arms: pb.DecisionSet, rng: np.random.Generator) -> pb.Choice:
        return pb.Choice(arms.basis_arms()[0], 1.0)


def test_a_strategy_that_changes_the_choice_is_not_run_as_its_parent() -> None:
    assert run(FINITE["twins"], Changed(), "auto", trials=1, horizon=5).engines == ("reference",)
    assert run(FINITE["twins"], Deaf(), "auto", trials=1, horizon=5).engines == ("reference",)
    with pytest.raises(ValueError, match="Changed defines select anew"):
        run(FINITE["twins"], Changed(), "compiled", trials=1, horizon=5)


class Astray(pb.GENTRY):
    """Chooses a row of its own from step 7 on, by either engine."""

    alpha: float  # the row

    def select(self, state: pb.State, arms: pb.DecisionSet, rng: np.random.Generator) -> pb.Choice:
        row = int(self.alpha) - 10 if state.step >= 7 else 0
        return pb.Choice(pb.Arm(np.zeros(arms.d), row), 1.0)

    def compiled_rule(
        self, arms: pb.DecisionSet, subspace: pb.Subspace, horizon: int
    ) -> pb.CompiledRule:
        return pb.CompiledRule(astray, np.array([self.alpha - 10]))


def astray(t: Any, view: Any, rng: Any) -> Any:
    return int(view.parameters[0]) if t >= 7 else 0


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("row", [7, -1, 2**40])
def test_a_row_outside_of_the_arms_is_never_read(engine: str, row: int) -> None:
    strategy = Astray(alpha=row + 10)
    with pytest.raises(ValueError, match=rf"Astray\(.* from 0 to 6, .* {row} at step 7"):
        run(FINITE["twins"], strategy, engine, trials=1, horizon=20)
    run(FINITE["twins"], Astray(alpha=16), engine, trials=1, horizon=20)


def test_ten_to_the_nine_steps_take_no_longer_than_looking_up() -> None:
    result = run(
        pb.problems.random_arms(), pb.GENTRY(alpha=3.0), "events", trials=20, horizon=10**9
    )
    assert (np.diff(result.regret, axis=-1) >= 0).all()
    assert result.regret.max() < 10**10


class Growing:
    """Worlds whose arms grow from trial to trial, beyond what the compiled engines take."""

    def world(self, rng: np.random.Generator) -> pb.problems.World:
        size = 1.0 if rng.bit_generator.seed_seq.spawn_key[0] < 5 else 1e6  # type: ignore[attr-defined]
        return given(size * np.eye(3)).world(rng)

    def __repr__(self) -> str:
        return "Growing()"


def test_a_later_world_that_the_engine_cannot_serve_is_not_run_all_the_same() -> None:
    with pytest.raises(ValueError, match=r"would cost it accuracy.*use engine='reference'"):
        run(Growing(), pb.GENTRY(), "auto", trials=8, horizon=5)
