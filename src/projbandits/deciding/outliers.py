"""Outcomes that lie far from all others: typing errors, and codes for a missing value.

Least squares follow one such outcome far. The check changes no belief: each process compares an
outcome with a few hundred that it was told before, and warns. The first ones it compares with the
outcomes behind the belief that it found in its store or file.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from projbandits._validation import Array, outside
from projbandits.ridge import Ridge

FAR = 50.0
"""An outcome this many deviations from the median of the others is far from them..."""

BEYOND = 10.0
"""... if it is also so many times as far as the others reach: a decider that found the best arm
sees little else, and what it explores then lies many deviations away, but not farther than before.
"""

LEAST = 20
"""Among fewer outcomes nothing is said."""

KEPT = 512
"""How many outcomes are remembered."""

TAIL = 0.1
"""The share of outcomes, those farthest from the median, that the deviation leaves out."""

NAMED = 5
"""How many outcomes one warning names."""


class Spread(NamedTuple):
    """The median of outcomes, their typical deviation from it, and how far they reach."""

    median: float
    scale: float
    reach: float

    @classmethod
    def of(cls, values: Array) -> Spread:
        """Return the spread of outcomes, which a few that lie far off do not change.

        The scale is half of the largest deviation from the median, the farthest tenth left out:
        0.8 standard deviations where outcomes are normal. Where that is zero, as with rare clicks,
        it is the median of the deviations that are not zero, the farthest left out; where there is
        none, the size of the median, or 1. The reach is the largest deviation of all outcomes but
        a fiftieth, and at least one.

        Examples
        --------
        >>> import numpy as np
        >>> from projbandits.deciding.outliers import Spread
        >>> Spread.of(np.r_[np.linspace(-1.0, 1.0, 99), -999.0]).scale < 0.6
        True
        >>> Spread.of(np.r_[np.zeros(399), 1.0])
        Spread(median=0.0, scale=1.0, reach=0.0)
        """
        median = float(np.median(values))
        away = np.sort(np.abs(values - median))
        scale = 0.5 * float(away[: len(away) - max(1, int(TAIL * len(away)))][-1])
        if scale == 0.0:
            others = away[:-1][away[:-1] > 0.0]
            scale = float(np.median(others)) if len(others) else max(abs(median), 1.0)
        return cls(median, scale, float(away[-1 - max(1, len(away) // 50)]))

    @classmethod
    def behind(cls, ridge: Ridge) -> Spread | None:
        """Return mean and standard deviation of the outcomes behind an estimate, None of too few.

        Examples
        --------
        >>> import numpy as np
        >>> import projbandits as pb
        >>> from projbandits.deciding.outliers import Spread
        >>> ridge = pb.Ridge.prior(d=1, intercept=True)
        >>> ridge = ridge.update_many(np.ones((20, 1)), [6.0, 8.0] * 10)
        >>> [float(round(number, 9)) for number in Spread.behind(ridge)]
        [7.0, 1.0, 0.0]
        """
        outcomes, weight = ridge.told.factor[:, -1], ridge.weight
        if ridge.n < LEAST or weight < 1.0:
            return None
        middle = 0.0
        if ridge.intercept:
            middle = float(ridge.told.factor[:, 0] @ outcomes) / weight
        scale = math.sqrt(max(float(outcomes @ outcomes) / weight - middle**2, 0.0))
        middle += ridge.first if ridge.intercept else 0.0
        return cls(middle, scale if scale > 0.0 else max(abs(middle), 1.0), 0.0)

    @property
    def bound(self) -> float:
        """The deviation from which on an outcome is far."""
        return max(FAR * self.scale, BEYOND * self.reach)

    def far(self, value: float) -> bool:
        """Tell whether an outcome is far from those of which this is the spread."""
        return abs(value - self.median) > self.bound


class Outliers:
    """Compares outcomes with those that were told before, and warns of each that is far off once.

    Parameters
    ----------
    begun : Spread, optional
        That of outcomes which other processes were told.

    Examples
    --------
    >>> import warnings
    >>> from projbandits.deciding.outliers import Outliers
    >>> seen = Outliers()
    >>> seen.look([(f"film {i}", i % 5.0) for i in range(20)])
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     seen.look([("film 20", -999.0)])
    >>> str(said[0].message)[:54]
    "the outcome of 'film 20' is -999, 1,001 deviations off"
    """

    def __init__(self, begun: Spread | None = None) -> None:
        self._ids = list[str | None]()
        self._values = list[float]()
        self._seen = 0
        self._due = LEAST
        self._spread = begun
        self._said = set[str]()
        self._far = 0  # how many were far since the spread was renewed

    def look(self, outcomes: Sequence[tuple[str, float]]) -> None:
        """Compare outcomes, each with the id of its decision, with those that came before."""
        if len(outcomes) >= LEAST:
            values = np.array([value for _, value in outcomes])
            self.look_through(values, lambda i: _called(outcomes[i][0]))
            return
        for id, value in outcomes:
            self._add(id, value)
        some: Sequence[tuple[str | None, float]] = outcomes
        if self._renewed():
            some = [*zip(self._ids, self._values, strict=False)]
        spread = self._spread
        if spread is None:
            return
        fresh = [
            (id, value)
            for id, value in some
            if id is not None and spread.far(value) and id not in self._said
        ]
        if fresh:
            self._said.update(id for id, _ in fresh)
            self._far += len(fresh)
            if self._far > NAMED:  # so many are no longer far from all others
                self._due = self._seen
            _warn([(_called(id), value) for id, value in fresh], spread)

    def look_through(self, values: Array, name: Callable[[int], str]) -> None:
        """Compare a history with itself, or if it is short, with those that came before."""
        count = len(values)
        spread = self._spread if count < LEAST else Spread.of(values)
        far = list[int]()
        if spread is not None:
            far = np.flatnonzero(np.abs(values - spread.median) > spread.bound).tolist()
        some = [(name(i), float(values[i])) for i in far]
        for i in range(0, count, max(1, -(-count // KEPT))):
            if i not in far:
                self._add(None, float(values[i]))
        self._renewed()
        if spread is not None and some:
            _warn(some, spread)

    def _renewed(self) -> bool:
        """Renew the spread after twice as many outcomes; tell whether that was done."""
        if self._seen < self._due:
            return False
        self._due = self._seen + min(self._seen, KEPT)
        spread, before = Spread.of(np.array(self._values)), self._spread
        if before is not None:  # what was explored long ago counts
            spread = spread._replace(reach=max(spread.reach, before.reach))
        self._spread, self._far = spread, 0
        return True

    def _add(self, id: str | None, value: float) -> None:
        if len(self._values) < KEPT:
            self._ids.append(id)
            self._values.append(value)
        else:
            at = self._seen % KEPT
            self._ids[at], self._values[at] = id, value
        self._seen += 1


def _warn(far: Sequence[tuple[str, float]], spread: Spread) -> None:
    shown = ", ".join(
        f"{name} is {value:g}, {abs(value - spread.median) / spread.scale:,.0f} deviations off"
        for name, value in far[:NAMED]
    )
    more = "" if len(far) <= NAMED else f" (and {len(far) - NAMED} others)"
    warnings.warn(
        f"{shown}{more}: the others are {spread.median:.3g} give or take {spread.scale:.2g}. The "
        "estimate follows such an outcome far; if it is an error, or stands for a missing value, "
        "leave it out, or amend or withdraw it",
        UserWarning,
        stacklevel=outside(),
    )


def _called(id: str) -> str:
    return f"the outcome of {id!r}"
