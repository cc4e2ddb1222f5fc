"""How one source column, or one block of them, becomes numbers of comparable size."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import (
    Array,
    did_you_mean,
    is_missing,
    outside,
    real,
    real_array,
    short,
)
from projbandits.tables import MANY_COLUMNS, Column, Columns, date_text, days_of, missing_entries

CONSTANT_WITHIN = 1e-10
"""A spread below this share of a column's size may be round-off: the column is constant."""
LARGEST = 1e150
"""Squares of larger numbers would overflow."""
OTHER, MISSING = "other", "missing"
LEVELS = 10_000
"""More levels than this are an identity, not a category."""
MANY_LEVELS = 50
"""From so many levels on a warning names the column."""
FEW_LEVELS = 10
"""With fewer levels than this, a small table may have few rows for each."""
LEARN = "learn"
"""How a file without null says that something is to be learnt."""


SOURCES: dict[str, dict[str, type]] = {
    "numeric": {"mean": float, "scale": float, "indicator": bool},
    "date": {"reference": str, "mean": float, "scale": float, "indicator": bool},
    "categorical": {"levels": list, "folded": bool, "indicator": bool},
    "embedding": {"columns": list, "mean": list, "scale": float, "indicator": bool},
}
"""The fields of each kind of source beside its name, as they are date_text."""


class Rules(NamedTuple):
    """The rules that all sources share, as `Features` declares them."""

    unseen: str
    missing: str
    max_levels: int


class Encoding(ABC):
    """The interface of a source.

    `indicator` says whether missing values have a column of their own, since `fit` saw some.
    """

    kind: ClassVar[str]
    name: str
    missing: str
    indicator: bool

    @property
    @abstractmethod
    def own_names(self) -> tuple[str, ...]:
        """The names of the features it makes of values that are there."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all features it makes."""
        own = self.own_names
        if not self.indicator:
            return own
        gap = f"{self.name}={MISSING}"
        return (*own, gap if gap not in own else f"{gap} (no value)")

    @property
    def units(self) -> tuple[float, ...]:
        """How much of its column one of each feature is."""
        scale = getattr(self, "scale", 1.0)
        return (*[scale] * len(self.own_names), *[1.0] * self.indicator)

    def within(self, names: Collection[str]) -> bool:
        """Tell whether a table with these columns has the source."""
        return self.name in names

    @abstractmethod
    def encode(self, columns: Columns, out: Array) -> list[Any]:
        """Write the features, a row each, over zeros; return levels that `fit` did not see.

        None among them stands for missing values where `fit` saw none.
        """

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        values = {field: getattr(self, field) for field in SOURCES[self.kind]}
        listed = {field: list(v) if isinstance(v, tuple) else v for field, v in values.items()}
        return {"kind": self.kind, "name": self.name, **listed}

    def _fill(self, out: Array, gone: NDArray[np.bool_]) -> list[Any]:
        """Put missing values at the mean, mark their rows, and return [None] if that is new."""
        if not gone.any():
            return []
        out[np.isnan(out)] = 0.0
        if self.indicator:
            out[:, -1] = gone
            return []
        return [None] if self.missing == "indicator" else []


@dataclass(frozen=True)
class Numeric(Encoding):
    """(x - mean) / scale; a column without spread makes no feature."""

    name: str
    mean: float
    scale: float
    missing: str
    indicator: bool = False
    kind: ClassVar[str] = "numeric"

    @classmethod
    def fit(cls, name: str, given: Any, columns: Columns | None, rules: Rules) -> Numeric:
        """Return the encoding with mean and scale as given, or those of the column."""
        if given is not None:
            mean, scale, indicator = _moments(name, given)
            return cls(name, real(f"the mean of {name!r}", mean), scale, rules.missing, indicator)
        assert columns is not None
        values = _complete(columns, name, columns.numbers(name), rules.missing)
        return cls(name, *_learnt(name, values), rules.missing, _marked(values, rules))

    @property
    def constant(self) -> bool:
        """Whether the column had the same value everywhere."""
        return self.scale == 0.0

    @property
    def own_names(self) -> tuple[str, ...]:
        """The source's own name, or nothing if it is constant."""
        return () if self.constant else (self.name,)

    def numbers(self, columns: Columns) -> Array:
        """Return the numbers that are scaled."""
        return columns.numbers(self.name)

    def encode(self, columns: Columns, out: Array) -> list[Any]:
        """Write the scaled column."""
        if self.constant and not self.indicator:
            return []
        values: Array = _complete(columns, self.name, self.numbers(columns), self.missing)
        if not self.constant:
            out[:, 0] = (values - self.mean) / self.scale
        return self._fill(out, np.isnan(values))


