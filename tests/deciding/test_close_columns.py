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


def _nearly_repeated(
    rng: np.random.Generator, n: int, close: float, theta: list[float]
) -> tuple[pd.DataFrame, "np.ndarray[tuple[int], np.dtype[np.float64]]"]:
    """Rows whose price is nearly their age, and returns with noise of 0.1."""
    X = rng.normal(size=(n, 3))
    X[:, 0] = X[:, 1] + close * X[:, 0]
    table = pd.DataFrame(X, columns=["age", "price", "size"])
    return table, X @ theta + 0.1 * rng.normal(size=n)


def test_a_kept_column_that_nearly_repeats_a_protected_one_is_warned_of_once() -> None:
    table, told = _nearly_repeated(np.random.default_rng(0), 400, 0.01, [1.0, 0.0, 0.0])
    decider = pb.Decider(subspace=NAMED, seed=0)
    with pytest.warns(UserWarning, match=r"the direction 1 (age|price) - \S+ (age|price) ") as said:
        decider.learn(table, told)
    assert len(said) == 1
    assert said[0].filename == __file__
    assert "varies 0.0065 times as much as its columns do in 256 rows, which tell as little of" in (
        str(said[0].message)
    )
    decider.learn(table, told)
    decider.ask(table)
    offering = pb.Decider(subspace=NAMED, seed=0)
    with pytest.warns(UserWarning, match="nearly repeats what is protected"):
        offering.ask(table[:20])
    encoded = pb.Decider(features=pb.Features(protected=["age"]).fit(table), seed=0)
    with pytest.warns(UserWarning, match="nearly repeats what is protected"):
        encoded.learn(table, told)


def test_close_columns_that_do_no_harm_are_not_warned_of() -> None:
    rng = np.random.default_rng(1)
    table, told = _nearly_repeated(rng, 300, 1.0, [0.0, 0.0, 0.0])
    both_count = table.assign(size=table["price"] + 0.01 * rng.normal(size=300))
    large_beside_what_they_vary = table.assign(age=1000 + table["age"], size=1000 + table["size"])
    for harmless in (both_count, large_beside_what_they_vary):
        decider = pb.Decider(subspace=NAMED, seed=0)
        decider.learn(harmless, told)
        decider.ask(harmless[:3])


@pytest.mark.parametrize(("close", "most"), [(0.01, 1.0), (1.0, 0.98)])
def test_intervals_hold_where_columns_are_close_and_where_they_are_not(
    close: float, most: float
) -> None:
    held, worlds = {"coefficient": 0, "decision": 0}, 400
    for seed in range(worlds):
        rng = np.random.default_rng([int(100 * close), seed])
        theta = rng.normal(size=3).tolist()
        table, told = _nearly_repeated(rng, 200, close, theta)
        ridge = pb.Ridge.prior(d=3, penalty=0.1).update_many(table, told)
        for name, x in (("coefficient", [0.0, 1.0, 0.0]), ("decision", [0.0, *rng.normal(size=2)])):
            value, error = ridge.projected(np.eye(3), np.asarray(x))
            held[name] += abs(float(value) - float(np.dot(x, theta))) <= 1.96 * float(error)
    assert all(0.93 * worlds <= count <= most * worlds for count in held.values()), held


def test_the_error_of_what_outcomes_say_nothing_of_is_unknown() -> None:
    rng = np.random.default_rng(2)
    decider = pb.Decider(subspace=NAMED, seed=0)
    table = pd.DataFrame({"age": 0.0, "price": rng.normal(size=30), "size": 0.0})
    decider.learn(table, rng.normal(size=30))
    errors = decider.coefficients()["standard_error"]
    assert errors.isna().loc[["age", "size"]].all()
    assert 0.0 < errors["price"] < 1.0


def test_levels_that_depend_by_design_have_errors() -> None:
    rng = np.random.default_rng(3)
    raw = pd.DataFrame(
        {
            "genre": rng.choice(["drama", "comedy", "war"], 300),
            "origin": rng.choice(["here", "there"], 300),
            "length": rng.normal(size=300),
        }
    )
    features = pb.Features(protected=["origin"]).fit(raw)
    decider = pb.Decider(features=features, seed=0)
    worth = raw["genre"].map({"drama": 1.0, "comedy": 0.0, "war": -1.0}) + 0.5 * raw["length"]
    decider.learn(raw, worth + 0.1 * rng.normal(size=300))
    table = decider.coefficients()
    never = table.index.str.endswith("=other")
    assert table["standard_error"][never].isna().all()
    assert (table["standard_error"][~never] < 0.05).all()
