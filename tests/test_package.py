"""The package as a user meets it: what importing it loads, and the names it has."""

import subprocess
import sys

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


def test_every_public_name_is_documented() -> None:
    for name in pb.__all__:
        assert name == "__version__" or getattr(pb, name).__doc__, name


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
