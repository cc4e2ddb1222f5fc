"""Random streams: one for each trial and purpose."""

from dataclasses import dataclass, field

import numpy as np

import projbandits as pb
from projbandits.simulation.streams import stream
from tests.worlds import Recorder, run


def test_streams_differ_by_trial_and_purpose() -> None:
    draws = [
        stream(s, i, p).random()
        for s in (0, 1)
        for i in (0, 1)
        for p in ("world", "noise", "strategy")
    ]
    assert len(set(draws)) == len(draws)


@dataclass(frozen=True)
class Tossing(Recorder):
    """Plays the arms in turn, tosses coins at each step, and writes down what it hears."""

    coins: int
    heard: list[float] = field(default_factory=list, repr=False)

    def select(self, state: int, arms: pb.DecisionSet, rng: np.random.Generator) -> pb.Choice:
        rng.random(self.coins)
        return super().select(state, arms, rng)

    def update(self, state: int, arm: pb.Arm, observed: float) -> int:
        self.heard.append(observed)
        return super().update(state, arm, observed)


def test_the_strategys_coins_do_not_touch_the_noise() -> None:
    none, many = Tossing(0), Tossing(7)
    run(strategies=[none, many], trials=2, horizon=60)
    assert len(none.heard) == 120
    assert none.heard == many.heard
