"""What is on offer: tables matched by name, very many arms, and errors that name what and where."""

import math
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import projbandits as pb
from projbandits.deciding import offers
from projbandits.ledger import offer
from projbandits.ledger.offer import Offer
from projbandits.strategies.information import BELIEF_DRAWS, TURNS, normal_table
from tests.deciders import NAMED, fingerprint
from tests.worlds import U3


def test_tables_are_matched_by_name_in_any_order() -> None:
    table = pd.DataFrame({"price": [1, 2], "size": [0.5, 4.0], "age": [True, False]})
    expected = np.array([[1.0, 1.0, 0.5], [0.0, 2.0, 4.0]])
    given_as: list[Any] = [
        table,
        table[["age", "size", "price"]],
        table.convert_dtypes(),
        pl.DataFrame(table.to_dict("list")),
        pb.FiniteArms(table.astype(float)),
        expected,
        expected.tolist(),
        np.asfortranarray(expected),
        np.repeat(expected, 2, axis=1)[:, ::2],
    ]
    for arms in given_as:
        read, columns = offers.read("arms", arms, NAMED, NAMED.names, 1.0)
        assert columns == ("age", "price", "size")
        assert isinstance(read, pb.FiniteArms)
        np.testing.assert_array_equal(read.vectors, expected)


def test_the_first_table_names_the_columns() -> None:
    decider = pb.Decider(subspace=U3, seed=0)
    decider.learn(pd.DataFrame(np.eye(3), columns=["a", "b", "c"]), [1.0, 2.0, 3.0])
    decision = decider.ask(pd.DataFrame([[3.0, 2.0, 1.0]], columns=["c", "b", "a"]))
    np.testing.assert_array_equal(decision.arm, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"must have the columns \['c'\], they are missing"):
        decider.ask(pd.DataFrame([[3.0, 2.0]], columns=["b", "a"]))


@pytest.mark.parametrize("strategy", [pb.EIIDS(), pb.DirectedIDS()], ids=repr)
def test_of_very_many_arms_some_are_weighed(
    strategy: pb.EIIDS | pb.DirectedIDS, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offer, "WEIGHED", 2000)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 3))
    decider = pb.Decider(strategy, subspace=U3, seed=0)
    for _ in range(5):
        decider.tell(decider.ask(X[rng.integers(3000, size=4)]).id, float(rng.normal()))
    state, arms = decider.belief().state, Offer(X)
    rows = strategy.candidates(state, arms).rows
    start = state.step % TURNS * BELIEF_DRAWS
    directions = strategy.belief(state).directions(normal_table(3)[start : start + BELIEF_DRAWS])
    best = [int((X @ c).argmax()) for c in directions]
    assert rows is not None
    assert set(rows) == {*best, *(arm.index for arm in arms.level_arms())}
    assert rows[0] == best[0]
    chances = strategy.probabilities(state, arms)
    assert set(np.flatnonzero(chances)) <= set(rows)
    assert chances.sum() == pytest.approx(1.0)
    for _ in range(20):
        choice = strategy.select(state, arms, rng)
        assert choice.index is not None
        assert choice.probability == chances[choice.index]
        np.testing.assert_array_equal(choice.arm.x, X[choice.index])


