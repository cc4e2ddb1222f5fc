"""What comes with a call and what is an item's own, for deciders with features."""

from __future__ import annotations

import json
import operator
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from projbandits._validation import Array, is_missing, short
from projbandits.features.encodings import Embedding
from projbandits.features.features import Features
from projbandits.tables import Columns, aligned


def vector_columns(features: Features | None) -> set[str]:
    """Return the columns of the context that hold a vector."""
    if features is None:
        return set()
    found = features.encodings_
    return {name for name in features.context if isinstance(found[name], Embedding)}


def around(features: Features | None, items: Any, context: Any) -> str | None:
    """Return the columns that come with a call, as JSON.

    Where none are given, they are those columns of the context that stand among the items' own and
    are the same for all of them. Others come with an item, not with the call.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits.features.contexts import around
    >>> features = pb.Features(numeric={"length": (0.0, 1.0), "hour": (0.0, 1.0)}, context=["hour"])
    >>> around(features.fit(), [{"length": 90, "hour": 7}, {"length": 120, "hour": 7}], None)
    '{"hour": 7}'
    """
    vectors = vector_columns(features)
    if context is not None:
        return _as_json(context, vectors)
    if features is None or not features.context:
        return None
    columns = Columns("items", items)
    found = {}
    for name in features.context:
        entries = columns.values(name).tolist() if name in columns.names else []
        same = np.array_equal if name in vectors else operator.eq
        gaps = any(is_missing(entry) for entry in entries)
        if entries and not gaps and all(same(entry, entries[0]) for entry in entries):
            found[name] = entries[0]
    return _as_json(found, vectors) if found else None


def _as_json(given: Any, vectors: Collection[str] = ()) -> str:
    """Return the columns that come with a call, as JSON; some may hold vectors."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise TypeError(
            f"context must be one dict of values by their columns' names, got {short(given)}"
        )
    plain = {name: getattr(value, "tolist", lambda v=value: v)() for name, value in given.items()}
    # JSON has no word for nan.
    plain = {name: None if is_missing(value) else value for name, value in plain.items()}
    for name, value in plain.items():
        if isinstance(value, list | tuple | dict) and name not in vectors:
            raise TypeError(
                f"context must hold one value per column, got {short(value)} in {name!r}: what "
                "differs from arm to arm is a column of the arms"
            )
    try:
        return json.dumps(plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"context must hold texts and numbers, {error}") from error


def aligned_context(context: Any, items: Any) -> Any:
    """Return a context in the order of the items, by the indexes of both; one row is for all."""
    if isinstance(context, Mapping):
        return {
            name: aligned(f"context[{name!r}]", value, items, "features") if _many(value) else value
            for name, value in context.items()
        }
    return aligned("context", context, items, "features") if _many(context) else context


def _many(value: Any) -> bool:
    """Tell whether a value is a Series or a table of several rows."""
    return hasattr(value, "iloc") and len(value) != 1


def again(features: Features, items: Any, context: Mapping[str, Any] | None) -> Array:
    """Return the feature vectors of items of a decision, whose context may be among their own."""
    whole = context is not None and all(
        features.encodings_[name].within(context) for name in features.context
    )
    return features.transform(items, context if whole else None)


def item_places(features: Features | None, d: int) -> list[int]:
    """Return which features are an item's own: no context is in them."""
    if features is None or not features.context:
        return [*range(d)]
    around = set(features.context)
    return [j for j, sources in enumerate(features.sources.values()) if not sources & around]


def item_columns(features: Features) -> set[str]:
    """Return the raw columns that items have."""
    found = set[str]()
    for name, encoding in features.encodings_.items():
        if name not in features.context:
            block = encoding.columns if isinstance(encoding, Embedding) else None
            found |= {*(block or (name,))}
    return found


def item_vectors(features: Features, items: Any) -> Array:
    """Return the features that are the items' own, in the order of `item_places`."""
    columns = Columns("attributes", items)
    parts = {}
    for name, encoding in features.encodings_.items():
        if name not in features.context:
            parts[name] = np.zeros((len(columns), len(encoding.names)))
            encoding.encode(columns, parts[name])
    rows = [np.ones((len(columns), int(features.constant))), *parts.values()]
    for a, b in features.interactions:
        if a in parts and b in parts:
            product = parts[a][:, :, None] * parts[b][:, None, :]
            rows.append(product.reshape(len(columns), -1))
    return np.hstack(rows)


def noted(by: str, *notes: str | None) -> Any:
    """Return what came with a decision, or was noted, under a name; None if nothing was."""
    for note in notes:
        said = None if note is None else json.loads(note)
        if isinstance(said, dict) and said.get(by) is not None:
            return said[by]
    return None


def named(value: Any) -> str:
    """Return a value of a context or of a note as a text: 1 and 1.0 are the same.

    Examples
    --------
    >>> from projbandits.features.contexts import named
    >>> named(1), named(1.0), named(0.5), named(True), named("1"), named(["a", 2])
    ('1', '1', '0.5', 'True', '1', '["a", 2]')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value) if isinstance(value, list | dict) else str(value)
