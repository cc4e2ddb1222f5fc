"""Kernels on disk: found again by the next process, and not needed where the disk fails."""

import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
import numpy as np
from projbandits.simulation.kernels import compiler
from projbandits.simulation.kernels.compiler import call, inlined, kernel

@inlined
def twice(x):
    return 2.0 * x

@kernel
def fill(x, out):
    out[0] = twice(x)

out = np.zeros(1)
with compiler.on_compile(lambda: print("compiling")):
    call(fill, 3.0, out)
    call(fill, 4.0, out)
print(out[0], *fill.stats.cache_hits.values())
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a small kernel of its own."""
    (tmp_path / "small.py").write_text(MODULE)
    return tmp_path


def run(place: Path, **environment: str) -> tuple[list[str], str]:
    """Return what a new process prints, and its warnings."""
    done = subprocess.run(
        [sys.executable, "-c", "import small"],
        cwd=place,
        env={"PYTHONPATH": ":".join(sys.path[1:]), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split(), done.stderr


def test_the_next_process_finds_a_kernel_on_disk(place: Path) -> None:
    assert run(place) == (["compiling", "8.0"], "")
    assert run(place) == (["8.0", "1"], "")


def test_kernels_of_other_sources_are_removed(place: Path) -> None:
    run(place)
    (place / "__pycache__" / "kernels.digest").write_text("that of other sources")
    assert run(place) == (["compiling", "8.0"], "")


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_damaged_kernel_is_compiled_anew(place: Path, kind: str) -> None:
    run(place)
    (kept,) = (place / "__pycache__").glob(f"*.{kind}")
    kept.write_bytes(kept.read_bytes()[:-50])
    said, warned = run(place)
    assert said == ["8.0"]
    assert warned.count("a compiled kernel cannot be kept or read") == 1
    assert run(place) == (["8.0", "1"], "")


def test_where_nothing_can_be_kept_a_process_warns_once_and_compiles(place: Path) -> None:
    (place / "__pycache__").touch()
    said, warned = run(place, HOME="/dev/null")
    assert said == ["compiling", "8.0"]
    assert warned.count("compiled kernels cannot be kept, so each process compiles anew") == 1
