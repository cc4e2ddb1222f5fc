"""Strategies, subspaces and sets of arms as plain data, and back.

Only classes of the library are named, and only with plain parameters; whatever else a user has
made of their own is asked for again where it is needed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from projbandits import arms as sets
from projbandits import strategies
from projbandits.arms import DecisionSet, FiniteArms
from projbandits.strategies import LinearStrategy

PLAIN_VALUES = (int, float, str, bool, type(None))


def _concrete(module: Any, base: type) -> dict[str, Any]:
    named = {name: getattr(module, name) for name in module.__all__}
    return {
        name: value
        for name, value in named.items()
        if isinstance(value, type) and issubclass(value, base) and not inspect.isabstract(value)
    }


KNOWN_STRATEGIES: Mapping[str, type[LinearStrategy]] = _concrete(strategies, LinearStrategy)
"""The strategies that a ledger may name."""

KNOWN_SETS: Mapping[str, type[DecisionSet]] = {
    name: kind for name, kind in _concrete(sets, DecisionSet).items() if kind is not FiniteArms
}
"""The infinite sets of arms that a ledger may name."""


def strategy_fields(strategy: LinearStrategy) -> dict[str, Any] | None:
    """Return class and parameters of a strategy of the library, None where they are not plain.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits.ledger.describing import strategy_fields
    >>> strategy_fields(pb.UE(alpha=0.2))["class"]
    'UE'
    """
    name = type(strategy).__name__
    if KNOWN_STRATEGIES.get(name) is not type(strategy):
        return None
    fields = {f.name: getattr(strategy, f.name) for f in dataclasses.fields(strategy)}
    if not all(isinstance(value, PLAIN_VALUES) for value in fields.values()):
        return None
    return {"class": name, "fields": fields}


def strategy_of(
    fields: Mapping[str, Any] | None, label: str, given: Iterable[LinearStrategy] = ()
) -> LinearStrategy:
    """Return the strategy with a label: one of those given, or the library's that is described."""
    for strategy in given:
        if repr(strategy) == label:
            return strategy
    if fields is None:
        raise ValueError(
            f"strategy must be given, {label} is one that only its user has: pass it to "
            "Decider.open or Decider.load, or a list of all that there were"
        )
    if (
        not isinstance(fields, Mapping)
        or {*fields} != {"class", "fields"}
        or not isinstance(fields["fields"], Mapping)
    ):
        raise ValueError(f"a strategy must have a class and fields, got {str(fields)[:60]}")
    if not isinstance(fields["class"], str) or fields["class"] not in KNOWN_STRATEGIES:
        raise ValueError(
            f"a strategy must be one of {[*KNOWN_STRATEGIES]}, got {fields['class']!r}"
        )
    made = KNOWN_STRATEGIES[fields["class"]](**fields["fields"])
    if repr(made) != label:
        raise ValueError(f"the label of a strategy must be {made!r}, got {label!r}")
    return made


def set_text(arms: DecisionSet) -> str | None:
    """Return an infinite set of the library as JSON, None for one of the user's own.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits.ledger.describing import set_text
    >>> set_text(pb.Ball(d=1, radius=5.0))
    '{"class": "Ball", "d": 1, "radius": 5.0, "center": [0.0], "tie": [5.0]}'
    """
    name = type(arms).__name__
    if KNOWN_SETS.get(name) is not type(arms):
        return None
    fields: dict[str, Any] = {"class": name}
    for parameter in inspect.signature(type(arms)).parameters:
        value = getattr(arms, parameter)
        fields[parameter] = value.tolist() if isinstance(value, np.ndarray) else value
    return json.dumps(fields)


def set_of(text: str) -> DecisionSet:
    """Return the set that `set_text` described; raise ValueError if there is none."""
    fields = json.loads(text)
    if not isinstance(fields, dict) or fields.get("class") not in KNOWN_SETS:
        raise ValueError(f"a set of arms must be one of {[*KNOWN_SETS]}, got {text[:60]!r}")
    kind = KNOWN_SETS[fields.pop("class")]
    if {*fields} != {*inspect.signature(kind).parameters}:
        raise ValueError(f"a {kind.__name__} has other parameters, got {[*fields]}")
    if kind is sets.Polytope and not len(fields["A_eq"]):
        del fields["A_eq"], fields["b_eq"]
    return kind(**fields)


def set_key(text: str) -> str:
    """Return a digest of a set's description."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
