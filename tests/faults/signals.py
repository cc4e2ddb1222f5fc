"""Real signals that strike inside the calls of a decider, which are then made again."""

import random
import signal
import time
from collections import Counter
from collections.abc import Callable

import projbandits as pb
from projbandits.exceptions import ConflictError
from tests.databases import Server
from tests.faults.kills import place
from tests.faults.verdicts import Outcomes, promises
from tests.faults.workers import U, make, offer, outcome


class Struck(BaseException):
    """What the handler of the signal raises, as Ctrl-C would."""


def signals(store: str, tries: int, rng: random.Random, server: Server | None = None) -> Outcomes:
    """Make every kind of call, struck by signals at random moments, this many times."""
    found: Outcomes = Counter()

    def strike(*_: object) -> None:
        raise Struck

    before = signal.signal(signal.SIGALRM, strike)
    try:
        with place(store, server) as (url, _, _):
            decider = make(url)
            for i in range(tries):
                _calls(decider, str(i), found, rng)
            found += _whole(decider, tries)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return found


def _calls(decider: pb.Decider, id: str, found: Outcomes, rng: random.Random) -> None:
    """Make the calls about three decisions, each until it is done."""
    calls: list[Callable[[], object]] = [
        lambda: decider.ask(offer(id), request_id=id),
        lambda: decider.ask(offer(id), request_id=f"{id}-2", count=2),
        lambda: decider.tell(id, outcome(id)),
        lambda: decider.amend(id, outcome(id) + 1.0),
        lambda: decider.withdraw(f"{id}-2/0", "gone"),
        lambda: decider.tell_many({f"{id}-2/1": 0.5}),
        lambda: decider.learn(offer(id)[:2], [0.5, 0.25], request_id=f"history {id}"),
        lambda: decider.ridge,
        lambda: decider.pending,
        lambda: decider.reconfigure(subspace=U),
        lambda: decider.expire(after="1h"),
    ]
    for call in calls:
        took = 0.001
        while True:
            start = time.perf_counter()
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 1.5 * took))
                call()
                signal.setitimer(signal.ITIMER_REAL, 0)
                found["calls done"] += 1
                break
            except Struck:
                found["calls struck"] += 1
                took = min(2 * max(took, time.perf_counter() - start), 1.0)
            except ConflictError:
                found["CALLED AGAIN, REFUSED"] += 1
                break


def _whole(decider: pb.Decider, tries: int) -> Outcomes:
    """Each round adds three decisions, two outcomes and two rows of history."""
    found: Outcomes = Counter()
    counted = decider.steps, decider.ridge.n, len(decider.pending)
    right = counted == (3 * tries, 4 * tries, 0)
    found["nothing lost, nothing twice" if right else f"COUNTED {counted} FOR {tries}"] += 1
    return found + promises(decider.history())
