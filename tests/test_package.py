"""The package as a user meets it: what importing it loads, and the names it has."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import projbandits as pb
from tests.oldest import constraints

ROOT = Path(__file__).parent.parent
SLOW = {"matplotlib", "numba", "pandas", "pyarrow", "rich", "distributed"}


def said(code: str, **environment: str) -> str:
    """Return what a new process prints."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize(
    ("used", "slow"),
    [
        ("projbandits", SLOW | {"numpy", "scipy"}),
        ("projbandits.simulate", SLOW | {"scipy.optimize"}),
    ],
)
def test_a_module_is_loaded_when_it_is_needed(used: str, slow: set[str]) -> None:
    loaded = set(said(f"import sys, projbandits; {used}; print(*sys.modules)").split())
    assert "projbandits" in loaded
    assert not slow & loaded


def test_every_public_name_is_found_before_it_is_loaded() -> None:
    code = "import projbandits as pb; print(*dir(pb)); from projbandits import *; print(UE().alpha)"
    listed, alpha = said(code).splitlines()
    assert {*pb.__all__, "plots", "testing"} <= set(listed.split())
    assert alpha == str(pb.UE().alpha)
    with pytest.raises(AttributeError, match="has no attribute 'plot'"):
        pb.plot  # noqa: B018


def test_a_second_process_finds_its_kernels_on_disk() -> None:
    code = """
import projbandits as pb
pb.simulate(pb.problems.random_arms(), [pb.GENTRY(), pb.UE()], trials=1, horizon=5, progress=False)
"""
    second = [said(code, NUMBA_DEBUG_CACHE="1") for _ in range(2)][1]
    assert "data loaded from" in second
    assert "data saved to" not in second


def test_the_constraints_are_the_oldest_versions_allowed() -> None:
    written = (ROOT / "constraints" / "oldest.txt").read_text().splitlines()
    assert written == constraints(), "run make oldest"


def test_the_source_archive_holds_what_its_tests_need(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    made = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "out*")
    shutil.copytree(ROOT, tree, ignore=made)
    code = f"import setuptools.build_meta as b; b.build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=tree, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as content:
        held = {name.partition("/")[2] for name in content.getnames()}
    folders = ("benchmarks", "constraints", "docs", "examples", "src", "tests")
    files = [path for folder in folders for path in (tree / folder).rglob("*") if path.is_file()]
    wanted = {str(path.relative_to(tree)) for path in [*files, *tree.glob("*.md")]}
    made_by_the_build = {name for name in wanted if ".egg-info" in name}
    assert wanted - made_by_the_build <= held
    assert {"Makefile", "LICENSE", "MANIFEST.in", "pyproject.toml"} <= held
