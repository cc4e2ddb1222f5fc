"""Files: whole or not at all, what killed processes left, and checksums."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from projbandits._files import UNFINISHED, read_json, remove_leftovers, whole, write_json


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
