"""The fold: what is known at a position has the same bits however it is reached."""

from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.ledger.events import Amended, Changed, Decided, Learnt, Told, Withdrawn
from projbandits.ledger.fold import Known, advanced, fold, restored, snapshot
from projbandits.ledger.in_memory import MemoryLedger
from projbandits.ledger.protocol import Snapshot
from projbandits.ridge import Ridge
from tests.deciders import some_arms
from tests.worlds import U3

V3 = pb.Subspace.coordinates([1, 2], d=3)


def played(strategy: Any, changes: bool = True) -> MemoryLedger:
    """A ledger in which everything happens, much of it out of order."""
    decider = pb.Decider(strategy, subspace=U3, seed=0, log=True)
    rng = np.random.default_rng(0)
    decider.learn(some_arms(rng), rng.normal(size=6))
    made = list[pb.Decision]()
    for t in range(30):
        made += decider.ask(some_arms(rng), count=2)
        decider.tell(made[t], float(rng.normal()))
        if t % 5 == 4:
            decider.amend(made[t - 3], float(rng.normal()))
        if t % 7 == 6:
            never = decider.ask(some_arms(rng))
            decider.withdraw(made[t - 2])
            decider.withdraw(never)
        if t % 14 == 13:
            decider.amend(made[t - 2], float(rng.normal()))
            decider.amend(never, float(rng.normal()))
        if t in (10, 20) and changes:
            decider.reconfigure(
                subspace=V3 if t == 10 else U3, strategy=pb.UE() if t == 20 else None
            )
    ledger = decider._ledger
    assert isinstance(ledger, MemoryLedger)
    return ledger


def naive(ledger: MemoryLedger, upto: int) -> Ridge:
    """The outcomes in force at a position, each at the place of its first report."""
    entries = [entry for chunk in ledger.read(0, upto) for entry in chunk]
    force, places, arms = dict[str, Any](), dict[str, int](), dict[str, Any]()
    first = entries[0].event
    strategy: Any = first
    basis = strategy.subspace
    for position, event, arm, *_ in entries:
        if isinstance(event, Told | Amended):
            places.setdefault(event.id, position)
            force[event.id], arms[event.id] = event.outcome, arm
        elif isinstance(event, Withdrawn):
            force[event.id] = None
        elif isinstance(event, Changed):
            basis = basis if event.subspace is None else event.subspace
            strategy = strategy if event.label is None else event
    learner = {"GENTRY()": pb.GENTRY(), "REGRET()": pb.REGRET(), "UE()": pb.UE()}[strategy.label]
    P = basis @ basis.T if learner.learns_on == "projection" else np.eye(3)
    at = {places[id]: id for id, outcome in force.items() if outcome is not None}
    ridge = Ridge.prior(3, learner.penalty, intercept=True)
    for position, event, *_ in entries:
        if isinstance(event, Learnt):
            ridge = ridge.update_many(event.X @ P, event.outcomes)
        elif position in at:
            x = arms[at[position]]
            ridge = ridge.update(x if learner.learns_on == "arm" else x @ P, force[at[position]])
    return ridge


def still_open(ledger: MemoryLedger, upto: int) -> list[int]:
    """The positions of the decisions that nothing was said of up to a position."""
    entries = [entry for chunk in ledger.read(0, upto) for entry in chunk]
    said = {e.event.id for e in entries if isinstance(e.event, Told | Amended | Withdrawn)}
    return [e.position for e in entries if isinstance(e.event, Decided) and e.event.id not in said]


@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.REGRET()], ids=repr)
def test_what_is_known_has_the_same_bits_however_it_is_reached(strategy: Any) -> None:
    ledger = played(strategy)
    snapshots = [snapshot(advanced(ledger, None, at)) for at in (17, 40, 41, 77)]
    live: Known | None = None
    for position in range(1, ledger.last() + 1):
        live = advanced(ledger, live, position)  # event by event, as a decider does
        ledger._snapshots = []
        fresh = advanced(ledger, None, position)
        ledger._snapshots = snapshots
        kept = advanced(ledger, None, position)
        expected = naive(ledger, position)
        for known in (live, fresh, kept):
            assert known.position == position
            assert known.state.ridge.n == expected.n
            np.testing.assert_allclose(known.state.ridge.factor, expected.factor, atol=1e-12)
            assert known.state.ridge.factor.tobytes() == fresh.state.ridge.factor.tobytes()
            assert known.state.step == fresh.state.step
            assert [at for at, _ in known.open.rows] == still_open(ledger, position)
            assert known.open.factor.tobytes() == fresh.open.factor.tobytes()
            assert repr(known.strategy) == repr(fresh.strategy)


def test_folding_one_event_leaves_what_was_known_as_it_was() -> None:
    ledger = played(pb.GENTRY(), changes=False)
    known = advanced(ledger, None, 20)
    before = known.state.ridge.factor.tobytes(), known.position
    for entry in next(ledger.read(20)):
        fold(known, entry)
    assert (known.state.ridge.factor.tobytes(), known.position) == before


def test_a_snapshot_comes_back_as_it_was_or_not_at_all() -> None:
    ledger = played(pb.GENTRY())
    known = advanced(ledger, None, ledger.last())
    kept = snapshot(known)
    again = restored(kept)
    assert again is not None
    assert again._replace(
        state=known.state, strategy=known.strategy, subspace=known.subspace, open=known.open
    ) == (known)
    assert again.open.factor.tobytes() == known.open.factor.tobytes()
    assert [position for position, _ in again.open.rows] == [at for at, _ in known.open.rows]
    assert again.state.ridge.factor.tobytes() == known.state.ridge.factor.tobytes()
    assert again.subspace.basis.tobytes() == known.subspace.basis.tobytes()
    for at in range(0, len(kept.body), 11):
        body = kept.body[:at] + bytes([kept.body[at] ^ 4]) + kept.body[at + 1 :]
        assert restored(Snapshot(kept.position, body)) is None
    assert restored(Snapshot(kept.position + 1, kept.body)) is None
    assert restored(Snapshot(kept.position, kept.body[:5])) is None


def test_a_damaged_snapshot_is_folded_again() -> None:
    ledger = played(pb.GENTRY())
    right = advanced(ledger, None, ledger.last())
    kept = snapshot(advanced(ledger, None, 40))
    ledger._snapshots = [kept._replace(body=b"x" * 99)]
    assert advanced(ledger, None, ledger.last()).state.ridge.theta.tolist() == (
        right.state.ridge.theta.tolist()
    )
