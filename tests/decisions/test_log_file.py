from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet as pq

import projbandits as pb
from projbandits.decisions import log_file
from tests.worlds import U3


def test_to_explain_one_of_many_spilled_decisions_little_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, log=True)
    decisions = [decider.ask(np.eye(3)) for _ in range(2 * log_file.GROUP + 10)]
    decider.tell_many((decision, 1.0) for decision in decisions)
    chosen = decisions[log_file.GROUP + 5]
    before = str(decider.explain(chosen.id))
    decider.spill(tmp_path / "log.parquet")
    whole, read = list[int](), pq.ParquetFile.read_row_group

    def noted(file: pq.ParquetFile, group: int, columns: list[str] | None = None) -> object:
        if columns is None:
            whole.append(group)
        return read(file, group, columns=columns)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", noted)
    assert str(decider.explain(chosen.id)) == before
    assert whole == [1]
    with pytest.raises(KeyError, match="must be in the log"):
        decider.explain("another")
