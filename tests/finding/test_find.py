"""Side information in pieces, how sure what is found is, and what is still predictable."""

import builtins
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from tests import naive
from tests.finding.test_attributes import side
from tests.finding.test_groups import panel
from tests.finding.test_pairs import twins


def cut(parts: tuple[Any, ...], sizes: list[int]) -> list[tuple[Any, ...]]:
    ends = np.cumsum([0, *sizes])
    return [tuple(part[a:b] for part in parts) for a, b in pairwise(ends)]


KINDS: dict[str, tuple[Any, ...]] = {
    "attributes": (side(300, 0)[0] + 1e3, pd.Series(np.repeat(["a", "b", "c"], 100), name="who")),
    "pairs": twins(300, 0)[:2],
    "groups": panel(300, 0)[:3],
}


@pytest.mark.parametrize("kept", [50, 10_000])
@pytest.mark.parametrize("kind", KINDS)
def test_pieces_find_what_the_whole_finds(
    kind: str, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projbandits.finding.sums.KEPT_ROWS", kept)
    whole = pb.find_subspace(**{kind: KINDS[kind]}, leave_out=1)  # type: ignore[arg-type]
    pieces = iter(cut(KINDS[kind], [1, 2, 150, 147]))
    again = pb.find_subspace(**{kind: pieces}, leave_out=1)  # type: ignore[arg-type]
    np.testing.assert_allclose(again.subspace.matrix, whole.subspace.matrix, atol=1e-8)
    assert again.angle == pytest.approx(whole.angle, abs=1e-5)
    np.testing.assert_allclose(again.tested.limits, whole.tested.limits, atol=1e-8)
    assert again.rows == whole.rows == 300


def test_a_category_may_first_appear_in_a_later_piece() -> None:
    X, who = KINDS["attributes"]
    late = pb.SideInformation().update(attributes=(X[:100], who[:100]))
    late = late.update(attributes=(X[100:], who[100:])).update(items=X[:7])
    at_once = pb.find_subspace(attributes=(X, who), items=X[:7], leave_out=2)
    np.testing.assert_allclose(
        late.find(leave_out=2).subspace.matrix, at_once.subspace.matrix, atol=1e-8
    )


def test_items_without_labels_come_in_pieces_too() -> None:
    X, z, _ = side(100, 1)
    Y, _, _ = side(500, 2)
    whole = pb.find_subspace(attributes=(X, z), items=Y, leave_out=2)
    for pieces in (iter([Y[:200], Y[200:]]), [pd.DataFrame(Y[:200]), Y[200:]]):
        again = pb.find_subspace(attributes=(X, z), items=pieces, leave_out=2)
        np.testing.assert_allclose(again.subspace.matrix, whole.subspace.matrix, atol=1e-8)
    rows = pb.find_subspace(attributes=(X, z), items=Y.tolist(), leave_out=2)
    np.testing.assert_allclose(rows.subspace.matrix, whole.subspace.matrix, atol=1e-8)


def test_more_leaves_what_was_there_as_it_was() -> None:
    X, z, _ = side(100, 1)
    first = pb.SideInformation().update(attributes=(X[:60], z[:60]))
    before = first.find(leave_out=2)
    assert first.update(attributes=(X[60:], z[60:])).find(leave_out=2).rows == 100
    np.testing.assert_array_equal(first.find(leave_out=2).subspace.matrix, before.subspace.matrix)


@pytest.mark.parametrize("kind", ["attributes", "pairs", "groups"])
def test_the_angle_covers_the_truth(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # It should hold in 95 % of cases. Fewer than 25 of 30, or 16 of 20, have a chance of 0.3 %.
    monkeypatch.setattr("projbandits.finding.find.SIDE_RESAMPLES", 40)
    covered, (seeds, least) = 0, (20, 16) if kind == "groups" else (30, 25)
    for seed in range(seeds):
        if kind == "attributes":
            X, z, V = side(400, seed)
            found = pb.find_subspace(attributes=(X, z), leave_out=2)
        elif kind == "pairs":
            X, Y, V = twins(200, seed)
            found = pb.find_subspace(pairs=(X, Y), leave_out=2)
        else:
            X, r, group, V = panel(400, seed)
            found = pb.find_subspace(groups=(X, r, group), leave_out=1)
        covered += naive.degrees(V, found.left_out.basis) <= found.angle
        assert found.angle < 60
    assert covered >= least


def test_little_side_information_is_called_a_guess() -> None:
    X, z, _ = side(20, 0)
    found = pb.find_subspace(attributes=(X, z), leave_out=2)
    assert found.angle > 30
    assert "this U is a guess" in found.report()
    noise = np.random.default_rng(0).normal(size=(200, 2))
    X, z, _ = side(200, 0)
    forced = pb.find_subspace(attributes=(X, np.column_stack([z, noise])), leave_out=4)
    assert "Only 2 of them go further than chance" in forced.report()


@pytest.mark.parametrize("shrink", [False, True])
def test_a_handful_of_rows_is_a_guess_and_no_error(shrink: bool) -> None:
    X, z, _ = side(4, 0)
    found = pb.find_subspace(attributes=(X, z[:, 0]), leave_out=1, shrink=shrink)
    assert found.left_out.dim == 1
    assert found.angle > 30


def test_an_identity_is_no_attribute() -> None:
    # Dealt anew it is the same, so it goes exactly as far as chance does.
    X, _, _ = side(60, 0)
    found = pb.find_subspace(attributes=(X, [f"id {i}" for i in range(60)]))
    assert found.left_out.dim == 0
    assert found.tested.p_values[0] == 1.0
    with pytest.raises(TypeError, match=r"got datetime64.* in column 'z': convert dates to years"):
        pb.find_subspace(attributes=(X, pd.date_range("2020", periods=60).to_numpy()))


def test_what_is_kept_predicts_nothing_linear() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    who = np.where(0.5 * X[:, 0] + X[:, 1] ** 2 > 0.5, "f", "m")
    z = pd.DataFrame({"who": who, "age": X[:, 2] + 0.5 * rng.normal(size=600)})
    found = pb.find_subspace(attributes=(X, z))
    table: Any = found.predictable
    assert list(table.index) == ["who", "age"]
    assert list(table["measure"]) == ["balanced accuracy", "R^2"]
    assert table.loc["who", "linear before"] > 0.6
    assert table.loc["age", "linear before"] > 0.7
    # Five standard errors of a balanced accuracy of 600 rows, and of an R^2.
    for column in ("linear after", "linear fresh"):
        assert abs(table.loc["who", column] - 0.5) < 0.1
        assert table.loc["age", column] < 0.05
    assert table.loc["who", "boosting after"] > 0.65  # a square is no linear relation
    few = pb.find_subspace(attributes=(X[:40], who[:40]), leave_out=1)
    assert few.predictable[["linear after", "boosting after"]].isna().all(axis=None)


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *rest: Any) -> Any:
        if name.startswith("sklearn"):
            raise ImportError(name)
        return real(name, *rest)

    X, z, _ = side(300, 0)
    found = pb.find_subspace(attributes=(X, z))
    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ImportError, match=r"pip install 'projbandits\[sklearn\]'"):
        found.predictable  # noqa: B018


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "attributes, pairs or groups must be given, got none"),
        ({"items": np.eye(3)}, "items must come with or after attributes"),
        (
            {"pairs": (np.eye(3), np.eye(3)), "attributes": (np.eye(3), [1, 2, 3])},
            "must be of one kind, attributes, pairs or groups, got attributes and pairs",
        ),
        ({"attributes": (np.eye(3), [1.0, 2, 3]), "leave_out": 0}, "leave_out must be at least 1"),
        ({"pairs": (np.eye(3), np.eye(3)), "shrink": True}, "shrink must come with attributes"),
        ({"attributes": KINDS["attributes"], "shrink": 1}, "shrink must be True or False, got 1"),
        ({"attributes": pd.DataFrame({"a": [1.0]})}, r"must be \(X, z\), got a DataFrame"),
        ({"attributes": (np.eye(3)[0], [1.0, 2, 3])}, "X must be a matrix or a table"),
        ({"attributes": (np.eye(3)[:0], [])}, "X must have at least one row"),
        ({"attributes": (np.diag([np.nan, 1.0]), [1.0, 2.0])}, r"X must be finite, got X\[0, 0\]"),
        (
            {"attributes": iter([(np.eye(3), [1.0, 2, 3]), (np.eye(2), [1.0, 2])])},
            "X must have 3 columns, as before, got 2",
        ),
        (
            {"attributes": iter([(np.eye(3), [1.0, 2, 3]), (np.eye(3), [*"abc"])])},
            r"same attributes in every piece, got z \(category\) after z \(number\)",
        ),
    ],
)
def test_side_information_that_cannot_be_used_is_named(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        pb.find_subspace(**options)


def test_nothing_is_found_before_there_is_side_information() -> None:
    with pytest.raises(ValueError, match="there is no side information yet"):
        pb.SideInformation().find()
