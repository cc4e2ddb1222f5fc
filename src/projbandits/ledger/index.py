"""What a ledger in memory looks up: who waits for an outcome, and what became of the others.

All of it follows from the events. It is brought up to date event by event, and each step can be
done twice, so it may be interrupted anywhere and then goes on.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from projbandits._validation import Array
from projbandits.exceptions import ConflictError
from projbandits.ledger.catalogue import Catalogue
from projbandits.ledger.events import (
    OUTCOMES,
    Decided,
    Described,
    Event,
    Learnt,
    Offered,
    Outcome,
    Told,
)
from projbandits.ledger.protocol import Held, settled

REMEMBERED = 65_536
"""How many outcomes of decisions that are gone are remembered, to check repeated reports."""

GONE = np.empty(0)
"""The arm of a decision that is not kept."""


class Fate(NamedTuple):
    """What became of a decision: where it is and the row of its arm, and then as in `Held`."""

    position: int
    row: int
    outcome: float | None
    time: float | None
    place: int | None
    why: str | None


class Index:
    """What follows from the events of a ledger, by id.

    Parameters
    ----------
    d : int
        The number of features.
    whole : bool
        Whether decisions are kept after their outcome is known.
    decided : callable
        Returns the decision at a position.
    base : callable
        Returns the position up to which events were dropped.
    """

    def __init__(
        self,
        d: int,
        whole: bool,
        decided: Callable[[int], Decided],
        base: Callable[[], int],
    ) -> None:
        self.whole = whole
        self.decided = decided
        self.base = base
        self.catalogue = Catalogue(d) if whole else None
        self.waiting: dict[str, Held] = {}
        self.fates: dict[str, Fate] = {}
        # Decisions that waited when the events were dropped.
        self.stayed: dict[str, Held] = {}
        # A plain dict would walk over all that it forgot before to find its first entry.
        self.recent: OrderedDict[str, Fate] = OrderedDict()
        self.history: dict[str, str] = {}
        self.sets: dict[str, str] = {}

    def about(self, id: str) -> Held | None:
        """Return what is known of a decision; of one that is gone, with `GONE` for its arm."""
        held = self.waiting.get(id)
        if held is not None:
            return held
        held = self.stayed.get(id)
        if held is not None:
            return held
        fate = self.fates.get(id)
        if fate is not None and fate.position > self.base():
            return self.became(fate.position, self.decided(fate.position))
        fate = fate or self.recent.get(id)
        if fate is None:
            return None
        stub = Decided(id, 0.0, 0, 0, -1, 0, None, 0.0, 0.0, 0.0)
        return Held(fate.position, stub, GONE, *fate[2:])

    def became(self, position: int, event: Decided) -> Held:
        """Return a decision that is kept with what became of it."""
        fate = self.fates.get(event.id)
        arm = self.arm(event)
        return Held(position, event, arm) if fate is None else Held(position, event, arm, *fate[2:])

    def arm(self, event: Decided, events: Sequence[Event] = ()) -> Array:
        """Return the chosen arm's features; `events` may hold rows that are not numbered yet."""
        if event.arm is not None:
            return event.arm
        if event.rows is None or event.index is None or self.catalogue is None:
            raise ConflictError(f"decision {event.id!r} must have the chosen arm, got none")
        row = int(event.rows[event.index])
        x: Array
        for other in events:
            if isinstance(other, Offered) and row >= other.first:
                x = other.vectors[row - other.first]
                return x
        x = self.catalogue.vectors[row]
        return x

    def outcome_arm(self, id: str) -> tuple[Array, int | None, str | None, int]:
        """Return the arm of a decision that is kept, where it is learnt, its label and position."""
        fate = self.fates[id]
        if fate.row < 0 or self.catalogue is None:
            decision = self.decided(fate.position)
            return self.arm(decision), fate.place, decision.label, fate.position
        label = self.catalogue.label(fate.row)
        return self.catalogue.vectors[fate.row], fate.place, label, fate.position

    def add(self, position: int, event: Event) -> None:
        """Take one more event into account."""
        if isinstance(event, Decided):
            if event.id not in self.fates and event.id not in self.recent:
                self.waiting[event.id] = Held(position, event, self.arm(event))
        elif isinstance(event, OUTCOMES):
            self._settle(position, event)
        elif isinstance(event, Offered):
            if self.catalogue is not None and len(self.catalogue) == event.first:
                self.catalogue.extend(event.vectors, event.labels)
        elif isinstance(event, Described):
            self.sets[event.key] = event.arms
        elif isinstance(event, Learnt):
            self.history[event.key] = digest(event)

    def _settle(self, position: int, event: Outcome) -> None:
        held = self.waiting.get(event.id)
        if held is not None and not self.whole and isinstance(event, Told):
            fate = Fate(held.position, -1, event.outcome, event.time, position, event.why)
            self._remember(event.id, fate)
            del self.waiting[event.id]
            return
        held = held or self.about(event.id)
        if held is None:
            return
        after = settled(held, position, event)
        rows, index = held.decision.rows, held.decision.index
        row = -1 if rows is None or index is None else int(rows[index])
        fate = Fate(after.position, row, *after[3:])
        if not self.whole or held.arm is GONE:
            self._remember(event.id, fate)
        elif held.position <= self.base():
            self.stayed[event.id] = after
        else:
            self.fates[event.id] = fate
        self.waiting.pop(event.id, None)

    def _remember(self, id: str, fate: Fate) -> None:
        self.recent[id] = fate
        while len(self.recent) > REMEMBERED:
            self.recent.popitem(last=False)

    def drop(self) -> None:
        """Forget decisions that were dropped, but for those that wait for their outcome."""
        for id, held in [*self.stayed.items()]:
            if not held.pending:
                self._remember(id, Fate(held.position, -1, *held[3:]))
                del self.stayed[id]
        for id, fate in [*self.fates.items()]:
            if fate.position <= self.base():
                self._remember(id, fate)
                del self.fates[id]

    def kept(self) -> list[Held]:
        """Return the decisions that waited when events were dropped, in order."""
        early = {id: held for id, held in self.waiting.items() if held.position <= self.base()}
        return sorted({**self.stayed, **early}.values(), key=lambda held: held.position)

    def is_new(self, event: Learnt) -> bool:
        """Tell whether history is new; raise if there was other history of its key."""
        before = self.history.get(event.key)
        if before is not None and before != digest(event):
            raise ConflictError(
                f"id {event.key!r} was learnt before, from other rows: nothing was changed; use "
                "another"
            )
        return before is None


def digest(event: Learnt) -> str:
    """Return a digest of history."""
    whole = hashlib.sha256(repr(event.X.shape).encode())
    if event.labels is not None:
        whole.update(repr(event.labels).encode())
    whole.update(np.ascontiguousarray(event.X).tobytes())
    whole.update(np.ascontiguousarray(event.outcomes).tobytes())
    return whole.hexdigest()
