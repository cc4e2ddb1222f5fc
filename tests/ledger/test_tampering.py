"""Whoever changes a ledger in its database is found out: by a check, or by a head kept."""

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import projbandits as pb
from projbandits.deciding.check import check_promises
from projbandits.deciding.stores import open_store
from projbandits.exceptions import DamagedError
from projbandits.ledger import ledger
from projbandits.ledger.history import History
from tests.commands import refused
from tests.worlds import U3

CHANGES = 60
"""How many bytes are changed, each in a copy of its own."""


@pytest.fixture
def film(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """Give a store with a ledger that has every kind of row, and its head."""
    monkeypatch.setattr(ledger, "EVERY", 8)
    path, rng = tmp_path / "films.db", np.random.default_rng(0)
    decider = pb.Decider(pb.EIIDS(), subspace=U3, seed=0, store=f"sqlite:///{path}", name="films")
    decider.learn(np.eye(3), [1.0, 2.0, 3.0])
    for i in range(12):
        decision = decider.ask(rng.normal(size=(4, 3)), labels=["a", "b", "c", "d"])
        if i % 3:
            decider.tell(decision, float(rng.normal()))
    decider.ask(pb.Ball(d=3))
    head = decider.history().head
    decider.close()
    return path, head


def found(path: Path, head: str) -> str | None:
    """Return what is found wrong with the ledger in a file; None if nothing is."""
    store = open_store(f"sqlite:///{path}")
    try:
        History(store.open("films")).verify(head)
        wrong = [f.promise for f in check_promises(History(store.open("films"))) if not f.kept]
        return "; ".join(wrong) or None
    except (DamagedError, KeyError) as error:
        return str(error)
    finally:
        store.close()


def changed(path: Path, *statements: tuple[str, tuple[object, ...]]) -> Path:
    """Return a copy of a file to which something was done."""
    copy = Path(shutil.copy(path, path.parent / "copy.db"))
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(*statement)
    return copy


def test_each_changed_byte_of_a_stored_column_is_found(film: tuple[Path, str]) -> None:
    path, head = film
    assert found(path, head) is None
    with closing(sqlite3.connect(path)) as connection:
        stored = [
            (table, column, rowid, value)
            for table in ("events", "snapshots")
            for column in ("kind", "id", "body", "hash")[2 * (table == "snapshots") :]
            for rowid, value in connection.execute(
                f"SELECT rowid, {column} FROM projbandits_{table} WHERE {column} IS NOT NULL"
            )
        ]
    assert {table for table, *_ in stored} == {"events", "snapshots"}
    rng = random.Random(0)
    for _ in range(CHANGES):
        table, column, rowid, value = rng.choice(stored)
        content = bytearray(value.encode() if isinstance(value, str) else value)
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(7)
        new = content.decode(errors="replace") if isinstance(value, str) else bytes(content)
        text = f"UPDATE projbandits_{table} SET {column} = ? WHERE rowid = ?"
        assert found(changed(path, (text, (new, rowid))), head), (table, column, rowid)


@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM projbandits_events WHERE position = 9"],
        ["DELETE FROM projbandits_events WHERE position > 20"],
        [
            "UPDATE projbandits_events SET position = -9 WHERE position = 9",
            "UPDATE projbandits_events SET position = 9 WHERE position = 10",
            "UPDATE projbandits_events SET position = 10 WHERE position = -9",
        ],
        ["DELETE FROM projbandits_events"],
        ["UPDATE projbandits_events SET ledger = 2 WHERE position = 9"],
        ["UPDATE projbandits_snapshots SET position = 99 WHERE position = 17"],
        ["UPDATE projbandits_snapshots SET position = 18 WHERE position = 17"],
    ],
)
def test_rows_that_are_removed_moved_or_cut_off_are_found(
    film: tuple[Path, str], statements: list[str]
) -> None:
    path, head = film
    assert found(changed(path, *((each, ()) for each in statements)), head)


def test_a_head_kept_elsewhere_finds_a_history_that_was_made_anew(film: tuple[Path, str]) -> None:
    path, head = film
    other = path.parent / "other.db"
    decider = pb.Decider(pb.EIIDS(), subspace=U3, seed=1, store=f"sqlite:///{other}", name="films")
    for _ in range(40):
        decider.ask(np.eye(3))
    mine = decider.history().head
    decider.close()
    assert found(other, mine) is None
    assert "is another one" in str(found(other, head))
    where = ("ledger", "verify", "films", "--store", f"sqlite:///{other}", "--head")
    assert "is another one" in refused(*where, head, code=1)
    assert "head must be POSITION:HASH" in refused(*where, "3:zz")


def test_a_head_still_holds_when_more_has_happened(film: tuple[Path, str]) -> None:
    path, head = film
    decider = pb.Decider.open(f"sqlite:///{path}", "films")
    decider.ask(np.eye(3))
    assert decider.history().verify(head) == int(head.partition(":")[0])
    with pytest.raises(ValueError, match="head must be POSITION:HASH"):
        decider.history().verify("7")
    decider.close()
