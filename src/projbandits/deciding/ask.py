"""Ask for a choice: what is on offer, decided on and recorded before it is returned."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from projbandits.arms import DecisionSet
from projbandits.deciding import offers, reports
from projbandits.deciding.accounted import Accounted
from projbandits.deciding.choosing import (
    NOT_KEPT,
    Asked,
    Last,
    Numbered,
    choose,
    learnt_rows,
    numbered,
    repeated,
)
from projbandits.deciding.decision import Decision
from projbandits.deciding.identifiability import warn_of_what_is_left_out
from projbandits.ledger.fold import Known
from projbandits.ledger.happened import Changed, Event
from projbandits.ledger.protocol import Behind, Exists

KEPT = 100_000
"""Without a log, an offer of more numbers than this is looked at where it is, and not kept."""


class Asking(Accounted):
    """What a decider can be asked."""

    @overload
    def ask(self, arms: Any, *, id: str | None = None, meta: Any = None) -> Decision: ...
    @overload
    def ask(
        self, arms: Any, *, count: int, id: str | None = None, meta: Any = None
    ) -> list[Decision]: ...
    def ask(
        self, arms: Any, *, count: int | None = None, id: str | None = None, meta: Any = None
    ) -> Decision | list[Decision]:
        """Choose one of the arms on offer, or several one after another.

        The decision is recorded, and durable where the decider has a store, before this returns.

        Parameters
        ----------
        arms : array of shape (K, d), DataFrame, or DecisionSet
            What is on offer now; it may change with every call. Columns are matched by name.
        count : int, optional
            How many distinct arms to choose. Each is a decision of its own, made among those that
            the ones before left, and its propensity is given them.
        id : str, optional
            What to call the decision, such as the id of a request; made up by default. Asking again
            with the same id returns the same decision, also in another process. The chosen arm must
            then be in its place among `arms`, otherwise that is an error; the other arms do not
            matter. With `count`, the decisions are called ``id/0``, ``id/1`` and so on.
        meta : optional
            What to note with the decision, anything that JSON can hold.

        Returns
        -------
        Decision, or list of Decision if `count` is given
        """
        ids, note = reports.ids(id, count), reports.note(meta)
        while True:
            try:
                decisions = self._asked(arms, ids, note, id is not None)
                return decisions[0] if count is None else decisions
            except Behind:  # another process numbered new arms
                continue

    def _asked(
        self, arms: Any, ids: Sequence[str], note: str | None, given: bool
    ) -> list[Decision]:
        """Decide and record it, or return what was decided under these ids before."""
        ledger = self._ledger
        with self._lock:
            known = self._now()
            offered, columns = self._offered(arms, known)
            offers.check_slots(offered, len(ids))
            if self._named_first(columns, known):
                return self._asked(arms, ids, note, given)
            if given and ledger.held(ids[0]) is not None:
                return repeated(ledger, ids, offered)
            offered, kept, numbers = self._prepared(offered)
            if not self._span_checked:
                warn_of_what_is_left_out(offered, learnt_rows(known), known.subspace, columns)
            asked = Asked(offered, kept, columns, ids, note)
            events, decisions = choose(
                known, asked, numbers, self._streams, self._session, self._draws
            )
            self._draws += len(ids)
            before = list(numbers.events)
            if columns != known.columns:
                before.append(Changed(time.time(), columns=columns))
            if not ledger.waits and not self._record([*before, *events], numbers):
                return repeated(ledger, ids, offered)
        if ledger.waits and not self._record([*before, *events], numbers):
            return repeated(ledger, ids, offered)
        last = self._last
        if kept and isinstance(offered, offers.Offer) and not (last and last.offer is offered):
            told = numbers._replace(events=[]) if numbers.events else numbers
            self._last = Last(offered, told, known)
        self._span_checked = True
        return decisions

    def _offered(self, arms: Any, known: Known) -> tuple[DecisionSet, tuple[str, ...] | None]:
        """Return what is on offer, checked, and the names of its features."""
        last = self._last
        if last is not None and type(arms) is np.ndarray and last.offer.holds(arms):
            before = last.known
            same = known.subspace is before.subspace and known.strategy is before.strategy
            if same and known.columns is before.columns:
                return last.offer, known.columns  # checked last time
        penalty = known.state.ridge.penalty
        return offers.read("arms", arms, known.subspace, known.columns, penalty)

    def _record(self, events: Sequence[Event], numbers: Numbered) -> bool:
        """Record decisions; tell whether they are new."""
        try:
            self._append(events, numbers.size)
        except Exists:
            return False
        return True

    def _prepared(self, offered: DecisionSet) -> tuple[DecisionSet, bool, Numbered]:
        """Return the arms, whether they are kept, and how the ledger refers to them."""
        if not isinstance(offered, offers.Offer):
            return offered, True, numbered(self._ledger, offered)
        if not self._ledger.whole and offered.vectors.size > KEPT:
            return offered, False, NOT_KEPT
        last = self._last
        # The same arms as last time have the same D_k, which takes time to find.
        if last and (offered is last.offer or last.offer.holds(offered.vectors)):
            return last.offer, True, last.numbers
        offered.own()
        return offered, True, numbered(self._ledger, offered)
