"""A decision and its outcome: which reports a ledger takes in, and what follows from them."""

from __future__ import annotations

from typing import NamedTuple

from projbandits._validation import Array
from projbandits.exceptions import ConflictError, UnknownDecisionError
from projbandits.ledger.events import Amended, Decided, Learnt, Outcome, Told, Withdrawn

EXPIRED = "expired"
"""Why a decision is withdrawn, or its outcome assumed, that nobody reported in time."""


class Held(NamedTuple):
    """A decision, and what became of it.

    Parameters
    ----------
    position : int
        Of the decision.
    decision : Decided
        The decision.
    outcome : float or None
        The outcome in force; None if there is none.
    time : float or None
        When the last report about it came.
    first : int or None
        The position of the first report; the outcome in force is learnt from there.
    why : str or None
        Why it was withdrawn, if it was, or why the outcome was assumed.
    """

    position: int
    decision: Decided
    outcome: float | None = None
    time: float | None = None
    first: int | None = None
    why: str | None = None

    @property
    def pending(self) -> bool:
        """Whether its outcome is still to come."""
        return self.outcome is None and self.why is None

    @property
    def arm(self) -> Array:
        """The features of the chosen arm."""
        return self.decision.arm


def admits(event: Outcome, held: Held | None) -> bool:
    """Tell whether a report says something new, or raise if it contradicts the ledger.

    Parameters
    ----------
    event : Told, Amended or Withdrawn
        The report.
    held : Held or None
        What the ledger has of the decision.
    """
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
    if isinstance(event, Told):
        raise ConflictError(
            f"id {event.id!r} was withdrawn ({held.why}): nothing was changed; amend it if its "
            "outcome counts after all"
        )
    return True


def placed(event: Outcome, held: Held) -> Outcome:
    """Return a report with all that learning from it needs."""
    if isinstance(event, Told):
        return Told(event.id, event.time, event.outcome, event.why, held.position, event.observed)
    if isinstance(event, Withdrawn):
        return Withdrawn(event.id, event.time, event.why, held.position, held.first)
    where = event.id, event.time, event.outcome, held.position, held.first
    arm = None if held.first is not None else held.arm
    return Amended(*where, arm, None if arm is None else held.decision.label)


def settled(held: Held, position: int, event: Outcome) -> Held:
    """Return what became of a decision with one more report about it."""
    if isinstance(event, Withdrawn):
        return held._replace(outcome=None, time=event.time, why=event.why)
    why = event.why if isinstance(event, Told) else None
    first = position if held.first is None else held.first
    return Held(held.position, held.decision, event.outcome, event.time, first, why)


def check_same_history(event: Learnt, other: Learnt) -> None:
    """Raise if other history was learnt under the same id."""
    same = event.X.shape == other.X.shape and (
        event.labels == other.labels
        and event.X.tobytes() == other.X.tobytes()
        and event.outcomes.tobytes() == other.outcomes.tobytes()
    )
    if not same:
        raise ConflictError(
            f"id {event.id!r} was learnt before, from other rows: nothing was changed; use another"
        )
