"""`simulate`: what it computes, that it can be repeated, and what it refuses."""

import io
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import pytest

import projbandits as pb
from projbandits.simulation import executors
from projbandits.simulation.progress import Progress
from projbandits.simulation.records import Questions
from projbandits.simulation.request import Spec
from projbandits.simulation.streams import stream

SETTING_A = pb.problems.random_arms(d=4, arms=8, u=2)
PAIR = [pb.GENTRY(), pb.UE()]


def run(problem: Any = SETTING_A, strategies: Any = PAIR, **options: Any) -> pb.Result:
    return pb.simulate(
        problem, strategies, **{"trials": 6, "horizon": 60, "progress": False, **options}
    )


def same(one: pb.Result, other: pb.Result) -> bool:
    return bool(
        np.array_equal(one.regret, other.regret)
        and np.array_equal(one.return_regret, other.return_regret)
        and np.array_equal(one.best_share, other.best_share)  # type: ignore[arg-type]
        and np.array_equal(one.found_best, other.found_best)  # type: ignore[arg-type]
    )


@dataclass(frozen=True)
class Recorder:
    """A strategy that plays the arms in turn and checks nothing."""

    def init(self, arms: pb.DecisionSet, subspace: pb.Subspace) -> int:
        return 0

    def select(self, state: int, arms: pb.DecisionSet, rng: np.random.Generator) -> pb.Choice:
        assert isinstance(arms, pb.FiniteArms)
        return pb.Choice(arms.arm(state % arms.size), 1.0)

    def update(self, state: int, arm: pb.Arm, observed: float) -> int:
        return state + 1


class Unnamed(Recorder):
    __repr__ = object.__repr__


def test_regret_is_the_sum_of_the_gaps_of_the_arms_played() -> None:
    X = np.array([[1.0, 0.0], [0.4, 2.0], [0.0, 1.0]])
    problem = pb.problems.instance(
        X, theta=[2.0, 1.0], subspace=pb.Subspace.coordinates([0], d=2), noise=9.0
    )
    result = run(problem, Recorder(), trials=2, horizon=7, checkpoints=[1, 2, 3, 7])
    # Rewards 2, 0.8, 0 and returns 2, 2.8, 1, whatever the noise.
    assert result.steps.tolist() == [1, 2, 3, 7]
    for trial in (0, 1):
        np.testing.assert_allclose(result.regret[0, trial], [0, 1.2, 3.2, 6.4])
        np.testing.assert_allclose(result.return_regret[0, trial], [0.8, 0.8, 2.6, 6.0])
        assert result.best_share is not None
        np.testing.assert_allclose(result.best_share[0, trial], [1, 0.5, 1 / 3, 3 / 7])
    assert result.found_best is not None
    assert not result.found_best.any()


def test_the_window_of_the_best_share_is_two_hundred_steps() -> None:
    # A best arm is played from step 501 on.
    for horizon, checkpoints, expected in (
        (1000, [500, 600, 680, 681, 700, 1000], [0, 0.5, 0.9, 0.905, 1, 1]),
        (680, [680], [0.9]),
        (681, [681], [0.905]),
    ):
        questions = Questions(np.array(checkpoints), horizon)
        plays = np.maximum(questions.steps - 500.0, 0.0)
        records = questions.records(np.array([[plays, plays, plays]]), finite=True)
        assert records.best_share is not None
        assert records.found_best is not None
        np.testing.assert_allclose(records.best_share[0], expected)
        assert records.found_best.tolist() == [horizon > 680]


def test_the_first_trials_do_not_depend_on_how_many_there_are() -> None:
    few, many = run(trials=5), run(trials=10)
    assert (many.regret[:, :5] == few.regret).all()
    assert (many.return_regret[:, :5] == few.return_regret).all()


def test_the_order_of_strategies_does_not_matter() -> None:
    one, other = run(), run(strategies=PAIR[::-1])
    alone = run(strategies=pb.UE())
    assert (one.regret == other.regret[::-1]).all()
    assert (one.regret[1] == alone.regret[0]).all()


