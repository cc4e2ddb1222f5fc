"""A log of any origin: a sequence of chunks with a schema, never necessarily in memory."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from projbandits._validation import Array, positive
from projbandits.deciding.decider import Decider
from projbandits.deciding.offers import match
from projbandits.evaluation.fit import Fit, merged
from projbandits.evaluation.formats import VowpalRows
from projbandits.evaluation.grouping import look
from projbandits.evaluation.ledger_log import LedgerRows, ledger_rows
from projbandits.evaluation.levels import LevelRows, with_ones
from projbandits.evaluation.schema import Catalogue, Chunk, Schema, chunks_of
from projbandits.evaluation.sources import source
from projbandits.evaluation.spreading import Progress
from projbandits.ridge import Ridge
from projbandits.subspace import Subspace


class Log:
    """What was decided, how likely it was, and what it returned.

    A log reads its rows again each time it is used, piece by piece. Make one with `from_table`,
    `from_vw` or `from_ledger`.

    Parameters
    ----------
    rows, schema
        Where the rows come from, and which column is what.
    names : tuple of str
        The names of the features.
    arms : ndarray of shape (K, d), optional
        The vectors of the catalogue, or None if arms are not numbered throughout.
    subspace : Subspace, optional
        What counted when the decisions were made, if the log says it.
    intercept : bool
        Whether outcomes have a level, as those of a decider that learns one: linear models of
        this log then have it too.

    Examples
    --------
    >>> import numpy as np, pandas as pd, projbandits as pb
    >>> rng = np.random.default_rng(0)
    >>> films = pd.DataFrame({"length": [1.6, 2.1, 1.8], "age": [0.3, 0.6, 0.7]})
    >>> table = pd.DataFrame({"film": rng.integers(0, 3, 300), "p": 1 / 3})
    >>> table["stars"] = films["length"].to_numpy()[table["film"]] + 0.1 * rng.normal(size=300)
    >>> log = pb.Log.from_table(table, arms=films, action="film", propensity="p", outcome="stars")
    >>> log
    Log(300 rows, 3 arms, d=2)
    >>> log.fit(pb.Subspace.without("age", columns=films.columns)).theta.round(1)
    array([1. , 0.1])
    """

    def __init__(
        self,
        rows: Any,
        schema: Schema | None,
        names: tuple[str, ...],
        arms: Array | None = None,
        subspace: Subspace | None = None,
        intercept: bool = False,
    ) -> None:
        self._rows = rows
        self._schema = schema
        self.d = len(names)
        self.names = names
        self.arms = arms
        """The vectors of the catalogue, or None if arms are not numbered throughout."""
        self.subspace = subspace
        self.intercept = intercept
        """Whether the outcomes have a level that the decider of this log learnt."""

    @classmethod
    def from_table(
        cls,
        table: Any,
        arms: Any = None,
        *,
        outcome: str,
        action: str | None = None,
        propensity: str | Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        context: str | Sequence[str] = (),
        id: str | None = None,
        time: str | None = None,
    ) -> Log:
        """Return the log in a table, a row for each decision.

        Parameters
        ----------
        table : DataFrame, Arrow table, or path
            Of pandas or polars; or a Parquet file, a folder of them, or a CSV file.
        arms : array, DataFrame or FiniteArms, optional
            The catalogue: the arms on offer at each decision. Labels are in its column `action`,
            else in its index (pandas), else the numbers of its rows.
        outcome : str
            The column with the return.
        action : str, optional
            The column that names the chosen arm; needs `arms`.
        propensity : str, or list of str, optional
            The column with the probability with which the arm was chosen; or one column for each
            arm, or one column of vectors, with the probabilities of all arms.
        features : list of str, optional
            With a catalogue, those of its columns that are features; otherwise the columns of the
            table that hold the chosen arm's features.
        context : str or list of str
            Columns that a policy may look at.
        id : str, optional
            A column that names each decision; of rows that are read together, no two may have one
            name. A batch has 65,536 rows.
        time : str, optional
            A column by which rows must be in order; strategies that learn ask for that.
        """
        rows = source(table)
        if arms is None and features is None:
            raise ValueError(
                "arms or features must be given, got neither: pass a catalogue with arms= and "
                "action=, or name the columns of the chosen arm's features with features="
            )
        if arms is not None and action is None:
            raise ValueError("action must name the column with the chosen arm, got None")
        listed = None if features is None else _names("features", features)
        catalogue = None
        if arms is not None and action is not None:
            catalogue = Catalogue.of(arms, action, listed)
        schema = Schema(
            outcome,
            action if catalogue is not None else None,
            propensity if isinstance(propensity, str | None) else _names("propensity", propensity),
            listed,
            (context,) if isinstance(context, str) else _names("context", context),
            id,
            time,
            catalogue,
        )
        schema.check(rows.names)
        if catalogue is None:
            return cls(rows, schema, listed or ())
        vectors = catalogue.vectors
        return cls(rows, schema, catalogue.columns or _numbers(vectors.shape[1]), vectors)

    @classmethod
    def from_vw(cls, path: str | os.PathLike[str], features: Sequence[str] | None = None) -> Log:
        """Return a log of Vowpal Wabbit in lines of JSON (`--dsjson`); returns are minus costs.

        Parameters
        ----------
        path : path
            The file.
        features : list of str, optional
            The actions' features, such as "Action.price" or "Action.genre=drama"; by default all
            that are in the file. What all actions share is the context.
        """
        listed = None if features is None else _names("features", features)
        rows = VowpalRows(Path(path), listed)
        return cls(rows, None, rows.names)

    @classmethod
    def from_ledger(cls, decider: Decider) -> Log:
        """Return the decisions of a decider that keeps a log, or has a store, with known outcomes.

        It has the probabilities of all arms on offer, by what was believed at the time, so that it
        is known which arms could be chosen; and the propensity of each choice as it was recorded.
        """
        if not isinstance(decider, Decider):
            raise TypeError(f"decider must be a Decider, got {decider!r}")
        known, rows = decider.belief(), ledger_rows(decider)
        names = known.columns or _numbers(known.subspace.ambient)
        return cls(rows, None, names, rows.arms, known.subspace, known.intercept)

    @cached_property
    def with_level(self) -> Log:
        """The same log with a column of ones before the features, for its linear model."""
        arms = None if self.arms is None else with_ones(self.arms)
        return Log(LevelRows(self._rows), None, ("intercept", *self.names), arms)

    @property
    def _catalogue(self) -> Catalogue | None:
        return None if self._schema is None else self._schema.catalogue

    @property
    def rows(self) -> int | None:
        """How many rows there are, None if that is known only once they are read."""
        count: int | None = self._rows.rows
        return count

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its table, none if it is no table."""
        return () if self._schema is None else tuple(self._rows.names)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows in order, checked."""
        for piece in self._rows.pieces():
            yield from chunks_of(self._schema, piece)

    def with_columns(self, names: Sequence[str]) -> Log:
        """Return the same log that also reads columns with a policy's probabilities."""
        if not names:
            return self
        if self._schema is None:
            raise ValueError(f"this log has no columns of its own, got {list(names)!r}")
        schema = dataclasses.replace(self._schema, extra=tuple(names))
        schema.check(self._rows.names)
        return Log(self._rows, schema, self.names, self.arms, self.subspace)

    def fit(
        self,
        subspace: Subspace | None = None,
        penalty: float = 1.0,
        *,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> Fit:
        """Return the estimate from the whole log.

        Parameters
        ----------
        subspace : Subspace, optional
            The part that counts; names are matched. By default everything.
        penalty : float
            lambda, the weight of the L2 penalty.
        executor : Executor, optional
            Where pieces are read; by default threads. `Client(...).get_executor()` is a Dask
            cluster. The result is the same to round-off wherever that is.
        progress : callable, optional
            Called with the number of rows that were read, piece by piece.
        """
        wanted = self.matched(subspace)
        penalty = positive("penalty", penalty)
        rows = self._rows
        if isinstance(rows, LedgerRows):  # it takes time to make all probabilities again
            rows = rows.without_chances()
        if self.intercept:
            rows = LevelRows(rows)
        numbered = self.arms is not None
        seen = look(self._schema, rows.pieces(), numbered, False, executor, progress)
        factor = merged(seen.by_fold(self.with_level.arms if self.intercept else self.arms))
        return Fit(Ridge.from_log(penalty, seen.rows, factor, 0.0, self.d), wanted, self.names)

    def matched(self, subspace: Subspace | None) -> Subspace:
        """Return what counts in the order of the log's features; by default everything."""
        given = self.subspace if subspace is None else subspace
        if given is None:
            return Subspace(np.eye(self.d), self.names)
        if not isinstance(given, Subspace):
            raise TypeError(f"subspace must be a Subspace, got {given!r}: see pb.Subspace")
        given.check_fits(self.d)
        if given.names is None or set(given.names) != set(self.names):
            if given.names is not None and self._named:
                match("subspace", given.names, self.names)
            return given
        order = match("subspace", given.names, self.names)
        return given if order is None else Subspace(given.basis[order], self.names)

    @property
    def _named(self) -> bool:
        catalogue = self._catalogue
        return self._schema is not None and (catalogue is None or catalogue.columns is not None)

    def __repr__(self) -> str:
        rows = "unknown" if self.rows is None else f"{self.rows:,}"
        arms = "" if self.arms is None else f"{len(self.arms):,} arms, "
        return f"Log({rows} rows, {arms}d={self.d})"


def _numbers(d: int) -> tuple[str, ...]:
    return tuple(map(str, range(d)))


def _names(name: str, value: Sequence[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        raise TypeError(f"{name} must list columns, got {value!r}: pass [{value!r}]")
    return tuple(map(str, value))
