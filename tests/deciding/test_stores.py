"""Deciders in stores: made, joined, opened, or refused by name."""

import re
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits.deciding.stores import open_store
from tests.commands import refused
from tests.worlds import U3


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Give where a store is that is not there yet."""
    return f"sqlite:///{tmp_path}/films.db"


def test_a_decider_is_made_once_and_joined_by_others(store: str) -> None:
    one = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, store=store, name="films")
    two = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, store=store, name="films")
    alone = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    assert one.ask(np.eye(3)).index == alone.ask(np.eye(3)).index
    other = pb.Subspace.coordinates([0], d=3)
    for strategy, subspace in ((pb.UE(), U3), (pb.GENTRY(), other), (pb.GENTRY(alpha=2.0), U3)):
        with pytest.raises(ValueError, match="name must be that of a new decider"):
            pb.Decider(strategy, subspace=subspace, store=store, name="films")
    assert two.steps == 1
    one.reconfigure(strategy=pb.UE())
    assert repr(two.strategy) == "UE()"


def test_a_strategy_of_ones_own_is_asked_for(store: str) -> None:
    own = pb.GENTRY(schedule=lambda t: 0.5)
    pb.Decider(own, subspace=U3, store=store, name="films").ask(np.eye(3))
    with pytest.raises(ValueError, match="strategy must be given"):
        pb.Decider.open(store, "films")
    assert pb.Decider.open(store, "films", own).steps == 1


def half(t: int) -> float:
    return 0.5


def quarter(t: int) -> float:
    return 0.25


def test_all_strategies_of_ones_own_are_asked_for(store: str, tmp_path: Path) -> None:
    own = [pb.GENTRY(schedule=half), pb.GENTRY(schedule=quarter)]
    one = pb.Decider(own[0], subspace=U3, store=store, name="films")
    first = one.ask(np.eye(3))
    one.reconfigure(strategy=own[1])
    one.ask(np.eye(3))
    for given in (own[0], own[1], None):
        with pytest.raises(ValueError, match=r"strategy must be given.*a list of all"):
            pb.Decider.open(store, "films", given)
    other = pb.Decider.open(store, "films", own)
    assert other.strategy is own[1]
    assert other.explain(first.id).reason == one.explain(first).reason
    one.save(tmp_path / "decider")
    assert pb.Decider.load(tmp_path / "decider", own).strategy is own[1]
    one.reconfigure(strategy=pb.UE())
    one.save(tmp_path / "decider")
    assert repr(pb.Decider.load(tmp_path / "decider", own).strategy) == "UE()"


def test_a_change_to_a_strategy_that_looks_the_same_is_refused() -> None:
    decider = pb.Decider(pb.GENTRY(schedule=lambda t: 0.1), subspace=U3)
    with pytest.raises(ValueError, match=r"a second GENTRY.*a name of its own"):
        decider.reconfigure(strategy=pb.GENTRY(schedule=lambda t: 0.9))
    decider.reconfigure(strategy=decider.strategy)


def test_bad_stores_and_names_are_named(store: str) -> None:
    pb.Decider(subspace=U3, store=store, name="books")
    with pytest.raises(KeyError, match=r"name must be one of \['books'\] in .*, got 'films'"):
        pb.Decider.open(store, "films")
    with pytest.raises(ValueError, match="name must say what the decider is called"):
        pb.Decider(subspace=U3, store=store)
    with pytest.raises(ValueError, match="name must have at most 200 characters"):
        pb.Decider(subspace=U3, store=store, name="x" * 201)
    with pytest.raises(ValueError, match=r"name must come with store=\.\.\., got 'films' alone"):
        pb.Decider(subspace=U3, name="films")
    for bad in (3, "films.db", open_store(store)):
        with pytest.raises(TypeError, match="store must be a URL such as"):
            pb.Decider(subspace=U3, store=bad, name="films")  # type: ignore[arg-type]


def test_who_joins_means_the_same_columns(store: str) -> None:

    def join(columns: list[str], name: str) -> pb.Decider:
        U = pb.Subspace.without("age", columns=columns)
        return pb.Decider(pb.GENTRY(), subspace=U, store=store, name=name)

    join(["price", "size", "age"], "films")
    with pytest.raises(ValueError, match="the same strategy, subspace, columns"):
        join(["size", "price", "age"], "films")  # as arrays these would be other features
    assert join(["price", "size", "age"], "films").columns == ("price", "size", "age")
    # Where nobody has named them yet, whoever joins with names does: not the next table on offer.
    unnamed = pb.Subspace.coordinates([1, 2], d=3)
    pb.Decider(pb.GENTRY(), subspace=unnamed, store=store, name="books")
    books = join(["age", "size", "price"], "books")
    table = pd.DataFrame(np.eye(3), columns=["price", "size", "age"])
    decision = books.ask(table)
    assert books.columns == ("age", "size", "price")
    np.testing.assert_array_equal(decision.arm, np.eye(3)[::-1][decision.index or 0])


def test_opening_what_is_not_there_makes_nothing(tmp_path: Path) -> None:
    missing, foreign = tmp_path / "mistyped.db", tmp_path / "foreign #1, 100%.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE films (title TEXT)")
    connection.close()
    content = foreign.read_bytes()
    for path in (missing, foreign):
        with pytest.raises(KeyError, match=re.escape(f"{path} holds no deciders")):
            pb.Decider.open(f"sqlite:///{path}", "films")
    assert not missing.exists()
    assert foreign.read_bytes() == content  # nor is it brought into another mode
    assert [*tmp_path.iterdir()] == [foreign]


def test_a_server_without_its_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ModuleNotFoundError, match=r"psycopg.*projbandits.postgresql"):
        pb.Decider.open("postgresql://host/database", "films")
    assert "pip install 'projbandits[postgresql]'" in refused(
        "ledger", "list", "--store", "postgresql://host/database", code=1
    )