def test_checkpoints_do_not_change_the_numbers() -> None:
    one, other = run(checkpoints=[30, 60]), run(checkpoints=range(1, 61))
    assert (one.regret[..., 0] == other.regret[..., 29]).all()
    assert (one.regret[..., 1] == other.regret[..., 59]).all()


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
@pytest.mark.parametrize("workers", [1, 2])
def test_executors_give_the_same_bits(kind: type[Executor], workers: int) -> None:
    with kind(workers) as executor:  # type: ignore[call-arg]
        assert same(run(trials=35, executor=executor), run(trials=35))


def test_another_seed_gives_other_worlds_and_none_a_fresh_one() -> None:
    assert not same(run(seed=0), run(seed=1))
    fresh = run(seed=None)
    assert fresh.seed != run(seed=None).seed
    assert same(fresh, run(seed=fresh.seed))


def test_streams_differ_by_trial_and_purpose() -> None:
    draws = [
        stream(s, i, p).random()
        for s in (0, 1)
        for i in (0, 1)
        for p in ("world", "noise", "strategy")
    ]
    assert len(set(draws)) == len(draws)


def test_the_strategys_coins_do_not_touch_the_noise() -> None:
    # With all coins alike the noise must be the same, whether coins are drawn or not.
    explores, settles = pb.GENTRY(schedule=lambda t: 1.0), pb.GENTRY(schedule=lambda t: 0.0)
    heard: dict[str, list[float]] = {}
    single = pb.problems.instance([[1.0]], theta=[1.0], subspace=pb.Subspace.coordinates([0], d=1))
    for name, strategy in (("explores", explores), ("settles", settles)):
        world = single.world(np.random.default_rng(0))
        noise, coins = stream(0, 0, "noise"), stream(0, 0, "strategy")
        state = strategy.init(world.arms, world.subspace)
        heard[name] = []
        for _ in range(20):
            arm = strategy.select(state, world.arms, coins).arm
            heard[name].append(world.noise.observe(0.0, noise))
            state = strategy.update(state, arm, heard[name][-1])
    assert heard["explores"] == heard["settles"]


def test_a_failing_chunk_stops_the_rest() -> None:
    ran = []

    class Failing(Recorder):
        def init(self, arms: pb.DecisionSet, subspace: pb.Subspace) -> int:
            ran.append(1)
            raise RuntimeError("broken")

        def __repr__(self) -> str:
            return "Failing()"

    with ThreadPoolExecutor(1) as executor, pytest.raises(RuntimeError, match="broken"):
        run(strategies=Failing(), trials=1000, executor=executor)
    assert len(ran) < 20


def test_every_strategy_meets_the_same_noise() -> None:
    @dataclass(frozen=True)
    class Listener(Recorder):
        name: str
        heard: list[float]

        def __repr__(self) -> str:
            return self.name

        def update(self, state: int, arm: pb.Arm, observed: float) -> int:
            self.heard.append(observed)
            return state + 1

    one, other = Listener("one", []), Listener("other", [])
    run(strategies=[one, other], trials=2)
    assert one.heard == other.heard
    assert len(one.heard) == 120


def test_on_infinite_sets_nothing_is_said_of_the_best_arm() -> None:
    result = run(pb.problems.entropy_ball(d=2, u=1), pb.GENTRY(), trials=2, horizon=20)
    assert result.best_share is None
    assert result.found_best is None
    assert (np.diff(result.regret, axis=-1) >= -1e-9).all()


