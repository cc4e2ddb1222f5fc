"""What several deciders learnt, as the union of their ledgers: what they share counts once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from projbandits._checks import Array
from projbandits.ledger.codec import encode
from projbandits.ledger.fold import Known
from projbandits.ledger.happened import (
    Changed,
    Decided,
    Event,
    Learnt,
    Merged,
    Told,
    Withdrawn,
)
from projbandits.ledger.protocol import Conflict, Held, Ledger, same_history, settled

if TYPE_CHECKING:
    from projbandits.deciding.decider import Decider


class Outcome(NamedTuple):
    """A decision of another ledger: its id, its arm, and its outcome if there is one.

    `why` says why there is none, if none is to come, and `decision` has all of it where that ledger
    made it itself.
    """

    id: str
    arm: Array | None
    reward: float | None
    time: float
    why: str | None = None
    decision: Decided | None = None


def merge(one: Decider, others: Sequence[Decider]) -> None:
    """Add what others learnt to a decider: all of it, or on an error nothing."""
    theirs = [(other, other._now()) for other in others if _is_one(other, one)]
    with one._lock:
        known = one._now()
        columns, here, events = known.columns, Here(one._ledger, known), list[Event]()
        for other, what in theirs:
            check_mergeable(known, what, columns)
            columns = columns or what.columns
            events += here.news(other._ledger, what)
        if columns != known.columns:
            events.append(Changed(time.time(), columns=columns))
        one._append(events)
        one._now()


class Here:
    """What a ledger has of others, and what is to be added to it.

    Parameters
    ----------
    ledger : Ledger
        The ledger.
    known : Known
        What follows from it.
    """

    def __init__(self, ledger: Ledger, known: Known) -> None:
        self._ledger = ledger
        self._known = known
        self._decided: set[str] = set()
        self._history: dict[str, Learnt] = {}
        self._learnt: dict[str, tuple[Array, float]] = {}
        self._settled: dict[str, Held] = {}  # by what is to be added
        # The ledgers that are in here one decision at a time, and those that are as a sum.
        self._apart: set[str] = {known.key}
        self._summed: set[str] = set()
        self._sums: set[bytes] = set()
        self._whole = _is_whole(ledger, known)
        if not self._whole:
            self._summed = {known.key, *known.sources}
            return
        for event in _events(ledger):
            if isinstance(event, Merged):
                self._note(event)

    def _note(self, event: Merged) -> None:
        self._decided.update(event.decided)
        told = zip(event.ids, event.X, event.rewards.tolist(), strict=True)
        self._learnt.update((id, (x, reward)) for id, x, reward in told)
        if event.factor is None:
            self._apart.add(event.key)
        else:
            self._summed.update(event.sources)
            self._sums.add(encode(event).body)

    def news(self, ledger: Ledger, known: Known) -> Iterator[Event]:
        """Yield as events what another ledger has beyond this one."""
        if not (self._whole and _is_whole(ledger, known)):
            ridge = known.state.ridge
            yield self._sum(
                Merged(
                    known.key,
                    time.time(),
                    (),
                    (),
                    np.empty((0, ridge.d)),
                    np.empty(0),
                    tuple(sorted({known.key, *known.sources})),
                    known.state.step - 1,
                    ridge.n,
                    np.asarray(ridge.factor),
                )
            )
            return
        if known.key in self._summed:
            raise _common({known.key})
        for event in _events(ledger):
            if isinstance(event, Learnt):
                before = self._history.setdefault(event.key, event)
                if before is event or not same_history(event, before):
                    yield event  # under its key it is learnt once
            elif isinstance(event, Merged) and event.factor is not None:
                if encode(event).body not in self._sums:
                    yield self._sum(event)
            elif isinstance(event, Merged):
                yield from self._union(event.key, _outcomes(event))
        for held in ledger.decisions():
            yield from self._union(
                known.key,
                [
                    Outcome(h.decision.id, h.arm, h.reward, h.time or 0.0, h.why, h.decision)
                    for h in held
                ],
            )

    def _sum(self, event: Merged) -> Merged:
        """Return an event of which only a sum is known, if nothing of it is here."""
        common = {*event.sources} & (self._apart | self._summed)
        if common:
            raise _common(common)
        self._note(event)
        return event

    def _union(self, key: str, outcomes: Sequence[Outcome]) -> Iterator[Event]:
        """Yield what is new of another ledger's decisions."""
        decided, learnt = list[str](), list[tuple[str, Array, float]]()
        for outcome in outcomes:
            id, arm, reward, when, why, _ = outcome
            held = self._settled.get(id) or self._ledger.held(id)
            before = self._told_here(outcome, held)
            if held is not None:
                news: Told | Withdrawn | None = None
                if reward is not None:
                    news = Told(id, when, reward, why)
                elif why is not None:
                    news = Withdrawn(id, when, why)
                if held.pending and news is not None:
                    self._settled[id] = settled(held, 0, news)
                    yield news
                continue
            if id not in self._decided:
                decided.append(id)
            if reward is not None and arm is not None and before is None:
                learnt.append((id, arm, reward))
        if decided or learnt:
            event = Merged(
                key,
                time.time(),
                tuple(decided),
                tuple(id for id, _, _ in learnt),
                np.array([x for _, x, _ in learnt]).reshape(-1, self._known.subspace.ambient),
                np.array([reward for _, _, reward in learnt]),
                (key,),
            )
            self._note(event)
            yield event

    def _told_here(self, there: Outcome, held: Held | None) -> float | None:
        """Return the outcome that a decision has here, or raise if it is another one there."""
        id, arm, reward, _, why, decision = there
        x, before = self._learnt.get(id, (None, None)) if held is None else (held.arm, held.reward)
        if held is not None and decision is not None:
            same = _origin(held.decision) == _origin(decision)
        else:
            same = x is None or arm is None or np.array_equal(x, arm)
        if not same:
            raise Conflict(
                f"id {id!r} is one decision here and another there: nothing was changed; deciders "
                "that are to be merged need ids of their own, or none"
            )
        gone = None if held is None else held.why
        waits = (before is None and gone is None) or (reward is None and why is None)
        if before != reward and not waits:
            remedy = "amend or withdraw it in one of them"
            if held is None:
                remedy = "merge the deciders that made the decisions into a fresh one"
            raise Conflict(
                f"id {id!r} was {_said(before, gone)} here and {_said(reward, why)} there: nothing "
                f"was changed; {remedy}"
            )
        return before


