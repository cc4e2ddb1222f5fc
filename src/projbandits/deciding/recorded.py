"""A ledger, and what follows from it, kept up to date."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from projbandits._validation import Array
from projbandits.deciding import reports
from projbandits.deciding.eligibility import check_suits
from projbandits.deciding.open_outcomes import Unheard
from projbandits.deciding.outliers import Outliers, Spread
from projbandits.deciding.units import Looked
from projbandits.features.features import Features
from projbandits.ledger.choose import Recent
from projbandits.ledger.decision import Decision
from projbandits.ledger.events import Amended, Event, Told
from projbandits.ledger.fold import SECONDS, Known, advanced, snapshot
from projbandits.ledger.forking import renewed
from projbandits.ledger.protocol import Ledger, Snapshot
from projbandits.ledger.streams import Streams, new_session
from projbandits.ridge import Ridge
from projbandits.strategies import LinearStrategy
from projbandits.strategies.effects import Effects
from projbandits.subspace import Subspace

EVERY, BYTES = 1024, 256
"""A snapshot is kept after this many events, or when it takes this many bytes for each of them."""

WAITING = 16
"""How many events may wait to be taken into account; together they take less time."""


OFFERS_KEPT = 32
"""How many offers a decider with a store remembers: many callers have as many filters."""


class Recorded:
    """What a decider has, apart from what it does.

    `_lock` is held by calls that look and then record. `_deciding` is held while something is
    folded or chosen, and never while something is recorded: the thread that records for others
    decides for them too.
    """

    def _start(
        self, ledger: Ledger, known: Known | None, given: list[LinearStrategy], session: int
    ) -> None:
        """Begin with a ledger.

        Parameters
        ----------
        ledger : Ledger
            Where everything is recorded.
        known : Known or None
            What follows from it, if that is known already.
        given : list of LinearStrategy
            Strategies that a ledger can only name.
        session : int
            Whose randomness to draw.
        """
        self._ledger = ledger
        self._given = given
        self._known: Known = known or advanced(ledger, None, ledger.last(), given)
        check_suits(self._known.strategy)
        self._streams = Streams(self._known.seed)
        self._session, self._draws = session, 0
        self._span_checked = self._known.state.step > 1
        self._snapshot_at = self._known.position
        self._recent = Recent(OFFERS_KEPT if ledger.waits else 1)
        self._with_others: Any = getattr(ledger, "together", None)
        self._looked = Looked(self._known.intercept)
        self._outliers = Outliers(Spread.behind(self._known.state.ridge))
        self._unheard = Unheard()
        self._by_number: Array | None = None
        self._lock, self._deciding = threading.RLock(), threading.RLock()
        renewed(self)

    def after_fork(self) -> None:
        """Take a new lock and new randomness; called in every forked child."""
        self._lock, self._deciding = threading.RLock(), threading.RLock()
        self._session, self._draws = new_session(), 0

    @property
    def strategy(self) -> LinearStrategy:
        """Who decides."""
        return self._now().strategy

    @property
    def subspace(self) -> Subspace:
        """The part of the features that counts."""
        return self._now().subspace

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the features in their order, if they are known."""
        return self._now().columns

    @property
    def features(self) -> Features | None:
        """How raw columns become features, if it was told."""
        return self._now().features

    @property
    def half_life(self) -> float | timedelta | None:
        """After how many decisions, or how much time, an outcome has half of its weight."""
        half_life = self._now().half_life
        if not half_life:
            return None
        value, unit = half_life
        return timedelta(seconds=value) if unit == SECONDS else float(value)

    @property
    def intercept(self) -> bool:
        """Whether it learns a level that all outcomes share."""
        return self._now().intercept

    @property
    def ridge(self) -> Ridge:
        """The estimate of theta and all that follows from it.

        Where outcomes lose weight with time, it is that of the last event. It knows of no effects:
        `coefficients` has the estimate beside those of a strategy with `arm_effects`.
        """
        return self._now().state.ridge

    @property
    def steps(self) -> int:
        """How many decisions were made."""
        return self._now().state.step - 1

    @property
    def pending(self) -> tuple[Decision, ...]:
        """The decisions whose outcome was not told, in the order in which they were made."""
        return tuple(map(Decision.of, self._ledger.pending()))

    def refresh(self) -> None:
        """Take into account what other processes did; whatever is asked of it does so by itself."""
        self._now()

    def close(self) -> None:
        """Let go of the store's files and connections."""
        self._ledger.close()

    def _now(self) -> Known:
        """Return what is known, with all events of the ledger in it."""
        known = self._current()
        if self._ledger.waits:
            kept = self._snapshot_due(known)
            if kept is not None:
                self._ledger.keep(kept)
        elif known.position - self._snapshot_at >= self._every(known):
            with self._deciding:  # memory forgets what others may be folding
                self._keep(self._known)
        return known

    def _current(self) -> Known:
        """Return what `_now` does, and record nothing."""
        ledger = self._ledger
        last = ledger.last()
        if last > self._known.position:
            with self._deciding:
                known = advanced(ledger, self._known, last, self._given)
                if known.position > self._known.position:
                    self._known = known
        return self._known

    def _snapshot_due(self, known: Known) -> Snapshot | None:
        """Return a snapshot if it is time for one."""
        if known.position - self._snapshot_at < self._every(known):
            return None
        with self._deciding:
            if known.position - self._snapshot_at < self._every(known):
                return None  # another thread has it
            self._snapshot_at = known.position
        return snapshot(known)

    def _every(self, known: Known) -> int:
        """Return after how many events a snapshot is kept."""
        items: Effects | None = known.state.effects
        numbers = known.open.count * (known.open.d + 2)
        if items is not None:
            numbers += items.size * (items.d + 2)
        if not self._ledger.whole:
            return max(EVERY // 4, numbers * 8 // BYTES)
        return max(EVERY, 8 * (known.state.ridge.factor.size + numbers) // BYTES)

    def _keep(self, known: Known) -> None:
        self._ledger.keep(snapshot(known))
        self._snapshot_at = known.position

    def _report(self, outcomes: Sequence[Told | Amended]) -> None:
        """Record outcomes; warn of those that are far from all others."""
        self._compare(outcomes)
        self._append(outcomes)

    def _compare(self, outcomes: Sequence[Told | Amended]) -> None:
        self._outliers.look([(event.id, event.outcome) for event in outcomes])

    def _append(self, events: Sequence[Event], rows: int = 0) -> None:
        """Record events. They are taken into account when something is asked, or many wait."""
        if self._ledger.waits:
            self._ledger.append(events, rows)
            return
        with self._lock:
            last = self._ledger.append(events, rows)
            if last - self._known.position > WAITING:
                self._now()

    def _named_first(self, columns: tuple[str, ...] | None, known: Known) -> bool:
        """Record the names of the features, if they are new and others may name them too.

        Of several processes that name them at the same time the first decides on their order; so
        what was read before is then read again.
        """
        if columns == known.columns or not self._ledger.waits:
            return False
        self._ledger.append([reports.named(columns)])
        return True

    def __reduce__(self) -> str:
        raise TypeError("a decider is not pickled or copied: save it, and load the file")

    def _repr_html_(self) -> str:
        # By name and only now: nothing here depends on how a notebook shows it.
        return str(importlib.import_module("projbandits.notebook").decider(self))

    def __repr__(self) -> str:
        known, pending = self._now(), sum(1 for _ in self._ledger.pending())
        return (
            f"{type(self).__name__}({known.strategy!r}, {known.state.step - 1} decisions, "
            f"{pending} pending, {known.state.ridge.n} observations)"
        )
