"""Whether events that were read from a file can have been recorded: nothing in one is believed.

The checksum of a file finds damage, not intent, since whoever crafts a file computes it anew.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from projbandits._validation import LARGEST_SEED
from projbandits.deciding.limits import LARGEST_ENTRY, LARGEST_NUMBER
from projbandits.features.features import Features
from projbandits.ledger.decision import LARGEST_COUNT, LATEST
from projbandits.ledger.describing import set_of
from projbandits.ledger.events import Decided, Described, Event, Learnt, Offered
from projbandits.ledger.fold import DECISIONS, SECONDS, Known
from projbandits.ledger.labels import read_label, write_label
from projbandits.ledger.streams import SESSIONS
from projbandits.strategies.effects import Effects

Check = Callable[[Any], bool]
LONGEST_FIELD = 1000
"""How many characters an id may have in a file; `X/17` is longer than X."""


def text(value: Any) -> bool:
    """Tell whether something is a text that can be written."""
    return isinstance(value, str) and value.encode(errors="ignore").decode() == value


def whole(least: int, most: int = LARGEST_COUNT) -> Check:
    """Return whether something is a whole number in a range."""
    return lambda value: type(value) is int and least <= value <= most


def texts(value: Any) -> bool:
    """Tell whether something lists distinct texts."""
    listed = isinstance(value, list | tuple) and all(map(text, value))
    return listed and len(set(value)) == len(value)


def or_none(check: Check) -> Check:
    """Return whether something is fine, or None."""
    return lambda value: value is None or check(value)


def _number(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)


def _time(value: Any) -> bool:
    return type(value) is float and 0.0 <= value <= LATEST


def _array(ndim: int) -> Check:
    return lambda value: isinstance(value, np.ndarray) and value.ndim == ndim


def _features(value: Any) -> bool:
    return text(value) and Features.from_json(value) is not None


def half_life(value: Any) -> bool:
    """Tell whether something can be a half-life."""
    if value == ():
        return True
    sound = isinstance(value, tuple) and len(value) == 2 and value[1] in (DECISIONS, SECONDS)
    return sound and _number(value[0]) and value[0] > 0.0


def items(known: Known) -> bool:
    """Tell whether a belief about items is one of its own kind and size."""
    found: Effects = known.state.effects
    arrays = [found.within, found.table, *([] if found.joint is None else [found.joint])]
    scalars = (found.penalty, found.noise, found.ridge, found.fade)
    return (
        all(np.isfinite(array).all() for array in arrays)
        and all(array.shape[0] == found.d + 1 + known.intercept for array in arrays[:1])
        and found.intercept == known.intercept
        and all(_number(value) and value > 0.0 for value in scalars)
        and _number(found.ratio)
        and found.ratio >= 0.0
        and whole(0)(found.n)
        and len(found.numbers) == found.size <= max(found.n, 0)
        and all(map(text, found.numbers))
        and bool((found.table[:, 0] >= 0.0).all())
    )


def _label(value: Any) -> bool:
    return text(value) and write_label(read_label(value)) == value


def _context(value: Any) -> bool:
    return text(value) and isinstance(json.loads(value), dict)


EVENT_FIELDS: dict[str, Check] = {
    "key": text,
    "id": lambda value: text(value) and len(value) <= LONGEST_FIELD,
    "time": _time,
    "seed": whole(0, LARGEST_SEED),
    "strategy": or_none(lambda value: isinstance(value, dict)),
    "label": or_none(text),
    "subspace": or_none(_array(2)),
    "names": or_none(texts),
    "columns": or_none(texts),
    "first": whole(0),
    "vectors": _array(2),
    "arms": or_none(text),
    "X": _array(2),
    "outcomes": _array(1),
    "why": or_none(text),
    "meta": or_none(text),
    "outcome": lambda value: _number(value) and abs(value) <= LARGEST_NUMBER,
    "step": whole(1),
    "known": whole(0),
    "session": whole(-1, SESSIONS),
    "draw": whole(0, 2**64 - 1),
    "index": or_none(whole(0)),
    "propensity": lambda value: math.isnan(value) or 0.0 <= value <= 1.0,
    "estimate": _number,
    "standard_error": lambda value: math.isnan(value) or 0.0 <= value < math.inf,
    "rows": or_none(_array(1)),
    "taken": lambda value: len(set(value)) == len(value),
    "arm": or_none(_array(1)),
    "features": or_none(_features),
    "half_life": or_none(half_life),
    "labels": or_none(lambda value: all(map(or_none(_label), value))),
    "context": or_none(_context),
    "intercept": lambda value: type(value) is bool,
    "counted": whole(0, 2**32 - 1),
    "by": lambda value: type(value) is float and 0.0 <= value <= 1.0,
}
"""What each field of an event must be."""


def check_event(event: Event, position: int, d: int, penalty: float, rows: int) -> None:
    """Raise unless an event can be one of a decider.

    Parameters
    ----------
    event : Event
        The event.
    position : int
        Where it is.
    d : int
        The number of features.
    penalty : float
        lambda.
    rows : int
        How many arms were numbered before it.
    """
    kind = type(event).__name__
    for name in type(event).__dataclass_fields__:
        if not EVENT_FIELDS[name](getattr(event, name)):
            raise ValueError(f"event {position}, {kind}, has no sound {name}")
    largest = LARGEST_ENTRY * math.sqrt(penalty)
    sound = True
    if isinstance(event, Decided):
        _check_decided(event, position, d, largest, rows)
    elif isinstance(event, Offered):
        sound = event.vectors.shape[1] == d and _small(event.vectors, largest)
        sound = sound and (event.labels is None or len(event.labels) == len(event.vectors))
    elif isinstance(event, Described):
        sound = set_of(event.arms).d == d
    elif isinstance(event, Learnt):
        sound = event.X.shape == (len(event.outcomes), d) and _small(event.X, largest)
        sound = sound and _small(event.outcomes, LARGEST_NUMBER)
        sound = sound and (event.labels is None or len(event.labels) == len(event.X))
    for name in ("names", "columns"):
        named = getattr(event, name, None)
        sound = sound and (named is None or len(named) == d)
    features = getattr(event, "features", None)
    sound = sound and (features is None or len(Features.from_json(features).names) == d)
    if not sound:
        raise ValueError(f"event {position}, {kind}, does not fit {d} features")


def _check_decided(event: Decided, position: int, d: int, largest: float, rows: int) -> None:
    numbers, index, taken, arm = event.rows, event.index, event.taken, event.arm
    sound = event.known < position and event.counted <= event.draw
    sound &= index not in taken and or_none(_label)(event.label)
    if numbers is not None:
        size = len(numbers)
        sound &= arm is None and index is not None and index < size
        sound &= size > 0 and int(numbers.max()) < rows and max(taken, default=0) < size
    else:
        sound &= arm is not None and arm.shape == (d,) and _small(arm, largest)
    if not sound:
        raise ValueError(f"event {position}, decision {event.id!r}, is not sound")


def _small(values: Any, largest: float) -> bool:
    return bool((np.abs(values) <= largest).all())
