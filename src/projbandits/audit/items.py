"""The items that were ever on offer, and their attributes, protected or never seen, as groups."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array, check_distinct_labels, did_you_mean, short, table_array
from projbandits.features.contexts import item_columns, item_places, item_vectors
from projbandits.features.encodings import OTHER, Categorical, Numeric
from projbandits.features.features import Features
from projbandits.ledger.catalogue import Catalogue
from projbandits.ledger.fold import Known
from projbandits.ledger.labels import read_label

if TYPE_CHECKING:
    import pandas as pd

DRAWN = 65_536
"""How many arms are drawn at a time."""

LEVELS_APART = 6
"""Numbers with at most this many values have a group for each; others are cut at their terciles."""

LEVELS_LOOKED_AT = 1000
"""Among this many, more values than `LEVELS_APART` are mostly found."""

MOST_GROUPS = 12
"""With more values, all after the eleven most frequent ones are `OTHER`."""

UNIT_ROUND_OFF = 1e-12

ItemOf = NDArray[np.int64] | None
"""Which item each arm is; None where every arm is one of its own."""

Group = tuple[str, NDArray[np.bool_]]
"""A group of arms: its name, and whether each belongs to it."""


class OfferedItems:
    """The distinct arms that were ever on offer.

    Parameters
    ----------
    catalogue : Catalogue
        All of them.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.vectors: Array = catalogue.vectors
        self._drawn = np.empty(0, dtype=np.int64)

    @cached_property
    def labels(self) -> list[str | None]:
        """The names of the arms, None where the log does not say."""
        texts = map(self._catalogue.label, range(len(self.vectors)))
        return [None if text is None else str(read_label(text)) for text in texts]

    def numbers(self, features: Features | None, largest: int) -> ItemOf:
        """Return which item each arm is; None if every arm is one of its own.

        An item has another arm in each context. Its label tells the item, if that can be believed:
        where all labels are 0, 1, ... up to the size of an offer, they may only count its rows.
        Otherwise the features tell it that do not depend on the context.

        Parameters
        ----------
        features : Features or None
            Which know what comes with a call.
        largest : int
            How many arms were on offer at most.
        """
        import pandas as pd

        labels = [text for text in self.labels if text is not None]
        places = item_places(features, self.vectors.shape[1])
        if len(labels) == len(self.vectors) and not {*labels} <= {*map(str, range(largest))}:
            keys: list[Any] = labels
        elif labels or len(places) < self.vectors.shape[1]:
            keys = _keys(self.vectors[:, places])
        else:
            return None
        codes = pd.factorize(np.array(keys, dtype=object))[0]
        return None if codes.max() + 1 == len(codes) else codes

    def drawn(self, rng: np.random.Generator, size: int) -> Array:
        """Return some of the arms, drawn at random."""
        if len(self._drawn) < size:
            self._drawn = rng.integers(len(self.vectors), size=max(size, DRAWN))
        taken, self._drawn = self._drawn[:size], self._drawn[size:]
        return np.asarray(self.vectors[taken])


def cut(values: Array, counts: NDArray[np.int64] | None = None) -> tuple[list[str], Array]:
    """Return the names of the groups of a number, and the upper ends of all but the last.

    Parameters
    ----------
    values : ndarray
        The numbers that were offered.
    counts : ndarray of int, optional
        How often each was.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.audit.items import cut
    >>> cut(np.array([0.0, 1.0, 1 / 3]))[0]
    ['0', '0.333', '1']
    >>> cut(np.arange(1950.0, 2020.0))
    (['up to 1973', '1973 to 1996', 'above 1996'], array([1973., 1996.]))
    """
    some = np.unique(values[:LEVELS_LOOKED_AT])  # to sort all of them takes time
    levels = np.unique(values) if len(some) <= LEVELS_APART else some
    if len(levels) <= LEVELS_APART:
        return _texts(levels), levels[:-1]
    thirds = np.array([1 / 3, 2 / 3])
    ends = np.unique(
        np.quantile(values, thirds) if counts is None else _quantiles(values, counts, thirds)
    )
    ends = ends[ends < values.max()]  # else none lies above
    texts = _texts(ends)
    if not texts:
        return ["all"], ends
    middle = [f"{low} to {high}" for low, high in pairwise(texts)]
    return [f"up to {texts[0]}", *middle, f"above {texts[-1]}"], ends


def _quantiles(values: Array, counts: NDArray[np.int64], q: Array) -> Array:
    """Return quantiles of values with their counts, as np.quantile has them."""
    order = values.argsort()
    upto = counts[order].cumsum()
    ranks = (int(upto[-1]) - 1) * q
    low, high = (
        values[order][np.searchsorted(upto, f(ranks), "right")] for f in (np.floor, np.ceil)
    )
    return np.asarray(low + (high - low) * (ranks - np.floor(ranks)))


