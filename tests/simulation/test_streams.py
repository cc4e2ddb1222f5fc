"""Random streams."""

import numpy as np

import projbandits as pb
from projbandits.simulation.streams import stream


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