@dataclass(frozen=True)
class Date(Numeric):
    """The age in days on a date of reference, scaled."""

    reference: str = "1970-01-01"
    kind: ClassVar[str] = "date"

    @classmethod
    def fit(cls, name: str, given: Any, columns: Columns | None, rules: Rules) -> Date:
        """Return the encoding as given, or with the newest date of the column for reference."""
        if isinstance(given, Mapping):
            mean, scale, indicator = _moments(name, given)
            centre, reference = real(f"the mean of {name!r}", mean), given.get("reference")
            _reference(name, reference)
            return cls(name, centre, scale, rules.missing, indicator, str(reference))
        if columns is None:
            raise ValueError(f"table must be given: nothing is known of the ages of {name!r}")
        days: Array = _complete(columns, name, columns.days(name), rules.missing)
        if np.isnan(days).all():
            raise _no_value(name, len(days))
        newest = float(np.nanmax(days)) if given is None else _reference(name, given)
        reference = date_text(newest)
        ages = _reference(name, reference) - days
        mean, scale = _learnt(name, ages)
        return cls(name, mean, scale, rules.missing, _marked(ages, rules), reference)

    @property
    def own_names(self) -> tuple[str, ...]:
        """The name of the age, as in age(released), or nothing if it is constant."""
        return () if self.constant else (f"age({self.name})",)

    def numbers(self, columns: Columns) -> Array:
        """Return the ages in days."""
        return _reference(self.name, self.reference) - columns.days(self.name)


def fit_numbers(columns: Columns, names: Sequence[str], missing: str) -> dict[str, Numeric]:
    """Return what `Numeric.fit` learns of many columns at once; nothing of few, or with gaps."""
    if len(names) < MANY_COLUMNS:
        return {}
    rows = np.ascontiguousarray(columns.block(names).T)  # sums are then the same for any table
    sizes = np.abs(rows).max(axis=1)
    if not (sizes <= LARGEST).all():  # or nan
        return {}
    means, spreads = rows.mean(axis=1), rows.std(axis=1)
    scales = np.where(spreads <= CONSTANT_WITHIN * sizes, 0.0, spreads)
    found = zip(names, means.tolist(), scales.tolist(), strict=True)
    return {name: Numeric(name, mean, scale, missing) for name, mean, scale in found}


def encode_numbers(columns: Columns, sources: Sequence[Numeric], out: Array) -> bool:
    """Write what many sources do at once; return False if they are few, or one has gaps."""
    if len(sources) < MANY_COLUMNS:
        return False
    values = columns.block([source.name for source in sources])
    if not math.isfinite(float(values.sum())):
        return False
    np.subtract(values, [source.mean for source in sources], out=out)
    out /= [source.scale for source in sources]
    return True


