import sqlite3
from pathlib import Path

import numpy as np
import pytest

import projbandits as pb
from projbandits.exceptions import ConflictError, DamagedError
from projbandits.ledger import schema
from projbandits.ledger.events import Offered, Told
from projbandits.ledger.protocol import Entry, Held
from projbandits.ledger.reading import Reader
from projbandits.ledger.sql_ledger import Work
from projbandits.ledger.store import SqlStore
from tests.ledger.conformance import ARMS, OPENED, decided


def test_what_this_process_decided_is_not_looked_up(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqlStore(url)
    ledger = store.create("films", OPENED)
    ledger.append([Offered(0, ARMS)])
    looked = list[set[str]]()

    def held(_: Reader, ids: set[str]) -> dict[str, Held]:
        looked.append({*ids})
        return {}

    monkeypatch.setattr(Reader, "held", held)
    ledger.append([decided("a")])
    ledger.append([Told("a", 1.0, 0.5)])
    ledger.append([Told("a", 2.0, 0.5)])  # the same again
    with pytest.raises(ConflictError, match=r"told 0\.5 before"):
        ledger.append([Told("a", 2.0, 0.75)])
    assert looked == [{"a"}]
    store.close()


def test_what_another_process_did_meanwhile_is_looked_up(url: str) -> None:
    store = SqlStore(url)
    one, other = store.create("films", OPENED), SqlStore(url).open("films")
    one.append([Offered(0, ARMS), decided("a"), decided("b")])
    other.append([Told("a", 1.0, 0.5)])
    with pytest.raises(ConflictError, match=r"told 0\.5 before"):
        one.append([Told("a", 2.0, 0.75)])
    assert one.append([Told("b", 2.0, 0.75)]) == 6
    store.close()


def test_processes_that_take_turns_see_each_outcome_of_the_other(url: str) -> None:
    one = SqlStore(url).create("films", OPENED)
    other = SqlStore(url).open("films")
    one.append([Offered(0, ARMS)])
    for t, (mine, theirs) in enumerate([(one, other), (other, one)] * 3):
        mine.append([decided(f"a{t}"), decided(f"b{t}")])
        theirs.append([Told(f"a{t}", 1.0, 0.5)])
        with pytest.raises(ConflictError, match=r"told 0\.5 before"):
            mine.append([Told(f"a{t}", 2.0, 0.75)])
        mine.append([Told(f"b{t}", 2.0, 0.25)])
        with pytest.raises(ConflictError, match=r"told 0\.25 before"):
            theirs.append([Told(f"b{t}", 2.0, 0.75)])
    outcomes = [held.outcome for some in one.decisions() for held in some]
    assert outcomes == [0.5, 0.25] * 6


def test_an_id_is_looked_up_only_if_somebody_can_have_used_it(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=pb.Subspace(np.eye(3)[:, :2]), store=url, name="x")
    looked, look = list[set[str]](), Reader.held

    def held(reader: Reader, ids: set[str]) -> dict[str, Held]:
        looked.append({*ids})
        return look(reader, ids)

    monkeypatch.setattr(Reader, "held", held)
    decider.ask(np.eye(3))
    assert looked == []
    first = decider.ask(np.eye(3), request_id="mine")
    assert looked == [{"mine"}]
    assert decider.ask(np.eye(3), request_id="mine").index == first.index
    decider.close()


def test_what_others_wrote_is_read_together_and_once(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = SqlStore(url).create("films", OPENED)
    other = SqlStore(url).open("films")
    other.append([Offered(0, ARMS), *(decided(str(i)) for i in range(20))])
    one.append([decided("mine")])
    other.append([Told("mine", 1.0, 0.5)])
    asked, ask = list[list[int]](), Reader.single

    def single(reader: Reader, positions: list[int]) -> list[Entry]:
        asked.append(positions)
        return ask(reader, positions)

    monkeypatch.setattr(Reader, "single", single)
    one.last()
    entries = [next(one.read(p, p + 1))[0] for p in range(1, 24)]
    assert [entry.position for entry in entries] == [*range(2, 25)]
    assert asked == [[*range(2, 23), 24]]
    told = entries[-1]
    assert isinstance(told.event, Told)
    np.testing.assert_array_equal(told.arm, ARMS[1])  # see `decided`


@pytest.mark.parametrize("few", [0, 256])
@pytest.mark.parametrize(
    "change", ["UPDATE projbandits_events SET step = 77", "DELETE FROM projbandits_events"]
)
def test_a_changed_event_is_noticed_among_few_and_among_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int, change: str
) -> None:
    monkeypatch.setattr("projbandits.ledger.sql_ledger.FEW", few)
    url = f"sqlite:///{tmp_path}/films.db"
    ledger = SqlStore(url).create("films", OPENED)
    ledger.append([Offered(0, ARMS), *(decided(str(i)) for i in range(9))])
    connection = sqlite3.connect(tmp_path / "films.db", isolation_level=None)
    connection.execute(f"{change} WHERE place = {schema.place(1, 6)}")
    connection.close()
    with pytest.raises(DamagedError, match="event 6 of ledger 1"):
        list(SqlStore(url).open("films").read())


def test_two_openings_that_share_a_transaction_remember_nothing_stale(url: str) -> None:
    store = SqlStore(url)
    one, other = store.create("films", OPENED), store.open("films")
    one.append([Offered(0, ARMS), decided("a")])
    other.append([Told("a", 1.0, 0.5)])  # which the first opening does not know
    store._commit([Work(one, [decided("b")]), Work(other, [decided("c")])])
    for ledger in (one, other):
        with pytest.raises(ConflictError, match=r"told 0\.5 before"):
            ledger.append([Told("a", 2.0, 0.75)])
    store._commit([Work(one, [Told("b", 2.0, 1.0)]), Work(other, [Told("c", 2.0, 1.0)])])
    found = {h.decision.id: h.outcome for some in one.decisions() for h in some}
    assert found == {"a": 0.5, "b": 1.0, "c": 1.0}
    store.close()
