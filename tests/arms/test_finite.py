"""Finitely many arms."""

import copy
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import projbandits as pb
from projbandits.testing import check_decision_set
from tests import naive
from tests.sets import confused


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 10_000))
@settings(max_examples=60)
def test_equal_arms_tie_and_the_lowest_index_wins(K: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(K, d))
    arms = pb.FiniteArms(np.vstack([X, X, X]))
    c = rng.normal(size=d)
    index = arms.best(c).index
    assert index is not None
    assert index < K
    assert X[index] @ c == pytest.approx((X @ c).max(), rel=1e-12, abs=1e-12)


def test_a_zero_direction_takes_the_first_arm() -> None:
    assert pb.FiniteArms(np.eye(3)).best(np.zeros(3)).index == 0


@pytest.mark.parametrize(
    "X",
    [
        np.array([[2.0, 1.0]]),
        np.ones((4, 3)),
        np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]),
        np.random.default_rng(0).normal(size=(9, 4)) @ np.diag([1e-3, 1, 10, 440]),
        np.random.default_rng(1).normal(size=(8, 3)) @ np.random.default_rng(2).normal(size=(3, 6)),
    ],
    ids=["single", "duplicates", "zero-and-collinear", "scales", "span-less-than-R^d"],
)
def test_odd_sets_conform(X: naive.Array) -> None:
    arms = pb.FiniteArms(X)
    check_decision_set(arms)
    assert arms.rank == np.linalg.matrix_rank(X)
    first = [arm.index for arm in arms.basis_arms("first")]
    assert first == naive.first_independent(X)


def test_pivoted_qr_takes_the_arm_farthest_from_the_span_so_far() -> None:
    X = np.random.default_rng(3).normal(size=(20, 4))
    chosen = [arm.index for arm in pb.FiniteArms(X).basis_arms("pivoted-qr")]
    assert len(chosen) == 4
    rest = X.copy()
    for index in chosen:
        assert index == np.linalg.norm(rest, axis=1).argmax()
        q = rest[index] / np.linalg.norm(rest[index])
        rest = rest - np.outer(rest @ q, q)


def test_the_first_arms_are_independent_where_round_off_blurs_the_rank() -> None:
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (8, 5)) @ rng.uniform(-1, 1, (5, 10))
        basis = pb.FiniteArms(X).basis("first")
        assert len(basis) == pb.FiniteArms(X).rank == 5
        assert np.linalg.svd(basis, compute_uv=False)[-1] > 1e-9
    near = np.array([[1.0, 0.5, 0.0], [1.0 + 1e-9, 0.5, 0.0], [0.0, 1.0, 0.0]])
    assert len(pb.FiniteArms(near).basis("first")) == 2


def test_the_first_arms_are_those_in_front_unless_one_of_them_adds_nothing() -> None:
    rng = np.random.default_rng(4)
    for K, d in ((45, 10), (7, 3), (4, 6)):
        X = rng.uniform(-1, 1, (K, d))
        assert pb.FiniteArms(X).basis_rows("first") == naive.first_independent(X)
        X[1] = 3 * X[0]
        rows = pb.FiniteArms(X).basis_rows("first")
        assert rows == naive.first_independent(X)
        assert 1 not in rows


def test_arms_are_a_copy_of_what_was_given() -> None:
    X = np.eye(2)
    arms = pb.FiniteArms(X)
    X[0, 0] = 100.0
    assert arms.vectors[0, 0] == 1.0


def test_only_zeros_have_rank_zero() -> None:
    arms = pb.FiniteArms(np.zeros((2, 3)))
    assert arms.rank == 0
    assert arms.basis().shape == (0, 3)
    assert arms.span().dim == 0


