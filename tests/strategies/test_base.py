"""What all strategies share: the protocol, what they learn on, their labels."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits.strategies import LinearStrategy
from projbandits.testing import check_strategy
from tests.everyone import everyone
from tests.sets import SQUARE

ALL: list[LinearStrategy] = [
    *everyone(),
    pb.GENTRY(alpha=0.5, basis="first"),
    pb.CURSE(alpha=0.5),
    pb.REGRET(alpha=0.5),
    pb.GENTRY(alpha=0.05, schedule="smooth", penalty=3.0),
    pb.UE(alpha=0.5),
    pb.EIIDS(noise=2.0, penalty=1.0),
    pb.EIRatio(horizon=30),
    pb.DirectedIDS(radius="published", noise=0.5),
]


@pytest.mark.parametrize("strategy", ALL, ids=repr)
def test_every_strategy_conforms(strategy: LinearStrategy) -> None:
    check_strategy(strategy)


@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.UE(), pb.EIIDS(), pb.ProjectedTS()], ids=repr)
def test_on_other_convex_sets_too(strategy: LinearStrategy) -> None:
    check_strategy(strategy, sets=[pb.EntropyBall(d=3), pb.Ball(d=2), pb.Polytope(*SQUARE)])


def test_regret_learns_on_projected_arms_and_the_others_on_whole_ones() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=3)
    U = pb.Subspace.coordinates([0], d=3)
    arms = pb.FiniteArms(x[None])
    for strategy, learnt in [(pb.GENTRY(), x), (pb.CURSE(), x), (pb.REGRET(), U.project(x))]:
        state = strategy.update(strategy.init(arms, U), arms.arm(0), 2.0)
        V = np.eye(3) + np.outer(learnt, learnt)
        np.testing.assert_allclose(state.ridge.theta, np.linalg.solve(V, 2.0 * learnt))
        assert state.step == 2


def test_the_ridge_argument_is_the_penalty() -> None:
    arms = pb.FiniteArms([[1.0]])
    U = pb.Subspace.coordinates([0], d=1)
    for strategy in everyone(penalty=3.0):
        state = strategy.update(strategy.init(arms, U), arms.arm(0), 8.0)
        assert state.ridge.theta[0] == pytest.approx(2.0)


def test_a_return_that_is_no_number_is_refused() -> None:
    arms = pb.FiniteArms([[1.0]])
    strategy = pb.GENTRY()
    state = strategy.init(arms, pb.Subspace.coordinates([0], d=1))
    with pytest.raises(ValueError, match="observed must be finite, got nan"):
        strategy.update(state, arms.arm(0), math.nan)


def test_labels_name_what_differs_from_the_default() -> None:
    def slow(t: int) -> float:
        return 0.1

    assert repr(pb.GENTRY()) == "GENTRY()"
    assert repr(pb.GENTRY(alpha=2, penalty=0.5)) == "GENTRY(alpha=2.0, penalty=0.5)"
    assert repr(pb.GENTRY(schedule=slow)).endswith("slow)")
    assert pb.GENTRY(alpha=1) == pb.GENTRY(alpha=1.0)


@pytest.mark.parametrize("strategy", everyone(), ids=repr)
def test_strategies_cannot_be_changed(strategy: LinearStrategy) -> None:
    for field in dataclasses.fields(strategy):
        with pytest.raises(AttributeError, match=f"cannot assign to field '{field.name}'"):
            setattr(strategy, field.name, getattr(strategy, field.name))


def test_bad_parameters_are_named() -> None:
    with pytest.raises(ValueError, match=r"alpha must be positive, got -1\.0"):
        pb.GENTRY(alpha=-1.0)
    with pytest.raises(ValueError, match=r"alpha must be positive, got 0\.0"):
        pb.UE(alpha=0)
    with pytest.raises(ValueError, match="alpha must be finite, got nan"):
        pb.GENTRY(alpha=math.nan)
    with pytest.raises(TypeError, match="alpha must be a number, got True"):
        pb.GENTRY(alpha=True)
    with pytest.raises(TypeError, match="alpha must be a number, got 'much'"):
        pb.GENTRY(alpha="much")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"penalty must be positive, got 0\.0"):
        pb.ProjectedUE(penalty=0.0)
    with pytest.raises(ValueError, match="basis must be one of 'pivoted-qr', 'first'"):
        pb.REGRET(basis="last")
    with pytest.raises(ValueError, match=r"arms must have 3 features, .* got 2"):
        pb.GENTRY().init(pb.FiniteArms(np.eye(2)), pb.Subspace.coordinates([0], d=3))


def test_arms_with_columns_in_another_order_are_refused() -> None:
    U = pb.Subspace.without("race", columns=["price", "race"])
    arms = pb.FiniteArms(pd.DataFrame(np.eye(2), columns=["race", "price"]))
    with pytest.raises(ValueError, match=r"same order, got \['race', 'price'\]"):
        pb.GENTRY().init(arms, U)
