"""Columns that a penalty would hold back without a word: small units, and levels with no constant.

The ridge takes every coefficient to be of the same size. A column whose entries are a twentieth of
the root of the penalty or smaller needs four hundred observations before its effect can show, and
until then that effect moves into columns that go with it.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from projbandits._validation import Array, outside
from projbandits.arms import FiniteArms
from projbandits.deciding.close_columns import warn_of_close_columns
from projbandits.subspace import Subspace

SMALL_RATIO = 0.05
"""In units of the root of the penalty: a column with smaller entries is held back."""

CHANCE = 3
"""How many offers must agree that a column is small, unless it is ten times as small: what is a
product with a viewer's column is small at once for all arms when the viewer's number happens to be.
"""

ROWS_LOOKED_AT = 256
"""How many arms are looked at together."""

FITTED = "pb.Decider(features=pb.Features(protected=[...]).fit(table))"
LEVEL_NAME = re.compile(r"(.+?)[_=.].+")


class Looked:
    """What was found in the columns on offer; each column is spoken of once.

    Examples
    --------
    >>> import numpy as np, warnings
    >>> from projbandits.deciding.units import Looked
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     Looked().at(np.array([[1.0, 0.002], [2.0, 0.001]]), ("price", "share"), 1.0)
    >>> str(said[0].message)[:64]
    "column 'share' has entries of about 0.0016, which a penalty of 1"
    """

    def __init__(self, level: bool = False) -> None:
        self._small = set[int]()
        self._looks = 0
        self._largest: Array | None = None
        self._levels = level  # where a level is learnt, categories may lack one
        self._rows: Array | None = None
        self._close = False
        self._seen: Array | None = None

    def due(self, step: int) -> bool:
        """Tell whether to look at what is offered now: at steps 1, 2, 4, 8, ... up to 1024."""
        return step <= 1024 and step & (step - 1) == 0

    def at(self, X: Array, columns: Sequence[str] | None, penalty: float) -> None:
        """Warn of what is wrong with the columns of X, to whoever called the library."""
        self._sizes(X, columns, penalty)
        if columns is None or self._levels:
            return
        # Few arms at a time may seem to have something in common that many have not.
        self._rows = X if self._rows is None else np.vstack([self._rows, X])[-ROWS_LOOKED_AT:]
        self._levels = _warn_of_levels(self._rows, columns)

    def closeness(
        self, X: Array, subspace: Subspace, columns: Sequence[str] | None, *, designed: bool
    ) -> None:
        """Warn once if what counts nearly repeats what is protected, in X and the rows before."""
        if self._close:
            return
        rows = X if self._seen is None or self._seen.shape[1] != X.shape[1] else self._seen
        if rows is not X:
            rows = np.vstack([rows, X])
        self._seen = rows[-max(ROWS_LOOKED_AT, 4 * X.shape[1]) :]
        self._close = warn_of_close_columns(self._seen, subspace, columns, designed=designed)

    def _sizes(self, X: Array, columns: Sequence[str] | None, penalty: float) -> None:
        there = X != 0.0
        counts = there.sum(axis=0)
        with np.errstate(over="ignore"):
            sizes = np.sqrt((X * X).sum(axis=0) / np.maximum(counts, 1))
        self._looks += 1
        if self._largest is not None and len(self._largest) == len(sizes):
            sizes = np.maximum(sizes, self._largest)
        self._largest = sizes
        bound = SMALL_RATIO * math.sqrt(penalty) * (1.0 if self._looks >= CHANCE else 0.1)
        for j in np.flatnonzero((sizes > 0) & (sizes < bound)).tolist():
            if j in self._small:
                continue
            name = repr(str(columns[j])) if columns else j
            warnings.warn(
                f"column {name} has entries of about {sizes[j]:.2g}, which a penalty of "
                f"{penalty:g} holds back: until {penalty / sizes[j] ** 2:.2g} outcomes are known, "
                "its effect moves into other columns. Give it units in which it is about 1, or let "
                f"pb.Features do so: {FITTED}",
                UserWarning,
                stacklevel=outside(),
            )
            self._small.add(j)  # unless the warning was taken for an error


def _warn_of_levels(X: Array, columns: Sequence[str]) -> bool:
    """Warn if levels of a category lack one, and nothing is the same for all arms."""
    marks = ((X == 0.0) | (X == 1.0)).all(axis=0) & (X == 0.0).any(axis=0)
    found: dict[str, list[int]] = defaultdict(list)
    for j in np.flatnonzero(marks).tolist():
        match = LEVEL_NAME.fullmatch(str(columns[j]))
        if match is not None:
            found[match[1]].append(j)
    for prefix, group in found.items():
        sums = X[:, group].sum(axis=1)
        if sums.max() > 1.0 or sums.min() == 1.0 or sums.max() == 0.0:
            continue  # several at once, or all levels are there
        if len(X) <= 1 or _has_constant(X):
            return False
        names = ", ".join(repr(str(columns[j])) for j in group)
        warnings.warn(
            f"the columns {names} lack a level of {prefix!r}, and no column is the same for all "
            "arms: what all returns share goes into the other coefficients, whose signs may flip. "
            f"Add a column of ones, keep all levels, or let pb.Features encode it: {FITTED}",
            UserWarning,
            stacklevel=outside(),
        )
        return True
    return False


def _has_constant(X: Array) -> bool:
    """Tell whether some combination of the columns is the same for all arms."""
    scale = np.abs(X).max(axis=0)
    scaled = X / np.where(scale > 0, scale, 1.0)
    ones = np.ones(len(X))
    fit = np.linalg.lstsq(scaled, ones, rcond=None)[0]
    return bool(np.abs(scaled @ fit - ones).max() < 1e-9)


def look(
    looked: Looked,
    X: object,
    columns: Sequence[str] | None,
    subspace: Subspace,
    penalty: float,
    *,
    designed: bool,
) -> None:
    """Look at rows that are offered or learnt from, if they are finitely many arms.

    Columns that `Features` designed have its units and its levels.
    """
    rows = X.vectors if isinstance(X, FiniteArms) else X
    if isinstance(rows, np.ndarray):
        if not designed:
            looked.at(rows, columns, penalty)
        looked.closeness(rows, subspace, columns, designed=designed)
