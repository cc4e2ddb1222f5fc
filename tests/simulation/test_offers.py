"""`simulate` on offers that change: what it reports, and what it refuses."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.problems import OfferedWorld, Wander
from tests.worlds import Recorder, run, same, world_of

PROBLEM = pb.problems.offers(catalogue=40, offered=6, d=4, u=2, drift=Wander(rate=0.1))
STRATEGIES = [pb.GENTRY(), pb.REGRET(alpha=3.0)]


def test_pulls_are_counted_by_item_and_there_is_no_best_arm_to_be_found() -> None:
    result = run(PROBLEM, STRATEGIES)
    assert result.engines == ("compiled", "compiled")
    assert result.best_share is None
    assert result.found_best is None
    assert result.pulls is not None
    assert result.pulls.shape == (2, 6, 40)
    assert (result.pulls.sum(axis=2) == 60).all()
    assert "found_best" not in result.summary()
    with pytest.raises(ValueError, match="'found_best' needs finitely many arms, the same at each"):
        result.curve("GENTRY()", "found_best")
    many = pb.problems.offers(catalogue=10_001, offered=3, d=2, u=1)
    assert run(many, pb.GENTRY(), trials=1, horizon=5).pulls is None


def test_the_arms_on_offer_in_turn_cost_what_the_world_says() -> None:
    result = run(PROBLEM, Recorder(), trials=2, horizon=9, checkpoints=range(1, 10))
    assert result.engines == ("reference",)
    for trial in range(2):
        costs, pulls = [], np.zeros(40)
        world = world_of(PROBLEM, trial)
        assert isinstance(world, OfferedWorld)
        for t, step in zip(range(9), world.steps(), strict=False):
            assert step.rewards is not None
            costs.append(step.rewards.max() - step.rewards[t % 6])
            pulls[step.items[t % 6]] += 1
        np.testing.assert_allclose(result.regret[0, trial], np.cumsum(costs), atol=1e-12)
        assert np.array_equal(result.pulls[0, trial], pulls)  # type: ignore[index]


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_trials_do_not_depend_on_what_they_are_run_with(engine: str, tmp_path: Path) -> None:
    whole = run(PROBLEM, STRATEGIES, engine, trials=20, horizon=25)
    parts = [
        run(PROBLEM, STRATEGIES, engine, trials=trials, horizon=25, cache_dir=tmp_path / "kept")
        for trials in (range(7, 20), range(0, 7))
    ]
    assert same(pb.Result.concat(parts), whole)
    alone = run(PROBLEM, STRATEGIES[1], engine, trials=20, horizon=25)
    assert same(alone, whole.only("REGRET(alpha=3.0)"))
    whole.save(tmp_path / "whole.parquet")
    assert same(pb.Result.load(tmp_path / "whole.parquet"), whole)


@pytest.mark.parametrize("engine", ["auto", "compiled", "reference"])
@pytest.mark.parametrize(
    "strategy", [pb.GENTRY(arm_effects="auto"), pb.ProjectedElimination(horizon=9)], ids=repr
)
def test_strategies_for_fixed_arms_are_refused(strategy: pb.Strategy, engine: str) -> None:
    with pytest.raises(ValueError, match="strategies must take arms that change, got"):
        run(PROBLEM, strategy, engine)


def test_events_are_refused_as_nothing_repeats() -> None:
    with pytest.raises(ValueError, match="what is on offer changes from step to step"):
        run(PROBLEM, pb.GENTRY(), "events")


@dataclass(frozen=True)
class Fading:
    """A drift that no kernel knows."""

    def moved(self, theta: Any, t: int, rng: np.random.Generator) -> Any:
        return 0.5 * theta


class Mine(pb.GENTRY):
    """GENTRY with a rule of its own, which may read what the loop does not keep here."""

    def compiled_rule(
        self, arms: pb.DecisionSet, subspace: pb.Subspace, horizon: int
    ) -> pb.CompiledRule:
        return pb.CompiledRule(lambda t, view, rng: view.basis[0], np.zeros(1))


def test_what_the_loop_does_not_know_is_left_to_the_readable_one() -> None:
    fading = pb.problems.offers(catalogue=40, offered=6, d=4, u=2, drift=Fading())
    assert run(fading, pb.GENTRY(), trials=1, horizon=5).engines == ("reference",)
    with pytest.raises(ValueError, match=r"knows the drifts Jump and Wander, not Fading\(\)"):
        run(fading, pb.GENTRY(), "compiled", trials=1, horizon=5)
    assert run(PROBLEM, Mine(), trials=1, horizon=5).engines == ("reference",)


def test_the_theorems_do_not_speak_of_such_a_world() -> None:
    with pytest.raises(ValueError, match="whose offers change"):
        pb.theory.constants(PROBLEM.world(np.random.default_rng(0)))
