"""Ask for a choice: what is on offer, decided on and recorded before it is returned."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from projbandits._blas import while_small
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
from projbandits.deciding.identities import read_labels
from projbandits.deciding.units import look
from projbandits.ledger.fold import Known
from projbandits.ledger.happened import Changed, Event
from projbandits.ledger.labels import Label
from projbandits.ledger.protocol import Behind, Exists

KEPT = 100_000
"""Without a log, an offer of more numbers than this is looked at where it is, and not kept."""


class Request(NamedTuple):
    """What a caller passed to `ask`, with the ids and texts made of it."""

    arms: Any
    ids: Any
    context: Mapping[str, Any] | None
    names: Sequence[str]
    note: str | None
    around: str | None
    called: bool


class Asking(Accounted):
    """What a decider can be asked."""

    @overload
    def ask(
        self,
        arms: Any,
        *,
        context: Mapping[str, Any] | None = None,
        ids: Iterable[Label] | None = None,
        id: str | None = None,
        meta: Any = None,
    ) -> Decision: ...
    @overload
    def ask(
        self,
        arms: Any,
        *,
        count: int,
        context: Mapping[str, Any] | None = None,
        ids: Iterable[Label] | None = None,
        id: str | None = None,
        meta: Any = None,
    ) -> list[Decision]: ...
    def ask(
        self,
        arms: Any,
        *,
        count: int | None = None,
        context: Mapping[str, Any] | None = None,
        ids: Iterable[Label] | None = None,
        id: str | None = None,
        meta: Any = None,
    ) -> Decision | list[Decision]:
        """Choose one of the arms on offer, or several one after another.

        The decision is recorded, and durable where the decider has a store, before this returns.

        Parameters
        ----------
        arms : array of shape (K, d), DataFrame, list of dicts, or DecisionSet
            What is on offer now; it may change with every call. Columns are matched by name. A
            decider with `features` takes raw columns.
        count : int, optional
            How many distinct arms to choose. Each is a decision of its own, made among those that
            the ones before left, and its propensity is given them.
        context : dict, optional
            The columns that come with the call and not with the arms, such as who is looking; for a
            decider with `features`.
        ids : sequence of str or int, optional
            Who the arms are, by default the index of a DataFrame. `Decision.label` is the chosen
            one. A strategy with `arm_effects` learns what each of them has of its own.
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
        names, note = reports.ids(id, count), reports.note(meta)
        around = reports.context(context)
        given = None if ids is None else [*ids] if not isinstance(ids, str) else ids
        request = Request(arms, given, context, names, note, around, id is not None)
        while True:
            try:
                decisions = self._asked(request)
                return decisions[0] if count is None else decisions
            except Behind:  # another process numbered new arms
                continue

    def _asked(self, request: Request) -> list[Decision]:
        """Decide and record it, or return what was decided under these ids before."""
        ledger, ids = self._ledger, request.names
        with self._lock, while_small(_many(request.arms), self._known.subspace.ambient):
            known = self._now()
            offered, columns = self._offered(request, known)
            offers.check_slots(offered, len(ids))
            if self._named_first(columns, known):
                return self._asked(request)
            if request.called and ledger.held(ids[0]) is not None:
                return repeated(ledger, ids, offered)
            offered, kept, numbers = self._prepared(offered)
            # Features are dependent by design, and have room for levels that may come.
            if not self._span_checked and known.features is None:
                warn_of_what_is_left_out(offered, learnt_rows(known), known.subspace, columns)
            if known.features is None and self._looked.due(known.state.step):
                look(self._looked, offered, columns, known.state.ridge.penalty)
            asked = Asked(offered, kept, columns, ids, request.note, request.around)
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

    def _offered(
        self, request: Request, known: Known
    ) -> tuple[DecisionSet, tuple[str, ...] | None]:
        """Return what is on offer, checked, and the names of its features."""
        arms, ids, last, features = request.arms, request.ids, self._last, known.features
        needed = known.state.effects is not None
        penalty = known.state.ridge.penalty
        if features is not None:
            X = features.transform(arms, request.context)
            read = offers.read("arms", X, known.subspace, known.columns, penalty)
            labels = read_labels(ids, arms, len(X), needed)
            return offers.Offer(X, known.columns, labels), read[1]
        if request.context is not None:
            raise ValueError(
                "context needs a decider that knows what to make of it: pb.Decider(features="
                "pb.Features(context=[...], ...).fit(table))"
            )
        plain = type(arms) is np.ndarray and ids is None and not needed
        if last is not None and plain and last.offer.holds(arms):
            before = last.known
            same = known.subspace is before.subspace and known.strategy is before.strategy
            if same and known.columns is before.columns:
                return last.offer, known.columns  # checked last time
        return offers.read("arms", arms, known.subspace, known.columns, penalty, ids, needed)

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
        if last and (offered is last.offer or last.offer.holds(offered.vectors, offered.labels)):
            return last.offer, True, last.numbers
        offered.own()
        return offered, True, numbered(self._ledger, offered)


def _many(arms: Any) -> int:
    """Return how many arms are on offer; one, if infinitely many are."""
    return len(arms) if hasattr(arms, "__len__") else getattr(arms, "size", None) or 1
