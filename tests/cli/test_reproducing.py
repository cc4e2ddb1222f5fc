"""`reproduce`: the verdicts it prints, and what it refuses."""

import json
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


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    at = tmp_path / "file" / "out"
    assert "must be a folder that can be written to" in refused("reproduce", "--out", at)
