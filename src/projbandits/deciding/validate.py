"""Whether an event that was read from a file can have been recorded: nothing in one is believed.

Hashes find damage, not intent, since whoever crafts a file computes them anew. The codec has seen
to the types.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from projbandits._validation import LARGEST_SEED
from projbandits.deciding.limits import LARGEST_ENTRY, LARGEST_NUMBER
from projbandits.features.features import Features
from projbandits.ledger.decision import LARGEST_COUNT, LATEST
from projbandits.ledger.describing import set_of
from projbandits.ledger.events import (
    Amended,
    Decayed,
    Decided,
    Described,
    Learnt,
    Offered,
    Opened,
    StoredEvent,
    Told,
)
from projbandits.ledger.fold import DECISIONS, SECONDS
from projbandits.ledger.labels import read_label, write_label
from projbandits.ledger.streams import SESSIONS
from projbandits.subspace import Subspace

LONGEST_FIELD = 1000
"""How many characters an id may have in a file; `X/17` is longer than X."""


def check_event(stored: StoredEvent, d: int, penalty: float, rows: int) -> int:
    """Raise unless an event can be one of a decider; return how many arms are numbered after it.

    Parameters
    ----------
    stored : StoredEvent
        The event.
    d : int
        The number of features.
    penalty : float
        lambda.
    rows : int
        How many arms were numbered before it.
    """
    position, event = stored
    largest = LARGEST_ENTRY * math.sqrt(penalty)
    fits: dict[str, bool] = {}
    if isinstance(event, Decided):
        fits = _decided(event, d, largest, rows)
    elif isinstance(event, Told | Amended):
        fits["outcome"] = abs(event.outcome) <= LARGEST_NUMBER
        arm = getattr(event, "arm", None)
        fits["arm"] = arm is None or (arm.shape == (d,) and _small(arm, largest))
        fits["label"] = _label(getattr(event, "label", None))
    elif isinstance(event, Offered):
        n, labels = len(event.vectors), event.labels
        fits["first"] = event.first == rows and n > 0
        fits["vectors"] = event.vectors.shape == (n, d) and _small(event.vectors, largest)
        fits["labels"] = labels is None or (len(labels) == n and all(map(_label, labels)))
        rows += n
    elif isinstance(event, Described):
        fits["arms"] = set_of(event.arms).d == d
    elif isinstance(event, Learnt):
        n, labels = len(event.outcomes), event.labels
        fits["X"] = event.X.shape == (n, d) and _small(event.X, largest)
        fits["outcomes"] = event.outcomes.ndim == 1 and _small(event.outcomes, LARGEST_NUMBER)
        fits["labels"] = labels is None or (len(labels) == n and all(map(_label, labels)))
    elif isinstance(event, Decayed):
        fits["by"] = 0.0 <= event.by <= 1.0
    else:
        fits = _terms(event, d)
    fits["time"] = 0.0 <= getattr(event, "time", 0.0) <= LATEST
    fits["id"] = len(getattr(event, "id", "")) <= LONGEST_FIELD
    wrong = [name for name, fit in fits.items() if not fit]
    if wrong:
        kind = type(event).__name__
        raise ValueError(f"event {position}, {kind}, has no sound {', '.join(wrong)}")
    return rows


def _decided(event: Decided, d: int, largest: float, rows: int) -> dict[str, bool]:
    numbers, index, taken = event.rows, event.index, event.taken
    size = 0 if numbers is None else len(numbers)
    finite = numbers is not None and numbers.ndim == 1 and numbers.dtype.kind == "u"
    return {
        "arm": event.arm.shape == (d,) and _small(event.arm, largest),
        "rows": numbers is None or (finite and size > 0 and int(numbers.max()) < rows),
        "index": index is None if numbers is None else index is not None and 0 <= index < size,
        "taken": index not in taken
        and len({*taken}) == len(taken)
        and all(0 <= place < size for place in taken),
        "step": 1 <= event.step <= LARGEST_COUNT,
        "session": 0 <= event.session <= SESSIONS,
        "draw": 0 <= event.draw < 2**63,
        "propensity": math.isnan(event.propensity) or 0.0 <= event.propensity <= 1.0,
        "estimate": math.isfinite(event.estimate),
        "standard_error": math.isnan(event.standard_error)
        or 0.0 <= event.standard_error < math.inf,
        "label": _label(event.label),
        "meta": event.meta is None or json.loads(event.meta) is not ...,
        "context": event.context is None or isinstance(json.loads(event.context), dict),
    }


def _terms(event: Any, d: int) -> dict[str, bool]:
    """Return what is sound of an opening or a change."""
    basis = getattr(event, "subspace", None)
    fits = {"subspace": basis is None or (basis.ndim == 2 and Subspace(basis).ambient == d)}
    for name in ("names", "columns"):
        named = getattr(event, name, None)
        fits[name] = named is None or len({*named}) == len(named) == d
    fits["half_life"] = _half_life(getattr(event, "half_life", None) or ())
    if isinstance(event, Opened):
        features = event.features
        fits["features"] = features is None or len(Features.from_json(features).names) == d
        fits["seed"] = int.from_bytes(event.seed, "little") <= LARGEST_SEED
    return fits


def _half_life(value: tuple[Any, ...]) -> bool:
    if not value:
        return True
    number, unit = value if len(value) == 2 else (None, None)
    return type(number) is float and 0.0 < number < math.inf and unit in (DECISIONS, SECONDS)


def _label(value: str | None) -> bool:
    return value is None or write_label(read_label(value)) == value


def _small(values: Any, largest: float) -> bool:
    return bool((np.abs(values) <= largest).all())