@dataclass(frozen=True)
class Categorical(Encoding):
    """One column per level, and one for all other levels.

    `folded` says that there were more levels than may have columns. If none of those came twice,
    there are no columns at all.
    """

    name: str
    levels: tuple[Any, ...]
    unseen: str
    missing: str
    folded: bool = False
    indicator: bool = False
    kind: ClassVar[str] = "categorical"

    @classmethod
    def fit(cls, name: str, given: Any, columns: Columns | None, rules: Rules) -> Categorical:
        """Return the encoding with the levels as given, or those of the column."""
        if given is None:
            assert columns is not None
            return cls._of(name, columns, rules)
        folded = indicator = False
        if isinstance(given, Mapping):
            folded, indicator = bool(given.get("folded")), bool(given.get("indicator"))
            given = given.get("levels")
        if isinstance(given, str) or not isinstance(given, Collection):
            raise TypeError(f"the levels of {name!r} must be a list, got {short(given)}")
        levels = [_level(level) for level in given]
        if len(levels) > LEVELS:
            raise ValueError(
                f"column {name!r} must have at most {LEVELS} levels, got {len(levels)}: an "
                "identity is no category"
            )
        if not (levels or folded) or len(set(levels)) != len(levels) or "" in levels:
            raise ValueError(
                f"the levels of {name!r} must be some, distinct, and no empty text, got {levels!r}"
            )
        return cls(name, tuple(levels), rules.unseen, rules.missing, folded, indicator)

    @classmethod
    def _of(cls, name: str, columns: Columns, rules: Rules) -> Categorical:
        """Return the encoding of a column, with at most `max_levels` levels."""
        import pandas as pd

        values = _complete(columns, name, columns.values(name), rules.missing)
        gone = missing_entries(values)
        known = values[~gone]
        levels = [_level(value) for value in pd.unique(known)]
        levels.sort(key=lambda level: (isinstance(level, str), level))
        if not levels:
            raise _no_value(name, len(values))
        kept = levels
        if len(levels) > rules.max_levels:
            if rules.unseen == "error":
                raise ValueError(
                    f"column {name!r} must have at most max_levels={rules.max_levels} levels where "
                    f"unseen='error' leaves no column for the others, got {len(levels)}: leave the "
                    "column out, pass unseen='other', or raise max_levels"
                )
            codes = pd.Index(levels, dtype=object).get_indexer(pd.Index(known, dtype=object))
            often = np.bincount(codes, minlength=len(levels))
            first = np.argsort(-often, kind="stable")[: rules.max_levels]
            kept = [levels[i] for i in sorted(first.tolist()) if often[i] > 1]
        _warn_of_levels(name, len(levels), len(known), len(kept))
        indicator = rules.missing == "indicator" and bool(gone.any())
        folded = len(kept) < len(levels)
        return cls(name, tuple(kept), rules.unseen, rules.missing, folded, indicator)

    @property
    def own_names(self) -> tuple[str, ...]:
        """A name per level, as in genre=drama."""
        shown = [f"{self.name}={level}" for level in self.levels]
        if self.unseen == OTHER and shown:
            other = f"{self.name}={OTHER}"
            shown.append(other if other not in shown else f"{other} (not seen)")
        return tuple(shown)

    @cached_property
    def _index(self) -> Any:
        import pandas as pd

        return pd.Index(self.levels, dtype=object)

    def encode(self, columns: Columns, out: Array) -> list[Any]:
        """Write a one in the column of each row's level."""
        import pandas as pd

        values = columns.values(self.name)
        if len(values) == 1:  # a context: no hash table is worth it
            at = np.array([self._place(values[0])])
        else:
            at = self._index.get_indexer(pd.Index(values, dtype=object))
        new = at < 0
        if not new.any():
            out[np.arange(len(out)), at] = 1.0
            return []
        _complete(columns, self.name, values, self.missing)
        gone = missing_entries(values)
        fresh, news = new & ~gone, list[Any]()
        if fresh.any() and not self.folded:
            news = [_level(value) for value in pd.unique(values[fresh])]
        if self.unseen == "error" and (fresh.any() or (gone.any() and not self.indicator)):
            row = int((fresh if self.indicator else new).argmax())
            raise ValueError(
                f"{columns.name} must have levels that fit saw in column {self.name!r}, got "
                f"{short(values[row])} in row {row} ({int(new.sum())} such rows, "
                f"{len(news)} such levels): fit again, or pass unseen='other'"
            )
        if gone.any() and not self.indicator and self.missing == "indicator":
            news.append(None)
        at = np.where(new, len(self.levels), at)
        if self.indicator:
            at = np.where(gone, out.shape[1] - 1, at)
        marked = np.full(len(at), True) if self.levels else gone & self.indicator
        rows = np.flatnonzero(np.broadcast_to(marked, len(out)))
        out[rows, np.broadcast_to(at, len(out))[rows]] = 1.0
        return news

    def _place(self, value: Any) -> int:
        plain = value.item() if isinstance(value, np.generic) else value
        if is_missing(plain):
            return -1
        return self.levels.index(plain) if plain in self.levels else -1


