"""Decide online: ask for a choice, tell its outcome whenever it is known."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from projbandits._validation import LARGEST_SEED, integer, short
from projbandits.deciding import reports
from projbandits.deciding.ask import Asking
from projbandits.deciding.eligibility import (
    check_all_suit,
    check_features,
    check_suits,
    check_told_apart,
)
from projbandits.deciding.finding import Finding
from projbandits.deciding.stores import named_ledger
from projbandits.deciding.units import look
from projbandits.features.features import Features
from projbandits.ledger.decision import Decision
from projbandits.ledger.describing import strategy_fields
from projbandits.ledger.events import Learnt, Opened
from projbandits.ledger.fold import carries, changed, opened
from projbandits.ledger.in_memory import MemoryLedger
from projbandits.ledger.labels import Label
from projbandits.ledger.protocol import Ledger
from projbandits.ledger.streams import new_session
from projbandits.strategies import EIIDS, LinearStrategy
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    import pandas as pd

BACKGROUND_THREADS = 64
"""How many submitted calls wait for the store at a time."""

DEFAULT: LinearStrategy = EIIDS()
"""The strategy of a decider that is given none."""


class Decider(Finding, Asking):
    """Chooses among what is on offer, and learns from outcomes as they come.

    All methods may be called from several threads. A forked child goes on with randomness and ids
    of its own.

    Parameters
    ----------
    strategy : LinearStrategy, optional
        Who decides.
    subspace : Subspace, optional
        The part of the features that counts; by default that of `features`.
    features : Features, optional
        How raw columns become features. `ask` and `learn` then take tables of raw columns, and
        `context`.
    half_life : float, str or timedelta, optional
        After how many decisions, or how much time (``"60d"``), an outcome has half of its weight,
        counted from when it was told. The penalty keeps its weight. By default nothing is
        forgotten.
    intercept : bool
        Whether it learns a level that all outcomes share, of which nothing is presumed. The level
        counts for no choice: a constant added to all outcomes changes none. Without it, outcomes
        far from 0 are taken for effects of the features.
    seed : int, optional
        Where its randomness comes from; fresh by default.
    log : bool
        Whether to keep everything that happens, for `log`, `audit`, `amend` and `explain` by id.
        Without it memory does not grow with what was told. A store keeps everything.
    store : str, optional
        Where everything is kept, so that it survives this process and others can take part: a URL
        such as ``sqlite:///films.db``, or ``postgresql://host/database``.
    name : str, optional
        What the decider is called in the store. If there is one of this name, it is joined.

    Examples
    --------
    >>> import pandas as pd, projbandits as pb
    >>> movies = pd.DataFrame({"drama": [1.0, 0.2], "length": [0.5, 0.9], "age": [0.1, 0.8]})
    >>> U = pb.Subspace.without("age", columns=movies.columns)
    >>> decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0)
    >>> decider.learn(movies.assign(age=[0.8, 0.1]), [1.0, 0.0])
    >>> decision = decider.ask(movies)
    >>> decision.index, decision.propensity
    (1, 0.5)
    >>> decider.tell(decision.id, 1.0)
    >>> decider.pending
    ()
    """

    _workers: tuple[int, ThreadPoolExecutor] | None = None

    def __init__(
        self,
        strategy: LinearStrategy | None = None,
        *,
        subspace: Subspace | None = None,
        features: Features | None = None,
        half_life: float | str | timedelta | None = None,
        intercept: bool = True,
        seed: int | None = None,
        log: bool = False,
        store: str | None = None,
        name: str | None = None,
    ) -> None:
        strategy = check_suits(DEFAULT if strategy is None else strategy)
        subspace = check_features(features, subspace)
        if seed is not None:
            seed = integer("seed", seed, least=0, most=LARGEST_SEED)
        names = reports.columns(subspace.names and tuple(map(str, subspace.names)))
        if features is not None:
            names = features.names
        first = Opened(
            key=secrets.token_hex(16),
            time=time.time(),
            seed=secrets.randbits(128) if seed is None else seed,
            strategy=strategy_fields(strategy),
            label=repr(strategy),
            subspace=subspace.basis,
            names=names,
            columns=names,
            features=None if features is None else features.to_json(),
            half_life=reports.half_life(half_life),
            intercept=reports.yes_or_no("intercept", intercept),
        )
        if store is None:
            if name is not None:
                raise ValueError(f"name must come with store=..., got {name!r} alone")
            ledger: Ledger = MemoryLedger(first, whole=log)
        else:
            ledger = named_ledger(store, name, first)
        known = opened(first, [strategy])._replace(subspace=subspace)
        begun = next(iter(ledger.read(0, 1)))[0].event
        if isinstance(begun, Opened) and begun.key == first.key:
            # Only who made the ledger draws from the seed alone; others may join at once.
            self._start(ledger, known, [strategy], session=0)
            return
        self._start(ledger, None, [strategy], session=new_session())
        P, Q = subspace.matrix, self._known.subspace.matrix
        same = P.shape == Q.shape and np.abs(P - Q).max() <= 1e-9
        before = self._known.features
        same &= first.features == (None if before is None else before.to_json())
        same &= first.half_life == self._known.half_life
        same &= first.intercept == self._known.intercept
        same &= repr(strategy) == repr(self._known.strategy)
        if same and names is not None and self._known.columns is None:
            self._append([reports.named(names)])  # of several processes, the first decides
        if not same or names not in (None, self.columns):
            raise ValueError(
                "name must be that of a new decider, or of one with the same strategy, subspace, "
                f"columns, features, half-life and intercept, {name!r} has "
                f"{self._known.strategy!r} on {self._known.subspace!r} with "
                f"columns={short(self.columns)}, half_life={self.half_life} and "
                f"intercept={self.intercept}: "
                "take part with Decider.open(store, name), and change it with reconfigure(...)"
            )

    @classmethod
    def open(
        cls,
        store: str,
        name: str,
        strategy: LinearStrategy | Sequence[LinearStrategy] | None = None,
    ) -> Decider:
        """Return a decider that is in a store, with all that it was ever told.

        Parameters
        ----------
        store : str
            Where it is, such as ``sqlite:///films.db``.
        name : str
            What it is called there.
        strategy : LinearStrategy or list of them, optional
            The strategies it has and had, where they are not of the library with plain parameters.
            They are known by their repr, so give functions in them a name.
        """
        decider = cls.__new__(cls)
        given = check_all_suit(strategy)
        decider._start(named_ledger(store, name, None), None, given, session=new_session())
        return decider

    def tell(self, id: str | Decision, outcome: float) -> None:
        """Report the outcome of a decision, in any order and any time later.

        Telling the same again is harmless; another value is an error, and changes nothing.

        Parameters
        ----------
        id : str or Decision
            Which decision.
        outcome : float
            What was observed.
        """
        self._report([reports.told(id, outcome)])

    def tell_many(
        self, outcomes: Mapping[str, float] | pd.Series | Iterable[tuple[str | Decision, float]]
    ) -> None:
        """Report many outcomes: all of them, or, on an error, none.

        Parameters
        ----------
        outcomes : mapping or Series of outcomes by id, or pairs of id and outcome
        """
        self._report([reports.told(*pair) for pair in reports.pairs(outcomes)])

    def amend(self, id: str | Decision, outcome: float) -> None:
        """Correct an outcome: the belief becomes what it would be had this been told then.

        It needs a log or a store. Amending to the same again is harmless.
        """
        self._report([reports.amended(id, outcome)])

    def withdraw(self, id: str | Decision, why: str = "withdrawn") -> None:
        """Say that a decision has no outcome: it will never come, or what was told does not count.

        To take back what was told needs a log or a store. Withdrawing again is harmless; if an
        outcome comes after all, `amend` takes it, which needs them too.
        """
        event = reports.withdrawn(id, why)
        if self._known.state.ridge.equal:
            held = self._ledger.held(event.id)
            self._unheard.of_equal(self._known, int(held is not None and held.pending))
        self._append([event])

    def expire(
        self, after: float | str | timedelta, outcome: float | None = None
    ) -> tuple[str, ...]:
        """Settle the decisions whose outcome did not come in time, and return their ids.

        Parameters
        ----------
        after : float, str or timedelta
            How old they must be: seconds, or a text such as ``"24h"`` (s, m, h, d and w).
        outcome : float, optional
            The outcome to assume for them. By default they are withdrawn: nothing is learnt.
        """
        now = time.time()
        outcome = None if outcome is None else reports.assumed(outcome)
        late = self._ledger.pending(now - reports.seconds("after", after))
        ids = tuple(held.decision.id for held in late)
        if outcome is None:
            self._unheard.of_equal(self._now(), len(ids), least_told=2)
        self._append([reports.expired(id, now, outcome) for id in ids])
        return ids

    def submit_ask(
        self,
        items: Any,
        *,
        count: int | None = None,
        context: Mapping[str, Any] | None = None,
        labels: Iterable[Label] | None = None,
        request_id: str | None = None,
        meta: Any = None,
    ) -> Future[Any]:
        """Have the decider asked in the background, and return a future of its answer.

        Event loops await it by `asyncio.wrap_future`. Parameters and answer are those of `ask`; an
        error in the arguments may be raised here or be the future's.
        """
        more = {"context": context, "labels": labels, "request_id": request_id, "meta": meta}
        if count is not None:
            more["count"] = count
        return self._background().submit(lambda: self.ask(items, **more))

    def submit_tell(
        self, outcomes: Mapping[str, float] | pd.Series | Iterable[tuple[str | Decision, float]]
    ) -> Future[None]:
        """Report outcomes in the background, all or none, and return a future that ends with it.

        Event loops await it by `asyncio.wrap_future`. The outcomes are those of `tell_many`.
        """
        pairs = [*reports.pairs(outcomes)]
        return self._background().submit(lambda: self.tell_many(pairs))

    def _background(self) -> ThreadPoolExecutor:
        if self._workers is None or self._workers[0] != os.getpid():
            pool = ThreadPoolExecutor(BACKGROUND_THREADS, thread_name_prefix="projbandits-asks")
            self._workers = os.getpid(), pool
        return self._workers[1]

    def learn(
        self,
        features: Any,
        outcomes: npt.ArrayLike,
        *,
        context: Any = None,
        labels: Iterable[Label] | None = None,
        request_id: str | None = None,
    ) -> None:
        """Learn from history that was not decided here, one observation per row.

        It changes the belief, not the number of decisions made.

        Parameters
        ----------
        features : array of shape (n, d) or DataFrame
            The arms; columns are matched by name. A decider with `features` takes raw columns,
            those of the context among them or apart.
        outcomes : array of shape (n,), or Series
            What they brought. Where `features` and a Series both have an index, rows are matched
            by it; other indexes than the same are refused. So it is with `labels` and `context`.
        context : dict or table, optional
            The columns of the context: one value for all rows, or one for each.
        labels : sequence of str or int, optional
            Whose returns they are, for a strategy with `arm_effects`. Without it, each row is that
            of an item of its own.
        request_id : str, optional
            What to call this history. Learning it again is harmless; other history of the same id
            is an error.
        """
        with self._lock:
            known = self._now()
            events, columns = reports.learnt(known, features, outcomes, request_id, labels, context)
            designed, penalty = known.features is not None, known.state.ridge.penalty
            for event in events:
                if isinstance(event, Learnt):
                    look(self._looked, event.X, columns, known.subspace, penalty, designed=designed)
            if self._named_first(columns, known):
                self.learn(
                    features, outcomes, request_id=request_id, labels=labels, context=context
                )
                return
            learnt = [event.outcomes for event in events if isinstance(event, Learnt)]
            if learnt:
                named = reports.row_name(features, outcomes, labels)
                self._outliers.look_through(np.concatenate(learnt), named)
            if columns != known.columns:
                events.append(reports.named(columns))
            self._append(events)
            if not self._ledger.whole:
                self._keep(self._now())  # and forget the rows

    def decay(self, factor: float) -> None:
        """Let all outcomes so far lose weight, as after a change that one knows of.

        Parameters
        ----------
        factor : float
            What their weights are multiplied by: 1 forgets nothing, 0 everything. The penalty
            keeps its weight.
        """
        self._append([reports.decayed(factor)])

    def reconfigure(
        self,
        *,
        subspace: Subspace | None = None,
        strategy: LinearStrategy | None = None,
        half_life: float | str | timedelta | None = None,
    ) -> None:
        """Decide on another part of the features, by another strategy, or forget at another pace.

        It holds from here on; ``half_life=math.inf`` forgets nothing any more. What was learnt is
        kept. Where a strategy learns on projections, before or after, it is
        learnt again from the beginning, which needs a log or a store.
        """
        with self._lock:
            known = self._now()
            half = None if half_life is None else reports.half_life(half_life)
            event = reports.changed(known, subspace, strategy, half)
            given = self._given
            if strategy is not None:
                check_told_apart(strategy, [*given, known.strategy])
                given = [*given, strategy]
            after = changed(known, event, given)
            gone = not self._ledger.whole or self._ledger.base
            if gone and not carries(known, after):
                raise ValueError(
                    f"{after.strategy!r} would learn something else than {known.strategy!r} did, "
                    "and what that learnt from is not kept: make the decider with log=True or "
                    "store=, and do not spill it"
                )
            self._given = given
            self._append([event])
            self._now()
