"""The log: a row for each decision, in memory, in a file, and back."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.films import COLUMNS, played, world


def test_the_log_has_a_row_for_each_decision() -> None:
    decider = played(steps=10, count=2)
    pending = decider.ask(world(np.random.default_rng(5)))
    log = decider.log()
    assert log["step"].tolist() == list(range(1, 22))
    assert log["outcome"].isna().tolist() == [False] * 20 + [True]
    assert log["id"].iloc[-1] == pending.id
    assert (log["told"][:20] >= log["asked"][:20]).all()
    for row in log.to_dict("records"):
        offered = np.asarray(row["offered"]).reshape(-1, 4)
        x = [row[f"x[{name}]"] for name in COLUMNS]
        np.testing.assert_array_equal(offered[row["position"]], x)
        assert row["probabilities"][row["position"]] == pytest.approx(row["propensity"])
    assert len(log["offered"][1]) == 5 * 4  # what the first choice left


def read(path: Path) -> pd.DataFrame:
    """Return a log from a file, with None for missing texts, as the log has them."""
    table = pd.read_parquet(path)
    for name in table.columns[table.dtypes == "str"]:
        texts = table[name].astype(object)
        table[name] = texts.where(texts.notna(), None)
    return table


def test_the_log_goes_to_parquet_and_back(tmp_path: Path) -> None:
    decider = played(steps=12)
    decider.ask(world(np.random.default_rng(5)))
    whole = decider.log()
    whole.to_parquet(tmp_path / "log.parquet")
    pd.testing.assert_frame_equal(read(tmp_path / "log.parquet"), whole, check_dtype=False)
    assert decider.export(tmp_path / "export.parquet") == len(whole)
    pd.testing.assert_frame_equal(read(tmp_path / "export.parquet"), whole, check_dtype=False)
    with pytest.raises(KeyError, match="must be in the log"):
        decider.explain("nobody-1")
