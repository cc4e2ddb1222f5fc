"""Processes that fork: before the store is used, and while other threads use it."""

import multiprocessing
import os
import random
import threading
import time
from collections import Counter
from typing import Any

import projbandits as pb
from tests.databases import Server
from tests.faults.kills import place
from tests.faults.verdicts import Outcomes, promises
from tests.faults.workers import make, offer, outcome, patiently

EACH = 5
"""How often a child asks and tells."""

_fork = multiprocessing.get_context("fork")


def forks(store: str, tries: int, rng: random.Random, server: Server | None = None) -> Outcomes:
    """Fork this many children while two threads ask and tell; each child does so too."""
    with place(store, server) as (url, _, _):
        decider = make(url)
        stop = threading.Event()
        counts = [0, 0]

        def ask(which: int) -> None:
            while not stop.is_set():
                _use(decider)
                counts[which] += 1

        threads = [threading.Thread(target=ask, args=(which,)) for which in range(2)]
        for thread in threads:
            thread.start()
        found: Outcomes = Counter()
        ids = list[str]()
        for _ in range(tries):
            time.sleep(rng.uniform(0.0, 0.02))
            found += _child(decider, ids)
        stop.set()
        for thread in threads:
            thread.join()
        done = sum(counts) + EACH * found["children that worked"]
        return found + _whole(decider, ids, done)


def _child(decider: pb.Decider, ids: list[str]) -> Outcomes:
    receiver, sender = _fork.Pipe(duplex=False)
    child = _fork.Process(target=_use_and_report, args=(decider, sender))
    child.start()
    sender.close()
    if not receiver.poll(60):
        child.kill()
        child.join()
        return Counter({"CHILD HANGS": 1})
    ids.extend(receiver.recv())
    child.join()
    return Counter({"children that worked": 1})


def _use(decider: pb.Decider) -> str:
    decision = decider.ask(offer("the same for all"))
    decider.tell(decision.id, outcome(decision.id))
    return decision.id


def _patiently(decider: pb.Decider) -> str:
    """Use a decider, and again if so many processes do so at once that the turn did not come."""
    used = patiently(lambda: decider.ask(offer("the same for all")), time.time() + 100.0)
    assert used is not None
    id = used[0].id
    patiently(lambda: decider.tell(id, outcome(id)), time.time() + 100.0)
    return id


def _use_and_report(decider: pb.Decider, sender: Any) -> None:
    sender.send([_use(decider) for _ in range(EACH)])


def servers(store: str, tries: int, rng: random.Random, server: Server | None = None) -> Outcomes:
    """Fork workers from a process that has opened the store and used it, as web servers do."""
    with place(store, server) as (url, _, _):
        decider = make(url)
        ids = [_use(decider)]
        children = list[tuple[int, int]]()
        for _ in range(tries):
            reading, writing = os.pipe()
            pid = os.fork()
            if pid == 0:
                try:
                    os.write(writing, " ".join(_patiently(decider) for _ in range(EACH)).encode())
                finally:
                    os._exit(0)  # the database is its parent's to remove
            os.close(writing)
            children.append((pid, reading))
        ids += [_use(decider) for _ in range(EACH)]
        found: Outcomes = Counter()
        for pid, reading in children:
            with os.fdopen(reading) as answer:
                ids += answer.read().split()
            os.waitpid(pid, 0)
            found["children that worked"] += 1
        return found + _whole(decider, ids, len(ids))


def _whole(decider: pb.Decider, ids: list[str], done: int) -> Outcomes:
    found: Outcomes = Counter()
    found["ids, all different" if len(set(ids)) == len(ids) else "AN ID GIVEN TWICE"] += len(ids)
    lost = decider.ridge.n != done or decider.steps != done
    found[f"LOST OR DOUBLED {decider.ridge.n} {decider.steps} {done}" if lost else "in all"] = done
    return found + promises(decider.history())
