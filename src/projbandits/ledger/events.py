"""What can happen to a decider. Everything else about it is a reading of these events.

An event never changes. In a ledger it has a position, from 1 and without gaps; the first event is
`Opened`. Times are seconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array

Rows = NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A ledger begins.

    Parameters
    ----------
    key : str
        Random; it names the ledger for good, wherever copies of it are.
    time : float
        When.
    seed : int
        Where randomness comes from, with the session and the draw of each decision.
    strategy : dict or None
        Class and parameters of the strategy, None where only its user has it.
    label : str
        Its repr.
    subspace : ndarray of shape (d, u)
        An orthonormal basis of U.
    names : tuple of str or None
        The names of the subspace's coordinates.
    columns : tuple of str or None
        The names of the features, as far as they are known.
    features : str or None
        How raw columns become features, as JSON.
    half_life : tuple of float and str
        After how much, in "decisions" or "seconds", an outcome has half of its weight; empty where
        nothing is forgotten.
    intercept : bool
        Whether returns have a level that is learnt.
    """

    key: str
    time: float
    seed: int
    strategy: dict[str, Any] | None
    label: str
    subspace: Array
    names: tuple[str, ...] | None
    columns: tuple[str, ...] | None
    features: str | None = None
    half_life: tuple[Any, ...] = ()
    intercept: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Offered:
    """Arms that no event before had.

    A ledger numbers the distinct rows it has seen 0, 1, 2, ...; decisions refer to them. Rows with
    the same features are two if they are called differently.

    Parameters
    ----------
    first : int
        The number of the first of them.
    vectors : ndarray of shape (n, d)
        Their features.
    labels : tuple of str or None
        What they are called, as `ledger.labels` writes it; None for one without a name.
    """

    first: int
    vectors: Array
    labels: tuple[str | None, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """An infinite set of arms that no event before had.

    Parameters
    ----------
    key : str
        A digest of the description, by which decisions refer to it.
    arms : str
        The set, as JSON.
    """

    key: str
    arms: str


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """History that was decided elsewhere.

    Parameters
    ----------
    key : str
        Given by the caller or random; what has the same key is learnt once.
    time : float
        When it was learnt.
    X : ndarray of shape (n, d)
        The features, one observation per row.
    outcomes : ndarray of shape (n,)
        What was observed.
    labels : tuple of str or None
        Whose returns they are.
    """

    key: str
    time: float
    X: Array
    outcomes: Array
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Decided:
    """An arm was chosen.

    Parameters
    ----------
    id : str
        Given by the caller, or made of time and randomness.
    time : float
        When.
    step : int
        t, as the strategy saw it: the decisions it knew of, and this one.
    known : int
        The position of the last event behind the belief.
    session, draw : int
        Which random stream was used, with the ledger's seed; a session of -1 is none of these.
    index : int or None
        The place of the chosen arm among those offered; None in an infinite set.
    propensity : float
        The probability with which it was chosen; nan if that is unknown.
    estimate, standard_error : float
        Its projection reward by the estimate, and the error of that.
    rows : array of unsigned integers or None
        The numbers of the arms on offer, in the order in which they were offered. None where they
        are not finitely many, or are not kept.
    taken : tuple of int
        The places of arms that the same call chose before.
    arm : ndarray of shape (d,) or None
        The chosen arm's features; None where `rows` say which they are.
    arms : str or None
        The key of the infinite set that was on offer, if it could be described.
    label : str or None
        What the chosen arm is called, as `ledger.labels` writes it.
    meta : str or None
        What the caller noted, as JSON.
    context : str or None
        The columns that came with the call, as JSON.
    counted : int
        How many decisions of its batch, made just before by what was known then, it counted as
        open: those of the draws before its own. They stand before it in the ledger.
    """

    id: str
    time: float
    step: int
    known: int
    session: int
    draw: int
    index: int | None
    propensity: float
    estimate: float
    standard_error: float
    rows: Rows | None = None
    taken: tuple[int, ...] = ()
    arm: Array | None = None
    arms: str | None = None
    label: str | None = None
    meta: str | None = None
    context: str | None = None
    counted: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """The outcome of a decision was reported, or assumed: then `why` says so."""

    id: str
    time: float
    outcome: float
    why: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Amended:
    """An outcome was something else. It counts from here on, in the place of the first report."""

    id: str
    time: float
    outcome: float


@dataclass(frozen=True, slots=True, eq=False)
class Withdrawn:
    """A decision has no outcome: it never comes, or what was told does not count."""

    id: str
    time: float
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class Changed:
    """Something else holds from here on; what is None stays as it was.

    Parameters
    ----------
    time : float
        When.
    strategy : dict or None
        Class and parameters of the new strategy, None where only its user has it.
    label : str or None
        The repr of a new strategy.
    subspace : ndarray or None
        The basis of a new subspace.
    names : tuple of str or None
        The names of its coordinates.
    columns : tuple of str or None
        The names of the features, where they are known now.
    half_life : tuple of float and str, or None
        Another half-life; empty if nothing is forgotten from here on.
    """

    time: float
    strategy: dict[str, Any] | None = None
    label: str | None = None
    subspace: Array | None = None
    names: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    half_life: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Decayed:
    """All outcomes so far lost weight: each has `by` times what it had."""

    time: float
    by: float


Outcome = Told | Amended | Withdrawn
OUTCOMES = (Told, Amended, Withdrawn)
"""The same as a tuple, which isinstance looks through faster."""

Event = Opened | Offered | Described | Learnt | Decided | Outcome | Changed | Decayed
