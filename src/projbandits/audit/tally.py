"""One pass over the decisions of a log: everything that an audit counts and sums up."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from projbandits._validation import Array
from projbandits.arms import FiniteArms
from projbandits.audit.exposure import Exposed
from projbandits.audit.offered_items import OfferedItems
from projbandits.audit.protected import Protected, along
from projbandits.audit.redecide import Case, DecidedAgain, decided
from projbandits.audit.sample import DECIDED_AGAIN, Made
from projbandits.audit.segments import Segments
from projbandits.ledger.fold import Known
from projbandits.ridge import Ridge

SELECTED_AGAIN = 1000
"""About how many decisions are decided again by `select`."""

SUMMED_AT_ONCE = 4096
"""How many outcomes are summed up at a time."""


class Outcomes:
    """The outcomes in a log, on whole arms, as a ridge.

    Parameters
    ----------
    ridge : Ridge
        To begin with.
    """

    def __init__(self, ridge: Ridge) -> None:
        self._ridge = ridge
        self._told: list[tuple[Array, float]] = []

    def add(self, one: Made) -> None:
        """Add the outcome of a decision, if it has one."""
        if one.told:
            self._told.append((one.arm, one.outcome))
            if len(self._told) >= SUMMED_AT_ONCE:
                self._learn()

    @property
    def ridge(self) -> Ridge:
        """What follows from all of them."""
        self._learn()
        return self._ridge

    def _learn(self) -> None:
        if self._told:
            X, outcomes = zip(*self._told, strict=True)
            self._ridge = self._ridge.update_many(np.array(X), np.array(outcomes))
            self._told = []


class Gathered:
    """What the decisions of a log add up to.

    Parameters
    ----------
    known : Known
        What is known now.
    items : OfferedItems
        All that was ever on offer.
    protected : Protected
        What must not count.
    theta : ndarray of shape (d,)
        What returns are believed to follow today, the protected part's effect included.
    segments : Segments or None
        Tells the segment of what came with a decision.
    """

    def __init__(
        self,
        known: Known,
        items: OfferedItems,
        protected: Protected,
        theta: Array,
        segments: Segments | None = None,
    ) -> None:
        d = known.subspace.ambient
        self.known, self.items, self.protected, self.theta = known, items, protected, theta
        self.aim = theta if known.strategy.aims_at == "return" else known.subspace.project(theta)
        self.pieces = np.array([*protected.pieces.values()]).reshape(-1, d)
        self._outcomes = Outcomes(Ridge.prior(d, intercept=known.intercept))
        self.exposed = Exposed(len(items.vectors), segments)
        self.decisions = self.cases = self.guesses = 0
        self.left_out = {"too many": 0, "infinite": 0, "other subspace": 0, "not drawn": 0}
        self.learnt = False
        self.largest = self.moved = self.varied = 0.0
        self.lost = np.zeros(3)
        self.spread = np.zeros((d, d))
        self.weighed = list[DecidedAgain]()
        self.late: list[bool] = []
        # For each piece: the sums of r, of its adjusted square and of the square of that.
        self.followed = np.zeros((4, len(self.pieces)))
        self._rng = np.random.default_rng(0)
        looked = min(known.state.step - 1, DECIDED_AGAIN)
        self._weigh = min(1.0, SELECTED_AGAIN / max(looked, 1))
        self._middle = known.state.step / 2

    def add_all(self, decisions: Iterable[Made]) -> None:
        """Add decisions."""
        for one in decisions:
            self._add(one)

    def _add(self, one: Made) -> None:
        self.decisions += 1
        self._outcomes.add(one)
        if one.rows is None or one.chosen is None:
            self.left_out["infinite" if one.chosen is None else "too many"] += 1
            return
        grounds = one.grounds
        kind = None
        if grounds is None:
            self.left_out["not drawn"] += 1
        elif not np.array_equal(grounds.state.projection, self.known.state.projection):
            self.left_out["other subspace"] += 1
        else:
            assert isinstance(grounds.arms, FiniteArms)
            others = self.items.drawn(self._rng, grounds.arms.size)
            swapped = self.protected.swapped(grounds.arms.vectors, others)
            case = Case.of(grounds, grounds.arms, swapped, one.chosen)
            self._look(case)
            kind = "explored" if case.explored else "best guess"
            if self._rng.random() < self._weigh:
                self.weighed.append(decided(case, one.stream))
                self.late.append(grounds.state.step > self._middle)
        self.exposed.add(one.rows, one.chosen, one.segment, kind)

    def _look(self, case: Case) -> None:
        """Record what changed with another protected part, and what the choice cost."""
        X, K = case.arms.vectors, case.arms.size
        self.cases += 1
        self.learnt |= case.grounds.state.ridge.n > 0
        moved = case.moved
        if moved:
            self.largest = max(self.largest, moved)
            self.guesses += case.guess_changed
            self.moved += float(np.square(case.after - case.before).mean()) / 2
        centred = X - X.mean(axis=0)
        self.spread += centred.T @ centred / K
        scores = case.before - case.before.mean()
        square = float(scores @ scores)
        self.varied += square / K
        returns, wants = (X @ np.column_stack([self.theta, self.aim])).T + case.own
        wanted, best = returns[int(wants.argmax())], returns[case.guess]
        self.lost += returns.max() - wanted, wanted - best, best - returns[case.chosen]
        if K > 2 and len(self.pieces) and square > (K * case.rounding) ** 2:
            values = centred @ self.pieces.T
            squares = np.einsum("ij,ij->j", values, values)
            r = np.divide(
                scores @ values, np.sqrt(square * squares), out=np.zeros(len(squares)),
                where=squares > 0,
            )  # fmt: skip
            # By chance r^2 is 1 / (K - 1) on average, whatever the scores are.
            extra = np.where(squares > 0, (r * r - 1 / (K - 1)) / (1 - 1 / (K - 1)), 0.0)
            self.followed += np.array([r, extra, extra * extra, squares > 0])

    @property
    def log(self) -> Ridge:
        """The outcomes in the log."""
        return self._outcomes.ridge

    def values(self, piece: str) -> Array:
        """Return a protected piece of every item."""
        return along(self.protected.pieces[piece], self.items.vectors)
