"""The wine problem: the data as published, the corruption as in the paper."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import projbandits as pb
from projbandits.problems import wine as wine_function
from projbandits.testing import check_problem

module = importlib.import_module("projbandits.problems.wine")
CSV = module._packaged()


def identity(problem: pb.problems.Problem) -> str:
    played = pb.simulate(problem, pb.GENTRY(), trials=1, horizon=1, progress=False)
    return played.identities[0]


@pytest.mark.parametrize("scale", ["standard", None])
def test_wine_conforms(scale: str | None) -> None:
    check_problem(wine_function(scale=scale))


def test_a_world_is_two_hundred_wines_with_a_protected_feature() -> None:
    world = pb.problems.wine(scale=None).world(np.random.default_rng(0))
    assert isinstance(world.arms, pb.FiniteArms)
    X = world.arms.vectors
    assert X.shape == (200, 13)
    assert world.rewards is not None
    assert world.returns is not None
    assert set(world.rewards) <= {4.0, 5.0, 6.0, 7.0, 8.0}
    assert (X[:, 11] == 1).all()
    assert ((X[:, 12] >= 0) & (X[:, 12] < 1)).all()
    np.testing.assert_allclose(world.returns, world.rewards - 4 * X[:, 12])
    assert (world.subspace.matrix == np.diag([1.0] * 12 + [0.0])).all()
    assert world.theta is None


def test_every_drawn_wine_is_in_the_file_with_its_rating() -> None:
    world = pb.problems.wine(scale=None).world(np.random.default_rng(1))
    assert isinstance(world.arms, pb.FiniteArms)
    assert world.rewards is not None
    table = {tuple(row) for row in np.loadtxt(CSV, delimiter=";", skiprows=1)}
    for x, rating in zip(world.arms.vectors, world.rewards, strict=True):
        assert (*x[:11], rating) in table


def test_standard_features_have_mean_zero_and_spread_one() -> None:
    features, ratings = module._wines(None, "standard", pb.problems.wine().checksum)
    assert len(ratings) == 163 + 1457 + 2198 + 880 + 175
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(features.std(axis=0), 1, rtol=1e-12)


def test_a_given_path_serves_like_the_package(tmp_path: Path) -> None:
    copy = tmp_path / "wines.csv"
    copy.write_bytes(CSV.read_bytes())
    given = pb.problems.wine(path=copy).world(np.random.default_rng(2))
    packaged = pb.problems.wine().world(np.random.default_rng(2))
    assert given.rewards is not None
    assert (given.rewards == packaged.rewards).all()


def test_what_is_in_the_file_counts_not_where_it_lies_nor_what_it_held(tmp_path: Path) -> None:
    path = tmp_path / "wines.csv"
    path.write_bytes(CSV.read_bytes())
    before = pb.problems.wine(path=path, scale=None)
    assert identity(before) == identity(pb.problems.wine(scale=None))
    lines = CSV.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1].replace("7;", "70;", 1), *lines[2:]]))
    after = pb.problems.wine(path=path, scale=None)
    assert identity(after) != identity(before)
    features, _ = module._wines(after.path, None, after.checksum)
    assert features[0, 0] == 70.0
    module._wines.cache_clear()  # as in another process
    with pytest.raises(ValueError, match=r"wines\.csv' has changed: make the problem again"):
        before.world(np.random.default_rng(0))


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    module._wines.cache_clear()
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'projbandits\[wine\]'"):
        pb.problems.wine()


def test_wrong_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"winequality-white\.csv, got .*missing"):
        pb.problems.wine(path=tmp_path / "missing.csv")
    lines = CSV.read_text().splitlines()
    renamed = tmp_path / "renamed.csv"
    renamed.write_text("\n".join([lines[0].replace('"pH"', '"ph value"'), *lines[1:]]))
    with pytest.raises(ValueError, match="must have a column 'pH'"):
        pb.problems.wine(path=renamed)
    short = tmp_path / "short.csv"
    short.write_text("\n".join(lines[:-1]))
    with pytest.raises(ValueError, match=r"4,898 white wines.* has 4897, rated as"):
        pb.problems.wine(path=short)


def test_bad_parameters_are_named() -> None:
    with pytest.raises(ValueError, match="scale must be one of 'standard', got 'raw'"):
        pb.problems.wine(scale="raw")
    with pytest.raises(ValueError, match="arms must be at most 4873, got 5000"):
        pb.problems.wine(arms=5000)
    with pytest.raises(ValueError, match="noise must not be negative"):
        pb.problems.wine(noise=-1)
