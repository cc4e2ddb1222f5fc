"""Attributes of items, protected or never seen by the decider, as groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array, check_distinct_labels, did_you_mean, short, table_array
from projbandits.audit.protected import groups
from projbandits.features.contexts import item_columns, item_places, item_vectors
from projbandits.features.encodings import OTHER, Categorical, Numeric
from projbandits.features.features import Features
from projbandits.ledger.catalogue import Catalogue
from projbandits.ledger.fold import Known

if TYPE_CHECKING:
    import pandas as pd

MOST_GROUPS = 12
"""With more values, all after the eleven most frequent ones are `OTHER`."""
UNIT_ROUND_OFF = 1e-12


def grouped(values: Any, offered: Array) -> tuple[Any, NDArray[np.bool_]]:
    """Return the groups of an attribute, and of which items it is known.

    Parameters
    ----------
    values : array of shape (N,)
        The attribute of each item: numbers, which are cut at their terciles if they have many
        values; dates, which go by their years; or anything else, where each value is a group.
    offered : ndarray of shape (N,)
        How often each item was on offer.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.audit.items import grouped
    >>> found, known = grouped(np.array(["a", "b", None, "a"], dtype=object), np.ones(4))
    >>> [(name, inside.tolist()) for name, inside in found], known.tolist()
    ([('a', [True, False, False, True]), ('b', [False, True, False, False])], ...)
    """
    import pandas as pd

    series = pd.Series(values)
    if pd.api.types.is_datetime64_any_dtype(series):
        series = series.dt.year
    known = series.notna().to_numpy() & (offered > 0)
    if pd.api.types.is_numeric_dtype(series) and not pd.api.types.is_bool_dtype(series):
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        if not known.any():
            return [], known
        # Weights as whole numbers: terciles are of what was offered.
        counts = np.maximum(np.rint(offered[known] * 1000), 1).astype(np.int64)
        found = groups(numbers[known], counts)
        return [(label, np.asarray(inside(numbers))) for label, inside in found], known
    texts = series.astype(str).to_numpy(dtype=object)
    often = pd.Series(offered[known]).groupby(texts[known]).sum().sort_values(ascending=False)
    names = [str(name) for name in often.index]
    shown = sorted(names if len(names) <= MOST_GROUPS else names[: MOST_GROUPS - 1])
    made = [(name, known & (texts == name)) for name in shown]
    if len(shown) < len(names):
        made.append((OTHER, known & ~np.isin(texts, shown)))
    return made, known


def protected_attributes(
    values: Mapping[str, Array], features: Features | None
) -> dict[str, NDArray[Any]]:
    """Return the protected attributes of items: raw columns where features are made of some.

    Numbers are in the units of their column, and the levels of a category are one attribute. A
    product with a protected column is none, as that column is one itself.

    Parameters
    ----------
    values : mapping of str to ndarray of shape (N,)
        Each protected piece of every item.
    features : Features or None
        How pieces are made of raw columns.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> from projbandits.audit.items import protected_attributes
    >>> made = pb.Features(categorical={"who": ["f", "m"]}, unseen="error", protected=["who"]).fit()
    >>> protected_attributes({"who=f": np.array([1.0, 0.0]), "who=m": np.array([0.0, 1.0])}, made)
    {'who': array(['f', 'm'], dtype=object)}
    >>> made = pb.Features(numeric={"age": (50.0, 10.0)}, protected=["age"]).fit()
    >>> protected_attributes({"age": np.array([-1.0, 0.5])}, made)
    {'age': array([40., 55.])}
    >>> dates = {"out": {"reference": "2026-01-31", "mean": 100.0, "scale": 10.0}}
    >>> made = pb.Features(date=dates, protected=["out"]).fit()
    >>> protected_attributes({"age(out)": np.array([-1.0, 0.5])}, made)
    {'age(out)': array([ 90., 105.])}
    """
    if features is None:
        return dict(values)
    levels = {
        name: (source, name.removeprefix(f"{source}="))
        for source, encoding in features.encodings_.items()
        if isinstance(encoding, Categorical)
        for name in encoding.names
    }
    found: dict[str, NDArray[Any]] = {}
    for name, column in values.items():
        if name in levels:
            category, level = levels[name]
            found.setdefault(category, np.full(len(column), None, dtype=object))
            found[category][column != 0] = level
        elif len(features.sources.get(name, ())) <= 1:
            (source,) = features.sources.get(name) or (name,)
            encoding = features.encodings_.get(source)
            own = encoding is not None and name in encoding.own_names
            found[name] = _in_units(encoding if own else None, column)
    return found


def _in_units(encoding: Any, values: Array) -> Array:
    """Return numbers in the units of their column, if they were scaled."""
    if not isinstance(encoding, Numeric):
        return values
    raw = values * encoding.scale + encoding.mean
    # What was 0 is 0 again, and not round-off.
    return np.where(np.abs(raw) < UNIT_ROUND_OFF * encoding.scale, 0.0, raw)


def read(
    attributes: Any,
    vectors: Array,
    known: Known,
    labels: Sequence[str | None],
) -> pd.DataFrame:
    """Return a table of attributes with a row for each item, missing where there is none.

    Parameters
    ----------
    attributes : table
        Indexed by the items' labels, or with the columns of the features, or the raw ones of which
        they are made, beside the attributes: then rows are matched by their features.
    vectors : ndarray of shape (N, d)
        The items' features.
    known : Known
        Which knows the features' names, and how they are made of raw columns.
    labels : sequence of str or None
        The items' labels, where the log has them.
    """
    table = _frame(attributes)
    columns, features = known.columns, known.features
    raw = set[str]() if features is None else item_columns(features)
    if columns is not None and set(columns) <= set(table.columns):
        rows = table_array("attributes", table[list(columns)])
        places = _by_features(rows, vectors)
        table = table.drop(columns=list(columns))
    elif features is not None and raw <= set(table.columns):
        own = item_places(features, vectors.shape[1])
        places = _by_features(item_vectors(features, table), vectors[:, own])
        given = raw | {*features.context}
        table = table.drop(columns=[name for name in table.columns if name in given])
    elif any(label is not None for label in labels):
        places = _by_labels(table, labels)
    else:
        raise ValueError(
            "attributes must have the columns of the features too, since this log has no labels: "
            f"got the columns {short([*table.columns])}, and the features are "
            f"{sorted(raw) if raw else columns}"
        )
    if not len(table.columns):
        raise ValueError("attributes must have a column that is no feature, got none")
    if (places < 0).all():
        raise ValueError(
            "attributes must tell of some of the items that were on offer, got none of them"
        )
    found = table.iloc[places].reset_index(drop=True)
    # Items without attributes got the last row; they are set to missing here.
    told = np.repeat(places[:, None] >= 0, len(found.columns), axis=1)
    return found.astype(object).where(told, None).infer_objects()


def _frame(attributes: Any) -> pd.DataFrame:
    import pandas as pd

    if hasattr(attributes, "to_pandas"):
        attributes = attributes.to_pandas()
    if isinstance(attributes, pd.Series):
        attributes = attributes.to_frame(attributes.name or "attribute")
    if not isinstance(attributes, pd.DataFrame):
        try:
            attributes = pd.DataFrame(attributes)
        except (TypeError, ValueError):
            raise TypeError(f"attributes must be a table, got {short(attributes)}") from None
    frame: pd.DataFrame = attributes.rename(columns=str)
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise ValueError(f"attributes must have distinct columns, got {twice[0]!r} more than once")
    return frame


def _by_features(rows: Array, vectors: Array) -> NDArray[np.int64]:
    """Return for each item the first of the rows that has its features, or -1."""
    catalogue = Catalogue(rows.shape[1])
    numbers, new = catalogue.numbered(rows)
    catalogue.extend(new)
    _, first = np.unique(numbers, return_index=True)
    found, _ = catalogue.numbered(vectors)
    places = found.astype(np.int64)
    places[places >= len(new)] = -1
    at: NDArray[np.int64] = np.where(places >= 0, first[places], -1)
    return at


def _by_labels(table: pd.DataFrame, labels: Sequence[str | None]) -> NDArray[np.int64]:
    """Return for each item the row of the table with its label, or -1."""
    import pandas as pd

    index = table.index.astype(str)
    check_distinct_labels("attributes", index)
    wanted = ["" if label is None else label for label in labels]
    places: NDArray[np.int64] = index.get_indexer(pd.Index(wanted)).astype(np.int64)
    places[[label is None for label in labels]] = -1
    if (places < 0).all():
        raise ValueError(
            f"attributes must have labels of items in its index, got {index[0]!r}"
            f"{did_you_mean(index[0], wanted)}"
        )
    return places
