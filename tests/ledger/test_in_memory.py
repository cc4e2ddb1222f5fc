"""A ledger in memory: one commit, small, and safe to interrupt."""

import gc
import tracemalloc

import numpy as np
import pytest

import projbandits as pb
from projbandits.exceptions import ConflictError, UnknownDecisionError
from projbandits.ledger.events import Decided, Event, Offered, Opened, Told
from projbandits.ledger.in_memory import MemoryLedger
from projbandits.ledger.protocol import Behind, Ledger
from tests.deciders import some_arms
from tests.worlds import U3

OPENED = Opened("key", 1.0, 0, None, "mine", np.eye(3)[:, :2], None, None)


def decided(id: str) -> Decided:
    return Decided(id, 1.0, 1, 1, 0, 0, 0, 1.0, 0.0, 0.0, arm=np.ones(3))


def test_an_append_is_all_or_nothing() -> None:
    ledger = MemoryLedger(OPENED)
    ledger.append([decided("a"), Told("a", 2.0, 1.0)])
    bad: list[tuple[list[Event], type[Exception]]] = [
        ([decided("b"), Told("nobody", 2.0, 1.0)], UnknownDecisionError),
        ([decided("b"), Told("b", 2.0, 1.0), Told("b", 2.0, 3.0)], ConflictError),
        ([decided("b"), Offered(7, np.eye(3))], Behind),
    ]
    for events, error in bad:
        with pytest.raises(error):
            ledger.append(events)
        assert ledger.last() == 3
    assert ledger.append([Told("a", 9.0, 1.0)]) == 3  # says the same again
    assert isinstance(ledger, Ledger)


def test_a_decision_among_a_hundred_of_a_thousand_items_takes_less_than_a_kilobyte() -> None:
    rng = np.random.default_rng(0)
    items = rng.normal(size=(1000, 20))
    U = pb.Subspace.coordinates(range(10), d=20)
    decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0, log=True)
    decider.ask(items)

    def until_packed() -> int:
        """Decide until the next snapshot, up to which decisions are packed."""
        at, steps = decider._snapshot_at, decider.steps
        while decider._snapshot_at == at:
            decider.tell(decider.ask(items[rng.permutation(1000)[:100]]), 1.0)
        return decider.steps - steps

    for _ in range(3):  # columns are looked at up to step 1,024
        until_packed()
    gc.collect()  # what Python keeps to use again is no memory of ours
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    made = until_packed()
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert made > 500
    assert kept / made < 1000


def test_what_is_packed_reads_as_before() -> None:
    rng = np.random.default_rng(0)
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, log=True)
    for _ in range(20):
        decision = decider.ask(some_arms(rng))
        decider.tell(decision, 1.0)
        decider.amend(decision, 2.0)
    ledger = decider._ledger

    def read() -> list[object]:
        entries = [entry for chunk in ledger.read() for entry in chunk]
        return [
            (e.position, repr(e.event), e.place, None if e.arm is None else e.arm.tolist())
            for e in entries
        ]

    before = read()
    decider._keep(decider._now())
    assert isinstance(ledger, MemoryLedger)
    assert sum(isinstance(stored, tuple) and len(stored) == 2 for stored in ledger._kept[1]) == 20
    assert read() == before


def test_without_a_log_memory_does_not_grow_with_what_was_told() -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    ledger = decider._ledger
    assert isinstance(ledger, MemoryLedger)
    for _ in range(700):
        decider.tell(decider.ask(np.eye(3)), 1.0)
    assert len(ledger._kept[1]) < 300
    assert not ledger.index().waiting
    assert not ledger.index().fates