BAD: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda d: d.ask(frame(size=None)), ValueError, r"columns \['size'\], they are missing"),
    (lambda d: d.ask(frame(size=None, sise=[1, 2])), ValueError, "did you mean 'sise'"),
    (
        lambda d: d.ask(frame(size=None, price=None, siz=[1, 2], q=[1, 2])),
        ValueError,
        r"\['price', 'size'\], they are missing; got \['siz', 'q'\] instead: did you mean 'siz'",
    ),
    (lambda d: d.ask(frame(colour=[1, 2])), ValueError, r"got \['colour'\] beside them: drop"),
    (lambda d: d.ask(frame(prices=[1, 2])), ValueError, r"\['prices'\].*did you mean 'price'"),
    (lambda d: d.ask(frame(price=[1, "x"])), TypeError, "'x' in row 1, column 'price'"),
    (
        lambda d: d.ask(frame(price=pd.Series([1, 10**400], dtype=object))),
        TypeError,
        "100.* in row 1, column 'price'",
    ),
    (
        lambda d: d.ask([{"age": 1, "price": 10**400, "size": 1}]),
        TypeError,
        "column 'price', got 100.* in row 0",
    ),
    (lambda d: d.ask([{}]), ValueError, "must have the columns .*'age', 'price', 'size'"),
    (
        lambda d: d.ask([{"age": 1, "price": 1, "size": 1, "colour": "red"}]),
        ValueError,
        r"got \['colour'\] beside them: drop",
    ),
    (lambda d: d.ask(frame(price=[1, np.nan])), ValueError, "nan in row 1, column 'price'"),
    (
        lambda d: d.ask(pl.DataFrame({"age": [1], "price": [None], "size": [1]})),
        ValueError,
        "row 0",
    ),
    (lambda d: d.ask(pl.DataFrame({"age": [1], "price": ["a"], "size": [1]})), TypeError, "'a' in"),
    (lambda d: d.ask(frame().convert_dtypes().shift(1)), ValueError, "nan in row 0, column 'age'"),
    (lambda d: d.ask([[1, 2, math.inf]]), ValueError, "inf in row 0, column 'size'"),
    (lambda d: d.ask(np.array([[1, 2, np.nan]])), ValueError, "nan in row 0, column 'size'"),
    (lambda d: d.ask(frame().iloc[:0]), ValueError, "at least one arm, got none"),
    (lambda d: d.ask([]), ValueError, "at least one arm, got none"),
    (lambda d: d.ask(np.empty((0, 3))), ValueError, "at least one arm, got none"),
    (lambda d: d.ask(np.eye(2)), ValueError, "arms must have 3 features.*got 2"),
    (lambda d: d.ask(pb.Ball(d=2)), ValueError, "arms must have 3 features.*got 2"),
    (lambda d: d.ask([1.0, 2.0, 3.0]), ValueError, "arms must be a matrix"),
    (lambda d: d.ask([[1, 2, 3], [1, "b", 3]]), TypeError, "got 'b' in row 1, column 1"),
    (lambda d: d.ask(np.array([["1", "2", "3"]])), TypeError, "got .*'1'.* in row 0, column 0"),
    (
        lambda d: d.ask(np.array([[1, 2, 1e308]])),
        ValueError,
        r"at most 3\.16e\+13 in size, .* got 1e\+308 in row 0, column 'size': rescale that column",
    ),
    (lambda d: d.ask(pb.FiniteArms([[1, -1e20, 3]])), ValueError, "-1e.20 in row 0, .*'price'"),
    (lambda d: d.ask(pb.Box([0, 0, 0], [1, 1, 1e20])), ValueError, "1e.20 in row 0, .*'size'"),
    (lambda d: d.ask(np.array([[1, 2, 3, np.nan]])), ValueError, "nan in row 0, column 3"),
    (lambda d: d.learn(frame(price=[1, 1.7e18]), [1, 2]), ValueError, "7e.18 in row 1, .*'price'"),
    (lambda d: d.ask(np.array([[1, 2, np.nan]], "f4")), ValueError, "nan in row 0, column 'size'"),
    (lambda d: d.ask(np.array([[1, None, 3]])), ValueError, "nan in row 0, column 'price'"),
    (
        lambda d: d.ask(np.ma.array([[1, 2, 3]], mask=[[False, True, False]])),
        ValueError,
        "nan in row 0, column 'price'",
    ),
    (
        lambda d: d.ask(frame(price=pd.to_datetime(["2020-01-01"] * 2))),
        TypeError,
        r"datetime64\[.*\] in column 'price'",
    ),
    (
        lambda d: d.ask(pl.DataFrame({"age": [1], "price": [date(2020, 1, 1)], "size": [1]})),
        TypeError,
        r"datetime64\[D\] in column 'price'",
    ),
    (lambda d: d.ask(frame(), count=3), ValueError, "number of arms on offer, 2, got 3"),
    (lambda d: d.ask(frame(), count=0), ValueError, "count must be at least 1, got 0"),
    (lambda d: d.ask(pb.Ball(d=3), count=2), ValueError, "infinitely many"),
    (lambda d: d.learn(np.eye(2), [1, 2]), ValueError, "features must have 3 columns, got 2"),
    (lambda d: d.learn(frame(), [1.0]), ValueError, "outcomes must have length 2, got length 1"),
    (lambda d: d.learn(frame(), [1.0, np.nan]), ValueError, r"outcomes\[1\] = nan"),
    (lambda d: d.learn(frame(), pd.Series([1, None], dtype="Int64")), ValueError, r"\[1\] = nan"),
    (lambda d: d.learn(frame(), pl.Series([None, 1.0])), ValueError, r"outcomes\[0\] = nan"),
    (lambda d: d.learn(frame(), pd.Series([1, "x"])), TypeError, "outcomes must hold numbers only"),
    (lambda d: d.ask([[1, 2, 3], [1, 2]]), TypeError, "2 entries in row 1 and 3 in row 0"),
    (lambda d: d.ask(np.eye(3) + 1j), TypeError, "row 0, column 0"),
    (lambda d: d.ask(pl.LazyFrame({"age": [1.0]})), TypeError, r"collect\(\) it first"),
    (lambda d: d.learn(frame(), ["a", "b"]), TypeError, "got 'a' in row 0"),
    (lambda d: d.tell(d.pending[0], np.complex128(1 + 5j)), TypeError, "must be a number"),
    (lambda d: d.tell_many([(d.pending[0].id, 1.0, 2.0)]), TypeError, "pairs of id and outcome"),
    (lambda d: d.tell_many("ab"), TypeError, "pairs of id and outcome, got a str"),
    (lambda d: d.tell_many(None), TypeError, "pairs of id and outcome, got a NoneType"),
    (lambda d: d.tell_many(frame()), TypeError, "pairs of id and outcome, got a DataFrame"),
    (
        lambda d: d.learn(frame(), [1.0, -1e200]),
        ValueError,
        r"outcomes\[1\] must be at most 1e\+50",
    ),
    (lambda d: d.learn(frame(size=None), [1, 2]), ValueError, r"\['size'\], they are missing"),
    (lambda d: d.learn(frame(price=[1, np.nan]), [1, 2]), ValueError, "row 1, column 'price'"),
]


