"""The compiled loop on offers that change, against the reference loop step by step."""

import numpy as np
import pytest

import projbandits as pb
from projbandits.problems import Jump, Problem, Uniform, Wander
from tests.everyone import anywhere
from tests.worlds import FORMS, run

STRATEGIES = [
    *FORMS,
    pb.REGRET(alpha=40.0),
    *(s for s in anywhere() if type(s) not in {type(form) for form in FORMS}),
]
WORLDS: dict[str, Problem] = {
    "plain": pb.problems.offers(),
    "viewers": pb.problems.offers(context=2, d=4, u=2, effects=0.3, drift=Jump(every=40)),
    "fewer-than-d": pb.problems.offers(
        catalogue=50, offered=6, noise=Uniform(0.3), drift=Wander(rate=0.1)
    ),
    "single": pb.problems.offers(catalogue=3, offered=1, d=3, u=3),
}


@pytest.mark.parametrize("name", WORLDS)
def test_compiled_plays_the_same_items_as_reference(name: str) -> None:
    # The same streams, so the same choices: with distinct gaps, equal regret at each step.
    size = {"trials": 2, "horizon": 130, "checkpoints": range(1, 131)}
    one = run(WORLDS[name], STRATEGIES, "reference", **size)
    other = run(WORLDS[name], STRATEGIES, "compiled", **size)
    np.testing.assert_allclose(other.regret, one.regret, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(other.return_regret, one.return_regret, rtol=1e-10, atol=1e-10)
    assert np.array_equal(other.pulls, one.pulls)  # type: ignore[arg-type]
    assert set(other.engines) == {"compiled"}
