"""Kernels on disk: damaged, without room, without a place. Never a wrong number, never an end."""

import resource
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import projbandits
from projbandits.simulation.kernels import cache
from projbandits.simulation.kernels.common import bind

step = 0


def add(x: int) -> int:
    return x + step


def fresh(step: int = 1) -> Any:
    """Return a small kernel as a new process would make it."""
    return bind(add, f"add_{step}", step=step)


def hits(kernel: Any) -> int:
    return sum(kernel.stats.cache_hits.values())


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep kernels in a folder of the test's own; nothing has been said yet."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "_said", [])
    return tmp_path


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_kept_kernel_is_found_for_its_signature_alone(folder: Path) -> None:
    assert fresh()(1) == 2
    again = fresh()
    assert (again(1), hits(again)) == (2, 1)
    assert (again(1.5), hits(again)) == (2.5, 1)
    assert len(files(folder)) == 2
    other = fresh(step=2)
    assert (other(1), hits(other)) == (3, 0)


def test_another_numba_compiles_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh()(1)
    monkeypatch.setattr(numba, "__version__", "0.0.0")
    other = fresh()
    assert (other(1), hits(other), len(files(folder))) == (2, 0, 2)


def test_flipped_bits_and_cut_ends_are_noticed_and_mended(folder: Path) -> None:
    fresh()(1)
    (path,) = files(folder)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    damaged = [b"", whole[:31], whole[:32], whole[:-1], whole + b"\0", rng.bytes(100)]
    for place in rng.integers(len(whole), size=20):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.integers(8)
        damaged.append(bytes(flipped))
    for content in damaged:
        path.write_bytes(content)
        cache._said.clear()
        kernel = fresh()
        with pytest.warns(UserWarning, match="a kept kernel was damaged, so it is compiled anew"):
            assert kernel(1) == 2
        again = fresh()
        assert (again(1), hits(again)) == (2, 1)


def test_what_cannot_be_read_or_replaced_is_compiled(folder: Path) -> None:
    fresh()(1)
    (path,) = files(folder)
    path.unlink()
    path.mkdir()
    with pytest.warns(UserWarning, match="a kept kernel cannot be read") as told:
        assert [fresh()(1), fresh()(1)] == [2, 2]
    assert len(told) == 1


@pytest.fixture
def full_disk() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("full_disk")
def test_without_room_nothing_is_kept_and_that_is_said_once(folder: Path) -> None:
    with pytest.warns(UserWarning, match="cannot be kept: set NUMBA_CACHE_DIR to a fold") as told:
        assert [fresh()(1), fresh(step=2)(1)] == [2, 3]
    assert len(told) == 1
    assert files(folder) == []


def test_who_makes_errors_of_warnings_gets_one(folder: Path) -> None:
    fresh()(1)
    (path,) = files(folder)
    path.write_bytes(b"")
    with warnings.catch_warnings(action="error"), pytest.raises(UserWarning, match="damaged"):
        fresh()(1)


def test_without_a_place_the_command_line_works_and_says_so_in_a_line(tmp_path: Path) -> None:
    """As with no home and a package that cannot be written to; the superuser could write there."""
    package = tmp_path / "projbandits"
    shutil.copytree(
        Path(projbandits.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    (package / "simulation" / "kernels" / "__pycache__").write_text("no folder")
    nowhere = str(package / "py.typed" / "folder")
    arguments = ["compare", "random_arms", "GENTRY", "--engine", "compiled", "--trials", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "projbandits.cli", *arguments, "--horizon", "5"],
        capture_output=True,
        text=True,
        env={
            "PYTHONPATH": str(tmp_path),
            "XDG_CACHE_HOME": nowhere,
            "NUMBA_CACHE_DIR": nowhere,
            "NUMBA_OPT": "0",  # which compiles more quickly
        },
        cwd=tmp_path,
    )
    assert done.stderr == (
        "projbandits: compiled kernels cannot be kept, so each process compiles anew: "
        "set NUMBA_CACHE_DIR to a folder with room that can be written to\n"
    )
    assert done.returncode == 0
    assert "GENTRY()" in done.stdout
