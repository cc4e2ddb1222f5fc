"""One call of `ask`: arms chosen one after another, each a decision with what it rests on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from projbandits._checks import Array
from projbandits.arms import DecisionSet, FiniteArms
from projbandits.deciding.decision import Decision, Grounds
from projbandits.deciding.offers import Offer
from projbandits.ledger.describing import set_key, set_text
from projbandits.ledger.fold import Known
from projbandits.ledger.happened import Decided, Described, Event, Offered, Rows
from projbandits.ledger.protocol import Conflict, Ledger
from projbandits.ledger.randomness import Streams
from projbandits.strategies import Choice


class Asked(NamedTuple):
    """What a call of `ask` is about.

    Parameters
    ----------
    arms : DecisionSet
        What is on offer.
    kept : bool
        Whether that is kept with the decisions.
    columns : tuple of str or None
        The names of the features.
    ids : sequence of str
        The ids of the decisions to be made.
    meta : str or None
        What the caller noted, as JSON.
    """

    arms: DecisionSet
    kept: bool
    columns: tuple[str, ...] | None
    ids: Sequence[str]
    meta: str | None


class Numbered(NamedTuple):
    """How a ledger refers to what is on offer.

    Parameters
    ----------
    events : list of Event
        What it must be told first.
    rows : ndarray or None
        The numbers of the arms, if there are finitely many that are kept.
    key : str or None
        The key of an infinite set that can be described.
    size : int
        How many rows the catalogue had before.
    """

    events: list[Event]
    rows: Rows | None = None
    key: str | None = None
    size: int = 0


def numbered(ledger: Ledger, arms: DecisionSet) -> Numbered:
    """Return how a ledger refers to arms."""
    catalogue = ledger.catalogue() if ledger.whole else None
    if catalogue is None:
        return NOT_KEPT
    if isinstance(arms, Offer):
        size = len(catalogue)
        rows, new = catalogue.numbered(arms.vectors)
        return Numbered([Offered(size, new)] if len(new) else [], rows, None, size)
    text = set_text(arms)
    if text is None:
        return Numbered([])
    key = set_key(text)
    return Numbered([] if ledger.described(key) else [Described(key, text)], None, key)


class Last(NamedTuple):
    """What was on offer last, how the ledger refers to it, and what was known then."""

    offer: Offer
    numbers: Numbered
    known: Known


NOT_KEPT = Numbered([])
"""How a ledger refers to what it does not keep: not at all."""


def choose(
    known: Known, asked: Asked, numbers: Numbered, streams: Streams, session: int, draw: int
) -> tuple[list[Decided], list[Decision]]:
    """Return the decisions of a call, as events and for the caller; nothing is changed."""
    events, decisions, taken = list[Decided](), list[Decision](), list[int]()
    state, strategy = known.state, known.strategy
    for slot, id in enumerate(asked.ids):
        if slot:
            state = state._replace(step=state.step + 1)
        choice, left = chosen(known, asked.arms, taken, streams, session, draw + slot, state.step)
        before, index, now = tuple(taken), choice.index, time.time()
        if index is not None:
            taken.append(index)
        x = choice.arm.x.copy()
        x.flags.writeable = False  # it is learnt from when the outcome comes
        value, error = state.ridge.projected(state.projection, x)
        estimate, standard_error = float(value), float(error)
        grounds = Grounds(strategy, state, left if asked.kept else None, before, asked.columns)
        events.append(
            Decided(
                id,
                now,
                state.step,
                known.position,
                session,
                draw + slot,
                index,
                choice.probability,
                estimate,
                standard_error,
                numbers.rows,
                before,
                x if numbers.rows is None else None,
                numbers.key,
                None,
                asked.meta,
            )
        )
        decisions.append(
            Decision(
                id,
                index,
                x,
                choice.probability,
                estimate,
                standard_error,
                state.step,
                now,
                None,
                asked.meta,
                grounds,
            )
        )
    return events, decisions


def chosen(
    known: Known,
    arms: DecisionSet,
    taken: Sequence[int],
    streams: Streams,
    session: int,
    draw: int,
    step: int,
) -> tuple[Choice, DecisionSet]:
    """Return a choice among the arms that are left, and those arms.

    The choice's index is a row of all that was offered.
    """
    left, rows = arms, None
    if taken and isinstance(arms, Offer):
        left, rows = arms.without(taken)
    state = known.state
    if state.step != step:
        state = state._replace(step=step)
    choice = known.strategy.select(state, left, streams.at(session, draw))
    if rows is not None and choice.index is not None:
        index = int(rows[choice.index])
        choice = Choice(type(choice.arm)(choice.arm.x, index), choice.probability)
    return choice, left


def repeated(ledger: Ledger, ids: Sequence[str], arms: DecisionSet) -> list[Decision]:
    """Return what was decided under these ids before, if that can be chosen from `arms` too."""
    held = [ledger.held(id) for id in ids]
    found = [Decision.of(each) for each in held if each is not None]
    if len(found) != len(ids):
        missing = [id for id, each in zip(ids, held, strict=True) if each is None]
        raise Conflict(
            f"id {ids[0]!r} was asked for before, with another count: there is no {missing[0]!r}"
        )
    for decision in found:
        if not _has(arms, decision):
            raise Conflict(
                f"id {decision.id!r} was decided before, and the arm chosen then is not in its "
                "place among these: pass the arms of then, or another id"
            )
    return found


def _has(arms: DecisionSet, decision: Decision) -> bool:
    """Tell whether the chosen arm is where the decision says."""
    index = decision.index
    if not isinstance(arms, FiniteArms):
        return index is None and arms.contains(decision.arm, 1e-6)
    return (
        index is not None
        and index < arms.size
        and bool((arms.vectors[index] == decision.arm).all())
    )


def learnt_rows(known: Known) -> Array:
    """Return rows that span the arms learnt from, unless only their projections are known."""
    rows = known.state.ridge.factor[:-1, :-1]
    return rows if known.strategy.learns_on == "arm" else rows[:0]