def _warn_of_levels(name: str, levels: int, rows: int, kept: int) -> None:
    """Warn of a category that has as many levels as an identity."""
    if levels < MANY_LEVELS and not (levels >= FEW_LEVELS and 2 * levels > rows):
        return
    what, remedy = "each has a column", "leave it out, or give the levels that matter"
    if kept == 0:
        what = "none came twice, so the column is left out"
        remedy = (
            "an identity is no category, and a strategy with arm_effects learns what each item has "
            "of its own"
        )
    elif kept < levels:
        what = f"the {kept} most frequent have columns and the rest share {name}={OTHER}"
        remedy = "leave it out, give the levels that matter, or set max_levels"
    warnings.warn(
        f"column {name!r} has {levels:,} levels in {rows:,} rows: {what}; {remedy}",
        UserWarning,
        stacklevel=outside(),
    )


@dataclass(frozen=True)
class Embedding(Encoding):
    """A block of numbers, centred, and scaled so that its mean squared length is one."""

    name: str
    columns: tuple[str, ...] | None
    mean: tuple[float, ...]
    scale: float
    missing: str
    indicator: bool = False
    kind: ClassVar[str] = "embedding"

    @classmethod
    def fit(cls, name: str, given: Any, columns: Columns | None, rules: Rules) -> Embedding:
        """Return the encoding of the columns `given`, or of the vectors in the column `name`."""
        if isinstance(given, Mapping):
            block = None if given["columns"] is None else tuple(map(str, given["columns"]))
            mean, scale, indicator = _moments(name, given)
            centre = real_array(f"the mean of {name!r}", mean, ndim=1)
            return cls(name, block, tuple(centre.tolist()), scale, rules.missing, indicator)
        block = None if given is None else tuple(map(str, given))
        if columns is None:
            raise ValueError(f"table must be given: nothing is known of {name!r}")
        rows = _block(columns, name, block, rules.missing)
        whole = rows[~np.isnan(rows).any(axis=1)]
        if not len(whole):
            raise ValueError(f"block {name!r} must be whole in some row, each lacks a number")
        centre = np.nanmean(rows, axis=0)
        scale = math.sqrt(float(((whole - centre) ** 2).sum(axis=1).mean()))
        if not scale > CONSTANT_WITHIN * max(float(np.nanmax(np.abs(rows))), 1e-300):
            raise ValueError(f"block {name!r} must vary, got the same vector in every row")
        marked = _marked(rows, rules)
        return cls(name, block, tuple(centre.tolist()), scale, rules.missing, marked)

    @property
    def own_names(self) -> tuple[str, ...]:
        """A name per number, as in title[0]."""
        return tuple(f"{self.name}[{j}]" for j in range(len(self.mean)))

    def within(self, names: Collection[str]) -> bool:
        """Tell whether a table with these columns has the source."""
        return all(column in names for column in self.columns or (self.name,))

    def encode(self, columns: Columns, out: Array) -> list[Any]:
        """Write the scaled block; a missing number is at its mean."""
        rows, width = _block(columns, self.name, self.columns, self.missing), len(self.mean)
        gone = np.asarray(np.isnan(rows).any(axis=1))
        if gone.all() and self.columns is None:
            rows = np.full((len(rows), width), np.nan)  # the length of missing vectors is unknown
        if rows.shape[1] != width:
            raise ValueError(
                f"{columns.name} must hold vectors of {width} numbers in column "
                f"{self.name!r}, got {rows.shape[1]}"
            )
        out[:, :width] = (rows - np.array(self.mean)) / self.scale
        return self._fill(out, gone)


