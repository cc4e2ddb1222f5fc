"""What a decider refuses: each error names what and where, and leaves it as it was."""

import copy
import math
import pickle
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import projbandits as pb
from projbandits.online import offers
from tests.test_online import NAMED, U3, fingerprint


@pytest.mark.parametrize(
    ("reward", "error", "message"),
    [
        (math.nan, ValueError, "reward of .* must be finite, got nan"),
        (math.inf, ValueError, "reward of .* must be finite, got inf"),
        ("much", TypeError, "reward of .* must be a number, got 'much'"),
        (1e200, ValueError, r"reward of .* must be at most 1e\+50 in size, got 1e\+200: rescale"),
        (None, TypeError, "reward of .* must be a number, got None"),
    ],
)
def test_a_reward_that_is_no_number_changes_nothing(
    reward: Any, error: type[Exception], message: str
) -> None:
    decider = pb.Decider(subspace=U3, seed=0)
    decision = decider.ask(np.eye(3))
    before = fingerprint(decider)
    with pytest.raises(error, match=message):
        decider.tell(decision.id, reward)
    assert fingerprint(decider) == before


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
        "Date in column 'price'",
    ),
    (lambda d: d.ask(frame(), count=3), ValueError, "number of arms on offer, 2, got 3"),
    (lambda d: d.ask(frame(), count=0), ValueError, "count must be at least 1, got 0"),
    (lambda d: d.ask(pb.Ball(d=3), count=2), ValueError, "infinitely many"),
    (lambda d: d.learn(np.eye(2), [1, 2]), ValueError, "features must have 3 columns, got 2"),
    (lambda d: d.learn(frame(), [1.0]), ValueError, "rewards must have length 2, got length 1"),
    (lambda d: d.learn(frame(), [1.0, np.nan]), ValueError, r"rewards\[1\] = nan"),
    (lambda d: d.learn(frame(), pd.Series([1, None], dtype="Int64")), ValueError, r"\[1\] = nan"),
    (lambda d: d.learn(frame(), pl.Series([None, 1.0])), ValueError, r"rewards\[0\] = nan"),
    (lambda d: d.learn(frame(), pd.Series([1, "x"])), TypeError, "rewards must hold numbers only"),
    (lambda d: d.ask([[1, 2, 3], [1, 2]]), TypeError, "2 entries in row 1 and 3 in row 0"),
    (lambda d: d.ask(np.eye(3) + 1j), TypeError, "row 0, column 0"),
    (lambda d: d.ask(pl.LazyFrame({"age": [1.0]})), TypeError, r"collect\(\) it first"),
    (lambda d: d.learn(frame(), ["a", "b"]), TypeError, "got 'a' in row 0"),
    (lambda d: d.tell(d.pending[0], np.complex128(1 + 5j)), TypeError, "must be a number"),
    (lambda d: d.tell_many([(d.pending[0].id, 1.0, 2.0)]), TypeError, "pairs of id and reward"),
    (lambda d: d.tell_many("ab"), TypeError, "pairs of id and reward, got a str"),
    (lambda d: d.tell_many(None), TypeError, "pairs of id and reward, got a NoneType"),
    (lambda d: d.tell_many(frame()), TypeError, "pairs of id and reward, got a DataFrame"),
    (lambda d: d.learn(frame(), [1.0, -1e200]), ValueError, r"rewards\[1\] must be at most 1e\+50"),
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