def _origin(decision: Decided) -> tuple[float, int, int]:
    """Return what no two decisions of one id have in common."""
    return decision.time, decision.session, decision.draw


def _said(reward: float | None, why: str | None) -> str:
    return f"withdrawn ({why})" if reward is None else f"told {reward}"


def _is_whole(ledger: Ledger, known: Known) -> bool:
    """Tell whether all that was learnt is there, one decision at a time."""
    return ledger.whole and not ledger.base and not known.since


def _events(ledger: Ledger) -> Iterator[Event]:
    for chunk in ledger.read(ledger.base):
        for entry in chunk:
            if not isinstance(entry.event, Decided):
                yield entry.event


def _outcomes(event: Merged) -> list[Outcome]:
    """Return what a ledger has from a third one."""
    told = zip(event.ids, event.X, event.rewards.tolist(), strict=True)
    found = {id: Outcome(id, x, reward, event.time) for id, x, reward in told}
    for id in event.decided:
        found.setdefault(id, Outcome(id, None, None, event.time))
    return [*found.values()]


def _is_one(other: object, one: Decider) -> bool:
    if type(other) is not type(one):
        raise TypeError(f"merging needs deciders, got {other!r}")
    return True


def check_mergeable(one: Known, other: Known, columns: tuple[str, ...] | None) -> None:
    """Raise unless the observations of both are about the same features, `columns` if named."""
    P, Q = one.subspace.matrix, other.subspace.matrix
    if P.shape != Q.shape or np.abs(P - Q).max() > 1e-9:
        raise ValueError(
            f"merging needs deciders with the same subspace, got {one.subspace!r} and "
            f"{other.subspace!r}"
        )
    for known in (one, other):
        if known.state.effects is not None or known.half_life:
            raise ValueError(
                "merging needs deciders without arm_effects and half_life, got "
                f"{known.strategy!r} with half_life={known.half_life or None}: share a store "
                "instead, which keeps who and when"
            )
    if other.state.ridge.forgotten:
        raise ValueError(
            "merging needs deciders that forgot nothing, got one whose outcomes lost "
            f"{other.state.ridge.forgotten:.3g} of {other.state.ridge.n} weights: share a store "
            "instead"
        )
    if other.strategy.learns_on != one.strategy.learns_on:
        raise ValueError(
            f"merging needs strategies that learn on the same, got {one.strategy!r} and "
            f"{other.strategy!r}"
        )
    if one.strategy.ridge != other.strategy.ridge:
        raise ValueError(
            f"merging needs equal penalties, got {one.strategy.ridge} and {other.strategy.ridge}"
        )
    if columns and other.columns and columns != other.columns:
        raise ValueError(
            "merging needs the same columns in the same order, got "
            f"{list(other.columns)!r} for {list(columns)!r}: give every decider a subspace with "
            "named columns, which sets their order"
        )


def _common(shared: set[str]) -> Conflict:
    return Conflict(
        "merging needs deciders that learnt apart, got some with a common origin, "
        f"{', '.join(sorted(shared))}: what they share would count twice; deciders that keep a log "
        "(log=True or store=) count it once"
    )
