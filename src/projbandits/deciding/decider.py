"""Decide online: ask for a choice, tell its outcome whenever it is known."""

from __future__ import annotations

import importlib
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
import numpy.typing as npt

from projbandits._validation import LARGEST_SEED, integer, short
from projbandits.deciding import reports
from projbandits.deciding.asking import Asking
from projbandits.deciding.eligibility import (
    check_all_suit,
    check_features,
    check_suits,
    check_told_apart,
)
from projbandits.deciding.outliers import Outliers, Spread
from projbandits.deciding.stores import named_ledger
from projbandits.deciding.units import look
from projbandits.features.features import Features
from projbandits.ledger.decision import Decision
from projbandits.ledger.describing import strategy_fields
from projbandits.ledger.events import Opened, Told
from projbandits.ledger.fold import SECONDS, Known
from projbandits.ledger.history import History
from projbandits.ledger.labels import Label
from projbandits.ledger.ledger import Ledger, Transaction
from projbandits.ledger.reading import EVENTS_AT_ONCE
from projbandits.ledger.streams import new_session
from projbandits.ridge import Ridge
from projbandits.strategies import EIIDS, LinearStrategy
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    import pandas as pd

    from projbandits.audit.audit import Audit
    from projbandits.deciding.explain import Explanation
    from projbandits.deciding.finding import Sensitivity
    from projbandits.finding import SubspaceEstimate

DEFAULT: LinearStrategy = EIIDS()
"""The strategy of a decider that is given none."""


