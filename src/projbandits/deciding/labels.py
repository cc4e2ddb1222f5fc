"""Who the arms on offer are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from projbandits._validation import short, storable
from projbandits.ledger.labels import read_label, write_label


def read_labels(ids: Any, arms: Any, size: int, needed: bool) -> tuple[str, ...] | None:
    """Return what arms are called, as the ledger writes it, or None if they have no names.

    Parameters
    ----------
    ids : sequence of str or int, or None
        Their names, where they are given.
    arms : table or other
        Whose index has their names otherwise, if it consists of texts or whole numbers.
    size : int
        How many there are.
    needed : bool
        Whether arms without names are an error.
    """
    name, given = "labels", ids
    if ids is None:
        name, given = "the index of arms", getattr(arms, "index", None)
        if given is None or callable(given):  # a list has a method of this name
            given = None
    elif isinstance(ids, str) or not isinstance(ids, Iterable):
        raise TypeError(f"labels must list a text or a whole number for each arm, got {short(ids)}")
    labels = None if given is None else _written(given)
    some = given is not None and any(isinstance(each, str) for each in given)
    if ids is None and not needed and not labels and not some:
        return None  # an index of dates or other values names nobody
    if labels is None:
        raise ValueError(
            "labels must say who the arms are, since the strategy has arm_effects: pass "
            "ask(arms, labels=...), or a DataFrame whose index does"
        )
    problem = _problem(name, labels, given, size)
    if problem is not None:
        raise problem
    return tuple(labels)


def is_fresh(index: Any) -> bool:
    """Tell whether an index only counts rows: that of a new table, or after `reset_index`."""
    return type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)


def items_of(ids: Any, size: int) -> tuple[str, ...]:
    """Return whose returns the rows of a history are; an item may have many."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise TypeError(f"labels must list a text or a whole number for each row, got {short(ids)}")
    listed = [*ids]
    labels = _written(listed)
    problem = _unstorable("labels", labels)
    if len(labels) != size:
        problem = _problem("labels", labels, listed, size)
    if problem is not None:
        raise problem
    return tuple(labels)


def _written(ids: Iterable[Any]) -> list[str]:
    """Return names as the ledger writes them; none if one of them can be no name."""
    listed = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    if all(type(label) is str or type(label) is int for label in listed):
        return [write_label(label) for label in listed]
    if all(map(_is_label, listed)):
        return [write_label(label if isinstance(label, str) else int(label)) for label in listed]
    return []


def _is_label(value: Any) -> bool:
    """Tell whether a value can name an arm."""
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def _problem(name: str, labels: list[str], given: Any, size: int) -> Exception | None:
    if not labels and len(given):
        row, label = next((i, x) for i, x in enumerate(given) if not _is_label(x))
        return TypeError(
            f"{name} must hold texts or whole numbers, got {short(label)} in row {row}"
        )
    if len(labels) != size:
        return ValueError(f"{name} must have {size} entries, one for each arm, got {len(labels)}")
    if len(set(labels)) != len(labels):
        seen = dict[str, int]()
        row, label = next((i, x) for i, x in enumerate(labels) if seen.setdefault(x, i) != i)
        return ValueError(
            f"{name} must be distinct, got {short(read_label(label))} in rows {seen[label]} and "
            f"{row}: leave one out, or pass other names in labels=..."
        )
    return _unstorable(name, labels)


def _unstorable(name: str, labels: list[str]) -> Exception | None:
    if not "".join(labels).isprintable():
        try:
            for label in labels:
                storable(f"each of {name}", label)
        except ValueError as error:
            return error
    return None
