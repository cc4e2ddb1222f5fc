"""Reproductions that several tests look at, each run once."""

import shutil
from pathlib import Path

import pytest

from projbandits.paper import Reproduction, reproduce
from tests.reproductions import SMALL


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Every figure and claim; to be looked at only."""
    return reproduce(out=tmp_path_factory.mktemp("everything"), **SMALL)


@pytest.fixture(scope="session")
def _setting_a(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reproduce(["fig-a"], out=tmp_path_factory.mktemp("fig-a"), **SMALL).out


@pytest.fixture
def finished(_setting_a: Path, tmp_path: Path) -> Path:
    """The folder of a finished run of fig-a, a copy for each test."""
    return Path(shutil.copytree(_setting_a, tmp_path / "finished"))