def test_a_strategy_that_fails_leaves_the_decider_as_it_was() -> None:
    def schedule(t: int) -> float:
        if t == 3:
            raise RuntimeError("no more")
        return 1.0

    decider = pb.Decider(pb.GENTRY(schedule=schedule), subspace=U3, seed=0)
    decider.ask(np.eye(3))
    before = fingerprint(decider)
    with pytest.raises(RuntimeError, match="no more"):
        decider.ask(np.eye(3), count=2)
    assert fingerprint(decider) == before


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: pb.Decider("GENTRY", subspace=U3), TypeError, "strategy must be one like"),  # type: ignore[arg-type]
        (lambda: pb.Decider(subspace=np.eye(3)), TypeError, "subspace must be a Subspace"),  # type: ignore[arg-type]
        (lambda: pb.Decider(subspace=U3, seed=-1), ValueError, "seed must be at least 0"),
    ],
)
def test_bad_arguments_are_named(
    make: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


def test_a_strategy_that_needs_the_same_arms_is_refused() -> None:
    with pytest.raises(ValueError, match="strategy must do without arm_effects"):
        pb.Decider(pb.GENTRY(arm_effects=0.4), subspace=U3)
    decider = pb.Decider(subspace=U3, seed=0, log=True)
    decider.tell(decider.ask(np.eye(3)).id, 1.0)
    with pytest.raises(ValueError, match="strategy must do without arm_effects"):
        pb.replay(decider.log(), pb.GENTRY(arm_effects=0.4), subspace=U3)


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
    pb.Decider(subspace=NAMED, seed=0).ask(table)
    with pytest.warns(UserWarning, match="the direction 1 size lies outside"):
        pb.Decider(subspace=NAMED, seed=0).ask(table.assign(size=0))
    with pytest.warns(UserWarning, match="the direction 1 price lies outside"):
        pb.Decider(subspace=NAMED, seed=0).ask(table.assign(price=0))


def test_workers_that_name_their_columns_differently_are_not_merged() -> None:
    def worker(*columns: str) -> pb.Decider:
        made = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
        made.learn(pd.DataFrame(np.eye(3), columns=[*columns]), [1.0, 2.0, 3.0])
        return made

    total = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    before = fingerprint(total)
    with pytest.raises(ValueError, match="same columns in the same order"):
        total.merge(worker("a", "b", "c"), worker("c", "b", "a"))
    assert fingerprint(total) == before
    total.merge(worker("a", "b", "c"), worker("a", "b", "c"))
    assert total.columns == ("a", "b", "c")


def test_columns_may_be_numbers_and_tables_of_any_kind() -> None:
    table = pd.DataFrame(np.eye(3)[::-1], columns=[2019, 2020, 2021])
    U = pb.Subspace.without([2020], columns=table.columns)  # type: ignore[list-item]
    decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0)
    decider.ask(table)
    np.testing.assert_array_equal(decider.ask(table.iloc[:1, ::-1]).arm, [0.0, 0.0, 1.0])
    turned = pa.table({"2021": [1.0], "2020": [2.0], "2019": [3.0]})
    np.testing.assert_array_equal(decider.ask(turned).arm, [3.0, 2.0, 1.0])


def test_outcomes_come_as_a_mapping_or_a_series_too() -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    first, second = decider.ask(np.eye(3), count=2)
    decider.tell_many(pd.Series({first.id: 1.0}))
    decider.tell_many({second.id: 2.0})
    assert decider.pending == ()
    assert decider.ridge.n == 2


def test_copying_points_to_saving() -> None:
    decider = pb.Decider(subspace=U3, seed=0)
    for attempt in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="save it, and load the file"):
            attempt(decider)


@pytest.mark.parametrize("method", ["pivoted-qr", "first"])
def test_among_very_many_arms_a_rare_one_is_still_explored(method: str) -> None:
    """Every arm but one has no second feature, and the third is always that of a constant."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 4)) * [1.0, 0.0, 0.0, 1e-6]
    X[:, 2] = 3.0
    X[7777, 1] = 1e3
    twin = np.column_stack([X, X[:, 0] - X[:, 3]])
    rows = offers.Offer(twin).basis_rows(method)
    assert 7777 in rows
    assert len(rows) == 4
    assert np.linalg.matrix_rank(twin[rows] / np.abs(twin).max(axis=0)) == 4
