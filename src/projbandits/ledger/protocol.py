"""Where ledgers live: what a store must do, and what it lets in.

Two rules make everything else simple. An append is all or nothing and durable when it returns, and
positions have no gaps, so whoever has read up to a position has seen everything before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from projbandits._validation import Array
from projbandits.exceptions import ConflictError, UnknownDecisionError
from projbandits.ledger.catalogue import Catalogue
from projbandits.ledger.events import (
    OUTCOMES,
    Amended,
    Decided,
    Event,
    Learnt,
    Outcome,
    Told,
    Withdrawn,
)

EVENTS_AT_ONCE = 4096
"""How many events are read at a time."""

EXPIRED = "expired"
"""Why a decision is withdrawn, or its outcome assumed, that nobody reported in time."""


class Entry(NamedTuple):
    """An event in its place.

    Parameters
    ----------
    position : int
        From 1, without gaps.
    event : Event
        What happened.
    arm : ndarray or None
        The features of the arm, where the event is a decision or an outcome.
    place : int or None
        Where the event is an outcome, the position of the first report before it, if there is one.
    label : str or None
        What that arm is called.
    decided : int or None
        Where the event is an outcome, the position of its decision.
    """

    position: int
    event: Event
    arm: Array | None = None
    place: int | None = None
    label: str | None = None
    decided: int | None = None


class Held(NamedTuple):
    """A decision, and what became of it.

    Parameters
    ----------
    position : int
        Of the decision.
    decision : Decided
        The decision.
    arm : ndarray of shape (d,)
        The features of the chosen arm.
    outcome : float or None
        The outcome in force; None if there is none.
    time : float or None
        When the last report about it came.
    place : int or None
        The position of the first report; the outcome in force is learnt from there.
    why : str or None
        Why it was withdrawn, if it was, or why the outcome was assumed.
    """

    position: int
    decision: Decided
    arm: Array
    outcome: float | None = None
    time: float | None = None
    place: int | None = None
    why: str | None = None

    @property
    def pending(self) -> bool:
        """Whether its outcome is still to come."""
        return self.outcome is None and self.why is None


class Snapshot(NamedTuple):
    """What follows from the events up to a position: it saves time, never truth."""

    position: int
    body: bytes


class Exists(Exception):  # noqa: N818
    """There is a decision of this id already."""

    def __init__(self, held: Held) -> None:
        super().__init__(f"there is a decision {held.decision.id!r} already")
        self.held = held


class Behind(Exception):  # noqa: N818
    """Another process has numbered new arms meanwhile: number them again, and append again."""


@runtime_checkable
class Ledger(Protocol):
    """One decider's sequence of events.

    Parameters
    ----------
    name : str
        What it is called in its store.
    waits : bool
        Whether an append waits for a disk or a network, so that other threads should go on.
    whole : bool
        Whether every event is kept. Otherwise only a snapshot, what is pending and the last
        outcomes are.
    base : int
        Events up to this position were dropped; 0 where none ever are.
    """

    name: str
    waits: bool
    whole: bool

    @property
    def base(self) -> int:
        """Return the position up to which events were dropped."""
        ...

    def append(self, events: Sequence[Event], rows: int = 0) -> int:
        """Add events, all or none, and return the position of the last one in the ledger.

        They are durable when it returns. What says the same again as the ledger does (see
        `admits`) is left out; if that is everything, nothing is written.

        Parameters
        ----------
        events : sequence of Event
            What happened.
        rows : int
            How many rows the catalogue had when the arms in `events` were numbered.

        Raises
        ------
        ConflictError, UnknownDecisionError, Exists
            If `admits` does, or if history of the same key was another.
        Behind
            If there is an `Offered` among the events and the catalogue has other rows by now.
        """
        ...

    def last(self) -> int:
        """Return the position of the last event."""
        ...

    def read(
        self, after: int = 0, upto: int | None = None, chunk: int = EVENTS_AT_ONCE
    ) -> Iterator[list[Entry]]:
        """Yield the events after a position, in order, not all at once."""
        ...

    def catalogue(self) -> Catalogue | None:
        """Return the distinct arms offered so far, None where they are not kept."""
        ...

    def described(self, key: str) -> str | None:
        """Return the infinite set of arms with this key, as JSON."""
        ...

    def held(self, id: str) -> Held | None:
        """Return a decision and what became of it."""
        ...

    def decisions(self, after: int = 0, chunk: int = EVENTS_AT_ONCE) -> Iterator[list[Held]]:
        """Yield the decisions after a position, in order, not all at once."""
        ...

    def pending(self, before: float | None = None) -> Iterator[Held]:
        """Yield the decisions whose outcome is to come, in order; those made before a time."""
        ...

    def snapshot(self, upto: int | None = None) -> Snapshot | None:
        """Return the last snapshot at or before a position; one that is damaged is none."""
        ...

    def keep(self, snapshot: Snapshot) -> None:
        """Keep a snapshot."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


def admits(event: Event, held: Held | None) -> bool:
    """Tell whether an event about a decision says something new, or raise if it contradicts.

    Parameters
    ----------
    event : Event
        What is to be added. History is not about a decision: see `same_history`.
    held : Held or None
        What the ledger has of the decision.
    """
    if isinstance(event, Decided):
        if held is not None:
            raise Exists(held)
        return True
    if not isinstance(event, OUTCOMES):
        return True
    if held is None:
        raise UnknownDecisionError(f"id {event.id!r} is unknown: no decision of this ledger has it")
    if isinstance(event, Told) and held.pending:
        return True
    if getattr(event, "why", None) == EXPIRED and not held.pending:
        return False  # something is known meanwhile, and stays
    if isinstance(event, Withdrawn):
        return held.outcome is not None or held.why is None
    if isinstance(event, Amended) and held.pending:
        raise ConflictError(f"id {event.id!r} was not told yet: tell it")
    if held.outcome == event.outcome:
        return False
    if isinstance(event, Told) and held.outcome is not None:
        assumed = "" if held.why is None else f" ({held.why})"
        raise ConflictError(
            f"id {event.id!r} was told {held.outcome}{assumed} before, got {event.outcome}: "
            "nothing was changed; amend it if it was wrong"
        )
    if isinstance(event, Told) and held.why is not None:
        raise ConflictError(
            f"id {event.id!r} was withdrawn ({held.why}): nothing was changed; amend it if its "
            "outcome counts after all"
        )
    return True


def settled(held: Held, position: int, event: Outcome) -> Held:
    """Return what became of a decision with one more event about it."""
    decided, decision, arm, _, _, place, _ = held
    if isinstance(event, Withdrawn):
        return Held(decided, decision, arm, None, event.time, place, event.why)
    place = position if place is None else place
    why = event.why if isinstance(event, Told) else None
    return Held(decided, decision, arm, event.outcome, event.time, place, why)


def same_history(event: Learnt, other: Learnt) -> bool:
    """Tell whether history was learnt already; raise if it was another under the same key."""
    same = event.X.shape == other.X.shape and (
        event.labels == other.labels
        and event.X.tobytes() == other.X.tobytes()
        and event.outcomes.tobytes() == other.outcomes.tobytes()
    )
    if not same:
        raise ConflictError(
            f"id {event.key!r} was learnt before, from other rows: nothing was changed; use another"
        )
    return True
