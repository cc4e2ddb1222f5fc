"""Random streams: one for each trial and purpose."""

from dataclasses import dataclass, field

import numpy as np

import projbandits as pb
from tests.worlds import Recorder, run


@dataclass(frozen=True)
class Tossing(Recorder):
    """Plays the arms in turn, tosses coins at each step, and writes down what it hears."""

    coins: int
    heard: list[float] = field(default_factory=list, repr=False)
    tossed: list[float] = field(default_factory=list, repr=False)

    def select(self, state: int, arms: pb.DecisionSet, rng: np.random.Generator) -> pb.Choice:
        self.tossed.extend(rng.random(self.coins))
        return super().select(state, arms, rng)

    def update(self, state: int, arm: pb.Arm, observed: float) -> int:
        self.heard.append(observed)
        return super().update(state, arm, observed)


def test_the_strategys_coins_do_not_touch_the_noise() -> None:
    none, many = Tossing(0), Tossing(7)
    run(strategies=[none, many], trials=2, horizon=60)
    assert len(none.heard) == 120
    assert none.heard == many.heard


def test_streams_differ_by_seed_and_trial() -> None:
    strategies = [Tossing(1), Tossing(1)]
    for seed, strategy in enumerate(strategies):
        run(strategies=strategy, trials=3, horizon=20, seed=seed)
    drawn = [number for strategy in strategies for number in strategy.tossed]
    assert len(drawn) == len({*drawn}) == 120
    heard = [number for strategy in strategies for number in strategy.heard]
    assert len({*heard}) == 120
