"""U from attributes: nothing that is kept goes with them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import projbandits as pb
from projbandits.finding.attributes import Labelled, shrunk
from tests import naive

Array = naive.Array


def side(m: int, seed: int, d: int = 6, noise: float = 0.5) -> tuple[Array, Array, Array]:
    """Return items, two attributes, and the directions that these go with."""
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.normal(size=(d, 2)))[0]
    X = rng.uniform(-1, 1, size=(m, d))
    return X, X @ V + noise * rng.normal(size=(m, 2)), V


def test_of_two_groups_the_difference_of_means_is_left_out() -> None:
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], size=50)
    X = rng.normal(size=(50, 4)) + np.outer(group == "a", [1.0, 0, 2.0, 0])
    difference = X[group == "a"].mean(axis=0) - X[group == "b"].mean(axis=0)
    for left_out in (
        pb.Subspace.uncorrelated_with(X, group).complement(),
        pb.find_subspace(attributes=(X, group), leave_out=1).left_out,
    ):
        assert left_out.dim == 1
        along = left_out.basis[:, 0] @ difference / np.linalg.norm(difference)
        assert abs(along) == pytest.approx(1.0, abs=1e-12)


def test_over_the_items_no_kept_feature_goes_with_an_attribute() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 7)) @ rng.normal(size=(7, 7)) + 1e4
    z = pd.DataFrame({"age": X[:, 0] + rng.normal(size=80), "who": rng.choice([*"xyz"], size=80)})
    U = pb.Subspace.uncorrelated_with(X, z)
    found = pb.find_subspace(attributes=(X, z), leave_out=3)
    assert U.dim == found.subspace.dim == 4  # an age, and three groups with two differences
    np.testing.assert_allclose(found.subspace.matrix, U.matrix, atol=1e-9)
    Z = np.column_stack([z["age"], *(z["who"] == k for k in "xyz")]).astype(float)
    assert np.abs(naive.cross_covariance(X, Z)).max() > 0.1
    assert np.abs(naive.cross_covariance(X @ U.matrix, Z)).max() < 1e-10
    design = np.column_stack([np.ones(80), U.project(X) @ U.basis])
    fit = design @ np.linalg.lstsq(design, Z, rcond=None)[0]
    np.testing.assert_allclose(fit, np.broadcast_to(Z.mean(axis=0), Z.shape), atol=1e-8)


def test_scales_of_features_and_of_attributes_do_not_matter() -> None:
    X, z, _ = side(300, seed=2)
    units = np.array([1e-3, 1.0, 1e3, 1.0, 10.0, 0.1])
    plain = Labelled.of(X, z)
    scaled = Labelled.of(X, z * [1e-4, 1e5])
    np.testing.assert_allclose(plain.directions(1)[1], scaled.directions(1)[1], rtol=1e-9)
    assert naive.degrees(plain.directions(1)[0], scaled.directions(1)[0]) < 1e-5
    turned = Labelled.of(X * units, z)
    np.testing.assert_allclose(plain.directions(1)[1], turned.directions(1)[1], rtol=1e-9)


@pytest.mark.parametrize("shrink", [False, True])
def test_units_do_not_matter_where_attributes_are_regressed(shrink: bool) -> None:
    X, z, _ = side(100, seed=2)
    Y, _, _ = side(300, seed=3)
    units = np.array([1e-5, 1.0, 1e5, 1.0, 10.0, 0.1])
    plain, scaled = (
        replace(Labelled.of(X * u, z).with_items(Y * u), shrink=shrink) for u in (1.0, units)
    )
    np.testing.assert_allclose(plain.directions(2)[1], scaled.directions(2)[1], rtol=1e-8)
    back = np.linalg.qr(scaled.directions(2)[0] / units[:, None])[0]
    assert naive.degrees(plain.directions(2)[0], back) < 1e-3


def test_where_rows_are_too_few_to_regress_the_covariance_is_left_out() -> None:
    X, z, _ = side(7, seed=2)
    Y, _, _ = side(300, seed=3)
    held = Labelled.of(X, z)
    for other in (held.with_items(Y), replace(held.with_items(Y), shrink=True)):
        np.testing.assert_allclose(held.directions(2)[0], other.directions(2)[0], atol=1e-12)


def test_with_few_labels_items_do_no_harm() -> None:
    # Ten labels for six features, of which the attributes show little; 100 samples, fixed seeds.
    # A regression that is not held back has 1.05 times the squared error of cov(x, z) there.
    errors = np.zeros((100, 2))
    for seed in range(100):
        X, z, V = side(10, seed, noise=2.0)
        Y = np.random.default_rng(seed + 1000).uniform(-1, 1, size=(2000, 6))
        held = Labelled.of(X, z)
        found = [one.directions(2)[0] for one in (held, held.with_items(Y))]
        errors[seed] = [2 - ((V.T @ basis) ** 2).sum() for basis in found]
    mean = errors.mean(axis=0)
    assert mean[1] < 1.02 * mean[0]


def test_unlabelled_items_that_are_the_labelled_ones_change_nothing() -> None:
    X, z, _ = side(100, seed=3)
    alone = pb.find_subspace(attributes=(X, z), leave_out=2)
    twice = pb.find_subspace(attributes=(X, z), items=X, leave_out=2)
    np.testing.assert_allclose(alone.subspace.matrix, twice.subspace.matrix, atol=1e-9)


def test_with_other_items_c_is_their_covariance_times_the_regression() -> None:
    rng = np.random.default_rng(4)
    X, z, _ = side(60, seed=4)
    Y = rng.normal(size=(500, 6)) + 3.0
    everyone = np.vstack([X, Y])
    C = naive.regressed_covariance(X, z, naive.cross_covariance(everyone, everyone))
    found = pb.find_subspace(attributes=(X, z), items=Y, leave_out=2, shrink=False)
    kept = np.eye(6) - naive.projection_matrix(C)
    np.testing.assert_allclose(found.subspace.matrix, kept, atol=1e-9)


@pytest.mark.parametrize("shrink", [False, True])
def test_items_without_labels_and_shrunk_correlations_bring_u_nearer(shrink: bool) -> None:
    # Per coordinate the variance of C falls from 1.75 to 0.75 where Sigma_x is known, or known but
    # for its diagonal, as where features are independent; 60 samples, fixed seeds.
    angles = np.zeros((60, 2))
    for seed in range(60):
        X, z, V = side(100, seed)
        Y = np.random.default_rng(seed + 1000).uniform(-1, 1, size=(2000, 6))
        held = Labelled.of(X, z)
        more = replace(held, shrink=True) if shrink else held.with_items(Y)
        angles[seed] = [naive.degrees(V, one.directions(2)[0]) for one in (held, more)]
    mean = np.sqrt((angles**2).mean(axis=0))
    assert 0.5 < mean[1] / mean[0] < 0.85  # sqrt(0.75 / 1.75) = 0.65


@pytest.mark.parametrize("items", [False, True])
def test_shrunk_c_is_the_shrunk_covariance_times_the_regression(items: bool) -> None:
    rng = np.random.default_rng(4)
    mixed = rng.normal(size=(6, 6))
    X, z, _ = side(60, seed=4)
    X = X @ mixed
    Y = rng.normal(size=(40, 6)) @ mixed + 1.0
    everyone = np.vstack([X, Y]) if items else X
    C = naive.regressed_covariance(X, z, naive.shrunk_covariance(everyone))
    more: Any = {"items": Y} if items else {}
    found = pb.find_subspace(attributes=(X, z), leave_out=2, shrink=True, **more)
    kept = np.eye(6) - naive.projection_matrix(C)
    np.testing.assert_allclose(found.subspace.matrix, kept, atol=1e-9)
    plain = pb.find_subspace(attributes=(X, z), leave_out=2, shrink=False, **more)
    assert np.abs(plain.subspace.matrix - kept).max() > 1e-4


def test_correlations_that_many_rows_show_are_not_shrunk() -> None:
    S = np.array([[4.0, 1.0, 0.2], [1.0, 1.0, 0.1], [0.2, 0.1, 1.0]])
    np.testing.assert_allclose(shrunk(S, 1e9), S, rtol=1e-7)
    np.testing.assert_array_equal(shrunk(S, 3.0), np.diag([4.0, 1.0, 1.0]))
    np.testing.assert_array_equal(shrunk(np.eye(2), 10.0), np.eye(2))


def test_the_number_of_directions_is_found() -> None:
    X, z, _ = side(300, seed=5)
    noise = np.random.default_rng(5).normal(size=(300, 3))
    found = pb.find_subspace(attributes=(X, np.column_stack([z, noise])))
    assert found.left_out.dim == 2
    assert found.tested.p_values[1] < 0.05 < found.tested.p_values[2]


@pytest.mark.parametrize(("items", "many"), [(False, 2), (True, 2), (False, 9)])
def test_attributes_that_go_with_nothing_are_found_at_the_level_only(
    items: bool, many: int
) -> None:
    # At level 0.05, of 100 tests 5 are expected; more than 13 have a chance of 0.05 %.
    wrong = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = rng.standard_t(5, size=(40, 4)) @ rng.normal(size=(4, 4))
        held = Labelled.of(X, rng.exponential(size=(40, many)))
        if items:
            held = held.with_items(rng.normal(size=(100, 4)))
        wrong += held.tested(rng).beyond > 0
    assert 1 <= wrong <= 13


def test_a_test_on_some_of_the_rows_has_the_size_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    X, z, _ = side(4000, seed=6)
    every = Labelled.of(X, z).tested(np.random.default_rng(0)).limits
    monkeypatch.setattr("projbandits.finding.sums.KEPT_ROWS", 400)
    some = Labelled.of(X, z)
    assert len(some.kept.X) == 400
    np.testing.assert_allclose(some.tested(np.random.default_rng(0)).limits, every, rtol=0.15)


def test_nothing_is_left_out_where_nothing_is_found() -> None:
    rng = np.random.default_rng(8)
    found = pb.find_subspace(attributes=(rng.normal(size=(60, 3)), rng.normal(size=60)))
    assert found.left_out.dim == 0
    assert found.subspace.dim == 3
    assert np.isnan(found.angle)
    assert "nothing is left out" in found.report()


def test_names_are_kept_and_matched() -> None:
    X, z, _ = side(100, seed=7)
    columns = [*"abcdef"]
    frame = pd.DataFrame(X, columns=columns)
    found = pb.find_subspace(attributes=(frame, z), leave_out=2)
    assert found.subspace.names == found.left_out.names == tuple(columns)
    assert pb.Subspace.uncorrelated_with(frame, z).names == tuple(columns)
    mixed = [(frame[:50], z[:50]), (frame[50:][columns[::-1]], z[50:])]
    again = pb.find_subspace(attributes=mixed, leave_out=2)
    np.testing.assert_allclose(found.subspace.matrix, again.subspace.matrix, atol=1e-12)
    polars = pb.find_subspace(attributes=(pl.DataFrame(X, schema=columns), z), leave_out=2)
    assert polars.subspace.names == tuple(columns)
    np.testing.assert_allclose(found.subspace.matrix, polars.subspace.matrix, atol=1e-12)


@pytest.mark.parametrize(
    ("z", "message"),
    [
        ([1.0, np.nan, 2.0], "known for every row, got a missing value in column 'z', row 1"),
        (["a", None, "b"], "known for every row, got a missing value in column 'z', row 1"),
        ([1.0, 2.0], "as many rows as X, got 2 and 3"),
        (np.zeros((3, 1, 1)), r"one row per item, got an array of shape \(3, 1, 1\)"),
    ],
)
def test_attributes_that_cannot_be_read_are_named(z: Any, message: str) -> None:
    X = np.eye(3)
    with pytest.raises(ValueError, match=message):
        pb.find_subspace(attributes=(X, z))
    with pytest.raises(ValueError, match=message):
        pb.Subspace.uncorrelated_with(X, z)


def test_attributes_that_leave_nothing_are_refused() -> None:
    rng = np.random.default_rng(9)
    X = rng.normal(size=(30, 2))
    with pytest.raises(ValueError, match="leave a direction to decide on"):
        pb.Subspace.uncorrelated_with(X, rng.normal(size=(30, 3)))
    with pytest.raises(ValueError, match="must go with some feature"):
        pb.Subspace.uncorrelated_with(X, np.ones(30))
    with pytest.raises(ValueError, match="leave_out must be at most 1, got 2: U must keep"):
        pb.find_subspace(attributes=(X, rng.normal(size=(30, 3))), leave_out=2)
    with pytest.raises(ValueError, match="at most 1, got 3: the attributes go with no more"):
        pb.find_subspace(attributes=(rng.normal(size=(30, 6)), X[:, 0] > 0), leave_out=3)