def test_default_checkpoints_cover_both_axes() -> None:
    steps = run(horizon=1000, trials=1).steps
    assert steps[0] == 1
    assert steps[-1] == 1000
    assert (np.diff(steps) > 0).all()
    assert np.diff(steps).max() <= 10
    assert set(range(1, 8)) <= set(steps.tolist())
    assert run(horizon=1, trials=1).steps.tolist() == [1]


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"trials": 0}, ValueError, "trials must be at least 1, got 0"),
    ({"horizon": 0}, ValueError, "horizon must be at least 1, got 0"),
    ({"horizon": 10.5}, TypeError, r"horizon must be a whole number, got 10\.5"),
    ({"seed": -1}, ValueError, "seed must be at least 0, got -1"),
    ({"strategies": None}, TypeError, "strategies must be a strategy or several, got None"),
    ({"trials": True}, TypeError, "trials must be a whole number, got True"),
    ({"executor": 4}, TypeError, r"executor must be a concurrent\.futures\.Executor, got 4"),
    ({"problem": pb.problems.RandomArms}, TypeError, "problem must be a problem"),
    ({"strategies": [Unnamed()]}, ValueError, "labels that last"),
    ({"engine": "referense"}, ValueError, "engine must be one of .* did you mean 'reference'"),
    ({"checkpoints": [0, 10]}, ValueError, "1 to the horizon 60, got 0"),
    ({"checkpoints": [10, 61]}, ValueError, "1 to the horizon 60, got 61"),
    ({"checkpoints": [20, 10]}, ValueError, "must increase, got 20 before 10"),
    ({"checkpoints": [10, 10]}, ValueError, "must increase, got 10 before 10"),
    ({"checkpoints": [1.5]}, ValueError, r"whole steps, got 1\.5"),
    ({"checkpoints": [1, np.nan]}, ValueError, "whole steps, got nan"),
    ({"checkpoints": []}, ValueError, "checkpoints must be a list of steps"),
    ({"strategies": []}, ValueError, "at least one strategy"),
    ({"strategies": [pb.UE(), pb.UE()]}, ValueError, r"distinct labels, got 'UE\(\)' twice"),
    ({"strategies": [pb.UE]}, TypeError, "did you forget the brackets"),
    ({"strategies": ["UE"]}, TypeError, "strategies only, got 'UE'"),
    ({"problem": "setting a"}, TypeError, "problem must be a problem"),
]


@pytest.mark.parametrize(("options", "error", "message"), BAD)
def test_bad_input_is_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run(**options)


def test_the_bar_is_silent_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    run(progress=True)
    assert capfd.readouterr() == ("", "")


def test_the_bar_shows_rate_and_time_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    import rich.console

    screen = io.StringIO()
    terminal = rich.console.Console(file=screen, force_terminal=True, width=100)
    monkeypatch.setattr(rich.console, "Console", lambda **_: terminal)
    with Progress(total=100, shown=True) as bar:
        bar.advance(40)
        bar._bar.refresh()
    assert "40%" in screen.getvalue()
    assert "steps/s" in screen.getvalue()


def test_compilation_is_noticed_once() -> None:
    from numba import njit

    from projbandits.simulation.kernels.notice import on_compile

    def double(x: int) -> int:
        return 2 * x

    told: list[str] = []
    with on_compile(lambda: told.append("compiling")):
        fresh: Any = njit(cast(Any, double))
        fresh(1)
        fresh(1.5)
    assert told == ["compiling"]
    with on_compile(lambda: told.append("again")):
        fresh(2)
    assert told == ["compiling"]


def test_who_waits_for_compilation_is_told_that_control_c_waits_too() -> None:
    from numba import njit

    class Screen:
        visible = True
        notes: ClassVar[list[str]] = []

        def note(self, text: str) -> None:
            self.notes.append(text)

        def advance(self, steps: float) -> None:
            pass

    spec = Spec(pb.problems.random_arms(), (pb.GENTRY(),), ("events",), 1, 1, 0, np.array([1]))
    with executors._told_of_compilation(spec, Screen()):
        fresh: Any = njit(cast(Any, lambda x: x))
        fresh(1)
    (note,) = Screen.notes
    assert note.startswith("compiling kernels")
    assert "Ctrl-C takes effect when that is done" in note
