import pytest

from projbandits.ledger.conformance import ARMS, OPENED, decided
from projbandits.ledger.happened import Offered, Told
from projbandits.ledger.protocol import Conflict, Held
from projbandits.ledger.reading import Reader
from projbandits.ledger.sql import SqlStore
from projbandits.ledger.sql_ledger import Work


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
    with pytest.raises(Conflict, match=r"told 0\.5 before"):
        ledger.append([Told("a", 2.0, 0.75)])
    assert looked == [{"a"}]
    store.close()


def test_what_another_process_did_meanwhile_is_looked_up(url: str) -> None:
    store = SqlStore(url)
    one, other = store.create("films", OPENED), SqlStore(url).open("films")
    one.append([Offered(0, ARMS), decided("a"), decided("b")])
    other.append([Told("a", 1.0, 0.5)])
    with pytest.raises(Conflict, match=r"told 0\.5 before"):
        one.append([Told("a", 2.0, 0.75)])
    assert one.append([Told("b", 2.0, 0.75)]) == 6
    store.close()


def test_two_openings_that_share_a_transaction_remember_nothing_stale(url: str) -> None:
    store = SqlStore(url)
    one, other = store.create("films", OPENED), store.open("films")
    one.append([Offered(0, ARMS), decided("a")])
    other.append([Told("a", 1.0, 0.5)])  # which the first opening does not know
    store._commit([Work(one, [decided("b")]), Work(other, [decided("c")])])
    for ledger in (one, other):
        with pytest.raises(Conflict, match=r"told 0\.5 before"):
            ledger.append([Told("a", 2.0, 0.75)])
    store._commit([Work(one, [Told("b", 2.0, 1.0)]), Work(other, [Told("c", 2.0, 1.0)])])
    found = {h.decision.id: h.reward for some in one.decisions() for h in some}
    assert found == {"a": 0.5, "b": 1.0, "c": 1.0}
    store.close()
