"""The decider is what is simulated: on the same random numbers, the same choices."""

import copy
from itertools import islice
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.problems import Jump
from projbandits.strategies import LinearStrategy

PROBLEM = pb.problems.offers(catalogue=60, offered=8, d=4, u=2, context=1, drift=Jump(every=50))


@pytest.mark.filterwarnings("ignore:the arms offered so far cannot identify")  # of one viewer
@pytest.mark.parametrize(
    "strategy",
    [
        pb.GENTRY(alpha=3.0), pb.CURSE(), pb.REGRET(alpha=3.0), pb.UE(), pb.ProjectedUE(),
        pb.EIIDS(),
    ],
    ids=repr,
)  # fmt: skip
def test_told_at_once_a_decider_is_its_strategy_step_by_step(strategy: LinearStrategy) -> None:
    generators: list[np.random.Generator] = []

    class Watched(type(strategy)):  # type: ignore[misc]
        def select(self, state: Any, arms: Any, rng: np.random.Generator) -> pb.Choice:
            generators.append(copy.deepcopy(rng))
            return super().select(state, arms, rng)  # type: ignore[no-any-return]

    world, rng = PROBLEM.world(np.random.default_rng(0)), np.random.default_rng(1)
    watched = Watched(**vars(strategy))
    decider = pb.Decider(watched, subspace=world.subspace, seed=5, intercept=False)
    state, uniform = strategy.init(world.arms, world.subspace), 0
    for step in islice(world.steps(), 120):
        assert isinstance(step.arms, pb.FiniteArms)
        decision = decider.ask(step.arms.vectors)
        choice = strategy.select(state, step.arms, generators[-1])
        assert (decision.index, decision.propensity) == (choice.index, choice.probability)
        np.testing.assert_array_equal(decision.arm, choice.arm.x)
        uniform += choice.probability < 1
        observed = step.noise.observe(step.mean_return(choice.arm), rng)
        decider.tell(decision, observed)
        state = strategy.update(state, choice.arm, observed)
    np.testing.assert_array_equal(decider.ridge.factor, state.ridge.factor)
    assert decider.steps == len(generators) == 120
    drawn = {generator.random() for generator in generators}
    assert len(drawn) == 120  # each decision has numbers of its own
