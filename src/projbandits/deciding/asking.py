"""One call of `ask`: what is on offer is read and checked, and then decided on in a transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from projbandits._blas import while_small
from projbandits._validation import Array
from projbandits.arms import DecisionSet
from projbandits.deciding import offers, reports
from projbandits.deciding.close_columns import warn_of_what_is_left_out
from projbandits.deciding.labels import is_fresh, read_labels
from projbandits.deciding.open_outcomes import Unheard
from projbandits.deciding.units import Looked, look
from projbandits.features import contexts
from projbandits.ledger.choose import (
    Asked,
    Last,
    Recent,
    choose,
    learnt_rows,
    repeated,
    same_terms,
)
from projbandits.ledger.decision import Decision
from projbandits.ledger.fold import Known
from projbandits.ledger.labels import Label
from projbandits.ledger.ledger import Transaction
from projbandits.ledger.offer import Offer
from projbandits.ledger.streams import Streams
from projbandits.tables import aligned

OFFERS_KEPT = 32
"""How many offers a decider remembers: many callers have as many filters."""


class Request(NamedTuple):
    """The arguments of a call of `ask`, with the ids and the note that follow from them."""

    arms: Any
    labels: Any
    context: Mapping[str, Any] | None
    ids: Sequence[str]
    note: str | None
    called: bool


class Ready(NamedTuple):
    """A request whose arms were read, by what was known then."""

    arms: DecisionSet
    columns: tuple[str, ...] | None
    known: Known
    around: str | None


class Asking:
    """Reads requests and decides on them; what it remembers only saves time.

    Parameters
    ----------
    known : Known
        What is known when it begins.
    session : int
        Whose randomness it draws.
    """

    def __init__(self, known: Known, session: int) -> None:
        self.session, self.draws = session, 0
        self.looked = Looked(known.intercept)
        self.unheard = Unheard()
        self._streams = Streams(known.seed)
        self._recent = Recent(OFFERS_KEPT)
        self._span_checked = known.state.step > 1
        self._by_number: Array | None = None

    def asked(
        self,
        seen: Known,
        arms: Any,
        count: int | None,
        context: Mapping[str, Any] | None,
        labels: Iterable[Label] | None,
        request_id: str | None,
        meta: Any,
    ) -> Callable[[Transaction], Any]:
        """Return a request, checked by what is known, as a function that decides on it."""
        ids, note = reports.request_ids(request_id, count), reports.note(meta)
        labels = aligned("labels", labels, arms, "arms")
        given = None if labels is None else [*labels] if not isinstance(labels, str) else labels
        request = Request(arms, given, context, ids, note, request_id is not None)
        ready = self._ready(request, seen)

        def decide(tx: Transaction) -> Decision | list[Decision]:
            decisions = self._decided(tx, request, ready)
            return decisions[0] if count is None else decisions

        return decide

    def _ready(self, request: Request, known: Known) -> Ready:
        """Return a request with what is on offer, checked, and the names of its features."""
        around = contexts.around(known.features, request.arms, request.context)
        arms, columns = self._offered(request, known)
        if known.state.effects is not None and request.labels is None:
            self._check_index(request.arms, arms, known)
        offers.check_slots(arms, len(request.ids))
        return Ready(arms, columns, known, around)

    def _offered(
        self, request: Request, known: Known
    ) -> tuple[DecisionSet, tuple[str, ...] | None]:
        arms, labels, features = request.arms, request.labels, known.features
        needed = known.state.effects is not None
        penalty = known.state.ridge.penalty
        if features is not None:
            X = features.transform(arms, request.context)
            read = offers.read("arms", X, known.subspace, known.columns, penalty)
            return Offer(X, known.columns, read_labels(labels, arms, len(X), needed)), read[1]
        if request.context is not None:
            raise ValueError(
                "context needs a decider that knows what to make of it: pb.Decider(features="
                "pb.Features(context=[...], ...).fit(table))"
            )
        last = self._recent.of(arms, labels)
        if last is not None and same_terms(last.known, known):
            return last.offer, known.columns  # checked last time
        return offers.read("arms", arms, known.subspace, known.columns, penalty, labels, needed)

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

    def _decided(self, tx: Transaction, request: Request, ready: Ready) -> list[Decision]:
        """Decide by all that is known, or return what was decided under these ids before."""
        known = tx.known
        if not same_terms(ready.known, known):  # what arms are read by was changed meanwhile
            ready = self._ready(request, known)
        arms, columns = ready.arms, ready.columns
        if request.called and any(tx.held(id) is not None for id in request.ids):
            return repeated(tx, request.ids, arms)
        if isinstance(arms, Offer) and arms.numbers[0] is None:
            # The same arms as last time have the same D_k, which takes time to find.
            arms = self._recent.same(arms) or arms
            if arms.numbers[0] is None:
                arms.own()
        self._warn(arms, columns, known)
        if columns != known.columns:
            tx.append(reports.named(columns))
        asked = Asked(arms, columns, request.ids, not request.called, request.note, ready.around)
        with while_small(1 if arms.vast else int(arms.size), arms.d):
            decisions = choose(tx, asked, self._streams, self.session, self.draws)
        self.draws += len(request.ids)
        self._span_checked = True
        if isinstance(arms, Offer):
            self._recent.keep(request.arms, Last(arms, known, request.labels))
        return decisions

    def _warn(self, arms: DecisionSet, columns: tuple[str, ...] | None, known: Known) -> None:
        # Features are dependent by design, and have room for levels that may come.
        if not self._span_checked and known.features is None:
            warn_of_what_is_left_out(arms, learnt_rows(known), known.subspace, columns)
        if self.looked.due(known.state.step):
            designed, penalty = known.features is not None, known.state.ridge.penalty
            look(self.looked, arms, columns, known.subspace, penalty, designed=designed)
        self.unheard.of_open(known)
