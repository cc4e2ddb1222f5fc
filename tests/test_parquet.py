"""Tables with a checksum."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from projbandits._parquet import MARK, read_table, write_table

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
