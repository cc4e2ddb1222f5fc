"""A service that is killed while clients ask and tell, and the server of its database."""

import random
import threading
import time
from collections import Counter
from typing import Any

import httpx

import projbandits as pb
from projbandits.ledger.events import Decided, Told
from tests.databases import Server
from tests.faults.kills import place
from tests.faults.verdicts import Outcomes, promises
from tests.faults.workers import NAME, outcome
from tests.service.conftest import FILMS, MAKE, bearer
from tests.service.processes import Process

CLIENTS = 4


def services(store: str, tries: int, rng: random.Random, server: Server | None = None) -> Outcomes:
    """Kill the service this many times at random moments, and start it again."""
    with place(store, server) as (url, _, running):
        process = Process(url)
        process.wait()
        token = str(process.token)
        with httpx.Client(base_url=process.address, headers=bearer(token), timeout=60) as client:
            client.put(f"/v1/deciders/{NAME}", json=MAKE).raise_for_status()
            client.put(f"/v1/deciders/{NAME}/items", json=FILMS).raise_for_status()
        asked, told = dict[str, Any](), set[str]()
        stop = threading.Event()

        def work(worker: int) -> None:
            with pb.connect(process.address, token, patience=120.0) as connection:
                decider, made = connection.decider(NAME), 0
                while not stop.is_set():
                    id = f"{worker}-{made}"
                    made += 1
                    asked[id] = decider.ask({}, request_id=id)
                    decider.tell(id, outcome(id))
                    told.add(id)

        workers = [threading.Thread(target=work, args=(i,)) for i in range(CLIENTS)]
        for worker in workers:
            worker.start()
        found: Outcomes = Counter()
        for i in range(tries):
            _wait(told, rng.randrange(1, 60), workers)
            if running is not None and i % 5 == 4:
                running.kill()
                running.start()
                found["database servers killed"] += 1
            else:
                process.kill()
                process = Process(url, process.port)
                found["services killed"] += 1
            process.wait()
        _wait(told, 10, workers)
        stop.set()
        for worker in workers:
            worker.join(120)
            found["CLIENT HANGS"] += worker.is_alive()
        process.stop()
        return found + _verdict(url, asked, told)


def _wait(told: set[str], more: int, workers: list[threading.Thread]) -> None:
    """Wait until more outcomes were acknowledged."""
    until, enough = time.monotonic() + 60, len(told) + more
    while len(told) < enough and time.monotonic() < until:
        assert all(worker.is_alive() for worker in workers)
        time.sleep(0.001)


def _verdict(url: str, asked: dict[str, Any], told: set[str]) -> Outcomes:
    """Return how many answers are kept in the ledger, LOST, DOUBLED or CHANGED."""
    found: Outcomes = Counter()
    decider = pb.Decider.open(url, NAME)
    history = decider.history()
    events = [event for _, event in history.events()]
    decided = Counter(event.id for event in events if isinstance(event, Decided))
    reports = Counter(event.id for event in events if isinstance(event, Told))
    found["DECISIONS DOUBLED"] += sum(many - 1 for many in decided.values())
    found["OUTCOMES DOUBLED"] += sum(many - 1 for many in reports.values())
    for id, answer in asked.items():
        if id not in decided:
            found["DECISION LOST"] += 1
            continue
        held = history.find(id)
        same = (held.decision.index, held.decision.propensity) == (answer.index, answer.propensity)
        found["decisions kept" if same else "DECISION CHANGED"] += 1
        if id in told:
            found["outcomes kept" if held.outcome == outcome(id) else "OUTCOME LOST"] += 1
    found["outcomes in the belief" if decider.ridge.n == len(reports) else "BELIEF LACKS"] += 1
    found += promises(history)
    decider.close()
    return found
