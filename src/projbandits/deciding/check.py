"""What a ledger promises, checked on one that is there."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from projbandits._blas import single_threaded_blas
from projbandits._validation import Array
from projbandits.exceptions import DamagedError
from projbandits.ledger.events import (
    Changed,
    Decayed,
    Decided,
    Event,
    Learnt,
    Opened,
    Outcome,
    Told,
    Withdrawn,
)
from projbandits.ledger.fold import DECISIONS, Known, learns_plainly
from projbandits.ledger.history import History, Record
from projbandits.ledger.reading import EVENTS_AT_ONCE

BELIEF_TOLERANCE = 1e-8
"""How far a belief may be from the ridge solution of the outcomes in its ledger."""

FORGOTTEN = 1e6
"""As many halvings leave nothing of a weight."""

SHOWN = 3
"""How many ids a finding names."""


class Finding(NamedTuple):
    """What was found about one promise.

    Parameters
    ----------
    promise : str
        What is promised.
    kept : bool or None
        Whether it is kept; None where that cannot be told.
    found : str
        The figures.
    """

    promise: str
    kept: bool | None
    found: str


@single_threaded_blas()
def check_promises(
    history: History,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Finding]:
    """Return what is found about the promises of a ledger.

    Every event is read and every decision is decided again, some thousands at a time.

    Parameters
    ----------
    history : History
        What to check.
    progress : callable
        Called with the number of events done and of all.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits.deciding.check import check_promises
    >>> U = pb.Subspace.coordinates([0], d=2)
    >>> decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0)
    >>> decider.tell(decider.ask([[1.0, 0.0], [0.5, 1.0]]).id, 1.0)
    >>> for finding in check_promises(decider.history()):
    ...     print(finding.promise, "|", finding.found)
    the chain holds | 4 events, each with the hash of those before; the head is 4:...
    snapshots follow from the events | 0 made again
    nothing is missing | 4 events at positions 1 to 4, in order
    nothing counts twice | 1 decisions with 1 ids, 1 of them told, none twice
    the belief is that of the outcomes | 1 observations, theta within ... of the ridge solution
    every decision can be made again | 1 decided again, 1 the same
    nobody shares randomness | 1 random streams in 1 sessions, each used once
    """
    last, tally, weights = history.position, _Tally(), _Weights()
    try:
        for position, event in history.events():
            tally.add(position, event)
            weights.add(position, event)
            if not position % EVENTS_AT_ONCE:
                progress(position, 2 * last)
    except DamagedError as error:
        return [Finding("the chain holds", False, str(error))]
    known = history.belief()
    sums, again = _Sums(known, tally.history, weights), _Again()
    for some in history.chunks():
        for record in some:
            sums.add(record.arm, *tally.fates.get(record.event.id, (0, None)))
            again.add(record)
        progress(last + some[-1].position, 2 * last)
    found = f"{last} events, each with the hash of those before; the head is {history.head}"
    return [
        Finding("the chain holds", True, found),
        _snapshots(history),
        tally.missing(last),
        tally.twice(),
        sums.finding(known),
        again.finding(),
        tally.sessions(),
    ]


def _snapshots(history: History) -> Finding:
    """Say whether each snapshot is what follows from the events, folded from the first one on."""
    wrong, kept = list[int](), history.snapshots()
    known: Known | None = None
    for position, snapshot in kept:
        if snapshot is None:
            wrong.append(position)
            continue
        known = history.folded(known, position)
        if not _same(snapshot, known):
            wrong.append(position)
    found = f"{len(kept)} made again"
    if wrong:
        found += f"; not those at {wrong[:SHOWN]}, remove them: they only save time"
    return Finding("snapshots follow from the events", not wrong, found)


def _same(one: Known, other: Known) -> bool:
    """Tell whether two beliefs say the same, to rounding."""
    mine, theirs = one.state, other.state
    return (
        repr(one[1:4]) == repr(other[1:4])
        and one.columns == other.columns
        and one.half_life == other.half_life
        and (mine.step, mine.ridge.n) == (theirs.step, theirs.ridge.n)
        and [at for at, _ in one.open.rows] == [at for at, _ in other.open.rows]
        and one.open.listed[1] == other.open.listed[1]
        and _near(one.open.listed[0], other.open.listed[0])
        and _near(one.subspace.matrix, other.subspace.matrix)
        and _near(np.abs(mine.ridge.factor), np.abs(theirs.ridge.factor))
        and _near(mine.ridge.theta, theirs.ridge.theta)
        and (mine.effects is None) == (theirs.effects is None)
        and (mine.effects is None or _near(mine.effects.table, theirs.effects.table))
    )


def _near(one: Array, other: Array) -> bool:
    scale = max(1.0, float(np.abs(other).max(initial=0.0)))
    return one.shape == other.shape and bool((np.abs(one - other) <= 1e-8 * scale).all())


class _Tally:
    """Counts what is in a ledger, event by event."""

    def __init__(self) -> None:
        self.events = self.gaps = self.decisions = self.ahead = 0
        self.ids = dict[str, int]()
        self.told = dict[str, int]()
        self.unknown = 0
        # By id, the place of the first report and the outcome in force: as of the last event that
        # is looked at, since others may be adding more.
        self.fates = dict[str, tuple[int, float | None]]()
        self.streams = set[tuple[int, int]]()
        self.shared = 0
        self.history = list[tuple[int, Learnt]]()
        self._last: int | None = None

    def add(self, position: int, event: Event) -> None:
        self.events += 1
        self.gaps += self._last is not None and position != self._last + 1
        self._last = position
        if isinstance(event, Decided):
            self.decisions += 1
            self.ids[event.id] = self.ids.get(event.id, 0) + 1
            stream = event.session, event.draw
            self.shared += stream in self.streams
            self.streams.add(stream)
            self.ahead += event.step != self.decisions
        elif isinstance(event, Outcome):
            self.unknown += event.id not in self.ids
            place, _ = self.fates.get(event.id, (position, None))
            outcome = None if isinstance(event, Withdrawn) else event.outcome
            if event.id in self.fates or outcome is not None:
                self.fates[event.id] = place, outcome
            if isinstance(event, Told):
                self.told[event.id] = self.told.get(event.id, 0) + 1
        elif isinstance(event, Learnt):
            self.history.append((position, event))

    def missing(self, last: int) -> Finding:
        kept = self.gaps == 0 and self.events == last and not self.unknown
        found = f"{self.events} events at positions 1 to {last}, in order"
        if not kept:
            found = (
                f"{self.events} events up to position {last}: {self.gaps} gaps, "
                f"{self.unknown} outcomes of unknown decisions"
            )
        return Finding("nothing is missing", kept, found)

    def twice(self) -> Finding:
        again = [id for counts in (self.ids, self.told) for id, n in counts.items() if n > 1]
        found = (
            f"{self.decisions} decisions with {len(self.ids)} ids, {len(self.told)} of them told"
        )
        return Finding(
            "nothing counts twice", not again, f"{found}, {_named(again) or 'none'} twice"
        )

    def sessions(self) -> Finding:
        sessions = len({session for session, _ in self.streams})
        found = f"{len(self.streams)} random streams in {sessions} sessions, each used once"
        if self.shared or self.ahead:
            found = f"{self.shared} random streams used again, {self.ahead} decisions out of step"
        return Finding("nobody shares randomness", not self.shared + self.ahead, found)


class _Weights:
    """What is left of the weight of an outcome, by its position: halvings since the beginning."""

    def __init__(self) -> None:
        self._half_life: tuple[Any, ...] = ()
        self._clock = -math.inf
        self._halvings = 0.0
        self._at, self._were = array("q"), array("d")

    def add(self, position: int, event: Event) -> None:
        before = self._halvings
        time = max(self._clock, getattr(event, "time", self._clock))
        if self._half_life and self._half_life[1] == DECISIONS:
            self._halvings += isinstance(event, Decided) / self._half_life[0]
        elif self._half_life:
            self._halvings += (time - self._clock) / self._half_life[0]
        if self._half_life:
            self._clock = time
        if isinstance(event, Opened | Changed) and event.half_life is not None:
            self._half_life, self._clock = event.half_life, time
        elif isinstance(event, Decayed):
            self._halvings += FORGOTTEN if event.by == 0.0 else -math.log2(event.by)
        if self._halvings != before:
            self._at.append(position)
            self._were.append(self._halvings)

    def of(self, position: int) -> float:
        """Return the weight that an outcome which was learnt at a position has at the end."""
        i = bisect_right(self._at, position)
        return float(2.0 ** ((self._were[i - 1] if i else 0.0) - self._halvings))


class _Sums:
    """Adds up observations, apart from the library's own fold, and solves for theta."""

    def __init__(
        self, known: Known, events: Iterable[tuple[int, Learnt]], weights: _Weights
    ) -> None:
        d = known.subspace.ambient
        self._intercept = known.intercept
        self.n, self._factor = 0, np.zeros((0, d + 1 + known.intercept))
        self._weights = weights
        self._rows = list[Array]()
        on_projections = known.strategy.learns_on == "projection"
        self._project = known.state.projection if on_projections else None
        for position, event in events:
            for x, outcome in zip(event.X, event.outcomes, strict=True):
                self._observe(x, outcome, position)

    def add(self, arm: Array, position: int, outcome: float | None) -> None:
        if outcome is not None:
            self._observe(arm, outcome, position)

    def _observe(self, x: Array, outcome: float, position: int) -> None:
        self.n += 1
        kept = x if self._project is None else x @ self._project
        ones = [1.0] * self._intercept
        row = np.concatenate([ones, kept, [outcome]])
        self._rows.append(math.sqrt(self._weights.of(position)) * row)
        if len(self._rows) >= 4096:
            self._fold()

    def _fold(self) -> None:
        self._factor = np.asarray(np.linalg.qr(np.vstack([self._factor, *self._rows]), mode="r"))
        self._rows = []

    def finding(self, known: Known) -> Finding:
        promise = "the belief is that of the outcomes"
        ridge = known.state.ridge
        if not learns_plainly(known.strategy):
            return Finding(promise, None, f"{known.strategy!r} does not learn by a ridge alone")
        self._fold()
        X, r = self._factor[:, :-1], self._factor[:, -1]
        penalty = math.sqrt(ridge.penalty) * np.eye(ridge.d, X.shape[1], int(self._intercept))
        padded = np.concatenate([r, np.zeros(ridge.d)])
        direct = np.linalg.lstsq(np.vstack([X, penalty]), padded, rcond=None)[0]
        direct = direct[int(self._intercept) :]  # the level has no penalty
        away = float(np.abs(direct - ridge.theta).max() / max(1.0, np.abs(direct).max()))
        found = f"{ridge.n} observations, theta within {away:.1e} of the ridge solution"
        if ridge.n != self.n:
            found += f"; the ledger has {self.n}"
        return Finding(promise, bool(away <= BELIEF_TOLERANCE) and ridge.n == self.n, found)


class _Again:
    """Decides everything again."""

    def __init__(self) -> None:
        self.same, self.lost = 0, 0
        self.others = list[str]()

    def add(self, record: Record) -> None:
        event = record.event
        try:
            choice = record.decide_again()
        except ValueError:
            self.lost += 1
            return
        p, q = choice.probability, event.propensity
        fits = choice.index == event.index and (p == q or (math.isnan(p) and math.isnan(q)))
        if fits and choice.arm.x.tobytes() == record.arm.tobytes():
            self.same += 1
        else:
            self.others.append(event.id)

    def finding(self) -> Finding:
        found = f"{self.same + len(self.others)} decided again, {self.same} the same"
        if self.others:
            found += f"; not {_named(self.others)}"
        if self.lost:
            found += f"; of {self.lost} the set of arms could not be described"
        return Finding("every decision can be made again", not self.others, found)


def _named(ids: list[str]) -> str:
    shown = ", ".join(map(repr, ids[:SHOWN]))
    return f"{shown} and {len(ids) - SHOWN} more" if len(ids) > SHOWN else shown
