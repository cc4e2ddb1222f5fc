"""Ask for a choice: what is on offer, decided on and recorded before it is returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, overload

from projbandits._blas import while_small
from projbandits.arms import DecisionSet
from projbandits.deciding import offers, reports
from projbandits.deciding.accounted import Accounted
from projbandits.deciding.close_columns import warn_of_what_is_left_out
from projbandits.deciding.labels import is_fresh, read_labels
from projbandits.deciding.units import look
from projbandits.features import contexts
from projbandits.ledger.choose import (
    NOT_KEPT,
    Asked,
    Last,
    Mate,
    Numbered,
    choose,
    learnt_rows,
    numbered,
    repeated,
    same_terms,
)
from projbandits.ledger.decision import Decision
from projbandits.ledger.events import Decided, Event, Offered
from projbandits.ledger.fold import Known
from projbandits.ledger.labels import Label
from projbandits.ledger.offer import Offer
from projbandits.ledger.protocol import Behind, Exists, Snapshot
from projbandits.tables import aligned

KEPT_NUMBERS = 100_000
"""Without a log, an offer of more numbers than this is looked at where it is, and not kept."""


DECIDED_TOGETHER = 20_000
"""Among at most this many numbers is decided for several callers together, one after another."""


class Request(NamedTuple):
    """What a caller passed to `ask`, with the ids and the note made of it."""

    arms: Any
    labels: Any
    context: Mapping[str, Any] | None
    names: Sequence[str]
    note: str | None
    called: bool


class Ready(NamedTuple):
    """A request whose arms were read, by what was known then."""

    request: Request
    arms: DecisionSet
    columns: tuple[str, ...] | None
    known: Known
    around: str | None

    @property
    def small(self) -> bool:
        """Whether it takes so little time that others can wait for it."""
        return bool(self.arms.size * self.arms.d <= DECIDED_TOGETHER)


class Made(NamedTuple):
    """What was decided for a request.

    Parameters
    ----------
    events : list of Event
        What is to be recorded.
    decisions : list of Decision
        What its caller gets.
    last : Last
        What was on offer.
    kept : bool
        Whether that is kept.
    new : int
        How many arms are new.
    """

    events: list[Event]
    decisions: list[Decision]
    last: Last
    kept: bool
    new: int

    @property
    def mates(self) -> list[Mate]:
        """What others that are decided with it count of it."""
        made = [event for event in self.events if isinstance(event, Decided)]
        return [(d.arm, event.label) for d, event in zip(self.decisions, made, strict=True)]


class Asking(Accounted):
    """What a decider can be asked."""

    @overload
    def ask(
        self,
        arms: Any,
        *,
        context: Mapping[str, Any] | None = None,
        labels: Iterable[Label] | None = None,
        request_id: str | None = None,
        meta: Any = None,
    ) -> Decision: ...
    @overload
    def ask(
        self,
        arms: Any,
        *,
        count: int,
        context: Mapping[str, Any] | None = None,
        labels: Iterable[Label] | None = None,
        request_id: str | None = None,
        meta: Any = None,
    ) -> list[Decision]: ...
    def ask(
        self,
        arms: Any,
        *,
        count: int | None = None,
        context: Mapping[str, Any] | None = None,
        labels: Iterable[Label] | None = None,
        request_id: str | None = None,
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
        labels : sequence of str or int, optional
            Who the arms are, by default the index of a DataFrame. `Decision.label` is the chosen
            one. A strategy with `arm_effects` learns what each of them has of its own.
        request_id : str, optional
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
        request = _request(arms, count, context, labels, request_id, meta)
        while True:
            try:
                decisions = self._asked(request)
                return decisions[0] if count is None else decisions
            except Behind:  # another process numbered new arms, or named their features
                self._now()

    def _begun(
        self,
        arms: Any,
        *,
        count: int | None = None,
        context: Mapping[str, Any] | None = None,
        labels: Iterable[Label] | None = None,
        request_id: str | None = None,
        meta: Any = None,
    ) -> Ready | None:
        """Return a request that can be decided with others, as `_together` does; None if not."""
        ready = self._ready(_request(arms, count, context, labels, request_id, meta), self._known)
        named = ready.columns == ready.known.columns
        return ready if named and self._with_others and ready.small else None

    def _asked(self, request: Request) -> list[Decision]:
        """Decide and record it, or return what was decided under these ids before."""
        ledger, ids = self._ledger, request.names
        if not ledger.waits:
            with self._lock:
                known = self._now()
                ready = self._ready(request, known)
                if request.called and ledger.held(ids[0]) is not None:
                    return repeated(ledger, ids, ready.arms)
                made = self._decided(ready, known)
                return self._recorded(ready, lambda: self._alone(made))
        ready = self._ready(request, self._known)
        if ready.columns != ready.known.columns:
            ready = self._ready(request, self._now())
            if self._named_first(ready.columns, ready.known):
                raise Behind
        together = self._with_others
        if together is not None and ready.small:
            return self._recorded(ready, lambda: together(self._together, ready))
        known = self._now()
        with self._deciding:
            made = self._decided(ready, known)
        return self._recorded(ready, lambda: self._alone(made))

    def _together(
        self, some: Sequence[Ready]
    ) -> tuple[list[tuple[list[Event], Made, bool] | BaseException], Snapshot | None]:
        """Decide for several callers, each by all that is known now, and record nothing yet.

        Returned are each one's events, its decisions and whether their ids are fresh, or its error;
        and a snapshot if one is due.
        """
        outcomes = list[tuple[list[Event], Made, bool] | BaseException]()
        with self._deciding:
            known, new, mates = self._current(), 0, list[Mate]()
            for ready in some:
                try:
                    made = self._decided(ready, known, new, mates)
                except BaseException as error:  # what a strategy raises is for its caller alone
                    outcomes.append(error)
                    continue
                new += made.new
                mates += made.mates
                outcomes.append((made.events, made, not ready.request.called))
            return outcomes, self._snapshot_due(known)

    def _alone(self, made: Made) -> Made:
        self._append(made.events, made.last.numbers.size)
        return made

    def _recorded(self, ready: Ready, record: Callable[[], Made]) -> list[Decision]:
        """Return decisions once they are recorded, or those that were made under these ids."""
        try:
            made = record()
        except Exists:
            return repeated(self._ledger, ready.request.names, ready.arms)
        return self._done(ready, made)

    def _done(self, ready: Ready, made: Made) -> list[Decision]:
        """Return decisions that are recorded, and remember what was on offer."""
        offer, numbers, _, _ = made.last
        if made.kept and isinstance(offer, Offer):
            # The rows are in the ledger now, and need not be told again.
            offer.numbers = numbers._replace(events=[]) if numbers.events else numbers
            self._recent.keep(ready.request.arms, made.last)
        self._span_checked = True
        return made.decisions

    def _ready(self, request: Request, known: Known) -> Ready:
        """Return a request with what is on offer, checked, and the names of its features."""
        around = contexts.around(known.features, request.arms, request.context)
        arms, columns = self._offered(request, known)
        if known.state.effects is not None and request.labels is None:
            self._check_index(request.arms, arms, known)
        offers.check_slots(arms, len(request.names))
        return Ready(request, arms, columns, known, around)

    def _offered(
        self, request: Request, known: Known
    ) -> tuple[DecisionSet, tuple[str, ...] | None]:
        arms, ids, features = request.arms, request.labels, known.features
        needed = known.state.effects is not None
        penalty = known.state.ridge.penalty
        if features is not None:
            X = features.transform(arms, request.context)
            read = offers.read("arms", X, known.subspace, known.columns, penalty)
            labels = read_labels(ids, arms, len(X), needed)
            return Offer(X, known.columns, labels), read[1]
        if request.context is not None:
            raise ValueError(
                "context needs a decider that knows what to make of it: pb.Decider(features="
                "pb.Features(context=[...], ...).fit(table))"
            )
        last = self._recent.of(arms, ids)
        if last is not None and same_terms(last.known, known):
            return last.offer, known.columns  # checked last time
        return offers.read("arms", arms, known.subspace, known.columns, penalty, ids, needed)

    def _check_index(self, arms: Any, offered: DecisionSet, known: Known) -> None:
        """Raise if arms are called 0, 1, ... by a fresh index, and are not who they were."""
        if not is_fresh(getattr(arms, "index", None)) or not isinstance(offered, Offer):
            return
        own = offered.vectors[:, contexts.item_places(known.features, known.subspace.ambient)]
        before = self._by_number
        if before is not None:
            both = min(len(before), len(own))
            differ = (before[:both] != own[:both]).any(axis=1)
            if differ.any():
                row = int(differ.argmax())
                raise ValueError(
                    "labels must say who the arms are, since the strategy has arm_effects: the "
                    f"index of arms is fresh (0 to {len(own) - 1}), and row {row} has other "
                    "features than in the call before; keep the catalogue's index, or pass "
                    "labels=..."
                )
        self._by_number = own.copy()

    def _decided(
        self, ready: Ready, known: Known, new: int = 0, mates: Sequence[Mate] = ()
    ) -> Made:
        """Return decisions and their events.

        `new` arms were numbered but not recorded yet, and `mates` were decided but not recorded.
        """
        request, arms, columns, before, around = ready
        if not same_terms(before, known):
            raise Behind  # another process changed what arms are read by
        arms, kept, numbers = self._prepared(arms, new)
        # Features are dependent by design, and have room for levels that may come.
        if not self._span_checked and known.features is None:
            warn_of_what_is_left_out(arms, learnt_rows(known), known.subspace, columns)
        if self._looked.due(known.state.step):
            designed, penalty = known.features is not None, known.state.ridge.penalty
            look(self._looked, arms, columns, known.subspace, penalty, designed=designed)
        self._unheard.of_open(known)
        asked = Asked(arms, kept, columns, request.names, request.note, around)
        with while_small(1 if arms.vast else int(arms.size), arms.d):
            decided, decisions = choose(
                known, asked, numbers, self._streams, self._session, self._draws, mates
            )
        self._draws += len(request.names)
        events = list(numbers.events)
        if columns != known.columns:
            events.append(reports.named(columns))
        added = sum([len(event.vectors) for event in events if isinstance(event, Offered)])
        last = Last(arms, numbers, known, request.labels)
        return Made([*events, *decided], decisions, last, kept, added)

    def _prepared(self, offered: DecisionSet, new: int) -> tuple[DecisionSet, bool, Numbered]:
        """Return the arms, whether they are kept, and how the ledger refers to them."""
        if not isinstance(offered, Offer):
            return offered, True, numbered(self._ledger, offered)
        if not self._ledger.whole and offered.vectors.size > KEPT_NUMBERS:
            return offered, False, NOT_KEPT
        if offered.numbers is None:
            # The same arms as last time have the same D_k, which takes time to find.
            offered = self._recent.same(offered) or offered
        if offered.numbers is not None:
            return offered, True, offered.numbers
        offered.own()
        return offered, True, numbered(self._ledger, offered, new)


def _request(
    arms: Any,
    count: int | None,
    context: Mapping[str, Any] | None,
    labels: Iterable[Label] | None,
    request_id: str | None,
    meta: Any,
) -> Request:
    names, note = reports.request_ids(request_id, count), reports.note(meta)
    labels = aligned("labels", labels, arms, "arms")
    given = None if labels is None else [*labels] if not isinstance(labels, str) else labels
    return Request(arms, given, context, names, note, request_id is not None)
