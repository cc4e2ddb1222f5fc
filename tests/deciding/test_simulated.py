"""The decider is what was simulated: on the same random numbers, the same choices."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.ledger.streams import Streams
from projbandits.problems import Jump
from projbandits.simulation.streams import stream
from projbandits.strategies import LinearStrategy
from tests.worlds import run

PROBLEM = pb.problems.offers(catalogue=60, offered=8, d=4, u=2, context=1, drift=Jump(every=50))
STEPS = 120


@dataclass(frozen=True)
class WithNumbersOfADecider:
    """A strategy that draws, at each step, from the stream of a decider's decision of that number.

    The generator that `simulate` hands over is left alone; all else is the strategy's own.
    """

    strategy: LinearStrategy
    seed: int

    def init(self, arms: pb.DecisionSet, subspace: pb.Subspace) -> Any:
        return self.strategy.init(arms, subspace)

    def select(self, state: Any, arms: pb.DecisionSet, rng: np.random.Generator) -> pb.Choice:
        return self.strategy.select(state, arms, Streams(self.seed).at(0, state.step - 1))

    def update(self, state: Any, arm: pb.Arm, observed: float) -> Any:
        return self.strategy.update(state, arm, observed)


@pytest.mark.filterwarnings("ignore:the arms offered so far cannot identify")  # of one viewer
@pytest.mark.parametrize(
    "strategy",
    [pb.GENTRY(alpha=3.0), pb.REGRET(alpha=3.0), pb.UE(), pb.ProjectedUE(), pb.EIIDS()],
    ids=repr,
)
def test_a_decider_makes_the_choices_that_were_simulated(strategy: LinearStrategy) -> None:
    seed = 5
    simulated = run(
        PROBLEM,
        WithNumbersOfADecider(strategy, seed),
        "reference",
        trials=1,
        horizon=STEPS,
        checkpoints=range(1, STEPS + 1),
    )
    world, noise = PROBLEM.world(stream(0, 0, "world")), stream(0, 0, "noise")
    decider = pb.Decider(strategy, subspace=world.subspace, seed=seed, intercept=False)
    costs, pulls = [], np.zeros(60)
    for _, step in zip(range(STEPS), world.steps(), strict=False):
        assert isinstance(step.arms, pb.FiniteArms)
        decision = decider.ask(step.arms.vectors)
        assert decision.index is not None
        arm = step.arms.arm(decision.index)
        decider.tell(decision.id, step.noise.observe(step.mean_return(arm), noise))
        costs.append(step.best_reward - step.reward(arm))
        pulls[step.item(decision.index)] += 1
    np.testing.assert_allclose(simulated.regret[0, 0], np.cumsum(costs), rtol=0, atol=1e-12)
    assert np.array_equal(simulated.pulls[0, 0], pulls)  # type: ignore[index]


def test_other_random_numbers_make_other_choices() -> None:
    # So the test above would notice if the numbers were not the same.
    one, other = (
        run(PROBLEM, WithNumbersOfADecider(pb.GENTRY(alpha=3.0), seed), "reference", trials=1)
        for seed in (5, 6)
    )
    assert not np.array_equal(one.pulls, other.pulls)  # type: ignore[arg-type]