class Decider:
    """Chooses among what is on offer, and learns from outcomes as they come.

    Everything that happens to it is kept, in a store or in a temporary database that goes with the
    process. All methods may be called from several threads. In a forked child, a decider with a
    store goes on with randomness and ids of its own; one without is refused there.

    Parameters
    ----------
    strategy : LinearStrategy, optional
        The strategy that makes the choices.
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

    def __init__(
        self,
        strategy: LinearStrategy | None = None,
        *,
        subspace: Subspace | None = None,
        features: Features | None = None,
        half_life: float | str | timedelta | None = None,
        intercept: bool = True,
        seed: int | None = None,
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
        seed = secrets.randbits(128) if seed is None else seed
        first = Opened(
            key=secrets.token_hex(16),
            time=time.time(),
            seed=seed.to_bytes(16, "little"),
            strategy=strategy_fields(strategy),
            label=repr(strategy),
            subspace=subspace.basis,
            names=names,
            columns=names,
            features=None if features is None else features.to_json(),
            half_life=reports.half_life(half_life),
            intercept=reports.yes_or_no("intercept", intercept),
        )
        ledger = named_ledger(store, name, first, [strategy])
        # Only who made the ledger draws from the seed alone; others may join at once.
        made = ledger.seen.key == first.key
        self._start(ledger, session=0 if made else new_session())
        if not made:
            self._check_joined(first, subspace)

    def _start(self, ledger: Ledger, session: int) -> None:
        check_suits(ledger.seen.strategy)
        self._ledger, self._pid = ledger, os.getpid()
        self._asking = Asking(ledger.seen, session)
        self._outliers = Outliers(Spread.behind(ledger.seen.state.ridge))

    def _here(self) -> Ledger:
        """Return the ledger; in a forked child, begin anew with another session and connection."""
        if self._pid != os.getpid():
            self._start(self._ledger.reopened(), session=new_session())
        return self._ledger

    def _check_joined(self, first: Opened, subspace: Subspace) -> None:
        """Raise unless the decider that is joined is the one that was meant."""
        known = self.belief()
        before = None if known.features is None else known.features.to_json()
        same = known.subspace.ambient == subspace.ambient
        same = same and bool(np.abs(subspace.matrix - known.subspace.matrix).max() <= 1e-9)
        same &= first.features == before and first.half_life == known.half_life
        same &= first.intercept == known.intercept and first.label == repr(known.strategy)
        if same and first.columns is not None and known.columns is None:
            named = reports.named(first.columns)  # of several processes, the first decides
            self._ledger.transact(lambda tx: tx.known.columns or tx.append(named))
        if not same or first.columns not in (None, self.columns):
            raise ValueError(
                "name must be that of a new decider, or of one with the same strategy, subspace, "
                f"columns, features, half-life and intercept, {self._ledger.name!r} has "
                f"{known.strategy!r} on {known.subspace!r} with columns={short(self.columns)}, "
                f"half_life={self.half_life} and intercept={self.intercept}: "
                "take part with Decider.open(store, name), and change it with reconfigure(...)"
            )

    @classmethod
    def _of(cls, ledger: Ledger) -> Self:
        decider = cls.__new__(cls)
        decider._start(ledger, session=new_session())
        return decider

    @classmethod
    def open(
        cls,
        store: str,
        name: str,
        strategy: LinearStrategy | Sequence[LinearStrategy] | None = None,
    ) -> Self:
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
        return cls._of(named_ledger(store, name, None, check_all_suit(strategy)))

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
        ledger = self._here()
        call = arms, count, context, labels, request_id, meta
        decided: Decision | list[Decision]
        decided = ledger.transact(self._asking.asked(ledger.seen, *call))
        return decided

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
        ledger = self._here()
        call = items, count, context, labels, request_id, meta
        return ledger.submit(self._asking.asked(ledger.seen, *call))

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
        self._here().transact(self._telling([reports.told(id, outcome)]))

    def tell_many(
        self, outcomes: Mapping[str, float] | pd.Series | Iterable[tuple[str | Decision, float]]
    ) -> None:
        """Report many outcomes: all of them, or, on an error, none.

        Parameters
        ----------
        outcomes : mapping or Series of outcomes by id, or pairs of id and outcome
        """
        told = [reports.told(*pair) for pair in reports.pairs(outcomes)]
        self._here().transact(self._telling(told))

    def submit_tell(
        self, outcomes: Mapping[str, float] | pd.Series | Iterable[tuple[str | Decision, float]]
    ) -> Future[None]:
        """Report outcomes in the background, all or none, and return a future that ends with it.

        Event loops await it by `asyncio.wrap_future`. The outcomes are those of `tell_many`.
        """
        told = [reports.told(*pair) for pair in reports.pairs(outcomes)]
        return self._here().submit(self._telling(told))

    def _telling(self, told: Sequence[Told]) -> Callable[[Transaction], None]:
        """Return reports as a function that appends them; warn of outcomes far from all others."""
        self._outliers.look([(event.id, event.outcome) for event in told])

        def tell(tx: Transaction) -> None:
            for event in told:
                tx.append(event)

        return tell

    def amend(self, id: str | Decision, outcome: float) -> None:
        """Correct an outcome: the belief becomes what it would be had this been told then.

        Amending to the same again is harmless.
        """
        event = reports.amended(id, outcome)
        self._outliers.look([(event.id, event.outcome)])
        self._here().transact(lambda tx: tx.append(event))

    def withdraw(self, id: str | Decision, why: str = "withdrawn") -> None:
        """Say that a decision has no outcome: it will never come, or what was told does not count.

        Withdrawing again is harmless; if an outcome comes after all, `amend` takes it.
        """
        event = reports.withdrawn(id, why)

        def withdraw(tx: Transaction) -> None:
            held = tx.held(event.id)
            if held is not None and held.pending:
                self._asking.unheard.of_equal(tx.known, 1)
            tx.append(event)

        self._here().transact(withdraw)

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
        now, history = time.time(), self.history()
        outcome = None if outcome is None else reports.assumed(outcome)
        late = history.pending(now - reports.seconds("after", after))
        ids = tuple(record.event.id for record in late)
        if outcome is None:
            self._asking.unheard.of_equal(history.belief(), len(ids), least_told=2)
        events = [reports.expired(id, now, outcome) for id in ids]
        if events:
            self._here().transact(lambda tx: [tx.append(event) for event in events])
        return ids

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
            Whose outcomes they are, for a strategy with `arm_effects`. Without it, each row is that
            of an item of its own.
        request_id : str, optional
            What to call this history. Learning it again is harmless; other history of the same id
            is an error.
        """

        def learn(tx: Transaction) -> None:
            known = tx.known
            events, columns = reports.learnt(known, features, outcomes, request_id, labels, context)
            designed, penalty = known.features is not None, known.state.ridge.penalty
            seen = self._asking.looked
            for event in events:
                look(seen, event.X, columns, known.subspace, penalty, designed=designed)
            if events:
                named = reports.row_name(features, outcomes, labels)
                self._outliers.look_through(np.concatenate([e.outcomes for e in events]), named)
            if columns != known.columns:
                tx.append(reports.named(columns))
            for event in events:
                tx.append(event, new=request_id is None)

        self._here().transact(learn)

    def decay(self, factor: float) -> None:
        """Let all outcomes so far lose weight, as after a change that one knows of.

        Parameters
        ----------
        factor : float
            What their weights are multiplied by: 1 forgets nothing, 0 everything. The penalty
            keeps its weight.
        """
        event = reports.decayed(factor)
        self._here().transact(lambda tx: tx.append(event))

    def reconfigure(
        self,
        *,
        subspace: Subspace | None = None,
        strategy: LinearStrategy | None = None,
        half_life: float | str | timedelta | None = None,
    ) -> None:
        """Decide on another part of the features, by another strategy, or forget at another pace.

        It holds from here on; ``half_life=math.inf`` forgets nothing any more. What was learnt is
        kept. Where a strategy learns on projections, before or after, it is learnt again from the
        beginning.
        """
        half = None if half_life is None else reports.half_life(half_life)

        def change(tx: Transaction) -> None:
            known = tx.known
            event = reports.changed(known, subspace, strategy, half)
            if strategy is not None:
                check_told_apart(strategy, [*tx.given, known.strategy])
                tx.given.append(strategy)
            tx.append(event)
            tx.known  # noqa: B018

        self._here().transact(change)

    @property
    def strategy(self) -> LinearStrategy:
        """The strategy that makes the choices."""
        return self.belief().strategy

    @property
    def subspace(self) -> Subspace:
        """The part of the features that counts."""
        return self.belief().subspace

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the features in their order, if they are known."""
        return self.belief().columns

    @property
    def features(self) -> Features | None:
        """How raw columns become features, if it was told."""
        return self.belief().features

    @property
    def half_life(self) -> float | timedelta | None:
        """After how many decisions, or how much time, an outcome has half of its weight."""
        half_life = self.belief().half_life
        if not half_life:
            return None
        value, unit = half_life
        return timedelta(seconds=value) if unit == SECONDS else float(value)

    @property
    def intercept(self) -> bool:
        """Whether it learns a level that all outcomes share."""
        return self.belief().intercept

    @property
    def ridge(self) -> Ridge:
        """The estimate of theta and all that follows from it.

        Where outcomes lose weight with time, it is that of the last event. It knows of no effects:
        `coefficients` has the estimate beside those of a strategy with `arm_effects`.
        """
        return self.belief().state.ridge

    @property
    def steps(self) -> int:
        """How many decisions were made."""
        return self.belief().state.step - 1

    @property
    def pending(self) -> tuple[Decision, ...]:
        """The decisions whose outcome was not told, in the order in which they were made."""
        return tuple(Decision.made(record.event, None) for record in self.history().pending())

    def belief(self) -> Known:
        """Return what the decider believes now: its strategy, subspace, columns and state."""
        return self._here().belief()

    def history(self) -> History:
        """Return the decisions up to now, each with its outcome, what was offered and believed."""
        ledger = self._here()
        return History(ledger, ledger.belief().position)

    def coefficients(self) -> pd.DataFrame:
        """Return what is believed of each feature, in the units of its columns.

        The table has a row for each feature: `estimate`, what one more in its column is worth (for
        a level, a constant or a product of them, what it adds), its `standard_error`, and whether
        it `counts`, wholly or in part. The first row, `intercept`, is the level that all outcomes
        share, where it is learnt: what an item brings whose columns are all 0, or no level. The
        error allows for the penalty, which draws estimates to 0; it is NaN where the outcomes told
        say nothing of a feature, and large where a feature nearly repeats another.
        """
        from projbandits.deciding.coefficients import coefficients

        return coefficients(self.belief())

    def explain(self, decision: str | Decision, arms: Any = None) -> Explanation:
        """Say why an arm was chosen: each arm's score, what counted in it and what was ignored.

        Parameters
        ----------
        decision : Decision or str
            A decision, or its id.
        arms : optional
            What was on offer, all of it, where the ledger cannot describe it.
        """
        from projbandits.deciding.explain import explain

        history = self.history()
        if isinstance(decision, str):
            decision = history.find(decision).decision
        elif not isinstance(decision, Decision):
            raise TypeError(f"decision must be a Decision or its id, got {decision!r}")
        elif decision.grounds is None:
            decision = history.find(decision.id).decision
        return explain(history.belief(), decision, arms)

    def audit(self, attributes: Any = None, by: str | None = None) -> Audit:
        """Show from the log whether the part that must not count had an influence.

        Four questions are answered apart, each with numbers, intervals and a verdict in words:
        `scores`, `choices`, `leak` and `exposure`; see `docs/audit.md`.

        Parameters
        ----------
        attributes : table, optional
            Attributes of the items that the decider never saw. Its index has the items' labels, or
            it has the columns of the features too, or the raw ones, by which rows are matched.
        by : str, optional
            A column of the context, or a key of what was noted with decisions (`meta`): exposure is
            counted apart for each of its values, such as the segment of the viewer. Numbers of many
            values are cut at their terciles.
        """
        from projbandits.audit.audit import audit

        if by is not None and not isinstance(by, str):
            raise TypeError(f"by must be a column of the context or a key of meta, got {by!r}")
        return audit(self.history(), attributes, by)

    def find_subspace(
        self, *, by: str, leave_out: int | None = None, seed: int = 0
    ) -> SubspaceEstimate:
        """Find U in the log: where the groups that outcomes came from disagree is left out.

        Nothing changes yet; pass the subspace that is found to `reconfigure`.

        Parameters
        ----------
        by : str
            The column of the context, or the key of `meta`, that names the group of a decision,
            such as the viewer's segment.
        leave_out : int, optional
            How many directions to leave out. By default as many as the likelihood asks for.
        seed : int
            For resampling.
        """
        from projbandits.deciding.finding import find_subspace

        return find_subspace(self.history(), by, leave_out, seed)

    def sensitivity(self, found: SubspaceEstimate) -> Sensitivity:
        """Say how often the best guess would differ if U were resampled, and for which decisions.

        Each decision in the log is looked at with what was on offer and believed at the time.

        Parameters
        ----------
        found : SubspaceEstimate
            What `find_subspace` found; its resampled subspaces are used.
        """
        from projbandits.deciding.finding import sensitivity

        return sensitivity(self.history(), found)

    def log(self) -> pd.DataFrame:
        """Return the decisions as a table, a row each; see `docs/deciding.md` for its columns.

        It has the arms and the belief of every decision: `iter_log` and `export` go through many
        decisions without holding all of them in memory.
        """
        from projbandits.deciding.log_table import whole_log

        return whole_log(self.history())

    def iter_log(self, chunk: int = EVENTS_AT_ONCE) -> Iterator[pd.DataFrame]:
        """Yield the log piece by piece, in the order in which decisions were recorded.

        Parameters
        ----------
        chunk : int
            About how many events are read at a time.
        """
        from projbandits.deciding.log_table import pieces

        return pieces(self.history(), integer("chunk", chunk, least=1))

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write the log to a Parquet file, piece by piece, and return how many decisions it has.

        `replay` reads it, and so does anything else that reads Parquet.
        """
        from projbandits.deciding import log_file

        return log_file.write(Path(path), self.history())

    def iter_export(self, file: Any) -> Iterator[int]:
        """Write the log to an open binary file, as `export` does, and yield the rows of each piece.

        The file is complete when nothing more is yielded.
        """
        from projbandits.deciding import log_file

        return log_file.written(file, self.history())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Copy everything to one SQLite file, which appears whole or not at all.

        `load` reads it; as a store (``sqlite:///PATH``, by the name ``decider``) it can be opened,
        too.
        """
        from projbandits.deciding import saving

        saving.save(self.history(), Path(path))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        strategy: LinearStrategy | Sequence[LinearStrategy] | None = None,
    ) -> Self:
        """Read a decider that `save` wrote.

        It knows what that one knew, and goes on with randomness and ids of its own in a temporary
        database. So any number of copies may be loaded from one file. A file that `save` cannot
        have written is refused, whoever wrote it.

        Parameters
        ----------
        path : path
            The file.
        strategy : LinearStrategy or list of them, optional
            The strategies it had, where they are not of the library with plain parameters.
        """
        from projbandits.deciding import saving

        return cls._of(saving.load(Path(path), check_all_suit(strategy)))

    def refresh(self) -> None:
        """Take into account what other processes did; whatever is asked of it does so by itself."""
        self.belief()

    def close(self) -> None:
        """Let go of the store's files and connections; another call opens them again."""
        self._here().close()

    def __reduce__(self) -> str:
        raise TypeError("a decider is not pickled or copied: save it, and load the file")

    def _repr_html_(self) -> str:
        # By name and only now: nothing here depends on how a notebook shows it.
        return str(importlib.import_module("projbandits.notebook").decider(self))

    def __repr__(self) -> str:
        known = self.belief()
        return (
            f"{type(self).__name__}({known.strategy!r}, {known.state.step - 1} decisions, "
            f"{known.open.count} pending, {known.state.ridge.n} observations)"
        )
