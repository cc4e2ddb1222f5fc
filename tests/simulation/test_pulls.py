"""How often each arm was played: counted alike by every engine, and what explains the regret."""

from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.simulation import records
from tests.simulation.test_engines import Varied
from tests.worlds import CONVEX, FINITE, GREEDY, SETTING_A, Recorder, run, world_of

STRATEGIES: dict[str, list[Any]] = {
    "reference": [*GREEDY, pb.UE(), pb.GENTRY(arm_effects="auto")],
    "compiled": [*GREEDY, pb.UE(), pb.GENTRY(arm_effects="auto")],
    "events": [*GREEDY, pb.UE(), pb.ProjectedUE()],
}


@pytest.mark.parametrize("engine", STRATEGIES)
@pytest.mark.parametrize("world", ["setting-a", "twins", "no-noise"])
def test_pulls_add_up_to_the_horizon_and_their_costs_to_the_regret(engine: str, world: str) -> None:
    problem, horizon = FINITE[world], 150
    result = run(problem, STRATEGIES[engine], engine, horizon=horizon)
    assert result.pulls is not None
    assert result.pulls.dtype == np.int64
    assert (result.pulls >= 0).all()
    assert (result.pulls.sum(axis=2) == horizon).all()
    for trial in range(result.trials):
        there = world_of(problem, trial)
        assert there.arm_rewards is not None
        assert there.arm_returns is not None
        pulls = result.pulls[:, trial]
        for best, arms, regret in (
            (there.best_reward, there.arm_rewards, result.regret),
            (there.best_return, there.arm_returns, result.return_regret),
        ):
            np.testing.assert_allclose(pulls @ (best - arms), regret[:, trial, -1], atol=1e-10)
    if engine == "compiled":
        reference = run(problem, STRATEGIES[engine], "reference", horizon=horizon)
        assert np.array_equal(result.pulls, reference.pulls)  # type: ignore[arg-type]


def test_pulls_are_counted_up_to_the_horizon_wherever_the_checkpoints_are() -> None:
    for engine in STRATEGIES:
        few = run(SETTING_A, GREEDY, engine, checkpoints=[7])
        assert np.array_equal(few.pulls, run(SETTING_A, GREEDY, engine).pulls)  # type: ignore[arg-type]


def test_arms_in_turn_are_pulled_equally_often_and_arms_that_are_not_there_never() -> None:
    result = run(Varied(), Recorder(), horizon=12, trials=40)
    assert result.pulls is not None
    for trial, pulls in enumerate(result.pulls[0]):
        K = world_of(Varied(), trial).arms.size
        assert pulls.tolist() == ([4, 4, 4, 0] if K == 3 else [3, 3, 3, 3])


def test_there_are_none_on_convex_sets_and_none_of_very_many_arms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run(CONVEX["ball"], pb.GENTRY()).pulls is None
    monkeypatch.setattr(records, "MOST_PULLED_ARMS", 3)
    assert run(SETTING_A).pulls is None
    mixed = run(Varied(), Recorder(), horizon=12, trials=40)  # three arms, or four
    assert mixed.pulls is None
    assert mixed.found_best is not None
