"""Which engine serves what: the fastest that is exact, or a refusal that says why."""

from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.problems import Problem
from projbandits.simulation import engines
from projbandits.strategies import LinearStrategy
from tests.sets import CUBE, PRISM, vast
from tests.worlds import CONVEX, FINITE, GREEDY, U3, always, given, run


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


class OwnBall(pb.Ball):
    """A set of somebody's own, which may have other support points."""


def test_auto_takes_the_fastest_engine_that_is_exact() -> None:
    games: dict[str, tuple[Any, Any]] = {
        "events": (FINITE["setting-a"], [pb.GENTRY(), pb.UE(), pb.ProjectedUE(alpha=50.0)]),
        "compiled": (FINITE["uniform"], [pb.GENTRY(), pb.UE()]),
        "reference": (given(OwnBall(3)), pb.GENTRY()),
    }
    for name, (problem, strategies) in games.items():
        assert {*run(problem, strategies, trials=1, horizon=5).engines} == {name}


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_arms_that_are_found_by_a_search_are_said_to_be(engine: str) -> None:
    strategies = [pb.GENTRY(), pb.UE(), pb.ProjectedUE(), pb.EIIDS()]
    result = run(CONVEX["ball"], strategies, engine, trials=1, horizon=2)
    assert result.engines == (engine, f"{engine} (search)", f"{engine} (search)", engine)
    assert result.summary().loc["UE()", "engine"] == f"{engine} (search)"
    assert run(FINITE["uniform"], strategies, engine, trials=1, horizon=2).engines == (engine,) * 4


@pytest.mark.parametrize(
    ("engine", "problem", "strategy", "reason"),
    [
        ("events", "setting-a", pb.EIIDS(), "EIIDS is neither epsilon_t-greedy nor an uncertainty"),
        ("events", "bernoulli", pb.UE(), "it needs Gaussian noise, got Bernoulli"),
        ("events", "setting-c", pb.UE(), "it needs finitely many arms, got EntropyBall"),
        ("events", "uniform", pb.GENTRY(), "it needs Gaussian noise, got Uniform"),
        ("events", "setting-c", pb.GENTRY(), "it needs finitely many arms, got EntropyBall"),
        ("compiled", "own", pb.GENTRY(), "no compiled support points for OwnBall"),
        ("compiled", "vast", pb.GENTRY(), "lists a polytope's vertices, and these are too many"),
        ("compiled", "doubtful", pb.GENTRY(), "contradict one another within round-off"),
        ("compiled", "large", pb.GENTRY(), "would cost it accuracy"),
    ],
)
def test_an_engine_that_cannot_serve_says_why(
    engine: str, problem: str, strategy: LinearStrategy, reason: str
) -> None:
    others = {
        "own": given(OwnBall(3)),
        "vast": given(vast(pb.Polytope(*PRISM))),
        "doubtful": given(pb.Polytope(CUBE, [5e-11] * 3 + [-1e-10] * 3)),
        "large": given(1e6 * np.eye(3)),
    }
    with pytest.raises(ValueError, match=f"engine '{engine}' cannot run .* here: .*{reason}"):
        run({**FINITE, **CONVEX, **others}[problem], strategy, engine, trials=1, horizon=5)


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


class Own(pb.GENTRY):
    """A strategy that offers a compiled rule of its own, which knows nothing of effects."""

    def compiled_rule(
        self, arms: pb.DecisionSet, subspace: pb.Subspace, horizon: int
    ) -> pb.CompiledRule:
        return pb.CompiledRule(lambda t, view, rng: 0, np.zeros(1))


def test_engines_without_them_say_so() -> None:
    problem = pb.problems.random_arms(d=3, arms=5, u=2)
    for strategy, engine, why in (
        (pb.GENTRY(arm_effects="auto"), "events", "arm effects need every step"),
        (pb.UE(arm_effects=0.5), "events", "arm effects need every step"),
        (Own(arm_effects="auto"), "compiled", "no compiled rule for arm effects"),
    ):
        with pytest.raises(ValueError, match=why):
            run(problem, strategy, engine)
    ball = pb.problems.random_theta(pb.Ball(2), u=1)
    for refused in (pb.EIIDS(arm_effects="auto"), pb.GENTRY(arm_effects=1.0)):
        with pytest.raises(ValueError, match="arm_effects needs finitely many arms, got Ball"):
            run(ball, refused)
        with pytest.raises(ValueError, match="arm effects need finitely many arms"):
            run(ball, refused, "compiled")
