"""The package as a user meets it: what importing it loads, and the names it has."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import projbandits as pb
from tests.oldest import constraints

ROOT = Path(__file__).parent.parent


def test_importing_loads_nothing_slow() -> None:
    code = "import sys, projbandits; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "projbandits" in loaded
    slow = {"numpy", "scipy", "matplotlib", "numba", "pandas", "pyarrow", "rich", "distributed"}
    assert not slow & set(loaded)


def test_simulating_loads_only_what_it_needs() -> None:
    code = "import sys, projbandits; projbandits.simulate; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "numpy" in loaded
    slow = {"matplotlib", "numba", "pandas", "pyarrow", "rich", "distributed", "scipy.optimize"}
    assert not slow & set(loaded)


def test_plots_and_testing_are_there_when_asked_for() -> None:
    assert callable(pb.plots.regret)
    assert callable(pb.testing.check_strategy)
    with pytest.raises(AttributeError, match="has no attribute 'plot'"):
        pb.plot  # noqa: B018


def test_every_public_name_is_found_before_it_is_loaded() -> None:
    code = "import projbandits as pb; print(*dir(pb)); from projbandits import *; print(UE().alpha)"
    listed, alpha = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert {*pb.__all__, "plots", "testing"} <= set(listed.split())
    assert alpha == str(pb.UE().alpha)


def test_every_public_name_is_documented() -> None:
    for name in pb.__all__:
        assert name == "__version__" or getattr(pb, name).__doc__, name


def test_a_second_process_finds_its_kernels_on_disk() -> None:
    code = """
import numpy as np, projbandits as pb
from projbandits.simulation.kernels import rules
from projbandits.simulation.kernels.events import events
pb.simulate(pb.problems.random_arms(), [pb.GENTRY(), pb.UE()], trials=1, horizon=5, progress=False)
for kernel in (rules.optimistic_steps, events):
    print(sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values()))
"""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert outputs[1] == ["1", "0", "1", "0"]


def test_the_constraints_are_the_oldest_versions_allowed() -> None:
    said = (ROOT / "constraints" / "oldest.txt").read_text().splitlines()
    assert said == constraints(), "run make oldest"


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
