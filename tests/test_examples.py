"""The examples run, and show what they say."""

import importlib
from pathlib import Path

import matplotlib.pyplot as plt
import pytest


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("movies", {"viewers": 60, "runs": 2}),
        ("doses", {"patients": 30, "trials": 2}),
        ("wines", {"days": 30, "history": 100, "runs": 2}),
    ],
)
def test_an_example_runs(
    name: str, sizes: dict[str, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "folder"
    decider = importlib.import_module(f"examples.{name}").main(out, **sizes)
    plt.close("all")
    assert (out / f"{name}.png").stat().st_size > 0
    assert "decides" in (said := capsys.readouterr().out) or "history" in said
    assert decider.ridge.n > 0
