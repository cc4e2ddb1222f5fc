"""Files: whole or not at all, what killed processes left, checksums, and locked folders."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from projbandits._files import UNFINISHED, read_json, remove_leftovers, whole, write_json
from projbandits._locks import locked
from projbandits._parquet import MARK, read_table, write_table

TABLE = pa.table({"x": np.arange(6.0), "y": np.arange(6.0) ** 2})
ABOUT: dict[str, Any] = {"format": 2, "shape": [2, 3], "what": "ä \N{SNOWMAN}"}


def gone() -> int:
    """Return the id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def left_by(pid: int, target: Path) -> Path:
    """Return what a process that was killed while it wrote would have left."""
    with whole(target) as part:
        name = part.name.replace(f"-{os.getpid()}-", f"-{pid}-", 1)
        part.write_text("")
    target.unlink()
    leftover = target.with_name(name)
    leftover.write_text("half")
    return leftover


def test_what_dead_processes_left_of_a_file_goes_and_nothing_else(tmp_path: Path) -> None:
    dead = gone()
    mine = left_by(dead, tmp_path / "a")
    others = [
        left_by(os.getppid(), tmp_path / "a"),  # alive
        left_by(dead, tmp_path / "x-a"),  # of another file
        mine.with_name(UNFINISHED + "0" * 8 + mine.name[len(UNFINISHED) + 8 :]),  # elsewhere
        tmp_path / f"{UNFINISHED}notes",
    ]
    for file in others[2:]:
        file.write_text("")
    with whole(tmp_path / "a") as part:
        part.write_text("done")
    assert {file.name for file in tmp_path.iterdir()} == {"a", *(file.name for file in others)}
    remove_leftovers(tmp_path, locked=True)
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_json_carries_a_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    content = {"b": [1.5, None, "ü"], "a": {"c": 2**70}}
    write_json(path, content)
    assert read_json(path) == content
    written = path.read_text()
    for text, said in (
        (written.replace("1.5", "1.6"), "its checksum does not fit"),
        (json.dumps(content), "has no checksum"),
        (written[:-1], "is no JSON"),
        ("[]", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("", "is no JSON"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=said):
            read_json(path)
    path.write_bytes(b"\xff" + written.encode())
    with pytest.raises(ValueError, match="is no JSON"):
        read_json(path)


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


def test_a_locked_folder_is_locked_for_this_process_too_and_left_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    for _ in range(2):
        with locked(folder, "store") as held:
            assert held
            with (
                pytest.raises(ValueError, match=r"store '.*folder' is in use by another run: wait"),
                locked(folder, "store"),
            ):
                pass
    assert not list(folder.iterdir())
    with pytest.raises(KeyError), locked(folder, "store"):
        raise KeyError  # whatever ends a run lets go of the lock
    with locked(folder, "store") as held:
        assert held


def test_what_cannot_be_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with (
            pytest.raises(
                ValueError, match=r"out must be a folder that can be written to, got .*fil"
            ),
            locked(place, "out"),
        ):
            pass
