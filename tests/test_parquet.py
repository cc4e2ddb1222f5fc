"""Tables with a checksum."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import projbandits as pb
from projbandits._parquet import MARK, read_table, write_table
from tests.worlds import run

TABLE = pa.table({"x": np.arange(6.0), "y": np.arange(6.0) ** 2})
ABOUT: dict[str, Any] = {"format": 2, "shape": [2, 3], "what": "ä \N{SNOWMAN}"}


def test_a_table_with_a_checksum_is_one_that_other_tools_read(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(path, TABLE, ABOUT)
    table, about, verified = read_table(path)
    assert verified
    assert about == ABOUT
    assert table.equals(TABLE)
    assert pd.read_parquet(path)["y"].tolist() == TABLE["y"].to_pylist()
    assert pl.read_parquet(path)["y"].to_list() == TABLE["y"].to_pylist()
    assert pq.read_table(path, memory_map=True).equals(TABLE)


def test_every_flipped_byte_of_a_table_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(path, TABLE, ABOUT)
    content = path.read_bytes()
    for i in range(len(content)):
        flipped = bytearray(content)
        flipped[i] ^= 1 << i % 8
        path.write_bytes(flipped)
        try:
            found = read_table(path)
        except ValueError:
            continue
        # Where the mark was hit there is no checksum any more, but nothing else was changed.
        assert not found.verified
        assert found.about == ABOUT
        assert found.table.equals(TABLE)
        assert content.index(MARK) <= i < content.index(MARK) + len(MARK)


@pytest.mark.parametrize("keep", [0, 3, 4, 11, 12, 100, -1, -4, -8, -60])
def test_a_part_of_a_table_is_no_table(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "t.parquet"
    write_table(path, TABLE, ABOUT)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"is no Parquet file, or only a part of one"):
        read_table(path)


def test_what_only_looks_like_a_table_is_refused_before_much_is_made_of_it(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.mkdir()
    with pytest.raises(ValueError, match="is a folder"):
        read_table(path)
    path.rmdir()
    for content in (b"PAR1\xff\xff\xff\x7fPAR1", b"PAR1" + b"\0" * 20 + b"PAR1", b"PAR1" * 9):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="cannot be read"):
            read_table(path)
    for shape in ([2, 4], [-2, -3], [2.0, 3.0], [10**30], "23", 6):
        write_table(path, TABLE, {"shape": shape})
        with pytest.raises(ValueError, match="cannot be read"):
            read_table(path)
    for about in (b"[]", b"{", b"\xff"):
        pq.write_table(TABLE.replace_schema_metadata({b"projbandits": about}), path)
        with pytest.raises(ValueError, match="cannot be read"):
            read_table(path)


def test_a_result_that_save_cannot_have_written_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "crafted"
    run(checkpoints=[10, 60]).save(path)
    table, about, _ = read_table(path)
    pq.write_table(table, path)
    with pytest.raises(ValueError, match=r"is damaged: it has lost its checksum: use a copy"):
        pb.Result.load(path)
    lists = table["pulls"].to_pylist()
    assert [i for i, row in enumerate(lists) if row is not None] == [*range(1, 24, 2)]
    wrong = [(1, None), (0, [1] * 8), (1, [1] * 7), (1, [1] * 7 + [None])]
    pulls = [pa.array([*lists[:i], row, *lists[i + 1 :]]) for i, row in wrong]
    others: list[tuple[Any, dict[str, Any]]] = [
        *((table.drop(["pulls"]).append_column("pulls", column), {}) for column in pulls),
        (table, {"format": 2}),
        (table, {"shape": [2, 6, 3]}),
        (table, {"shape": [1, 12, 2]}),
        (table, {"shape": [24]}),
        (table, {"shape": None}),
        (table, {"strategies": ["GENTRY()"]}),
        (table, {"found_best": [[True]]}),
        (table, {"engines": None}),
    ]
    for content, changes in others:
        write_table(path, content, {**about, **changes})
        with pytest.raises(ValueError, match=r"must be a saved result, .*crafted' .*: use a copy"):
            pb.Result.load(path)
