"""Decide online: ask for a choice, tell its outcome whenever it is known."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from projbandits._checks import LARGEST_SEED, Array, integer, positive, real_vector
from projbandits._files import write_whole
from projbandits.arms import Arm, DecisionSet, FiniteArms
from projbandits.online import offers
from projbandits.online.decision import Decision, Grounds
from projbandits.online.eligibility import check_suits
from projbandits.online.identifiability import warn_of_what_is_left_out
from projbandits.online.journal import Journal
from projbandits.online.limits import check_reward
from projbandits.online.merging import check_mergeable, common_origin
from projbandits.online.outcomes import Outcomes
from projbandits.ridge import Ridge
from projbandits.strategies import EIIDS, LinearStrategy, State
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    import pandas as pd

    from projbandits.online.audit import Audit
    from projbandits.online.explaining import Explanation

DEFAULT: LinearStrategy = EIIDS()
"""The strategy of a decider that is given none."""

KEPT = 100_000
"""An offer of more numbers than this is looked at where it is, and not kept."""

CHUNK = 65_536
"""History is learnt from by so many rows at a time."""


class Decider:
    """Chooses among what is on offer, and learns from outcomes as they come.

    All methods may be called from several threads.

    Parameters
    ----------
    strategy : LinearStrategy, optional
        Who decides.
    subspace : Subspace
        The part of the features that counts.
    seed : int, optional
        Where its randomness comes from; fresh by default.
    log : bool
        Whether to keep each decision with what was offered and believed, for `log`, `audit`, and
        `explain` by id. Without it memory does not grow with what was told.

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
        subspace: Subspace,
        seed: int | None = None,
        log: bool = False,
    ) -> None:
        strategy = check_suits(DEFAULT if strategy is None else strategy)
        if not isinstance(subspace, Subspace):
            raise TypeError(f"subspace must be a Subspace, got {subspace!r}: see pb.Subspace")
        if seed is not None:
            seed = integer("seed", seed, least=0, most=LARGEST_SEED)
        self.strategy = strategy
        self.subspace = subspace
        names = subspace.names
        self.columns: tuple[str, ...] | None = None if names is None else tuple(map(str, names))
        self._state: State = strategy.init(FiniteArms(np.eye(subspace.ambient)), subspace)
        self._rng = np.random.default_rng(seed)
        self._lock = threading.RLock()
        self._outcomes = Outcomes(log)
        self._sources = {self._outcomes.name}
        self._span_checked = False
        self._last: offers.Offer | None = None

    @property
    def ridge(self) -> Ridge:
        """The estimate of theta and all that follows from it."""
        return self._state.ridge

    @property
    def steps(self) -> int:
        """How many decisions were made, by it and by those merged into it."""
        return self._state.step - 1

    @property
    def pending(self) -> tuple[Decision, ...]:
        """The decisions whose outcome was not told, in the order in which they were made."""
        with self._lock:
            return tuple(Decision(*lean) for lean in self._outcomes.pending.values())

    @overload
    def ask(self, arms: Any) -> Decision: ...
    @overload
    def ask(self, arms: Any, *, count: int) -> list[Decision]: ...
    def ask(self, arms: Any, *, count: int | None = None) -> Decision | list[Decision]:
        """Choose one of the arms on offer, or several one after another.

        Parameters
        ----------
        arms : array of shape (K, d), DataFrame, or DecisionSet
            What is on offer now; it may change with every call. Columns are matched by name.
        count : int, optional
            How many distinct arms to choose. Each is a decision of its own, made among those that
            the ones before left, and its propensity is given them.

        Returns
        -------
        Decision, or list of Decision if `count` is given
        """
        slots = 1 if count is None else integer("count", count, least=1)
        with self._lock:
            penalty = self._state.ridge.penalty
            offered, columns = offers.read("arms", arms, self.subspace, self.columns, penalty)
            offers.check_slots(offered, slots)
            last = self._last
            if isinstance(offered, offers.Offer) and offered.vectors.size <= KEPT:
                # The same arms as last time have the same D_k, which takes time to find.
                if last is None or not offered.same(last):
                    last = offered.owned()
                offered = last
            if not self._span_checked:
                warn_of_what_is_left_out(offered, self._learnt_rows(), self.subspace, columns)
            decisions = self._choose(offered, columns, slots)
            self._last, self._span_checked = last, True
        return decisions[0] if count is None else decisions

    def _learnt_rows(self) -> Array:
        """Return rows that span the arms learnt from, unless only their projections are known."""
        rows = self._state.ridge.factor[:-1, :-1]
        return rows if self.strategy.learns_on == "arm" else rows[:0]

    def _choose(
        self, offered: DecisionSet, columns: tuple[str, ...] | None, slots: int
    ) -> list[Decision]:
        """Decide, and only then change anything; a strategy that fails leaves all as it was."""
        before = self._rng.bit_generator.state
        kept = not isinstance(offered, FiniteArms) or offered.vectors.size <= KEPT
        state, decisions, taken = self._state, [], list[int]()
        try:
            for slot in range(slots):
                left, rows = offered, None
                if taken and isinstance(offered, offers.Offer):
                    left, rows = offered.without(taken)
                grounds = (left if kept else None), tuple(taken), columns
                choice = self.strategy.select(state, left, self._rng)
                index = choice.index
                if index is not None:
                    index = index if rows is None else int(rows[index])
                    taken.append(index)
                x = choice.arm.x.copy()
                x.flags.writeable = False  # it is learnt from when the outcome comes
                estimate, error = state.ridge.projected(state.projection, x)
                decisions.append(
                    Decision(
                        self._outcomes.id(self._outcomes.given + slot + 1),
                        index,
                        x,
                        choice.probability,
                        float(estimate),
                        float(error),
                        state.step,
                        time.time(),
                        Grounds(self.strategy, state, *grounds),
                    )
                )
                state = state._replace(step=state.step + 1)
        except BaseException:
            self._rng.bit_generator.state = before
            raise
        self._state, self.columns = state, self.columns or columns
        self._outcomes.expect(decisions)
        return decisions

    def tell(self, id: str | Decision, reward: float) -> None:
        """Report the outcome of a decision, in any order and any time later.

        Telling the same again is harmless; another value is an error, and changes nothing.

        Parameters
        ----------
        id : str or Decision
            Which decision.
        reward : float
            What was observed.
        """
        self.tell_many([(id, reward)])

    def tell_many(
        self, outcomes: Mapping[str, float] | pd.Series | Iterable[tuple[str | Decision, float]]
    ) -> None:
        """Report many outcomes: all of them, or, on an error, none.

        Parameters
        ----------
        outcomes : mapping or Series of rewards by id, or pairs of id and reward
        """
        with self._lock:
            new = self._outcomes.news(outcomes)
            state = self._state
            for key, value in new.items():
                _, index, x, *_ = self._outcomes.pending[key]
                state = self.strategy.update(state, Arm(x, index), value)
            # An update counts as a step to a strategy; here steps are decisions.
            self._state = state._replace(step=self._state.step)
            self._outcomes.settle(new, self.steps)

    def learn(self, features: Any, rewards: npt.ArrayLike) -> None:
        """Learn from history that was not decided here, one observation a row.

        It changes the belief, not the number of decisions made.
        """
        with self._lock:
            ridge = self._state.ridge
            X, columns = offers.read_rows("features", features, self.columns, ridge.penalty)
            if X.shape[1] != self.subspace.ambient:
                raise ValueError(
                    f"features must have {self.subspace.ambient} columns, got {X.shape[1]}"
                )
            r = real_vector("rewards", rewards, len(X))
            if len(r):
                largest = int(np.abs(r).argmax())
                check_reward(f"rewards[{largest}]", float(r[largest]))
            for start in range(0, len(X), CHUNK):
                some: Array = X[start : start + CHUNK]
                if self.strategy.learns_on == "projection":
                    some = some @ self._state.projection
                ridge = ridge.update_many(some, r[start : start + CHUNK])
            self._state, self.columns = self._state._replace(ridge=ridge), columns

    def merge(self, *others: Decider) -> None:
        """Add what other deciders learnt, to the belief that one would have from all of it.

        Their numbers of decisions are added too; what they have pending stays with them. What two
        deciders have in common (one was merged into the other, or both were loaded from one file)
        would count twice, and is refused.
        """
        learnt, columns = [], self.columns
        for other in others:
            check_mergeable(self, other, columns)
            with other._lock:
                columns = columns or other.columns
                learnt.append((other._state, set(other._sources)))
        with self._lock:
            state, sources = self._state, set(self._sources)
            for theirs, origins in learnt:
                if sources & origins:
                    raise common_origin(sources & origins)
                sources |= origins
                state = state._replace(
                    step=state.step + theirs.step - 1, ridge=state.ridge.merge(theirs.ridge)
                )
            self._state, self._sources, self.columns = state, sources, columns

    def explain(self, decision: str | Decision, arms: Any = None) -> Explanation:
        """Say why an arm was chosen: each arm's score, what counted in it and what was ignored.

        Parameters
        ----------
        decision : Decision or str
            A decision, or its id if the log is kept.
        arms : optional
            What was on offer, all of it, where that was not kept.
        """
        from projbandits.online.explaining import explain

        with self._lock:
            if isinstance(decision, str):
                decision = self._logged().decision(decision, self)
            elif not isinstance(decision, Decision):
                raise TypeError(f"decision must be a Decision or its id, got {decision!r}")
            elif decision.grounds is None and self._outcomes.journal is not None:
                decision = self._outcomes.journal.decision(decision.id, self)
        return explain(self, decision, arms)

    def audit(self) -> Audit:
        """Show from the log whether the part that must not count played a role."""
        from projbandits.online.audit import audit

        with self._lock:
            entries = self._logged().all_entries(self)
        return audit(self, entries)

    def log(self) -> pd.DataFrame:
        """Return the decisions as a table, a row each; see `docs/deciding.md` for its columns."""
        with self._lock:
            journal = self._logged().copy()
        return journal.table(self)

    def spill(self, path: str | os.PathLike[str]) -> None:
        """Move the decisions that were told from memory to a Parquet file, which `log` reads."""
        with self._lock:
            self._logged().spill(self, path)

    def _logged(self) -> Journal:
        if self._outcomes.journal is None:
            raise ValueError("this decider keeps no log: make it with Decider(..., log=True)")
        return self._outcomes.journal

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, which appears whole or not at all.

        It is a zip of plain arrays and JSON (numpy's npz), without pickle.
        """
        from projbandits.online import saving

        with self._lock:
            content = saving.pack(self)
        write_whole(Path(path), content)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        strategy: LinearStrategy | None = None,
        *,
        largest: float = 2.0**32,
    ) -> Decider:
        """Read a decider that `save` wrote; it goes on exactly where that one was.

        A file that `save` cannot have written is refused, whoever wrote it.

        Parameters
        ----------
        path : path
            The file.
        strategy : LinearStrategy, optional
            The strategy it had, where that is not one of the library with plain parameters.
        largest : float
            How many bytes of memory its log may take, and each spilled file of it: a small file
            can hold very much.
        """
        from projbandits.online import saving

        return saving.load(path, strategy, positive("largest", largest))

    def __reduce__(self) -> str:
        raise TypeError("a decider is not pickled or copied: save it, and load the file")

    def __repr__(self) -> str:
        return (
            f"Decider({self.strategy!r}, {self.steps} decisions, "
            f"{len(self._outcomes.pending)} pending, {self.ridge.n} observations)"
        )
