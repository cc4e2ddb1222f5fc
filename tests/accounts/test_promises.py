"""What a ledger promises: each finding is one that a ledger which breaks it would not get."""

from dataclasses import replace

import numpy as np

import projbandits as pb
from projbandits.accounts.promises import _Tally
from projbandits.ledger.happened import Decided
from projbandits.ledger.memory_store import MemoryStore


def test_a_stream_used_twice_and_a_decision_ahead_of_its_time_are_found() -> None:
    store, U = MemoryStore(), pb.Subspace.coordinates([0], d=2)
    decider = pb.Decider(pb.GENTRY(), subspace=U, store=store, name="films", seed=0)
    decider.ask(np.eye(2))
    entries = [entry for chunk in store.open("films").read() for entry in chunk]
    (at, event), *_ = ((e.position, e.event) for e in entries if isinstance(e.event, Decided))
    for events, kept in (
        ([event], True),
        ([event, replace(event, id="another")], False),
        ([replace(event, known=at)], False),
    ):
        tally = _Tally()
        for each in events:
            tally.add(at, each)
        assert tally.sessions().kept is kept
