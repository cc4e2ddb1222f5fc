"""How one source column, or one block of them, becomes numbers of comparable size."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from projbandits._checks import Array, did_you_mean, real, real_array, short
from projbandits._columns import MANY_COLUMNS, Column, Columns
from projbandits._tables import is_missing

CONSTANT_WITHIN = 1e-10
"""A spread below this share of a column's size may be round-off: the column is constant."""
LARGEST = 1e150
"""Squares of larger numbers would overflow."""
OTHER = "other"
LEVELS = 10_000
"""More levels than this are an identity, not a category."""


SOURCES: dict[str, dict[str, type]] = {
    "numeric": {"mean": float, "scale": float},
    "categorical": {"levels": list},
    "embedding": {"columns": list, "mean": list, "scale": float},
}
"""What each kind of source has beside its name, as it is written."""


class Encoding(ABC):
    """What `Features` asks of a source."""

    kind: ClassVar[str]
    name: str

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the features it makes."""

    def within(self, names: Collection[str]) -> bool:
        """Tell whether a table with these columns has the source."""
        return self.name in names

    @abstractmethod
    def encode(self, columns: Columns, out: Array) -> list[Any]:
        """Write the features, a row each, over zeros; return levels that `fit` did not see."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        values = {field: getattr(self, field) for field in SOURCES[self.kind]}
        listed = {field: list(v) if isinstance(v, tuple) else v for field, v in values.items()}
        return {"kind": self.kind, "name": self.name, **listed}


@dataclass(frozen=True)
class Numeric(Encoding):
    """(x - mean) / scale; a column without spread makes no feature."""

    name: str
    mean: float
    scale: float
    missing: str
    kind: ClassVar[str] = "numeric"

    @classmethod
    def fit(cls, name: str, given: Any, columns: Columns | None, missing: str) -> Numeric:
        """Return the encoding with mean and scale as given, or those of the column."""
        if given is not None:
            mean, scale = _pair(name, given)
            return cls(name, real(f"the mean of {name!r}", mean), scale, missing)
        assert columns is not None
        values = _complete(columns, name, columns.numbers(name), missing)
        known = values[~np.isnan(values)]
        if not len(known):
            raise ValueError(f"column {name!r} must have a value, all {len(values)} are missing")
        size = float(np.abs(known).max())
        if size > LARGEST:
            raise ValueError(f"column {name!r} must be at most {LARGEST} in size, got {size}")
        mean, spread = float(known.mean()), float(known.std())
        return cls(name, mean, 0.0 if spread <= CONSTANT_WITHIN * size else spread, missing)

    @property
    def constant(self) -> bool:
        """Whether the column had the same value everywhere."""
        return self.scale == 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """The source's own name, or nothing if it is constant."""
        return () if self.constant else (self.name,)

    def encode(self, columns: Columns, out: Array) -> list[Any]:
        """Write the scaled column."""
        if not self.constant:
            values = _complete(columns, self.name, columns.numbers(self.name), self.missing)
            out[:, 0] = (values - self.mean) / self.scale
            _fill(out, self.missing)
        return []


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
    """One column per level, and one for all levels that were not seen."""

    name: str
    levels: tuple[Any, ...]
    unseen: str
    missing: str
    kind: ClassVar[str] = "categorical"

    @classmethod
    def fit(
        cls, name: str, given: Any, columns: Columns | None, unseen: str, missing: str
    ) -> Categorical:
        """Return the encoding with the levels as given, or those of the column."""
        if given is not None:
            if isinstance(given, str) or not isinstance(given, Collection):
                raise TypeError(f"the levels of {name!r} must be a list, got {short(given)}")
            levels = [_level(level) for level in given]
        else:
            import pandas as pd

            assert columns is not None
            values = _complete(columns, name, columns.values(name), missing)
            levels = [_level(value) for value in pd.unique(values[~pd.isna(values)])]
            levels.sort(key=lambda level: (isinstance(level, str), level))
        if len(levels) > LEVELS:
            raise ValueError(
                f"column {name!r} must have at most {LEVELS} levels, got {len(levels)}: an "
                "identity is no category"
            )
        if not levels or len(set(levels)) != len(levels):
            raise ValueError(f"the levels of {name!r} must be some, and distinct, got {levels!r}")
        return cls(name, tuple(levels), unseen, missing)

    @property
    def names(self) -> tuple[str, ...]:
        """A name per level, as in genre=drama."""
        shown = [f"{self.name}={level}" for level in self.levels]
        if self.unseen == OTHER:
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
        new, news = at < 0, list[Any]()
        if new.any():
            _complete(columns, self.name, values, self.missing)
            news = [_level(value) for value in pd.unique(values[new & ~pd.isna(values)])]
            if self.unseen == "error":
                row = int(new.argmax())
                raise ValueError(
                    f"{columns.name} must have levels that fit saw in column {self.name!r}, got "
                    f"{short(values[row])} in row {row} ({int(new.sum())} such rows, "
                    f"{len(news)} such levels): fit again, or pass unseen='other'"
                )
            at = np.where(new, len(self.levels), at)
        out[np.arange(len(out)), at] = 1.0
        return news

    def _place(self, value: Any) -> int:
        plain = value.item() if isinstance(value, np.generic) else value
        if is_missing(plain):
            return -1
        return self.levels.index(plain) if plain in self.levels else -1


