"""Callers who wait for the same flush are decided for together; each gets what is its own."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.arms import DecisionSet
from projbandits.deciding.check import check_promises
from projbandits.ledger.protocol import Behind
from projbandits.ledger.store import SqlStore, open_store
from projbandits.strategies import Choice, State
from tests import naive
from tests.worlds import U3


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    made = open_store(f"sqlite:///{tmp_path}/films.db")
    yield made
    made.close()


def _decider(store: SqlStore, strategy: Any = None) -> pb.Decider:
    strategy = strategy or pb.GENTRY()
    return pb.Decider(strategy, subspace=U3, seed=0, store=str(store.database.url), name="films")


def _asked(decider: pb.Decider, store: SqlStore, offers: list[Any]) -> list[Any]:
    """Ask for all of them in one transaction; return decisions and errors."""
    ledger: Any = decider._ledger
    ready = [decider._begun(offer) for offer in offers]
    works = [ledger.work(decide=decider._together, request=each) for each in ready]
    flushes = store.flushes
    outcomes = store.record(works)
    assert store.flushes == flushes + 1
    return [
        outcome if isinstance(outcome, BaseException) else decider._done(each, outcome)[0]
        for each, outcome in zip(ready, outcomes, strict=True)
        if each is not None
    ]


def test_each_has_its_own_draw_and_all_know_the_same(store: SqlStore) -> None:
    decider = _decider(store, pb.GENTRY(alpha=1e6))  # at random
    decider.tell(decider.ask(np.eye(3)).id, 1.0)
    made = _asked(decider, store, [np.eye(3)] * 40)
    held = [decider._ledger.held(decision.id) for decision in made]
    events = [each.decision for each in held if each is not None]
    assert len({event.draw for event in events}) == 40
    assert {event.known for event in events} == {4}  # opened, offered, decided, told
    assert {event.index for event in events} == {0, 1, 2}
    assert all(finding.kept for finding in check_promises(decider._ledger))


def test_new_arms_of_several_callers_are_numbered_one_after_another(store: SqlStore) -> None:
    decider, rng = _decider(store), np.random.default_rng(0)
    shared = rng.normal(size=(2, 3))
    offers = [np.vstack([shared, rng.normal(size=(2, 3))]) for _ in range(10)]
    made = _asked(decider, store, offers)
    assert not any(isinstance(each, BaseException) for each in made)
    again = pb.Decider.open(str(store.database.url), "films")
    for offer, decision in zip(offers, made, strict=True):
        held = again._ledger.held(decision.id)
        assert held is not None
        np.testing.assert_array_equal(held.arm, offer[decision.index])
        catalogue = again._ledger.catalogue()
        assert catalogue is not None
        np.testing.assert_array_equal(catalogue.vectors[held.decision.rows], offer)
    assert again.steps == 10


@dataclass(frozen=True, kw_only=True, repr=False)
class Fussy(pb.GENTRY):
    """Refuses to choose among two arms."""

    def select(self, state: State, arms: DecisionSet, rng: np.random.Generator) -> Choice:
        if arms.size == 2:
            raise ArithmeticError("two are too few")
        return super().select(state, arms, rng)


def test_what_a_strategy_raises_is_for_its_own_caller(store: SqlStore) -> None:
    decider = _decider(store, Fussy())
    fine, bad, also = _asked(decider, store, [np.eye(3), np.eye(3)[:2], np.eye(3)])
    assert isinstance(bad, ArithmeticError)
    assert fine.step == also.step == 1
    with pytest.raises(ArithmeticError, match="two are too few"):
        decider.ask(np.eye(3)[:2])
    assert decider.steps == 2


def test_what_was_read_before_a_change_is_read_again(store: SqlStore) -> None:
    decider, other = _decider(store), pb.Decider.open(str(store.database.url), "films")
    decider.ask(np.eye(3))
    ready = decider._begun(np.eye(3))
    other.reconfigure(strategy=pb.UE())
    ledger: Any = decider._ledger
    (outcome,) = store.record([ledger.work(decide=decider._together, request=ready)])
    assert isinstance(outcome, Behind)
    other.reconfigure(strategy=pb.GENTRY(alpha=2.0))
    assert decider.ask(np.eye(3)).step == 2
    assert repr(decider.strategy) == "GENTRY(alpha=2.0)"


def test_threads_with_arms_of_their_own_all_get_through(store: SqlStore) -> None:
    decider = _decider(store)

    def run(seed: int) -> list[str]:
        rng, ids = np.random.default_rng(seed), list[str]()
        for _ in range(5):
            decision = decider.ask(rng.normal(size=(4, 3)))
            decider.tell(decision, float(decision.arm[0]))
            ids.append(decision.id)
        return ids

    with ThreadPoolExecutor(16) as pool:
        ids = {id for some in pool.map(run, range(16)) for id in some}
    assert len(ids) == decider.steps == decider.ridge.n == 80
    X = [held.arm for some in decider._ledger.decisions() for held in some]
    _, theta, _ = naive.centred_ridge(np.array(X), np.array(X)[:, 0], 1.0)
    np.testing.assert_allclose(decider.ridge.theta, theta, atol=1e-8)


def test_offers_that_come_again_are_not_read_again_unless_their_numbers_changed(
    store: SqlStore,
) -> None:
    decider, arms = _decider(store), [np.eye(3), np.diag([2.0, 3.0, 4.0])]
    names = ["a", "b", "c"]
    for _ in range(2):
        for offer in arms:
            decider.ask(offer, labels=names)
    first, second = (decider._begun(offer, labels=names) for offer in arms)
    kept = [each.offer for each in decider._recent._kept.values()]
    assert first is not None
    assert second is not None
    assert [first.arms, second.arms] == kept
    arms[0][0, 0] = 5.0
    changed = decider._begun(arms[0], labels=names)
    assert changed is not None
    assert changed.arms.vectors[0, 0] == 5.0  # type: ignore[attr-defined]
    renamed = decider._begun(arms[1], labels=["x", "y", "z"])
    assert renamed is not None
    assert renamed.arms.labels != second.arms.labels  # type: ignore[attr-defined]
