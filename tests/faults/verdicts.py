"""Whether everything that workers were promised is in the ledger, once."""

from collections import Counter
from pathlib import Path

import projbandits as pb
from projbandits.deciding.check import check_promises
from projbandits.ledger.events import Decided, Told
from projbandits.ledger.history import History
from tests.faults.workers import NAME, lines, outcome

Outcomes = Counter[str]


def verdict(url: str, folder: Path) -> Outcomes:
    """Return how many calls were promised and kept, LOST, DOUBLED or CHANGED."""
    found: Outcomes = Counter()
    history = pb.Decider.open(url, NAME).history()
    events = [*history.events()]
    decided = {event.id: (at, event) for at, event in events if isinstance(event, Decided)}
    told = {event.id: (at, event) for at, event in events if isinstance(event, Told)}
    found["DECISIONS DOUBLED"] += sum(isinstance(e, Decided) for _, e in events) - len(decided)
    found["OUTCOMES DOUBLED"] += sum(isinstance(e, Told) for _, e in events) - len(told)
    acknowledged = list[tuple[int, int]]()  # when it was known that a position is there
    asks = list[tuple[int, int]]()
    for journal in sorted(folder.glob("*.journal")):
        begun: dict[str, int] = {}
        for line in lines(journal):
            if line.what == "ask":
                begun.setdefault(line.id, line.time)  # asked again, it is the same decision
            elif line.what == "asked":
                if line.id not in decided:
                    found["DECISION LOST"] += 1
                    continue
                position, event = decided[line.id]
                same = line.figures == (str(event.index), event.propensity.hex())
                found["decisions kept" if same else "DECISION CHANGED"] += 1
                acknowledged.append((line.time, position))
                asks.append((begun[line.id], position))
            elif line.what == "told":
                if line.id not in told:
                    found["OUTCOME LOST"] += 1
                    continue
                position, report = told[line.id]
                same = report.outcome == outcome(line.id)
                found["outcomes kept" if same else "OUTCOME CHANGED"] += 1
                acknowledged.append((line.time, position))
    found += _unseen(acknowledged, asks)
    return found + promises(history)


def promises(history: History) -> Outcomes:
    """Return which promises a ledger keeps; those that it does not are in CAPITALS."""
    found: Outcomes = Counter()
    for promise, kept, figures in check_promises(history):
        found[promise if kept else f"{promise.upper()}: {figures}"] += 1
    return found


def _unseen(acknowledged: list[tuple[int, int]], asks: list[tuple[int, int]]) -> Outcomes:
    """Count decisions that did not know what was acknowledged to anybody before they were asked."""
    found: Outcomes = Counter()
    acknowledged = sorted(acknowledged)
    at = highest = 0
    for begun, position in sorted(asks):
        while at < len(acknowledged) and acknowledged[at][0] < begun:
            highest = max(highest, acknowledged[at][1])
            at += 1
        found["saw all before it" if position > highest else "UNSEEN"] += 1
    return found


def same_belief(url: str) -> bool:
    """Tell whether two openings of a ledger believe the same to the bit."""
    one, other = (pb.Decider.open(url, NAME) for _ in range(2))
    return one.ridge.factor.tobytes() == other.ridge.factor.tobytes()
