"""What callers report, as events: ids, outcomes, notes, history and changes, each checked."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from projbandits._validation import integer, is_table, positive, real, real_vector, short, storable
from projbandits.deciding import offers
from projbandits.deciding.eligibility import check_subspace, check_suits
from projbandits.deciding.labels import is_fresh, items_of
from projbandits.deciding.limits import LARGEST_NUMBER, check_outcome
from projbandits.features import contexts
from projbandits.ledger.decision import Decision
from projbandits.ledger.describing import strategy_fields
from projbandits.ledger.events import Amended, Changed, Decayed, Learnt, Told, Withdrawn
from projbandits.ledger.fold import DECISIONS, SECONDS, Known
from projbandits.ledger.outcomes import EXPIRED
from projbandits.ledger.streams import new_id
from projbandits.strategies import LinearStrategy
from projbandits.subspace import Subspace
from projbandits.tables import aligned

LONGEST_ID = 200
"""How many characters an id may have."""

OUTCOMES_AT_ONCE = 65_536
"""How many rows of history one event holds."""

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def request_ids(request_id: str | None, count: int | None) -> Sequence[str]:
    """Return the ids of the decisions that a call is to make."""
    slots = 1 if count is None else integer("count", count, least=1)
    if request_id is None:
        return [new_id() for _ in range(slots)]
    if not isinstance(request_id, str) or not 0 < len(request_id) <= LONGEST_ID:
        raise ValueError(
            f"request_id must be a text of 1 to {LONGEST_ID} characters, got {short(request_id)}"
        )
    storable("request_id", request_id)
    return [request_id] if count is None else [f"{request_id}/{slot}" for slot in range(slots)]


def note(meta: Any) -> str | None:
    """Return what a caller notes with a decision, as JSON."""
    if meta is None:
        return None
    try:
        return json.dumps(meta, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"meta must be something that JSON can hold, {error}") from error


def half_life(value: Any) -> tuple[Any, ...]:
    """Return a half-life as events hold it; empty if nothing is forgotten.

    Examples
    --------
    >>> from projbandits.deciding.reports import half_life
    >>> half_life("60d"), half_life(500), half_life(None)
    ((5184000.0, 'seconds'), (500.0, 'decisions'), ())
    """
    if value is None or value == math.inf:
        return ()
    if isinstance(value, str | timedelta):
        return seconds("half_life", value, "a number of decisions"), SECONDS
    return positive("half_life", value), DECISIONS


def yes_or_no(name: str, value: Any) -> bool:
    """Return True or False, and nothing else that could pass for one."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def decayed(factor: Any) -> Decayed:
    """Return that all outcomes lose weight."""
    by = real("factor", factor)
    if not 0.0 <= by <= 1.0:
        raise ValueError(f"factor must be from 0 (forget all) to 1 (forget nothing), got {by}")
    return Decayed(time.time(), by)


def told(id: str | Decision, outcome: Any) -> Told:
    """Return the report of an outcome."""
    key = _key(id)
    return Told(key, time.time(), _outcome(key, outcome))


def amended(id: str | Decision, outcome: Any) -> Amended:
    """Return the correction of an outcome."""
    key = _key(id)
    return Amended(key, time.time(), _outcome(key, outcome))


def withdrawn(id: str | Decision, why: Any) -> Withdrawn:
    """Return that a decision has no outcome."""
    if why == EXPIRED:
        raise ValueError(f"why must not be {EXPIRED!r}, which is what `expire` says: use another")
    if not isinstance(why, str) or not 0 < len(why) <= LONGEST_ID:
        raise ValueError(f"why must be a text of 1 to {LONGEST_ID} characters, got {short(why)}")
    return Withdrawn(_key(id), time.time(), storable("why", why))


def assumed(outcome: Any) -> float:
    """Return the outcome to assume where none came."""
    return _number("outcome", outcome)


def expired(id: str, now: float, outcome: float | None) -> Told | Withdrawn:
    """Return what to assume of an outcome that did not come in time."""
    if outcome is None:
        return Withdrawn(id, now, EXPIRED)
    return Told(id, now, outcome, EXPIRED)


def seconds(name: str, value: Any, number: str = "seconds") -> float:
    """Return a span of time in seconds; an error says what a plain number would be.

    Examples
    --------
    >>> from projbandits.deciding.reports import seconds
    >>> seconds("after", "24h"), seconds("after", 90)
    (86400.0, 90.0)
    """
    if isinstance(value, timedelta):
        return positive(name, value.total_seconds())
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([smhdw])\s*", value)
        if match is None:
            hint = f": pass {value.strip()} or '{value.strip()}d'" if _is_number(value) else ""
            raise ValueError(
                f"{name} must be {number}, a timedelta, or a text with a unit such as '90s', '24h' "
                f"or '7d', got {short(value)}{hint}"
            )
        return positive(name, float(match[1]) * UNITS[match[2]])
    return positive(name, value)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*\d{1,12}(\.\d{1,12})?\s*", text) is not None


