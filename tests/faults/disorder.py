"""Outcomes in any order, twice, too early, amended, withdrawn, expired, from other processes."""

import random
from collections import Counter

import numpy as np

import projbandits as pb
from projbandits.ledger.protocol import Conflict, Unknown
from tests.databases import Server
from tests.faults.kills import place
from tests.faults.verdicts import Outcomes, promises
from tests.faults.workers import NAME, make, offer, outcome

HANDLES = 3


def disorder(store: str, tries: int, rng: random.Random, server: Server | None = None) -> Outcomes:
    """Do this many random things through three openings of one ledger, and compare with a list."""
    found: Outcomes = Counter()
    with place(store, server) as (url, _, _):
        make(url)
        deciders = [pb.Decider.open(url, NAME) for _ in range(HANDLES)]
        arms, told, gone = dict[str, np.ndarray](), dict[str, float](), set[str]()
        for i in range(tries):
            decider = rng.choice(deciders)
            what = rng.choice(["ask", "ask", "tell", "tell", "again", "early", "amend", "withdraw"])
            id = rng.choice(sorted(arms)) if arms else ""
            if what == "ask" or not arms:
                id = str(i)
                arms[id] = decider.ask(offer(id), id=id).arm
            elif what == "early":
                found += _refused(decider, f"not yet {i}", 1.0, Unknown)
            elif what == "tell" and id not in told and id not in gone:
                decider.tell(id, outcome(id))
                told[id] = outcome(id)
            elif what == "again" and id in told:
                decider.tell(id, told[id])
                found += _refused(decider, id, told[id] + 1.0, Conflict)
            elif what == "amend" and (id in told or id in gone):
                told[id] = rng.random()
                gone.discard(id)
                decider.amend(id, told[id])
            elif what == "withdraw":
                decider.withdraw(id)
                told.pop(id, None)
                gone.add(id)
            found[what] += 1
        late = set(rng.choice(deciders).expire(after=1e-9, reward=0.25))
        found["expired" if late == arms.keys() - told.keys() - gone else "WRONG EXPIRED"] += len(
            late
        )
        told |= dict.fromkeys(late, 0.25)
        found += _compared(deciders, arms, told)
    return found


def _refused(decider: pb.Decider, id: str, reward: float, error: type[Exception]) -> Outcomes:
    try:
        decider.tell(id, reward)
    except error:
        return Counter({"refused": 1})
    return Counter({"NOT REFUSED": 1})


def _compared(
    deciders: list[pb.Decider], arms: dict[str, np.ndarray], told: dict[str, float]
) -> Outcomes:
    """Compare the beliefs with the solution of what was told."""
    X = np.array([arms[id] for id in told])
    r = np.array([told[id] for id in told])
    direct = np.linalg.solve(np.eye(X.shape[1]) + X.T @ X, X.T @ r)
    found: Outcomes = Counter()
    for decider in deciders:
        near = np.abs(decider.ridge.theta - direct).max() < 1e-8 and decider.ridge.n == len(told)
        found["beliefs right" if near else "WRONG BELIEF"] += 1
    return found + promises(deciders[0]._ledger)