@dataclass(frozen=True)
class Embedding(Encoding):
    """(x - mean) / scale for a block, with one scale: the root of its mean squared length."""

    name: str
    columns: tuple[str, ...] | None
    mean: tuple[float, ...]
    scale: float
    missing: str
    kind: ClassVar[str] = "embedding"

    @classmethod
    def fit(cls, name: str, given: Any, columns: Columns | None, missing: str) -> Embedding:
        """Return the encoding of the columns `given`, or of the vectors in the column `name`."""
        if isinstance(given, Mapping):
            block = None if given["columns"] is None else tuple(map(str, given["columns"]))
            mean, scale = _pair(name, (given["mean"], given["scale"]))
            centre = real_array(f"the mean of {name!r}", mean, ndim=1)
            return cls(name, block, tuple(centre.tolist()), scale, missing)
        block = None if given is None else tuple(map(str, given))
        if columns is None:
            raise ValueError(f"table must be given: nothing is known of {name!r}")
        rows = _block(columns, name, block, missing)
        centre = np.nanmean(rows, axis=0)
        scale = math.sqrt(float(np.nanmean(((rows - centre) ** 2).sum(axis=1))))
        if not scale > CONSTANT_WITHIN * max(float(np.nanmax(np.abs(rows))), 1e-300):
            raise ValueError(f"block {name!r} must vary, got the same vector in every row")
        return cls(name, block, tuple(centre.tolist()), scale, missing)

    @property
    def names(self) -> tuple[str, ...]:
        """A name per number, as in title[0]."""
        return tuple(f"{self.name}[{j}]" for j in range(len(self.mean)))

    def within(self, names: Collection[str]) -> bool:
        """Tell whether a table with these columns has the source."""
        return all(column in names for column in self.columns or (self.name,))

    def encode(self, columns: Columns, out: Array) -> list[Any]:
        """Write the scaled block."""
        rows = _block(columns, self.name, self.columns, self.missing)
        if rows.shape[1] != len(self.mean):
            raise ValueError(
                f"{columns.name} must hold vectors of {len(self.mean)} numbers in column "
                f"{self.name!r}, got {rows.shape[1]}"
            )
        out[:] = (rows - np.array(self.mean)) / self.scale
        _fill(out, self.missing)
        return []


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
    if kind == "numeric":
        return kind, data["name"], (data["mean"], data["scale"])
    if kind == "categorical":
        return kind, data["name"], data["levels"]
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


def _pair(name: str, given: Any) -> tuple[Any, float]:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise TypeError(f"{name!r} must be given as (mean, scale), got {short(given)}")
    scale = real(f"the scale of {name!r}", given[1])
    if scale < 0:
        raise ValueError(f"the scale of {name!r} must not be negative, got {scale}")
    return given[0], scale


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


def _fill(out: Array, missing: str) -> None:
    """Put what is missing at the mean."""
    if missing == "mean":
        out[np.isnan(out)] = 0.0


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
    elif values.dtype.kind == "O":
        import pandas as pd

        gone = np.asarray(pd.isna(values))
    else:
        return values
    if missing == "error" and gone.any():
        row = int(np.argwhere(gone)[0][0])
        raise ValueError(
            f"{columns.name} must have every value, column {name!r} lacks {int(gone.sum())} (NaN), "
            f"the first in row {row}: drop or fill them, or pass missing='mean'"
        )
    return values
