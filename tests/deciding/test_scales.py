"""Features and outcomes of any scale: a decision that can be used, or a refusal with a name."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits.deciding import limits
from projbandits.strategies import LinearStrategy
from tests.scales import attack


@pytest.mark.parametrize("part", range(4))
def test_any_scale_ends_in_a_result_or_a_refusal_that_names_its_column(part: int) -> None:
    # `python -m tests.attacks scales --tries 3000` goes on.
    assert [failure for seed in range(part, 60, 4) if (failure := attack(seed))] == []


@pytest.mark.parametrize("strategy", [pb.EIIDS(), pb.GENTRY(), pb.DirectedIDS()], ids=repr)
def test_a_time_stamp_and_view_counts_are_features_like_any_other(
    strategy: LinearStrategy,
) -> None:
    rng = np.random.default_rng(0)
    films = pd.DataFrame(
        {
            "age": rng.random(20),
            "uploaded": 1.7e9 + rng.integers(0, 10**7, 20),
            "views": rng.lognormal(12.0, 2.0, 20).round(),
            "likes": 1e-3 * rng.random(20),
        }
    )
    U = pb.Subspace.without("age", columns=films.columns)
    decider = pb.Decider(strategy, subspace=U, seed=0)
    with pytest.warns(UserWarning, match="column 'likes' has entries of about 0.00048"):
        decider.tell(decider.ask(films).id, 1.0)
    for _ in range(12):
        decision = decider.ask(films)
        assert 0.0 < decision.propensity <= 1.0
        # Until outcomes of as many different films are told, the error is unknown.
        assert math.isnan(decision.standard_error) or decision.standard_error > 0.0
        decider.tell(decision.id, float(1.0 + rng.random()))
    decider.learn(films, 1.0 + rng.random(20))
    assert decider.ask(films).standard_error > 0.0


def test_what_is_refused_is_where_two_digits_are_left() -> None:
    largest = limits.LARGEST_ENTRY * 0.1**0.5
    decider = pb.Decider(subspace=pb.Subspace.coordinates([0, 1], d=3), seed=0)
    with pytest.raises(ValueError, match="column 0: rescale that column"):
        decider.ask(np.diag([1.001 * largest, 1.0, 1.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            decision = decider.ask(np.diag([0.999 * largest, 1.0, 1.0]))
            decider.tell(decision.id, 1e50)
    # Many arms below the limit are together above it.
    assert decider.ask(np.full((50, 3), 0.9 * largest)).index is not None
