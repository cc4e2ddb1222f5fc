"""`make reproduce`: the command writes what it says."""

import sys
from pathlib import Path

import pandas as pd
import pytest

import projbandits as pb
from projbandits.paper.__main__ import main


def test_the_command_writes_a_figure_a_table_and_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "out"
    arguments = ["paper", "--trials", "4", "--horizon", "50", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", arguments)
    main()
    assert {path.name for path in out.iterdir()} == {
        "fig-a.png",
        "fig-a.pdf",
        "fig-a.csv",
        "fig-a.parquet",
    }
    result = pb.Result.load(out / "fig-a.parquet")
    assert result.horizon == 50
    table = pd.read_csv(out / "fig-a.csv", index_col="strategy")
    assert table["mean"].to_numpy() == pytest.approx(result.regret[:, :, -1].mean(axis=1))
    printed = capsys.readouterr().out
    assert all(label in printed for label in result.strategies)
