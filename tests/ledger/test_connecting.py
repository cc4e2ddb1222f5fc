"""Connections: what a transaction does while another process writes."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from projbandits.exceptions import DamagedError, UnavailableError
from projbandits.ledger import connecting
from projbandits.ledger.connecting import Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path}/films.db")
    with made.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE seen (number INTEGER)")
    made.waited = True
    yield made
    made.close()


@pytest.fixture
def other(database: Database) -> Iterator[sqlite3.Connection]:
    """Give a connection of somebody else, who is writing."""
    made = sqlite3.connect(database.shown, isolation_level=None, check_same_thread=False)
    made.execute("BEGIN IMMEDIATE")
    yield made
    made.close()


def test_a_transaction_begins_once_the_other_has_ended(
    database: Database, other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = list[float]()

    def wait(seconds: float) -> None:
        looked.append(seconds)
        if len(looked) == 3:
            other.execute("INSERT INTO seen VALUES (1)")
            other.execute("COMMIT")

    monkeypatch.setattr("projbandits.ledger.connecting.time.sleep", wait)
    with database.writing() as connection:
        connection.exec_driver_sql("INSERT INTO seen VALUES (2)")
        numbers = connection.exec_driver_sql("SELECT number FROM seen").scalars().all()
    assert numbers == [1, 2]
    assert looked == 3 * [connecting.LOOK_AGAIN]


def test_a_transaction_gives_up_with_the_file_and_a_remedy(
    database: Database, other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "LOCK_PATIENCE", 0.01)
    said = r"films\.db: database is locked: .*; call again"
    with pytest.raises(UnavailableError, match=said), database.writing():
        pytest.fail("it began")
    other.execute("COMMIT")
    with database.writing() as connection:  # what it gave up is not left half begun
        assert connection.exec_driver_sql("SELECT count(*) FROM seen").scalar() == 0


def test_a_statement_within_waits_for_the_file_as_long_as_ever(database: Database) -> None:
    with database.writing() as connection:
        patience = connection.exec_driver_sql("PRAGMA busy_timeout").scalar()
    assert patience == 1000 * connecting.LOCK_PATIENCE


def test_many_threads_take_turns(database: Database) -> None:
    def write() -> None:
        for _ in range(20):
            with database.writing() as connection:
                connection.exec_driver_sql("INSERT INTO seen SELECT count(*) FROM seen")

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.reading() as connection:
        numbers = connection.exec_driver_sql("SELECT number FROM seen ORDER BY rowid").scalars()
        assert numbers.all() == list(range(80))


def test_a_damaged_text_is_damage_whoever_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "films.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE seen (number INTEGER)")
    content = path.read_bytes().replace(b"CREATE TABLE", b"CREATE TABEL")
    path.write_bytes(content.replace(b"seen", b"s\xefen"))  # the error quotes it
    database = Database(f"sqlite:///{path}")
    with pytest.raises(DamagedError, match=r"films\.db is damaged: .*backup"):
        database.has_table("seen")
    with (
        pytest.raises(DamagedError, match=r"films\.db is damaged: .*backup"),
        database.reading() as found,
    ):
        found.exec_driver_sql("SELECT * FROM seen")
    database.close()
