"""Whatever may happen to a decider, in any order, through several openings of its ledger."""

import math
import os
import pickle
import random
import signal
import warnings
from collections import Counter
from typing import Any

import numpy as np

import projbandits as pb
from projbandits.deciding.stores import open_store
from projbandits.exceptions import ConflictError, UnknownDecisionError
from projbandits.ledger import ledger, store
from projbandits.ledger.snapshots import snapshot
from tests.databases import Server
from tests.faults.kills import place
from tests.faults.twin import Twin
from tests.faults.verdicts import Outcomes, promises
from tests.faults.workers import ITEMS, OFFERED, outcome

OPENINGS, LENGTH = 3, 50
D = ITEMS.shape[1]
STRATEGIES: list[pb.LinearStrategy] = [
    pb.GENTRY(), pb.REGRET(), pb.EIIDS(), pb.GENTRY(penalty=3.0), pb.EIIDS(arm_effects=1.0)
]  # fmt: skip
SUBSPACES = [
    pb.Subspace.coordinates(range(2), d=D),
    pb.Subspace.coordinates([3], d=D),
    pb.Subspace.span(ITEMS[:2].T),
]
SNAPSHOTS = [3, 20, 1024]
"""After how many events one is kept."""


def disorder(store: str, tries: int, rng: random.Random, server: Server | None = None) -> Outcomes:
    """Do this many random things, and compare with a list after every few dozen of them."""
    found: Outcomes = Counter()
    with place(store, server) as (url, _, _):
        for number in range(-(-tries // LENGTH)):
            play = Play(url, f"films {number}", rng)
            found += play.all_of(min(LENGTH, tries - number * LENGTH))
        open_store(url).close()
    return found


class Play:
    """Random things that happen to one decider, and to its twin."""

    def __init__(self, url: str, name: str, rng: random.Random) -> None:
        self._url, self._name, self._rng = url, name, rng
        strategy, subspace = rng.choice(STRATEGIES), rng.choice(SUBSPACES)
        self.twin = Twin(strategy, subspace, rng.choice([math.inf, 5.0]))
        first = pb.Decider(
            strategy,
            subspace=subspace,
            half_life=self.twin.half_life,
            seed=0,
            store=url,
            name=name,
        )
        self.deciders = [first, *(self._opened() for _ in range(OPENINGS - 1))]

    def _opened(self) -> pb.Decider:
        store._open.clear()  # so it has connections of its own, as if it were in another process
        return pb.Decider.open(self._url, self._name)

    def all_of(self, steps: int) -> Outcomes:
        found: Outcomes = Counter()
        things = [name.removeprefix("do_") for name in dir(self) if name.startswith("do_")]
        often, every = ["ask", "tell", "amend", "withdraw"], ledger.EVERY
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for step in range(steps):
                ledger.EVERY = self._rng.choice(SNAPSHOTS)
                what = self._rng.choice([*things, *often, *often])
                found[what if self._do(what, str(step)) is None else "NOT REFUSED"] += 1
            ledger.EVERY = every
            found += self.compared()
        for decider in self.deciders:
            decider.close()
        return found

    def _do(self, what: str, step: str) -> object:
        return getattr(self, f"do_{what}")(self._rng.choice(self.deciders), step)

    def _some(self, *became: str) -> list[str]:
        ids = self.twin.those(*became)
        return self._rng.sample(ids, min(len(ids), self._rng.randint(1, 3)))

    def _offer(self) -> dict[str, Any]:
        rows = self._rng.sample(range(len(ITEMS)), OFFERED)
        return {"arms": ITEMS[rows], "labels": rows}

    def do_ask(self, decider: pb.Decider, step: str) -> None:
        id = self._rng.choice([None, step])
        self.twin.ask([decider.ask(**self._offer(), request_id=id, meta={"step": step})])

    def do_ask_twice(self, decider: pb.Decider, step: str) -> None:
        offer = self._offer()
        made = decider.ask(**offer, request_id=step, count=2)
        self.twin.ask(made)
        again = self._rng.choice(self.deciders).ask(**offer, request_id=step, count=2)
        assert [d.index for d in again] == [d.index for d in made]

    def do_tell(self, decider: pb.Decider, step: str) -> None:
        outcomes = {id: self._rng.gauss(0, 1) for id in self._some("pending")}
        decider.tell_many(outcomes)
        for id, value in outcomes.items():
            self.twin.tell(id, value)
            self._rng.choice(self.deciders).tell(id, value)  # again, and harmless

    def do_refuse(self, decider: pb.Decider, step: str) -> object:
        """Tell what is not known, or is known otherwise; None of it counts, also not the rest."""
        rest = dict.fromkeys(self._some("pending"), 7.0)
        for id in ("not yet", *self._some("told", "gone")):
            try:
                decider.tell_many({**rest, id: 77.0})
            except (UnknownDecisionError, ConflictError):
                continue
            return id
        return None

    def do_amend(self, decider: pb.Decider, step: str) -> None:
        for id in self._some("told", "gone"):
            outcome = self._rng.gauss(0, 1)
            decider.amend(id, outcome)
            self.twin.tell(id, outcome)

    def do_withdraw(self, decider: pb.Decider, step: str) -> None:
        for id in self._some("told", "gone", "pending"):
            decider.withdraw(id)
            self.twin.withdraw(id)

    def do_expire(self, decider: pb.Decider, step: str) -> None:
        if self._rng.random() < 0.3:
            outcome = self._rng.choice([None, 0.25])
            late = decider.expire(1e-9, outcome)
            assert [*late] == self.twin.those("pending")
            for id in late:
                self.twin.withdraw(id) if outcome is None else self.twin.tell(id, outcome)

    def do_learn(self, decider: pb.Decider, step: str) -> None:
        X, r = ITEMS[:2] + self._rng.random(), np.array([self._rng.random(), 1.0])
        for one in (decider, self._rng.choice(self.deciders)):
            one.learn(X, r, request_id=f"history {step}")
        for x, value in zip(X, r, strict=True):
            self.twin.learn(x, float(value))

    def do_change(self, decider: pb.Decider, step: str) -> None:
        changes: list[dict[str, Any]] = [
            {"strategy": self._rng.choice(STRATEGIES)},
            {"subspace": self._rng.choice(SUBSPACES)},
            {"half_life": self._rng.choice([math.inf, 3.0])},
        ]
        change = self._rng.choice(changes)
        decider.reconfigure(**change)
        vars(self.twin).update(change)

    def do_decay(self, decider: pb.Decider, step: str) -> None:
        if self._rng.random() < 0.3:
            decider.decay(0.8)
            self.twin.decay(0.8)

    def do_open_again(self, decider: pb.Decider, step: str) -> None:
        self.deciders[self._rng.randrange(OPENINGS)] = self._opened()

    def do_look(self, decider: pb.Decider, step: str) -> None:
        for one in self.deciders:
            self._compare(one)

    def do_crash(self, decider: pb.Decider, step: str) -> None:
        """Have a forked child ask and tell, and die in the middle of it; then do the same again."""
        ids, offer = [f"{step}-{i}" for i in range(4)], self._offer()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            signal.setitimer(signal.ITIMER_REAL, self._rng.uniform(0.001, 0.03))
            for id in ids:
                told = pickle.dumps((id, decider.ask(**offer, request_id=id).index))
                os.write(writing, told.ljust(200))
                decider.tell(id, outcome(id))
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            content = pipe.read()
        assert os.waitpid(child, 0)[1] in (0, signal.SIGALRM)
        said = dict(pickle.loads(content[at : at + 200]) for at in range(0, len(content), 200))
        other = self._rng.choice(self.deciders)
        for id in [*said, *ids[len(said) : len(said) + 1]]:
            decision = other.ask(**offer, request_id=id)
            assert said.get(id, decision.index) == decision.index
            self.twin.ask([decision])
            other.tell(id, outcome(id))
            self.twin.tell(id, outcome(id))

    def _compare(self, decider: pb.Decider) -> None:
        twin = self.twin
        _near(decider.ridge.theta, twin.theta())
        assert (decider.ridge.n, decider.steps) == (twin.n, len(twin.made))
        assert [d.id for d in decider.pending] == twin.those("pending")

    def compared(self) -> Outcomes:
        """Compare every belief with the twin's, today's and that of every decision."""
        self.deciders.append(self._opened())
        history = self.deciders[0].history()
        bits = {snapshot(history.folded(None, history.position))}
        for decider in self.deciders:
            self._compare(decider)
            bits.add(snapshot(decider.belief()))
        assert len(bits) == 1, "what is known depends on how it was reached"
        for record in history:
            made = self.twin.made[record.event.id]
            _near(record.grounds.state.ridge.theta, made.theta)
            outcome = made.observed and made.observed.outcome
            assert record.told == (outcome is not None)
            assert outcome is None or record.outcome == outcome
        return Counter({"beliefs right": len(self.deciders)}) + promises(history)


def _near(one: np.ndarray, other: np.ndarray) -> None:
    assert np.abs(one - other).max() <= 1e-8 * max(1.0, np.abs(other).max()), (one, other)