def read_encoding(where: str, data: Any) -> tuple[str, str, Any]:
    """Return kind, name and what is given of a source, from what `to_dict` made."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in SOURCES:
        raise ValueError(
            f"{where} must be a source of kind {', '.join(SOURCES)}, got {short(data)}"
        )
    fields = SOURCES[kind]
    block = kind != "embedding" or data.get("columns") is not None
    wanted = fields if block else {**fields, "columns": type(None)}
    check_fields(where, data, {"kind": str, "name": str, **wanted})
    if kind == "embedding":
        mean = real_array(f"{where}.mean", data["mean"], ndim=1)
        if block:
            check_texts(f"{where}.columns", data["columns"])
        if not len(mean) or not data["scale"] > 0 or (block and len(mean) != len(data["columns"])):
            raise ValueError(
                f"{where} must have a positive scale and a mean for each of its columns, got "
                f"{short(data)}"
            )
    return kind, data["name"], {name: data[name] for name in fields}


def check_fields(where: str, data: dict[Any, Any], fields: Mapping[str, type]) -> None:
    """Raise unless a dict has exactly these fields, each of its type and finite."""
    for key in data:
        if key not in fields:
            raise ValueError(f"{where} has an unknown key {short(key)}{did_you_mean(key, fields)}")
    for key, kind in fields.items():
        if key not in data:
            raise ValueError(f"{where} must have the key {key!r}, it is missing")
        value = data[key]
        if kind is float:
            real(f"{where}.{key}", value)
        elif not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise TypeError(f"{where}.{key} must be a {kind.__name__}, got {short(value)}")


def check_texts(where: str, value: Any) -> None:
    """Raise unless a value is a list of texts."""
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise TypeError(f"{where} must be a list of texts, got {short(value)}")


def _moments(name: str, given: Any) -> tuple[Any, float, bool]:
    """Return mean, scale, and whether missing values have a column, as they are given."""
    indicator = False
    if isinstance(given, Mapping):
        indicator, given = bool(given.get("indicator")), [given.get("mean"), given.get("scale")]
    if not isinstance(given, tuple | list) or len(given) != 2 or given[0] is None:
        raise TypeError(
            f"{name!r} must be given as (mean, scale), or None to learn them, got {short(given)}"
        )
    scale = real(f"the scale of {name!r}", given[1])
    if scale < 0:
        raise ValueError(f"the scale of {name!r} must not be negative, got {scale}")
    return given[0], scale, indicator


def _learnt(name: str, values: Array) -> tuple[float, float]:
    """Return mean and scale of the numbers that are there; the scale is 0 if they are all one."""
    known = values[~np.isnan(values)]
    if not len(known):
        raise _no_value(name, len(values))
    size = float(np.abs(known).max())
    if size > LARGEST:
        raise ValueError(f"column {name!r} must be at most {LARGEST} in size, got {size}")
    mean, spread = float(known.mean()), float(known.std())
    return mean, 0.0 if spread <= CONSTANT_WITHIN * size else spread


def _no_value(name: str, rows: int) -> ValueError:
    return ValueError(
        f"column {name!r} must have a value, all {rows} are missing: drop the column, or list the "
        "columns to take"
    )


def _marked(values: Array, rules: Rules) -> bool:
    """Tell whether missing values get a column of their own."""
    return rules.missing == "indicator" and bool(np.isnan(values).any())


def _reference(name: str, value: Any) -> float:
    """Return a date of reference in days since 1970."""
    days = days_of(value)
    if days is None or math.isnan(days):
        raise ValueError(
            f"the reference of {name!r} must be a date such as 2026-01-31, or None for the newest, "
            f"got {short(value)}"
        )
    return days


def _level(value: Any) -> Any:
    """Return a category as JSON can hold it."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    if not isinstance(plain, str | int | float) or (
        isinstance(plain, float) and not math.isfinite(plain)
    ):
        raise TypeError(
            f"a category must be a string or a number, got {short(plain)} (an argument must be a "
            "string or a number)"
        )
    return plain


def _block(columns: Columns, name: str, block: tuple[str, ...] | None, missing: str) -> Array:
    rows = columns.vectors(name) if block is None else columns.block(block)
    _complete(columns, name, rows, missing)
    return rows


def _complete(columns: Columns, name: str, values: Column, missing: str) -> Any:
    """Return values, or raise if one is infinite, or missing where that is an error."""
    if values.dtype.kind == "f":
        total = float(np.einsum("i,i->", values.ravel(), np.ones(values.size)))
        if math.isfinite(total):
            return values
        infinite = np.isinf(values)
        if infinite.any():
            row = int(np.argwhere(infinite)[0][0])
            raise ValueError(
                f"{columns.name} must be finite, got infinity (inf) in row {row}, column {name!r}: "
                "drop or fill such entries"
            )
        gone = np.isnan(values)
    elif missing == "error" and values.dtype.kind in "OUS":
        gone = missing_entries(values)
    else:
        return values
    if missing == "error" and gone.any():
        row = int(np.argwhere(gone)[0][0])
        raise ValueError(
            f"{columns.name} must have every value, column {name!r} lacks {int(gone.sum())} (NaN), "
            f"the first in row {row}: drop or fill them, or pass missing='indicator' or 'mean'"
        )
    return values
