"""`reproduce`: the verdicts it prints, and what it refuses."""

import json
import shutil
from pathlib import Path

import pytest

from tests.commands import SMALL, call, refused


def test_reproduce_tells_the_verdicts_and_where_the_report_is(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = call("reproduce", "fig-a", *SMALL, "--out", out, "--threads", "1")
    assert done.exit_code == 0
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[0] == ["claim", "verdict", "given", "tuned", "origin", "text"]
    assert {row[1] for row in rows[1:]} == {"undecided"}
    assert done.stderr == f"report: {out / 'report.html'}\n"
    again = call("reproduce", "fig-a", *SMALL, "--out", out, "--json")
    records = json.loads(again.stdout, parse_constant=pytest.fail)
    assert [record["claim"] for record in records] == [row[0] for row in rows[1:]]
    assert {"reading", "what", "value", "low", "high", "asked_for"} <= set(records[0]["numbers"][0])


def test_reproduce_refuses_what_it_cannot_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "did you mean 'fig-wine'" in refused("reproduce", "fig-win", "--out", tmp_path / "o")
    (tmp_path / "file").write_text("")
    at = tmp_path / "file" / "out"
    assert "must be a folder that can be written to" in refused("reproduce", "--out", at)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.txt").write_text("")
    assert "holds other files; nothing was changed" in refused("reproduce", "--out", mine)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1))
    assert "MB are needed" in refused("reproduce", "--out", tmp_path / "full", code=1)
