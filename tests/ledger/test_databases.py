"""Stores that fail: refused by name, never believed, and nothing is lost or doubled."""

import gc
import os
import random
import shutil
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.deciding.check import check_promises
from projbandits.ledger import statements
from projbandits.ledger.store import Store
from tests.databases import Server
from tests.worlds import U3


def filled(url: str, decisions: int = 3) -> pb.Decider:
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, store=url, name="films")
    for i in range(decisions):
        decider.ask(np.eye(3), request_id=str(i))
    return decider


def changed(path: Path, *statements: str) -> None:
    """Do to a file what its owner would never do."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize("url", ["mysql://user:secret@host/db", "films.db", "sqlite://", ""])
def test_other_urls_are_refused_and_passwords_never_shown(url: str) -> None:
    with pytest.raises((ValueError, TypeError), match="store must") as raised:
        filled(url)
    assert "secret" not in str(raised.value)


def test_who_is_not_let_in_is_told_what_to_see_to(postgresql: Server) -> None:
    url = postgresql.database()
    for wrong in (url.replace("/test", "/nowhere"), url.replace("postgres:", "nobody:")):
        with pytest.raises(OSError, match="does not exist: see to the names of user and"):
            pb.Decider.open(wrong, "films")


def test_a_bad_call_does_not_fail_its_neighbours(url: str) -> None:
    decider = filled(url)
    bad: list[Any] = [
        lambda: decider.ask(np.eye(3), request_id="a\x00b"),
        lambda: decider.ask(np.eye(3), request_id="\ud800"),
        lambda: decider.tell("missing", 1.0),
        lambda: decider.ask(np.eye(2)),
    ]

    def call(i: int) -> object:
        if i % 2 == 0:
            return decider.ask(np.eye(3), request_id=f"good-{i}").id
        with pytest.raises((ValueError, KeyError)):
            bad[i // 2 % 4]()
        return None

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(call, range(24)))
    assert answers[::2] == [f"good-{i}" for i in range(0, 24, 2)]
    again = pb.Decider.open(url, "films")
    assert again.steps == decider.steps == 15
    assert {d.id for d in again.pending} == {*"012", *answers[::2]}


def test_a_lost_connection_is_replaced_and_nothing_is_doubled(postgresql: Server) -> None:
    decider = filled(postgresql.database())
    postgresql.cut()
    decider.tell("0", 0.5)
    postgresql.cut()
    decider.tell("0", 0.5)
    assert (decider.ridge.n, decider.steps, len(decider.pending)) == (1, 3, 2)


def test_a_newer_layout_is_refused_by_name(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/films.db"
    filled(url).close()
    changed(tmp_path / "films.db", "UPDATE projbandits_schema SET version = 99")
    with pytest.raises(ValueError, match=r"has layout 99.*layout 3 alone.*install"):
        pb.Decider.open(url, "films")


def test_a_file_that_is_moved_away_is_noticed(tmp_path: Path) -> None:
    decider = filled(f"sqlite:///{tmp_path}/films.db")
    os.replace(tmp_path / "films.db", tmp_path / "other.db")
    with pytest.raises(OSError, match="moved, deleted or replaced"):
        decider.tell("1", 0.5)


@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM projbandits_events WHERE position = 4"],
        ["UPDATE projbandits_events SET position = position + 100 WHERE position = 3"],
        ["DROP TABLE projbandits_events"],
        ["DELETE FROM projbandits_ledgers"],
    ],
)
def test_what_a_store_has_lost_is_named_by_whoever_opens_it(
    tmp_path: Path, statements: list[str]
) -> None:
    url = f"sqlite:///{tmp_path}/films.db"
    decider = filled(url)
    decider.tell("0", 0.5)
    decider.close()
    changed(tmp_path / "films.db", *statements)
    with pytest.raises((ValueError, KeyError), match=r"films\.db is damaged|must be one of \[\]"):
        pb.Decider.open(url, "films").log()


def test_every_changed_column_of_an_event_is_noticed(tmp_path: Path) -> None:
    url, path = f"sqlite:///{tmp_path}/films.db", tmp_path / "films.db"
    decider = filled(url)
    decider.tell("0", 0.5)
    decider.close()
    no_text = "CAST(x'ff' AS TEXT)"
    for column, value in (
        ("position", "'x'"),
        ("kind", "'x'"),
        ("kind", no_text),
        ("id", "'x'"),
        ("id", no_text),
        ("body", "x'07'"),
        ("body", "7"),
        ("hash", "x'07'"),
        ("hash", "'x'"),
    ):
        for position in (3, 6):
            copy = Path(shutil.copy(path, tmp_path / f"{column}-{position}.db"))
            where = f"{column} = {value} WHERE position = {position}"
            changed(copy, f"UPDATE projbandits_events SET {where}")
            with pytest.raises(ValueError, match=f"{copy.name} is damaged"):
                pb.Decider.open(f"sqlite:///{copy}", "films").log()
    assert pb.Decider.open(url, "films").ridge.n == 1


def test_an_older_copy_under_a_running_process_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "films.db"
    decider = filled(f"sqlite:///{path}")
    changed(path, "DELETE FROM projbandits_events WHERE position > 3")
    with pytest.raises(ValueError, match=r"films\.db is damaged"):
        decider.tell("1", 0.5)


def test_a_strategy_that_uses_its_decider_is_refused_and_its_neighbours_go_on(
    tmp_path: Path,
) -> None:
    deciders, calls = list[pb.Decider](), list[Callable[[], Any]]()

    def schedule(t: int) -> float:
        if t == 2 and calls:
            calls.pop()()
        return 0.5

    own = pb.GENTRY(schedule=schedule)
    for where in ({}, {"store": f"sqlite:///{tmp_path}/films.db", "name": "films"}):
        deciders.append(pb.Decider(own, subspace=U3, seed=0, **where))  # type: ignore[arg-type]
        deciders[-1].tell(deciders[-1].ask(np.eye(3)), 1.0)
        for call in (lambda: deciders[-1].ask(np.eye(3)), lambda: deciders[-1].close()):
            calls[:] = [call]
            with pytest.raises(RuntimeError, match="must not use its decider while it decides"):
                deciders[-1].ask(np.eye(3))
        assert (deciders[-1].steps, deciders[-1].ridge.n) == (1, 1)
        deciders[-1].close()


def test_what_a_strategy_raises_is_for_its_caller_alone(tmp_path: Path) -> None:
    failing, chance = set[int](), random.Random(0)

    def schedule(t: int) -> float:
        if failing and chance.random() < 0.5:
            raise ZeroDivisionError("by the strategy")
        return 0.5

    rng = np.random.default_rng(0)
    for where in ({}, {"store": f"sqlite:///{tmp_path}/films.db", "name": "films"}):
        failing.clear()
        own = pb.GENTRY(schedule=schedule)
        decider = pb.Decider(own, subspace=U3, seed=0, **where)  # type: ignore[arg-type]
        failing.add(1)

        def ask(X: np.ndarray, decider: pb.Decider = decider) -> bool:
            try:
                decider.tell(decider.ask(X), 1.0)
            except ZeroDivisionError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            done = sum(pool.map(ask, rng.normal(size=(60, 4, 3))))
        failing.clear()
        history = decider.history()
        assert 0 < done < 60
        assert (decider.steps, decider.ridge.n, len(history.arms())) == (done, done, 4 * done)
        assert not [each for each in check_promises(history) if each.kept is False]
        decider.close()


def test_a_decider_that_is_dropped_lets_go_of_its_thread_and_its_files(tmp_path: Path) -> None:
    gc.collect()
    before = {*threading.enumerate()}
    decider = filled(f"sqlite:///{tmp_path}/films.db")
    decider.submit_ask(np.eye(3)).result()
    (thread,) = {*threading.enumerate()} - before
    del decider
    gc.collect()
    thread.join(20)
    assert not thread.is_alive()
    assert not (tmp_path / "films.db-wal").exists()  # SQLite's last connection removes it


@pytest.mark.parametrize("statement", [statements.NAMED, statements.OUTCOMES])
def test_what_is_asked_for_by_id_is_found_by_an_index(statement: str) -> None:
    database = Store(None).database
    plan = database.read("EXPLAIN QUERY PLAN " + statement, [0] * statement.count("?"))
    assert any("projbandits_ids" in row[3] and "id=?" in row[3] for row in plan), plan
