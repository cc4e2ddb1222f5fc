"""The package as a user meets it: what importing it loads, and the names it has."""

import inspect
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import projbandits as pb


def test_importing_loads_nothing_slow() -> None:
    code = "import sys, projbandits; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "projbandits" in loaded
    assert not {"matplotlib", "numba", "pandas", "pyarrow", "rich", "distributed"} & set(loaded)
    assert "scipy.optimize" not in loaded


def test_plots_and_testing_are_there_when_asked_for() -> None:
    assert callable(pb.plots.regret)
    assert callable(pb.testing.check_strategy)
    with pytest.raises(AttributeError, match="has no attribute 'plot'"):
        pb.plot  # noqa: B018


def written(value: Any) -> bool:
    """Whether somebody wrote a docstring; a dataclass without one has its signature instead."""
    found = inspect.getdoc(value)
    return bool(found) and not str(found).startswith(f"{getattr(value, '__name__', '')}(")


PUBLIC = {name: getattr(pb, name) for name in pb.__all__ if name != "__version__"}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_name_is_documented_with_all_that_it_has(name: str) -> None:
    value = PUBLIC[name]
    assert written(value)
    names = value.__all__ if inspect.ismodule(value) and hasattr(value, "__all__") else ()
    if inspect.isclass(value):
        names = [part for part in dir(value) if not part.startswith("_")]
    for part in names:
        found = getattr(value, part)
        if callable(found) or isinstance(found, property):
            assert written(found), part


def test_a_class_without_a_docstring_would_be_seen() -> None:
    @dataclass(frozen=True)
    class Silent(pb.GENTRY):
        beta: float = 1.0

        def quiet(self) -> None: ...

    assert Silent.__doc__ is not None  # what dataclass writes
    assert not written(Silent)
    assert not written(Silent.quiet)


def test_a_second_process_finds_its_kernels_on_disk() -> None:
    code = """
import numpy as np, projbandits as pb
from projbandits.simulation.kernels.ellipsoid import LOOPS
from projbandits.simulation.kernels.event_loop import events
pb.simulate(pb.problems.random_arms(), [pb.GENTRY(), pb.UE()], trials=1, horizon=5, progress=False)
for kernel in (LOOPS["optimistic"]["finite"], events):
    print(sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values()))
"""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert outputs[1] == ["1", "0", "1", "0"]


def test_no_two_files_share_a_name_without_a_reason() -> None:
    # docs/architecture.md has the reasons: a kernel file is the twin of the strategy file of the
    # same name, and plots/results.py draws results.py.
    package = Path(pb.__file__).parent
    architecture = (package.parents[1] / "docs" / "architecture.md").read_text()
    places = defaultdict(set)
    for file in package.rglob("*.py"):
        places[file.name].add(file.parent.relative_to(package).as_posix())
    assert {"strategies", "simulation/kernels"} == places["greedy.py"]
    for name in ("__init__.py", "__main__.py", "base.py"):
        del places[name]
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert shared.pop("results.py", None) in (None, {".", "plots"})
    for name, found in shared.items():
        assert found == {"strategies", "simulation/kernels"}, name
        assert f"`{name}`" in architecture, name
