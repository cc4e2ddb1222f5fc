"""The probabilities of all arms on offer."""

from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.strategies.probabilities import probabilities
from tests.films import U, constant


class Worst(pb.GENTRY):
    """GENTRY that plays the arm it thinks least of."""

    def greedy(self, state: pb.State, arms: pb.DecisionSet) -> pb.Arm:
        return arms.best(-self.aim(state))


class Firm(pb.GENTRY):
    """Chooses otherwise than the probabilities of its family say."""

    def select(self, state: pb.State, arms: pb.DecisionSet, rng: np.random.Generator) -> pb.Choice:
        return pb.Choice(arms.basis_arms()[2], 1.0)


@pytest.mark.parametrize(
    "strategy",
    [pb.GENTRY(schedule=constant), pb.UE(), Worst(schedule=constant), Firm(schedule=constant)],
    ids=repr,
)
def test_probabilities_of_all_arms_agree_with_choices(strategy: Any) -> None:
    rng = np.random.default_rng(3)
    arms = pb.FiniteArms(rng.normal(size=(7, 4)))
    state = strategy.init(arms, U)
    for i in range(7):
        state = strategy.update(state, arms.arm(i), float(rng.normal()))
    stated = probabilities(strategy, state, arms)
    assert stated is not None
    counts = np.zeros(7)
    for _ in range(3000):
        choice = strategy.select(state, arms, rng)
        assert choice.probability == pytest.approx(stated[choice.index])
        counts[choice.index] += 1
    assert (np.abs(counts / 3000 - stated) <= 5 * np.sqrt(stated / 3000)).all()