def frame(**changes: Any) -> pd.DataFrame:
    columns = {"age": [1.0, 2.0], "price": [3.0, 1.0], "size": [0.0, 1.0], **changes}
    return pd.DataFrame({name: value for name, value in columns.items() if value is not None})


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input_is_named_and_changes_nothing(
    call: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    decider = pb.Decider(subspace=NAMED, seed=0)
    decider.learn(np.eye(3), [1.0, 2.0, 3.0])
    decider.ask(frame())
    before = fingerprint(decider)
    with pytest.raises(error, match=message):
        call(decider)
    assert fingerprint(decider) == before


def test_columns_twice_are_refused() -> None:
    twice = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["age", "price", "price"])
    with pytest.raises(ValueError, match="distinct columns, got 'price' more than once"):
        pb.Decider(subspace=NAMED, seed=0).ask(twice)


def test_columns_may_be_numbers_and_tables_of_any_kind() -> None:
    table = pd.DataFrame(np.eye(3)[::-1], columns=[2019, 2020, 2021])
    U = pb.Subspace.without([2020], columns=table.columns)  # type: ignore[list-item]
    decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0)
    decider.ask(table)
    np.testing.assert_array_equal(decider.ask(table.iloc[:1, ::-1]).arm, [0.0, 0.0, 1.0])
    turned = pa.table({"2021": [1.0], "2020": [2.0], "2019": [3.0]})
    np.testing.assert_array_equal(decider.ask(turned).arm, [3.0, 2.0, 1.0])


@pytest.mark.parametrize("method", ["pivoted-qr", "first"])
def test_among_very_many_arms_a_rare_one_is_still_explored(method: str) -> None:
    """Every arm but one has no second feature, and the third is always that of a constant."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 4)) * [1.0, 0.0, 0.0, 1e-6]
    X[:, 2] = 3.0
    X[7777, 1] = 1e3
    twin = np.column_stack([X, X[:, 0] - X[:, 3]])
    rows = Offer(twin).basis_rows(method)
    assert 7777 in rows
    assert len(rows) == 4
    assert np.linalg.matrix_rank(twin[rows] / np.abs(twin).max(axis=0)) == 4