def _texts(values: NDArray[np.float64]) -> list[str]:
    """Return numbers as short as tells them apart, with all digits before the dot up to 1e6."""
    whole = max((len(str(int(abs(value)))) for value in values if abs(value) < 1e6), default=3)
    for digits in range(max(3, whole), 18):
        texts = [f"{value:.{digits}g}" for value in values]
        if len(set(texts)) == len(texts):
            break
    return texts


def grouped(values: Any, offered: Array) -> tuple[list[Group], NDArray[np.bool_]]:
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
    if not known.any():
        return [], known
    if pd.api.types.is_numeric_dtype(series) and not pd.api.types.is_bool_dtype(series):
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        # Weights as whole numbers: terciles are of what was offered.
        counts = np.maximum(np.rint(offered[known] * 1000), 1).astype(np.int64)
        names, ends = cut(numbers[known], counts)
        codes = np.where(known, np.searchsorted(ends, numbers), -1)
        return [(name, codes == code) for code, name in enumerate(names)], known
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
            if own and isinstance(encoding, Numeric):  # it was scaled
                raw = column * encoding.scale + encoding.mean
                # What was 0 is 0 again, and not round-off.
                column = np.where(np.abs(raw) < UNIT_ROUND_OFF * encoding.scale, 0.0, raw)
            found[name] = column
    return found


def read(attributes: Any, items: OfferedItems, known: Known) -> pd.DataFrame:
    """Return a table of attributes with a row for each item, missing where there is none.

    Parameters
    ----------
    attributes : table
        Indexed by the items' labels, or with the columns of the features, or the raw ones of which
        they are made, beside the attributes: then rows are matched by their features.
    items : OfferedItems
        The items.
    known : Known
        Which knows the features' names, and how they are made of raw columns.
    """
    table, vectors = _frame(attributes), items.vectors
    columns, features = known.columns, known.features
    raw = set[str]() if features is None else item_columns(features)
    if columns is not None and set(columns) <= set(table.columns):
        places = _by_features(table_array("attributes", table[list(columns)]), vectors)
        used = {*columns}
    elif features is not None and raw <= set(table.columns):
        own = item_places(features, vectors.shape[1])
        places = _by_features(item_vectors(features, table), vectors[:, own])
        used = raw | {*features.context}
    elif any(label is not None for label in items.labels):
        places, used = _by_labels(table, items.labels), set()
    else:
        raise ValueError(
            "attributes must have the columns of the features too, since this log has no labels: "
            f"got the columns {short([*table.columns])}, and the features are "
            f"{sorted(raw) if raw else columns}"
        )
    table = table.drop(columns=[name for name in table.columns if name in used])
    if not len(table.columns):
        raise ValueError("attributes must have a column that is no feature, got none")
    if (places < 0).all():
        raise ValueError(
            "attributes must tell of some of the items that were on offer, got none of them"
        )
    # Items without attributes got the last row; they are set to missing here.
    told = np.repeat(places[:, None] >= 0, len(table.columns), axis=1)
    found = table.iloc[places].reset_index(drop=True)
    return found.astype(object).where(told, None).infer_objects()


def _frame(attributes: Any) -> pd.DataFrame:
    import pandas as pd

    if hasattr(attributes, "to_pandas"):
        attributes = attributes.to_pandas()
    if isinstance(attributes, pd.Series):
        attributes = attributes.to_frame(attributes.name or "attribute")
    try:
        frame = pd.DataFrame(attributes).rename(columns=str)
    except (TypeError, ValueError):
        raise TypeError(f"attributes must be a table, got {short(attributes)}") from None
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise ValueError(f"attributes must have distinct columns, got {twice[0]!r} more than once")
    return frame


def _by_features(rows: Array, vectors: Array) -> NDArray[np.int64]:
    """Return for each item the first of the rows that has its features, or -1."""
    first = {key: row for row, key in reversed([*enumerate(_keys(rows))])}
    return np.array([first.get(key, -1) for key in _keys(vectors)])


def _keys(rows: Array) -> list[bytes]:
    return [row.tobytes() for row in np.ascontiguousarray(rows)]


def _by_labels(table: pd.DataFrame, labels: list[str | None]) -> NDArray[np.int64]:
    """Return for each item the row of the table with its label, or -1."""
    import pandas as pd

    index = table.index.astype(str)
    check_distinct_labels("attributes", index)
    wanted = ["" if label is None else label for label in labels]
    nameless = np.array([label is None for label in labels])
    places = np.where(nameless, -1, index.get_indexer(pd.Index(wanted)))
    if (places < 0).all():
        raise ValueError(
            f"attributes must have labels of items in its index, got {index[0]!r}"
            f"{did_you_mean(index[0], wanted)}"
        )
    return places