def pairs(outcomes: Any) -> Iterator[tuple[Any, Any]]:
    """Yield ids, or decisions, with their outcomes."""
    if not isinstance(outcomes, Iterable) or isinstance(outcomes, str) or is_table(outcomes):
        raise TypeError(
            "outcomes must be outcomes by id, or pairs of id and outcome, got a "
            f"{type(outcomes).__name__}: of a table, zip(table['id'], table['outcome'])"
        )
    items = getattr(outcomes, "items", None)
    for pair in outcomes if items is None else items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"outcomes must be pairs of id and outcome, got {pair!r} among them")
        yield pair[0], pair[1]


def learnt(
    known: Known,
    features: Any,
    outcomes: npt.ArrayLike,
    request_id: str | None,
    whose: Any = None,
    context: Any = None,
) -> tuple[list[Learnt], tuple[str, ...] | None]:
    """Return history as events, and the names of its columns."""
    penalty, d = known.state.ridge.penalty, known.subspace.ambient
    outcomes = aligned("outcomes", outcomes, features, "features")
    whose = aligned("labels", whose, features, "features")
    if known.features is not None:
        context = contexts.aligned_context(context, features)
        features = known.features.transform(features, context)
    elif context is not None:
        raise ValueError("context needs a decider with features=pb.Features(...), it has none")
    X, columns = offers.read_rows("features", features, known.columns, penalty)
    if X.shape[1] != d:
        raise ValueError(f"features must have {d} columns, got {X.shape[1]}")
    r = real_vector("outcomes", outcomes, len(X))
    if len(r):
        largest = int(np.abs(r).argmax())
        check_outcome(f"outcomes[{largest}]", float(r[largest]))
    labels = None if whose is None else items_of(whose, len(X))
    (key,), now = request_ids(request_id, None), time.time()
    parts = range(0, len(X), OUTCOMES_AT_ONCE)
    events = [
        Learnt(
            key if len(parts) == 1 else f"{key}/{i}",
            now,
            np.array(X[start : start + OUTCOMES_AT_ONCE], order="C"),
            r[start : start + OUTCOMES_AT_ONCE],
            None if labels is None else labels[start : start + OUTCOMES_AT_ONCE],
        )
        for i, start in enumerate(parts)
    ]
    return events, columns


def row_name(features: Any, outcomes: Any, whose: Any) -> Callable[[int], str]:
    """Return how the outcome of each row of a history is called, with its label if there is one.

    Rewards may have come in another order than the features, whose rows count.

    Examples
    --------
    >>> import pandas as pd
    >>> from projbandits.deciding.reports import row_name
    >>> films = pd.DataFrame({"length": [90, 120]}, index=["Up", "Heat"])
    >>> row_name(films, [1.0, 0.0], None)(1)
    "outcomes[1] (of 'Heat')"
    """
    labels = aligned("labels", whose, features, "features")
    if labels is None:
        labels = next((x.index for x in (features, outcomes) if hasattr(x, "iloc")), None)
    if labels is None or is_fresh(labels):
        return "outcomes[{}]".format
    listed = [*labels]
    return lambda row: f"outcomes[{row}] (of {listed[row]!r})"


def changed(
    known: Known,
    subspace: Subspace | None,
    strategy: LinearStrategy | None,
    half: tuple[Any, ...] | None = None,
) -> Changed:
    """Return a change of what counts, of who decides, or of how fast outcomes are forgotten."""
    if subspace is None and strategy is None and half is None:
        raise ValueError("subspace, strategy or half_life must be given, got none of them")
    basis, names = None, None
    if subspace is not None:
        check_subspace(subspace)
        if subspace.ambient != known.subspace.ambient:
            raise ValueError(
                f"subspace must be one of {known.subspace.ambient} features, as before, got "
                f"{subspace!r}"
            )
        basis = subspace.basis
        names = columns(subspace.names and tuple(map(str, subspace.names)))
        if names and known.columns:
            order = offers.match("subspace", names, known.columns)
            basis, names = (basis if order is None else basis[order]), known.columns
    if strategy is not None:
        check_suits(strategy)
    return Changed(
        time.time(),
        None if strategy is None else strategy_fields(strategy),
        None if strategy is None else repr(strategy),
        basis,
        names,
        None if known.columns else names,
        half,
    )


def columns(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the names of features, if files and databases can keep them."""
    for name in names or ():
        storable("a column's name", name)
    return names


def named(names: tuple[str, ...] | None) -> Changed:
    """Return that features have these names from now on."""
    return Changed(time.time(), columns=columns(names))


def _key(id: Any) -> str:
    key = id.id if isinstance(id, Decision) else id
    if not isinstance(key, str):
        raise TypeError(f"id must be that of a decision, got {key!r}")
    return key


def _outcome(key: str, outcome: Any) -> float:
    if type(outcome) is float and abs(outcome) <= LARGEST_NUMBER:
        return outcome
    return _number(f"the outcome of {key!r}", outcome)


def _number(name: str, outcome: Any) -> float:
    if isinstance(outcome, bool | np.bool_):  # a click is as welcome as 1.0
        outcome = float(outcome)
    value = real(name, outcome)
    check_outcome(name, value)
    return value
