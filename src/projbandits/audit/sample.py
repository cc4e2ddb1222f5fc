"""The decisions of a log, gone through once: all that an audit counts and sums up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from projbandits._validation import Array
from projbandits.arms import FiniteArms
from projbandits.audit.choices import Rerun, rerun
from projbandits.audit.exposure import Counts, segmented
from projbandits.audit.items import OfferedItems
from projbandits.audit.protected import SCORE_ROUNDING, Protected
from projbandits.features.contexts import noted
from projbandits.ledger.decision import Grounds
from projbandits.ledger.history import History, Record
from projbandits.ledger.offer import Offer
from projbandits.ridge import Ridge

DECIDED_AGAIN = 3000
"""If there are more decisions, the scores of about this many are looked at; all are counted."""

SELECTED_AGAIN = 1000
"""About how many decisions are decided again by `select`."""

Progress = Callable[[int, int], object]


class Case(NamedTuple):
    """A decision beside itself with other protected parts.

    Parameters
    ----------
    grounds : Grounds
        What it rested on.
    arms, others : FiniteArms
        The arms on offer, and the same with other protected parts.
    before, after : ndarray of shape (K,)
        The scores of both.
    longest : float
        The length of the longest arm of both.
    rounding : float
        Scores that differ by no more are the same.
    chosen : int
        The place of the choice.
    """

    grounds: Grounds
    arms: FiniteArms
    others: FiniteArms
    before: Array
    after: Array
    longest: float
    rounding: float
    chosen: int

    @classmethod
    def of(cls, grounds: Grounds, arms: FiniteArms, swapped: Array, chosen: int) -> Case:
        """Return a decision beside itself with the arms swapped."""
        aim, others = grounds.strategy.aim(grounds.state), Offer(swapped, arms.columns)
        before, after = (each.scores(aim) + grounds.own for each in (arms, others))
        squares = (np.einsum("ij,ij->i", X, X).max() for X in (arms.vectors, swapped))
        longest = float(np.sqrt(max(squares)))
        rounding = SCORE_ROUNDING * longest * float(np.linalg.norm(grounds.state.ridge.theta))
        return cls(grounds, arms, others, before, after, longest, rounding, chosen)

    @property
    def guess(self) -> int:
        """The place of the best guess."""
        return int(self.before.argmax())

    @property
    def moved(self) -> float:
        """The largest change of a score; one that rounding can make is none."""
        moved = float(np.abs(self.after - self.before).max())
        return moved if moved > self.rounding else 0.0


class Sample:
    """What the decisions of a log add up to.

    Parameters
    ----------
    history : History
        The log.
    items : OfferedItems
        All arms that were ever on offer.
    protected : Protected
        What must not count.
    by : str or None
        What makes segments of decisions.
    progress : callable, optional
        Called with the number of decisions gone through and that of all, about a hundred times.
    """

    def __init__(
        self,
        history: History,
        items: OfferedItems,
        protected: Protected,
        by: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.known = known = history.belief()
        d, ridge = known.subspace.ambient, known.state.ridge
        self.items, self.protected = items, protected
        self.log, noted_by, self.decisions = Ridge.prior(d, intercept=known.intercept), [], 0
        for records in history.chunks():
            told = [record for record in records if record.told]
            X, outcomes = [record.arm for record in told], [record.outcome for record in told]
            self.log = self.log.update_many(np.reshape(X, (-1, d)), np.array(outcomes))
            self.decisions += len(records)
            if by is not None:
                notes = ((record.event.context, record.event.meta) for record in records)
                noted_by += [noted(by, *each) for each in notes]
        segments, self.segments = segmented(by, noted_by)
        # Of a strategy that learns on projections, what it believes of whole arms is not known.
        whole = known.strategy.learns_on == "arm"
        self.theta = (ridge if whole else replace(self.log, penalty=ridge.penalty)).theta
        wanted = known.strategy.aims_at == "projection"
        self.aim = known.subspace.project(self.theta) if wanted else self.theta
        self.pieces = np.array([*protected.pieces.values()]).reshape(-1, d)

        self.counts = Counts(len(items.vectors))
        self.left_out = {"infinite": 0, "other subspace": 0, "not drawn": 0}
        self.learnt, self.cases = False, 0
        self.guess_changed, self.reruns = list[bool](), list[Rerun]()
        self.largest = self.moved = self.varied = 0.0
        self.lost, self.spread = np.zeros(3), np.zeros((d, d))
        # For each piece: the sums of r, of its adjusted square and of the square of that, and how
        # many there are.
        self.followed = np.zeros((4, len(self.pieces)))
        looked, self._rng = np.random.default_rng(0), np.random.default_rng(0)
        share = DECIDED_AGAIN / max(self.decisions, DECIDED_AGAIN)
        self._again = min(1.0, SELECTED_AGAIN / max(min(self.decisions, DECIDED_AGAIN), 1))
        often = max(self.decisions // 100, 1)
        for done, record in enumerate(history):
            if progress is not None and done % often == 0:
                progress(done, self.decisions)
            self._add(record, looked.random() < share, segments[done] if segments else None)
        if progress is not None:
            progress(self.decisions, self.decisions)

    def _add(self, record: Record, looked: bool, segment: str | None) -> None:
        rows, chosen, kind = record.rows, record.place, None
        if rows is None or chosen is None:
            self.left_out["infinite"] += 1
            return
        state = record.grounds.state if looked else None
        if state is None:
            self.left_out["not drawn"] += 1
        elif not np.array_equal(state.projection, self.known.state.projection):
            self.left_out["other subspace"] += 1
        else:
            arms = record.grounds.arms
            assert isinstance(arms, FiniteArms)
            others = self.items.drawn(self._rng, arms.size)
            swapped = self.protected.swapped(arms.vectors, others)
            case = Case.of(record.grounds, arms, swapped, chosen)
            self._look(case)
            kind = "best guess" if chosen == case.guess else "explored"
            if self._rng.random() < self._again:
                late = state.step > self.known.state.step / 2
                self.reruns.append(rerun(case, record.stream, late))
        self.counts.add(rows, chosen, segment, kind)

    def _look(self, case: Case) -> None:
        """Record the changes by another protected part, and what the choice cost."""
        X, K, before = case.arms.vectors, case.arms.size, case.before
        self.cases += 1
        self.learnt |= case.grounds.state.ridge.n > 0
        moved = case.moved
        now = before[int(case.after.argmax())]
        self.guess_changed.append(bool(moved and now < before.max() - case.rounding))
        if moved:
            self.largest = max(self.largest, moved)
            self.moved += float(np.square(case.after - before).mean()) / 2
        centred, scores = X - X.mean(axis=0), before - before.mean()
        self.spread += centred.T @ centred / K
        square = float(scores @ scores)
        self.varied += square / K
        returns, wants = (X @ np.column_stack([self.theta, self.aim])).T + case.grounds.own
        wanted, best = returns[int(wants.argmax())], returns[case.guess]
        self.lost += returns.max() - wanted, wanted - best, best - returns[case.chosen]
        if K > 2 and len(self.pieces) and square > (K * case.rounding) ** 2:
            values = centred @ self.pieces.T
            squares = np.einsum("ij,ij->j", values, values)
            varies = squares > 0
            r = scores @ values / np.sqrt(square * np.where(varies, squares, 1.0))
            # By chance r^2 is 1 / (K - 1) on average, whatever the scores are.
            extra = np.where(varies, (r * r - 1 / (K - 1)) / (1 - 1 / (K - 1)), 0.0)
            self.followed += np.array([np.where(varies, r, 0.0), extra, extra * extra, varies])
