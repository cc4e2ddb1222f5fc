import itertools
import os
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from projbandits.exceptions import (
    DamagedError,
    UnavailableError,
    UnknownDecisionError,
    VersionError,
)
from projbandits.ledger import connecting, schema
from projbandits.ledger.connecting import Database
from projbandits.ledger.events import Event, Learnt, Offered, Told
from projbandits.ledger.protocol import Exists, Snapshot
from projbandits.ledger.snapshots import too_many
from projbandits.ledger.sql import command
from projbandits.ledger.sql_ledger import SqlLedger
from projbandits.ledger.store import SqlStore, open_store
from tests.databases import Server
from tests.ledger.conformance import ARMS, OPENED, InMemory, check_store, decided

ANOTHER = schema.snapshots.insert().values(ledger=1, position=9, digest=0, body=b"")


def test_memory_conforms() -> None:
    store = InMemory()
    check_store(lambda: store)


def test_databases_conform(url: str) -> None:
    check_store(lambda: SqlStore(url))


def filled(url: str, decisions: int = 3) -> SqlLedger:
    ledger = SqlStore(url).create("films", OPENED)
    ledger.append([Offered(0, ARMS), *(decided(str(i)) for i in range(decisions))], 0)
    return ledger


def test_deciders_of_one_process_share_a_store_unless_the_file_is_another(tmp_path: Path) -> None:
    path = tmp_path / "films.db"
    first = open_store(f"sqlite:///{path}")
    assert open_store(f"sqlite:///{path}") is first
    for file in tmp_path.iterdir():
        file.unlink()
    other = open_store(f"sqlite:///{path}")
    assert other is not first
    assert other.names() == []


def test_a_bad_event_does_not_fail_its_neighbours(url: str) -> None:
    ledger = filled(url)
    bad: list[tuple[list[Event], type[Exception]]] = [
        ([decided("a\x00b")], ValueError),
        ([decided("\ud800")], ValueError),
        ([Told("missing", 1.0, 1.0)], UnknownDecisionError),
        ([decided("0")], Exists),
        ([decided("x", rows=np.array([7], np.uint8), index=0)], ValueError),
    ]

    def append(i: int) -> object:
        events, error = bad[i % 5] if i % 2 else ([decided(f"good-{i}")], None)
        try:
            return ledger.append(events, 3)
        except (ValueError, KeyError, Exists) as raised:
            return error is not None and isinstance(raised, error)

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(append, range(20)))
    assert answers[1::2] == [True] * 10
    assert sorted(map(str, answers[::2])) == sorted(map(str, range(6, 16)))


