"""What happened to a decider so far, in numbers that are kept up to date as events come.

Events are read once, in their order, from wherever they came.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from projbandits.deciding import Decider
from projbandits.ledger.events import Amended, Decided, Event, Told, Withdrawn
from projbandits.ledger.labels import read_label
from projbandits.ledger.outcomes import EXPIRED

BINS = 60
"""Into how many spans of time what happened is cut, at most twice as many."""

RECENT_DECISIONS = 20
"""How many of the last decisions are kept."""


@dataclass
class Bin:
    """What happened in a span of time."""

    decisions: int = 0
    outcomes: int = 0
    expired: int = 0
    estimates: float = 0.0
    observed: float = 0.0

    def add(self, other: Bin) -> None:
        """Take in the next span."""
        self.decisions += other.decisions
        self.outcomes += other.outcomes
        self.expired += other.expired
        self.estimates += other.estimates
        self.observed += other.observed


@dataclass
class Recent:
    """One of the last decisions, and what became of it."""

    decided: Decided
    outcome: float | None = None
    state: str = "pending"


@dataclass
class Overview:
    """The numbers of one ledger.

    Parameters
    ----------
    decider : Decider
        Whose.
    """

    decider: Decider
    position: int = 0
    decisions: int = 0
    outcomes: int = 0
    expired: int = 0
    revised: int = 0
    withdrawn: dict[str, str] = field(default_factory=dict)
    pending: dict[str, float] = field(default_factory=dict)
    recent: dict[str, Recent] = field(default_factory=dict)
    positions: deque[int] = field(default_factory=lambda: deque(maxlen=200))
    chosen: Counter[str] = field(default_factory=Counter)
    start: float = math.nan
    width: float = 1.0
    bins: list[Bin] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def update(self) -> bool:
        """Take in what is new, and tell whether there was anything."""
        with self._lock:
            before = self.position
            for position, event in self.decider.history().events(self.position):
                self._take(event)
                if isinstance(event, Decided):
                    self.positions.append(position)
                self.position = position
            return self.position > before

    def gauges(self) -> dict[str, float]:
        """Return what is measured of it."""
        with self._lock:
            return {
                "pending": len(self.pending),
                "oldest_pending_seconds": self._oldest(),
                "ledger_decisions": self.decisions,
                "ledger_outcomes": self.outcomes,
            }

    def _oldest(self) -> float:
        """Return for how many seconds the oldest pending decision has been waiting."""
        first = next(iter(self.pending.values()), None)
        return 0.0 if first is None else max(time.time() - first, 0.0)

    def numbers(self) -> dict[str, Any]:
        """Return everything as plain values."""
        with self._lock:
            return {
                "position": self.position,
                "decisions": self.decisions,
                "outcomes": self.outcomes,
                "pending": len(self.pending),
                "expired": self.expired,
                "withdrawn": sum(why != EXPIRED for why in self.withdrawn.values()),
                "revised": self.revised,
                "oldest": self._oldest(),
                "chosen": self.chosen.most_common(12),
                "distinct": len(self.chosen),
                "start": None if math.isnan(self.start) else self.start,
                "width": self.width,
                "bins": [
                    [
                        b.decisions,
                        b.outcomes,
                        b.expired,
                        b.estimates / b.decisions if b.decisions else None,
                        b.observed / b.outcomes if b.outcomes else None,
                    ]
                    for b in self.bins
                ],
                "recent": [self._said(each) for each in reversed(self.recent.values())],
            }

    def _said(self, recent: Recent) -> dict[str, Any]:
        made = recent.decided
        return {
            "id": made.id,
            "label": self._called(made),
            "index": made.index,
            "propensity": None if math.isnan(made.propensity) else made.propensity,
            "estimate": made.estimate,
            "asked": made.time,
            "state": recent.state,
            "outcome": recent.outcome,
        }

    def _take(self, event: Event) -> None:
        if isinstance(event, Decided):
            self.decisions += 1
            self.pending[event.id] = event.time
            self.recent[event.id] = Recent(event)
            if len(self.recent) > RECENT_DECISIONS:
                del self.recent[next(iter(self.recent))]
            self.chosen[self._called(event)] += 1
            span = self._bin(event.time)
            span.decisions += 1
            span.estimates += event.estimate
        elif isinstance(event, Told):
            self.pending.pop(event.id, None)
            self.outcomes += 1
            span = self._bin(event.time)
            span.outcomes += 1
            span.observed += event.outcome
            self.expired += event.why == EXPIRED
            span.expired += event.why == EXPIRED
            self._became(event.id, event.why or "told", event.outcome)
        elif isinstance(event, Amended):
            self.outcomes += self.withdrawn.pop(event.id, None) is not None
            self.revised += 1
            self._became(event.id, "amended", event.outcome)
        elif isinstance(event, Withdrawn):
            # An outcome that had been told no longer counts.
            told = self.pending.pop(event.id, None) is None
            self.outcomes -= told
            self.revised += told
            self.withdrawn[event.id] = event.why
            self.expired += event.why == EXPIRED
            self._bin(event.time).expired += event.why == EXPIRED
            self._became(event.id, event.why, None)

    def _became(self, id: str, state: str, outcome: float | None) -> None:
        recent = self.recent.get(id)
        if recent is not None:
            recent.state, recent.outcome = state, outcome

    def _called(self, event: Decided) -> str:
        return f"arm {event.index}" if event.label is None else str(read_label(event.label))

    def _bin(self, when: float) -> Bin:
        """Return the span that a time is in; spans double when they become too many."""
        if math.isnan(self.start):
            self.start = when
        at = max(int((when - self.start) // self.width), 0)
        while at >= 2 * BINS:
            pairs = range(0, len(self.bins), 2)
            for i in pairs:
                if i + 1 < len(self.bins):
                    self.bins[i].add(self.bins[i + 1])
            self.bins = self.bins[::2]
            self.width *= 2
            at = int((when - self.start) // self.width)
        self.bins.extend(Bin() for _ in range(at + 1 - len(self.bins)))
        return self.bins[at]
