"""Outcomes: in any order, once, remembered for a while, and refused when they are none."""

import math
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import projbandits as pb
from tests import naive
from tests.deciders import fingerprint, some_arms
from tests.worlds import U3


@given(st.randoms(use_true_random=False), st.integers(1, 40))
def test_the_order_of_telling_does_not_matter(order: random.Random, n: int) -> None:
    rng = np.random.default_rng(2)
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    decisions = [decider.ask(some_arms(rng)) for _ in range(n)]
    assert [d.id for d in decider.pending] == [d.id for d in decisions]
    outcomes = rng.normal(size=n)
    pairs = list(zip(decisions, outcomes.tolist(), strict=True))
    order.shuffle(pairs)
    half = n // 2
    for decision, outcome in pairs[:half]:
        decider.tell(decision.id, outcome)
    decider.tell_many({decision.id: outcome for decision, outcome in pairs[half:]})
    _, theta, _ = naive.centred_ridge(np.array([d.arm for d in decisions]), outcomes, 1.0)
    np.testing.assert_allclose(decider.ridge.theta, theta, rtol=0, atol=1e-10)
    assert decider.pending == ()
    assert decider.steps == n


def test_telling_twice_the_same_is_harmless_and_otherwise_an_error() -> None:
    decider = pb.Decider(subspace=U3, seed=0)
    decision = decider.ask(np.eye(3))
    decider.tell(decision.id, 1.0)
    before = fingerprint(decider)
    decider.tell(decision.id, 1.0)
    decider.tell_many([(decision, 1.0), (decision, True)])
    assert fingerprint(decider) == before
    with pytest.raises(ValueError, match=r"was told 1\.0 before, got 0\.0"):
        decider.tell(decision.id, 0.0)
    other = decider.ask(np.eye(3))
    before = fingerprint(decider)
    with pytest.raises(ValueError, match=r"was told 2\.0 before, got 3\.0"):
        decider.tell_many([(other, 2.0), (other, 3.0)])
    with pytest.raises(KeyError, match="unknown"):
        decider.tell_many([(other.id, 2.0), ("nobody-7", 3.0)])
    assert fingerprint(decider) == before


def test_another_deciders_id_is_unknown() -> None:
    one, two = (pb.Decider(subspace=U3, seed=0) for _ in range(2))
    decision = one.ask(np.eye(3))
    two.ask(np.eye(3))
    with pytest.raises(KeyError, match=f"id '{decision.id}' is unknown"):
        two.tell(decision.id, 1.0)
    with pytest.raises(TypeError, match="id must be that of a decision, got 1"):
        two.tell(1, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outcome", "error", "message"),
    [
        (math.nan, ValueError, "outcome of .* must be finite, got nan"),
        (math.inf, ValueError, "outcome of .* must be finite, got inf"),
        ("much", TypeError, "outcome of .* must be a number, got 'much'"),
        (1e200, ValueError, r"outcome of .* must be at most 1e\+50 in size, got 1e\+200: rescale"),
        (None, TypeError, "outcome of .* must be a number, got None"),
    ],
)
def test_a_reward_that_is_no_number_changes_nothing(
    outcome: Any, error: type[Exception], message: str
) -> None:
    decider = pb.Decider(subspace=U3, seed=0)
    decision = decider.ask(np.eye(3))
    before = fingerprint(decider)
    with pytest.raises(error, match=message):
        decider.tell(decision.id, outcome)
    assert fingerprint(decider) == before


def test_outcomes_come_as_a_mapping_or_a_series_too() -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    first, second = decider.ask(np.eye(3), count=2)
    decider.tell_many(pd.Series({first.id: 1.0}))
    decider.tell_many({second.id: 2.0})
    assert decider.pending == ()
    assert decider.ridge.n == 2
