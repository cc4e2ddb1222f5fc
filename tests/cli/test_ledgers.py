import json
import sqlite3
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.commands import call, refused
from tests.faults.workers import NAME, make, offer


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/films.db"
    decider = make(url)
    for i in range(6):
        decision = decider.ask(offer(str(i)), request_id=str(i))
        if i < 5:
            decider.tell(decision, 0.5 * i)
    decider.close()
    return url


def test_a_store_is_listed_and_a_ledger_shown(store: str) -> None:
    (row,) = json.loads(call("ledger", "list", "--store", store, "--json").stdout)
    assert (row["name"], row["events"], row["strategy"]) == (NAME, 18, "GENTRY()")
    shown = json.loads(call("ledger", "show", NAME, "--store", store, "--json").stdout)
    facts = {row["fact"]: row["value"] for row in shown}
    assert (facts["decisions"], facts["observations"], facts["pending"]) == ("6", "5", "1")


def test_a_log_is_exported(store: str, tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    assert call("ledger", "export", NAME, path, "--store", store).exit_code == 0
    assert pq.read_table(path)["outcome"].to_pylist()[:5] == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert "is there" in refused("ledger", "export", NAME, path, "--store", store)


def test_a_sound_ledger_keeps_its_promises(store: str) -> None:
    result = call("ledger", "check", NAME, "--store", store, "--json")
    findings = json.loads(result.stdout)
    assert result.exit_code == 0
    assert [finding["kept"] for finding in findings] == ["yes"] * len(findings)
    assert "6 decided again, 6 the same" in str(findings)


def test_a_wrong_ledger_does_not(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projbandits.ledger.history.Streams", lambda seed: _other(seed + 1))
    result = call("ledger", "check", NAME, "--store", store, "--json")
    assert result.exit_code == 1
    assert [row["kept"] for row in json.loads(result.stdout)].count("NO") == 1


def _other(seed: int) -> object:
    from projbandits.ledger.streams import Streams

    return Streams(seed)


def test_what_is_damaged_in_a_ledger_is_said(store: str) -> None:
    path = store.removeprefix("sqlite:///")
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE projbandits_events SET body = zeroblob(length(body)) WHERE position = 5"
        )
    connection.close()
    result = call("ledger", "check", NAME, "--store", store, "--json")
    assert result.exit_code == 1
    broken = [row["found"] for row in json.loads(result.stdout) if row["kept"] == "NO"]
    assert any("event 5" in found for found in broken), broken


def test_what_is_not_there_is_said_in_one_line(store: str, tmp_path: Path) -> None:
    assert "NAME must be one of ['films']" in refused("ledger", "show", "books", "--store", store)
    missing = tmp_path / "missing.db"
    assert "holds no deciders" in refused("ledger", "list", "--store", f"sqlite:///{missing}")
    assert not missing.exists()
    missing.touch()
    for command in (("list",), ("check", NAME)):
        assert "must hold deciders" in refused(
            "ledger", *command, "--store", f"sqlite:///{missing}"
        )
    assert "store must be a URL" in refused("ledger", "list", "--store", "mysql://host/db")
