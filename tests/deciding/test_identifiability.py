"""Warnings of what the arms on offer cannot tell."""

import warnings

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from tests.deciders import NAMED, fingerprint
from tests.worlds import U3


def test_it_warns_once_of_a_direction_that_is_never_offered() -> None:
    table = pd.DataFrame({"age": [1.0, 2.0], "price": [1.0, 0.0], "size": [0.0, 0.0]})
    decider = pb.Decider(subspace=NAMED, seed=0)
    with pytest.warns(UserWarning, match="the direction 1 size lies outside") as caught:
        decider.ask(table)
    assert caught[0].filename == __file__
    decider.ask(table)  # warnings are errors here: a second one would fail
    taught = pb.Decider(subspace=NAMED, seed=0)
    taught.learn(pd.DataFrame([[0.0, 0.0, 1.0]], columns=["age", "price", "size"]), [1.0])
    taught.ask(table)
    careless = pb.Decider(pb.REGRET(), subspace=NAMED, seed=0)
    careless.learn([[1.0, 0.0, 1.0]], [1.0])
    with pytest.warns(UserWarning, match="size"):
        careless.ask(table)


def test_nothing_is_said_when_all_is_well() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pb.Decider(subspace=U3, seed=0).ask(np.eye(3))


def test_a_warning_taken_for_an_error_leaves_the_decider_as_it_was() -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    before = fingerprint(decider)
    for _ in range(2):
        with pytest.raises(UserWarning, match="cannot identify"):
            decider.ask(np.eye(3)[1:])
        assert fingerprint(decider) == before


def test_history_that_cannot_tell_is_warned_of_in_spite_of_rounding() -> None:
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 3))
    decider = pb.Decider(pb.GENTRY(), subspace=pb.Subspace.coordinates([0, 1, 2], d=3), seed=0)
    decider.learn(flat, rng.normal(size=50))
    with pytest.warns(UserWarning, match="cannot identify"):
        decider.ask(flat[:5])


def test_the_warning_goes_by_what_varies_and_not_by_units() -> None:
    table = pd.DataFrame({"age": [1, 2, 3], "price": [1e9, 2e9, 1e9], "size": [1e-6, 0, 0]})
    with pytest.warns(UserWarning, match="column 'size' has entries of about 1e-06") as caught:
        pb.Decider(subspace=NAMED, seed=0).ask(table)
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="the direction 1 size lies outside"):
        pb.Decider(subspace=NAMED, seed=0).ask(table.assign(size=0))
    with pytest.warns(UserWarning, match="the direction 1 price lies outside"):
        pb.Decider(subspace=NAMED, seed=0).ask(table.assign(price=0, size=[1, 0, 0]))