def test_ids_that_share_their_hash_are_two_ids(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("columns", "reading"):
        monkeypatch.setattr(f"projbandits.ledger.{module}.hashed", lambda id: 5)
    ledger = filled(url)
    ledger.append([Told("1", 1.0, 0.5), Learnt("1", 1.0, ARMS, np.ones(3))])
    assert [held.outcome for held in map(ledger.held, "012") if held] == [None, 0.5, None]
    assert ledger.held("3") is None


def test_a_newer_layout_is_refused_by_name(url: str) -> None:
    store = SqlStore(url)
    with store.database.writing() as connection:
        connection.execute(schema.versions.update().values(version=99))
    with pytest.raises(VersionError, match=r"has layout 99.*up to 2.*install") as raised:
        SqlStore(url)
    assert "secret" not in str(raised.value)


def test_an_older_layout_is_refused_with_the_command_and_migrated_in_one_transaction(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(url).close()

    def fails(connection: sa.Connection) -> None:
        connection.execute(
            schema.snapshots.insert().values(ledger=1, position=9, digest=0, body=b"")
        )
        raise RuntimeError

    def works(connection: sa.Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE projbandits_ledgers ADD COLUMN colour TEXT")

    monkeypatch.setattr(schema, "VERSION", 3)
    with pytest.raises(VersionError, match=r"layout 2.*reads layout 3 alone.*install"):
        SqlStore(url)
    database = Database(url)
    monkeypatch.setitem(schema.MIGRATIONS, 2, fails)
    with pytest.raises(VersionError, match=r"layout 2.*projbandits ledger migrate --store"):
        SqlStore(url)
    with pytest.raises(RuntimeError):
        schema.migrate(database)
    assert schema.version(database) == 2
    with database.reading() as connection:
        assert connection.execute(sa.select(schema.snapshots.c.position)).all() == []
    monkeypatch.setitem(schema.MIGRATIONS, 2, works)
    assert schema.migrate(database) == (2, 3)
    assert SqlStore(url).open("films").last() == 5


@pytest.mark.parametrize("url", ["mysql://host/db", "films.db", "sqlite://", "", 5])
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="store must"):
        SqlStore(url)


def test_a_password_is_never_shown() -> None:
    with pytest.raises(ValueError, match="store must") as raised:
        SqlStore("mysql://user:secret@host/db")
    assert "secret" not in str(raised.value)


def test_a_server_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projbandits.ledger.connecting.RECONNECTING", 0.0)
    with pytest.raises(UnavailableError, match=r"user:\*\*\*@/films.*see that the server runs"):
        SqlStore("postgresql://user:secret@/films?host=/nowhere")


def test_a_lost_connection_is_replaced_and_nothing_is_doubled(postgresql: Server) -> None:
    ledger = filled(postgresql.database())
    postgresql.cut()
    assert ledger.append([Told("0", 1.0, 0.5)]) == 6
    postgresql.cut()
    assert [entry.position for chunk in ledger.read() for entry in chunk] == list(range(1, 7))


@pytest.mark.parametrize("before", [True, False])
def test_a_commit_whose_answer_is_lost_is_looked_up(
    postgresql: Server, before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is cut just before the commit, or after it and before the answer."""
    url = postgresql.database()
    ledger = filled(url)
    cuts = [1]

    def cut(connection: sa.Connection, text: str) -> None:
        if text == "COMMIT" and cuts:
            cuts.pop()
            if not before:
                command(connection, text)
            postgresql.cut()
        command(connection, text)

    monkeypatch.setattr(connecting, "command", cut)
    assert ledger.append([Told("1", 1.0, 0.5), decided("9")], 3) == 7
    assert cuts == []
    events = [entry for chunk in SqlStore(url).open("films").read() for entry in chunk]
    assert len(events) == 7


def test_an_interrupt_stays_one_when_the_driver_is_surprised(url: str) -> None:
    database = Database(url)

    def surprised() -> None:
        """Do as psycopg's pipeline does when it is interrupted as it ends."""
        try:
            raise KeyboardInterrupt
        finally:
            raise AssertionError

    with pytest.raises(KeyboardInterrupt), database.reading():
        surprised()
    with pytest.raises(AssertionError), database.reading():
        raise AssertionError
    error = AssertionError()
    error.__context__ = KeyError()  # no interrupt
    with pytest.raises(AssertionError), database.reading():
        raise error
    database.close()


def test_an_error_within_a_transaction_stays_the_same_and_is_not_logged(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = SqlStore(url)

    def fail() -> None:
        with store.database.appending() as connection:
            driver: Any = connection.connection.dbapi_connection
            driver.close()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert caplog.records == []
    assert store.names() == []
    store.close()


@pytest.mark.parametrize("size", [1, 2, 3, 71, 130])
def test_rows_are_added_in_any_number(url: str, size: int) -> None:
    store = SqlStore(url)
    ledger = store.create("films", OPENED)
    ledger.append([Offered(0, ARMS)])
    ledger.append([decided(str(i), meta="5" if i % 3 else None) for i in range(size)], 3)
    ledger.append([Told(str(i), 1.0, float(i)) for i in range(size)])
    opened = SqlStore(url).open("films")
    held = [held for some in opened.decisions() for held in some]
    assert [(h.decision.id, h.outcome) for h in held] == [(str(i), float(i)) for i in range(size)]
    assert [h.decision.meta for h in held] == ["5" if i % 3 else None for i in range(size)]
    store.close()


def test_an_older_copy_under_a_running_process_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "films.db"
    ledger = filled(f"sqlite:///{path}")
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM projbandits_events WHERE place % 8 = 5")
        connection.execute("UPDATE projbandits_ledgers SET last = 4")
    connection.close()
    with pytest.raises(DamagedError, match=f"{path} is damaged"):
        ledger.append([Told("1", 1.0, 0.5)])


def test_a_file_that_is_moved_away_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "films.db"
    ledger = filled(f"sqlite:///{path}")
    os.replace(path, tmp_path / "other.db")
    with pytest.raises(UnavailableError, match="moved, deleted or replaced"):
        ledger.append([Told("1", 1.0, 0.5)])


def test_every_changed_column_of_an_event_is_noticed(tmp_path: Path) -> None:
    """Each column of a decision and of an outcome is changed in turn, and put back."""
    path = tmp_path / "films.db"
    ledger = filled(f"sqlite:///{path}")
    ledger.append([Told("0", 1.0, 0.5)])
    names = [column.name for column in schema.events.c if column.name != "place"]
    connection = sqlite3.connect(path, isolation_level=None)
    for position, name in itertools.product((3, 6), names):
        where = f"WHERE place = {schema.place(1, position)}"
        (before,) = connection.execute(f"SELECT {name} FROM projbandits_events {where}").fetchone()
        change = f"UPDATE projbandits_events SET {name} = ? {where}"
        connection.execute(change, [b"\x07" if isinstance(before, bytes) else 7])
        with pytest.raises(DamagedError, match=f"{path.name} is damaged"):
            list(SqlStore(f"sqlite:///{path}").open("films").read())
        connection.execute(change, [before])
    connection.close()
    assert SqlStore(f"sqlite:///{path}").open("films").last() == 6


def test_a_damaged_snapshot_is_not_believed(url: str) -> None:
    ledger = filled(url)
    ledger.keep(Snapshot(3, b"three"))
    ledger.keep(Snapshot(4, b"four"))
    with ledger._database.writing() as connection:
        connection.execute(
            schema.snapshots.update().where(schema.snapshots.c.position == 4).values(body=b"gour")
        )
    assert ledger.snapshot() == Snapshot(3, b"three")


def test_old_snapshots_are_thinned_out() -> None:
    positions = list[int]()
    for position in range(1000, 10**6, 1000):
        positions = [position, *positions]
        dropped = too_many(positions)
        positions = [each for each in positions if each not in dropped]
    assert len(positions) < 20
    ages = [positions[0] - each for each in positions]
    assert all(later <= 2 * max(earlier, 4000) for earlier, later in itertools.pairwise(ages))


def test_reading_does_not_wait_for_a_writer(url: str) -> None:
    ledger = filled(url)
    with SqlStore(url).database.writing() as connection:
        connection.execute(
            schema.snapshots.insert().values(ledger=1, position=9, digest=0, body=b"")
        )
        start = time.monotonic()
        assert ledger.last() == 5
        assert time.monotonic() - start < 5


def test_a_decider_without_a_store_needs_no_database() -> None:
    code = (
        "import sys, projbandits.testing, projbandits.cli.app; print('sqlalchemy' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


def test_a_thread_that_looked_before_another_does_not_take_the_ledger_for_an_older_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqlStore(f"sqlite:///{tmp_path}/films.db")
    ledger = store.create("films", OPENED)
    ask, late = ledger._ask, list[int]()

    def interrupted(question: Any) -> Any:
        answer = ask(question)
        if not late:  # before this thread can compare, another adds an event and looks
            late.append(1)
            ledger.append([Learnt("more", 1.0, ARMS[:1], np.ones(1))])
            late.append(ledger.last())
        return answer

    monkeypatch.setattr(ledger, "_ask", interrupted)
    assert ledger.last() == 1
    assert late[1] == 2
    monkeypatch.undo()
    assert ledger.last() == 2
    store.close()


def test_who_is_not_let_in_is_told_what_to_see_to(postgresql: Server) -> None:
    url = postgresql.database()
    for wrong in (url.replace("/test", "/nowhere"), url.replace("postgres:", "nobody:")):
        with pytest.raises(UnavailableError, match="does not exist: see to the names of user and"):
            SqlStore(wrong)


def test_a_table_that_is_gone_is_damage(url: str) -> None:
    ledger = filled(url)
    with Database(url).writing() as connection:
        command(connection, "DROP TABLE projbandits_events")
    calls: list[Any] = [
        lambda: ledger.append([Told("0", 1.0, 0.5)]),
        lambda: SqlStore(url).open(ledger.name),
    ]
    for call in calls:
        with pytest.raises(DamagedError, match=r"projbandits_events.*restore it from a backup"):
            call()
    ledger.close()


def test_events_of_no_ledger_are_damage(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/films.db"
    filled(url).close()
    with Database(url).writing() as connection:
        command(connection, "DELETE FROM projbandits_ledgers")
    with pytest.raises(DamagedError, match=r"place.*restore it from a backup"):
        SqlStore(url).create("books", OPENED)