def test_a_frame_gives_its_names_and_the_arms_cannot_be_changed() -> None:
    arms = pb.FiniteArms(pd.DataFrame({"price": [1, 2], "age": [3, 4]}))
    assert arms.columns == ("price", "age")
    assert len(arms) == 2
    with pytest.raises(ValueError, match="read-only"):
        arms.vectors[0, 0] = 5.0


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([[1.0, np.nan]], ValueError, r"X must be finite, got X\[0, 1\] = nan"),
        ([[1.0, np.inf]], ValueError, r"X\[0, 1\] = inf"),
        ([1.0, 2.0], ValueError, "X must be a matrix"),
        (np.zeros((0, 3)), ValueError, "at least one arm"),
        ([["a", "b"]], TypeError, "X must hold numbers only"),
        ([["1", "2"]], TypeError, "X must hold numbers only"),
        ([[1.0, 2.0], [3.0]], TypeError, "rows of equal length"),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), TypeError, "X must hold numbers only"),
        (pd.DataFrame({"a": [1, None]}, dtype="Int64"), ValueError, r"X\[1, 0\] = nan"),
    ],
)
def test_bad_arms_are_named(X: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pb.FiniteArms(X)  # type: ignore[arg-type]


def test_bad_directions_and_methods_are_named() -> None:
    arms = pb.FiniteArms(np.eye(2))
    with pytest.raises(ValueError, match="direction must have length 2, got length 3"):
        arms.maximize([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="direction must be finite"):
        arms.maximize([np.nan, 1.0])
    with pytest.raises(ValueError, match=r"method must be one of .*did you mean 'pivoted-qr'"):
        arms.basis("pivoted_qr")


def test_contains_knows_members_from_others() -> None:
    arms = pb.FiniteArms(np.eye(2))
    assert arms.contains([0.0, 1.0])
    assert not arms.contains([0.0, 1.01])


def test_the_longest_arm_is_the_longest_of_all() -> None:
    rng = np.random.default_rng(0)
    for K, d in ((1, 1), (3, 5), (45, 10), (200, 13)):
        X = rng.normal(size=(K, d)) * 10 ** rng.uniform(-6, 6, size=d)
        longest = max(np.sqrt((x * x).sum()) for x in X)
        assert pb.FiniteArms(X).longest == pytest.approx(longest, rel=1e-12)
    assert pb.FiniteArms(np.zeros((2, 3))).longest == 0.0


@given(
    st.integers(1, 30),
    st.integers(1, 6),
    st.sampled_from([0.0, 1e-13, 1e-11, 1e-9, 1e-6, 1.0]),
    st.sampled_from([0, 3, 8]),
    st.integers(0, 10_000),
)
@settings(max_examples=200)
def test_the_rank_is_that_of_arms_with_all_features_at_one_scale(
    K: int, d: int, thin: float, scales: int, seed: int
) -> None:
    """Also where a short cut finds it: sets that are nearly flat, features of any scale."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(K, d))
    X[:, -1] = X[:, :-1].sum(axis=1) + thin * X[:, -1]
    X *= 10.0 ** rng.integers(-scales, scales + 1, size=d)
    assert pb.FiniteArms(X).rank == naive.rank(X, 1e-11)


def test_on_finitely_many_arms_every_arm_is_looked_at() -> None:
    rng = np.random.default_rng(5)
    arms = pb.FiniteArms(rng.normal(size=(30, 3)))
    score = confused(pb.Ball(3), rng)
    values = [
        x @ score.aim + score.radius * math.sqrt(x @ score.ridge.inverse @ x) for x in arms.vectors
    ]
    assert arms.best_convex(score).index == int(np.argmax(values))


def test_a_copy_of_arms_does_not_carry_by_whom_something_was_found() -> None:
    arms = pb.FiniteArms(np.eye(3))
    assert arms.once((lambda: None,), lambda: "found") == "found"  # no lambda can be pickled
    for copied in (pickle.loads(pickle.dumps(arms)), copy.deepcopy(arms)):
        np.testing.assert_array_equal(copied.vectors, arms.vectors)
        assert copied.once((None,), lambda: "sought") == "sought"
    assert arms.basis_rows() == pickle.loads(pickle.dumps(arms)).basis_rows()
