"""Whether everything that workers were promised is in the ledger, once."""

from collections import Counter
from pathlib import Path

import projbandits as pb
from projbandits.deciding.check import check_promises
from projbandits.deciding.stores import open_store
from projbandits.ledger.events import Decided, Told
from projbandits.ledger.protocol import Ledger
from tests.faults.workers import NAME, lines, outcome

Outcomes = Counter[str]


def verdict(url: str, folder: Path) -> Outcomes:
    """Return how many calls were promised and kept, LOST, DOUBLED or CHANGED."""
    found: Outcomes = Counter()
    store = open_store(url)
    ledger = store.open(NAME)
    events = [entry for chunk in ledger.read() for entry in chunk]
    decided = {e.event.id: e for e in events if isinstance(e.event, Decided)}
    told = {e.event.id: e for e in events if isinstance(e.event, Told)}
    found["DECISIONS DOUBLED"] += sum(isinstance(e.event, Decided) for e in events) - len(decided)
    found["OUTCOMES DOUBLED"] += sum(isinstance(e.event, Told) for e in events) - len(told)
    acknowledged = list[tuple[int, int]]()  # when it was known that a position is there
    asks = list[tuple[int, Decided]]()
    for journal in sorted(folder.glob("*.journal")):
        begun: dict[str, int] = {}
        for line in lines(journal):
            if line.what == "ask":
                begun.setdefault(line.id, line.time)  # asked again, it is the same decision
            elif line.what == "asked":
                entry = decided.get(line.id)
                if entry is None:
                    found["DECISION LOST"] += 1
                    continue
                event = entry.event
                assert isinstance(event, Decided)
                same = line.figures == (str(event.index), event.propensity.hex())
                found["decisions kept" if same else "DECISION CHANGED"] += 1
                acknowledged.append((line.time, entry.position))
                asks.append((begun[line.id], event))
            elif line.what == "told":
                entry = told.get(line.id)
                if entry is None:
                    found["OUTCOME LOST"] += 1
                    continue
                event = entry.event
                assert isinstance(event, Told)
                same = event.outcome == outcome(line.id)
                found["outcomes kept" if same else "OUTCOME CHANGED"] += 1
                acknowledged.append((line.time, entry.position))
    found += _unseen(acknowledged, asks)
    return found + promises(ledger)


def promises(ledger: Ledger) -> Outcomes:
    """Return which promises a ledger keeps; those that it does not are in CAPITALS."""
    found: Outcomes = Counter()
    for promise, kept, figures in check_promises(ledger):
        found[promise if kept else f"{promise.upper()}: {figures}"] += 1
    return found


def _unseen(acknowledged: list[tuple[int, int]], asks: list[tuple[int, Decided]]) -> Outcomes:
    """Count decisions that did not know what was acknowledged to anybody before they were asked."""
    found: Outcomes = Counter()
    acknowledged = sorted(acknowledged)
    at = highest = 0
    for begun, event in sorted(asks, key=lambda ask: ask[0]):
        while at < len(acknowledged) and acknowledged[at][0] < begun:
            highest = max(highest, acknowledged[at][1])
            at += 1
        found["saw all before it" if event.known >= highest else "UNSEEN"] += 1
    return found


def same_belief(url: str) -> bool:
    """Tell whether two openings of a ledger believe the same to the bit."""
    one, other = (pb.Decider.open(url, NAME) for _ in range(2))
    return one.ridge.factor.tobytes() == other.ridge.factor.tobytes()
