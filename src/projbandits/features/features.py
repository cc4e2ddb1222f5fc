"""Raw columns become feature vectors, and each feature knows which columns it descends from."""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from inspect import signature
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from projbandits._validation import Array, did_you_mean, integer, is_missing, one_of, outside, short
from projbandits.features.encodings import (
    LEARN,
    LEVELS,
    Categorical,
    Date,
    Embedding,
    Encoding,
    Numeric,
    Rules,
    check_fields,
    check_texts,
    encode_numbers,
    fit_numbers,
    read_encoding,
)
from projbandits.subspace import Subspace
from projbandits.tables import Column, Columns, days_of

if TYPE_CHECKING:
    import pandas as pd

CONSTANT = "constant"
FEATURES_FORMAT = 2
SAID = 1000
"""After this many levels that `fit` did not see, warnings stop."""

MANY_FEATURES = 1000
"""From more features than this on, a warning names the source of most of them."""

KINDS = ("numeric", "categorical", "date", "embedding")
Declared = Sequence[str] | Mapping[str, Any] | None


class Features:
    """How raw columns become a vector of numbers of comparable size.

    Numbers are centred and scaled to variance one, categories become one column per level, dates
    become ages in days, which are scaled as numbers are, blocks of numbers (embeddings) are centred
    and scaled as a whole, and interactions are the products of the columns of two sources.
    `subspace` leaves out every column that descends from a protected source, products included. If
    nothing is declared, `fit` takes every column: numbers as numeric, dates as dates, everything
    else as categorical.

    In every dict below, None or "learn" says that `fit` learns the values; "learn" is for TOML,
    which has no null.

    Parameters
    ----------
    numeric : list of str, or dict
        Columns of numbers. A dict may give mean and scale: {"length": (100.0, 20.0)}.
    categorical : list of str, or dict
        Columns of categories. A dict may give their levels: {"genre": ["drama", "news"]}.
    embedding : list of str, or dict
        Columns that hold a vector in each row. A dict names the columns of a block:
        {"title": ["t0", "t1"]}.
    context : list of str, or dict
        Sources that come with a call, not with an item. A dict may give levels, or mean and scale:
        {"segment": ["young", "old"], "hour": {"mean": 12, "scale": 6}}. Those that are only named,
        and not declared above, are learnt from the table, which must then have them.
    interactions : list of pairs of str
        Sources whose products are features too.
    protected : list of str
        Sources that must not count.
    constant : bool
        Whether a feature is 1 for every item.
    unseen : "other" or "error"
        What becomes of a level that `fit` did not see: a column of its own, shared by all such
        levels, or an error that names it.
    missing : "indicator", "mean" or "error"
        What becomes of a missing value (None, NaN, NA, NaT or an empty text). A number becomes the
        mean of its column, and a category has none of its levels; a column such as length=missing
        says so, if `fit` saw missing values there. Otherwise a warning does, and a missing category
        is a level that `fit` did not see: all that "mean" does. Or an error names it.
    date : list of str, or dict
        Columns of dates, as such or as texts like 2026-01-31. A dict may give the date of reference
        for their ages: {"released": "2026-01-01"}; by default it is the newest in the table.
    max_levels : int
        How many levels `fit` learns of a category. Of more, the most frequent have columns, if they
        come twice, and the rest is "other".

    Examples
    --------
    >>> import pandas as pd, projbandits as pb
    >>> films = pd.DataFrame({"length": [90, 110, 100], "country": ["fr", "de", "fr"]})
    >>> features = pb.Features(numeric=["length"], categorical=["country"], protected=["country"])
    >>> features.fit(films).names
    ('constant', 'length', 'country=de', 'country=fr', 'country=other')
    >>> features.transform(films).round(2)
    array([[ 1.  , -1.22,  0.  ,  1.  ,  0.  ],
           [ 1.  ,  1.22,  1.  ,  0.  ,  0.  ],
           [ 1.  ,  0.  ,  0.  ,  1.  ,  0.  ]])
    >>> features.subspace.dim
    2
    """

    def __init__(
        self,
        *,
        numeric: Declared = None,
        categorical: Declared = None,
        embedding: Declared = None,
        context: Sequence[str] | Mapping[str, Any] = (),
        interactions: Sequence[tuple[str, str]] = (),
        protected: Sequence[str] = (),
        constant: bool = True,
        unseen: str = "other",
        missing: str = "indicator",
        date: Declared = None,
        max_levels: int = 100,
    ) -> None:
        # Checked in `fit`, as scikit-learn's clone and set_params want it.
        self.numeric = numeric
        self.categorical = categorical
        self.embedding = embedding
        self.context = context
        self.interactions = interactions
        self.protected = protected
        self.constant = constant
        self.unseen = unseen
        self.missing = missing
        self.date = date
        self.max_levels = max_levels

    encodings_: dict[str, Encoding]
    n_features_in_: int

    def fit(self, table: Any = None, y: Any = None) -> Features:
        """Learn means, scales and levels from a table, and return the features themselves.

        Parameters
        ----------
        table : table
            Items, a row each, with the columns of the context among them. None if means, scales
            and levels are all given.
        y : ignored
        """
        rules = self._rules()
        columns = None if table is None else Columns("table", table)
        if columns is not None:
            _check_some(columns)
        encodings: dict[str, Encoding] = {}
        declared = self._found(columns)
        numbers = [name for kind, name, given in declared if kind == "numeric" and given is None]
        learnt = dict[str, Numeric]()
        if columns is not None:
            learnt = fit_numbers(columns, numbers, self.missing)
        for kind, name, given in declared:
            if name in encodings:
                raise ValueError(f"a source must be declared once, got {name!r} more than once")
            made = learnt.get(name) or _encoding(kind, name, given, columns, rules)
            if given is None and isinstance(made, Numeric) and made.constant:
                kept = f", but for {made.names[0]}" if made.names else ""
                warnings.warn(
                    f"column {name!r} has the same value in every row{' that has one' * bool(kept)}"
                    f" and is left out{kept}",
                    stacklevel=outside(),
                )
            encodings[name] = made
        self._check_names(encodings)
        named = hasattr(table, "columns") or hasattr(table, "column_names")
        if named and all(isinstance(c, str) for c in getattr(table, "columns", [])):
            self.feature_names_in_ = np.array(columns.names if columns else [], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = len(encodings) if columns is None else len(columns.names)
        self.encodings_ = encodings
        self._said: set[tuple[str, Any]] = set()
        self._forget_layout()
        if not self.names:
            raise ValueError("table must have a column that varies, got none")
        twice = [name for name, times in Counter(self.names).items() if times > 1]
        if twice:
            del self.encodings_
            raise ValueError(
                f"features must have distinct names, got {twice[0]!r} more than once: rename that "
                "column or level, declare the pair once, or pass constant=False"
            )
        self._warn_of_size()
        return self

    def check(self) -> bool:
        """Raise if no table could be fitted; return whether `fit` can do without one.

        Examples
        --------
        >>> import projbandits as pb
        >>> pb.Features(numeric={"length": (100.0, 20.0)}).check()
        True
        >>> pb.Features(categorical=["genre"], protected=["gnre"]).check()
        Traceback (most recent call last):
            ...
        ValueError: protected must name sources, got 'gnre': did you mean 'genre'?
        """
        rules = self._rules()
        declared, left, whole = self._declared()
        blocks = dict[str, Sequence[str]]()
        for kind, name, given in declared:
            if name in blocks:
                raise ValueError(f"a source must be declared once, got {name!r} more than once")
            blocks[name] = (name,)
            if kind == "embedding" and given is not None:
                blocks[name] = given.get("columns", ()) if isinstance(given, Mapping) else given
            elif given is not None and (kind != "date" or isinstance(given, Mapping)):
                _encoding(kind, name, given, None, rules)
        if whole:
            return False
        self._check_sources({**blocks, **{name: (name,) for name in left}})
        if not self.constant and not {*blocks, *left} - {*self.protected}:
            raise ValueError(f"protected must leave a feature to decide on, got {self.protected!r}")
        given = {name: some for _, name, some in declared}
        return (
            not left
            and all(
                some is not None
                and (kind in ("numeric", "categorical") or isinstance(some, Mapping))
                for kind, name, some in declared
            )
            and bool(given)
        )

    def _rules(self) -> Rules:
        """Return the rules that all sources share, checked."""
        one_of("unseen", self.unseen, ("other", "error"))
        one_of("missing", self.missing, ("indicator", "mean", "error"))
        most = integer("max_levels", self.max_levels, least=1, most=LEVELS)
        return Rules(self.unseen, self.missing, most)

    def _warn_of_size(self) -> None:
        """Warn of more features than one would make on purpose."""
        if len(self._layout) <= MANY_FEATURES:
            return
        sizes = {name: len(encoding.names) for name, encoding in self.encodings_.items()}
        made = sizes | {f"{a}:{b}": sizes[a] * sizes[b] for a, b in self.interactions}
        most = max(made, key=lambda name: made[name])
        warnings.warn(
            f"the columns make {len(self._layout):,} features, {made[most]:,} of them of {most!r}: "
            "time and memory grow with their square; declare fewer, or set max_levels",
            stacklevel=outside(),
        )

    def _forget_layout(self) -> None:
        for cached in ("_layout", "subspace"):
            self.__dict__.pop(cached, None)

    def _declared(self) -> tuple[list[tuple[str, str, Any]], list[str], bool]:
        """Return kind, name and what is given of each source, and those that are only named.

        The last says whether all columns of a table are taken.
        """
        declared = []
        for kind in KINDS:
            value = getattr(self, kind)
            if value is None:
                continue
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise TypeError(f"{kind} must list columns, got {value!r}: pass [{value!r}]")
            given = value if isinstance(value, Mapping) else dict.fromkeys(value)
            declared += [(kind, str(name), _given(some)) for name, some in given.items()]
        if isinstance(self.context, str):
            raise TypeError(f"context must list sources, got {self.context!r}: pass [...]")
        items = bool(declared)
        if isinstance(self.context, Mapping):
            known = [(str(name), _given(some)) for name, some in self.context.items()]
            declared += [
                (_kind_given(name, some), name, some) for name, some in known if some is not None
            ]
        found = {name for _, name, _ in declared}
        left = [str(name) for name in self.context if str(name) not in found]
        return declared, left, not items

    def _found(self, columns: Columns | None) -> list[tuple[str, str, Any]]:
        """Return kind, name and what is given of each source that is fitted."""
        declared, left, whole = self._declared()
        known = {name for _, name, _ in declared}
        if columns is None:
            if left or not declared:
                of = f" of {left}" if declared else ""
                raise ValueError(f"table must be given where nothing is declared{of}")
            return declared
        if whole:
            left = [name for name in columns.names if name not in known] + [
                name for name in left if name not in columns.names
            ]
        for name in left:
            if name not in columns.names:
                raise ValueError(
                    f"table must have a column {name!r}, of which context has only the name: fit a "
                    f"table of what was shown to whom, or give its levels, as in "
                    f'context={{{name!r}: ["a", "b"]}}'
                )
            declared.append((_kind(columns.values(name)), name, None))
        return declared

    def _check_names(self, encodings: dict[str, Encoding]) -> None:
        self._check_sources(
            {
                name: encoding.columns or (name,) if isinstance(encoding, Embedding) else (name,)
                for name, encoding in encodings.items()
            }
        )

    def _check_sources(self, sources: Mapping[str, Sequence[str]]) -> None:
        """Raise unless names are those of sources, each with columns of its own."""
        owner: dict[str, str] = {}
        for name, columns in sources.items():
            for column in columns:
                # Otherwise what is protected in the one would be kept in the other.
                if owner.setdefault(column, name) != name:
                    raise ValueError(
                        f"a column must belong to one source, got {column!r} in {owner[column]!r} "
                        f"and {name!r}"
                    )
        pairs = [tuple(pair) for pair in self.interactions]
        for pair in pairs:
            if len(pair) != 2:
                raise ValueError(f"interactions must be pairs of sources, got {pair!r}")
        for argument, names in (
            ("context", self.context),
            ("protected", self.protected),
            ("interactions", [name for pair in pairs for name in pair]),
        ):
            if isinstance(names, str):
                raise TypeError(f"{argument} must list sources, got {names!r}: pass [{names!r}]")
            for name in names:
                if name not in sources:
                    raise ValueError(
                        f"{argument} must name sources, got {name!r}{did_you_mean(name, sources)}"
                    )

    @cached_property
    def _layout(self) -> list[tuple[str, frozenset[str]]]:
        """Each feature's name, and the sources that it descends from."""
        self._check_fitted()
        layout = [(CONSTANT, frozenset[str]())] if self.constant else []
        for name, encoding in self.encodings_.items():
            layout += [(column, frozenset({name})) for column in encoding.names]
        for a, b in self.interactions:
            for one in self.encodings_[a].names:
                for other in self.encodings_[b].names:
                    layout.append((f"{one}:{other}", frozenset({a, b})))
        return layout

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names, in the order of the vectors."""
        return tuple(name for name, _ in self._layout)

    @property
    def sources(self) -> dict[str, frozenset[str]]:
        """For each feature, the columns that it descends from."""
        return dict(self._layout)

    @property
    def units(self) -> Array:
        """How much of its columns one of each feature is: 20 minutes, or one if it is a level.

        A coefficient divided by its unit is what one more in the raw column is worth.

        Examples
        --------
        >>> import projbandits as pb
        >>> pb.Features(numeric={"length": (100.0, 20.0)}).fit().units
        array([ 1., 20.])
        """
        self._check_fitted()
        parts = {name: encoding.units for name, encoding in self.encodings_.items()}
        units = [1.0] * self.constant + [unit for part in parts.values() for unit in part]
        for a, b in self.interactions:
            units += [one * other for one in parts[a] for other in parts[b]]
        return np.array(units)

    @cached_property
    def subspace(self) -> Subspace:
        """The part that counts: every feature that does not descend from a protected source."""
        protected = set(self.protected)
        left_out = [name for name, sources in self._layout if sources & protected]
        if len(left_out) == len(self._layout):
            raise ValueError(f"protected must leave a feature to decide on, got {left_out!r}")
        return Subspace.without(left_out, columns=self.names)

    def transform(self, items: Any, context: Any = None) -> Array:
        """Return the feature vectors of items, a row each.

        Parameters
        ----------
        items : table
            Pandas, polars, Arrow, a list of dicts, a dict of columns or a matrix.
        context : mapping or table, optional
            The columns that come with the call: one value for all items (of a block, one vector),
            or one row per item. Where it is not given, those columns must be among those of the
            items.
        """
        self._check_fitted()
        columns = Columns("items", items)
        self._check_width(items, columns)
        _check_some(columns)
        around = None if context is None else Columns("context", self._one_row(context))
        if around is not None and len(around) not in (1, len(columns)):
            raise ValueError(
                f"context must have one row, or {len(columns)} like the items, got {len(around)}"
            )
        whole = np.zeros((len(columns), len(self._layout)))
        at = int(self.constant)
        whole[:, :at] = 1.0
        parts: dict[str, Array] = {}
        done = self._write_numbers(columns, whole)
        for name, encoding in self.encodings_.items():
            place = around if around is not None and name in self.context else columns
            if place is columns and name in self.context and not encoding.within(columns.names):
                raise ValueError(
                    f"context must be given, the items have no column {name!r}: pass "
                    f"context={{{name!r}: ...}}"
                )
            width = len(encoding.names)
            parts[name] = whole[:, at : at + width]
            if name not in done:
                self._say(name, encoding.encode(place, parts[name]))
            at += width
        for a, b in self.interactions:
            one, other = parts[a][:, :, None], parts[b][:, None, :]
            shape = (len(columns), one.shape[1], other.shape[2])
            width = shape[1] * shape[2]
            np.multiply(one, other, out=whole[:, at : at + width].reshape(shape))
            at += width
        return whole

    def _write_numbers(self, columns: Columns, whole: Array) -> set[str]:
        """Write many numbers in a row at once, which saves time; return which those are."""
        written, at = set[str](), int(self.constant)
        for numbers, run in groupby(self.encodings_.items(), lambda pair: self._is_number(*pair)):
            some = dict(run)
            sources = [encoding for encoding in some.values() if isinstance(encoding, Numeric)]
            width = sum(len(encoding.names) for encoding in some.values())
            if numbers and encode_numbers(columns, sources, whole[:, at : at + width]):
                written.update(some)
            at += width
        return written

    def _is_number(self, name: str, encoding: Encoding) -> bool:
        plain = type(encoding) is Numeric and not (encoding.constant or encoding.indicator)
        return plain and name not in self.context

    def _one_row(self, context: Any) -> Any:
        """Return a context in which a vector is one entry of its column, and not a column."""
        if not isinstance(context, Mapping):
            return context
        return {
            name: [value]
            if isinstance(self.encodings_.get(name), Embedding) and _is_vector(value)
            else value
            for name, value in context.items()
        }

    def fit_transform(self, table: Any, y: Any = None) -> Array:
        """Fit to a table and return its feature vectors."""
        return self.fit(table).transform(table)

    def frame(self, items: Any, context: Any = None) -> pd.DataFrame:
        """Return the feature vectors as a table with the features' names."""
        import pandas as pd

        index = getattr(items, "index", None)
        rows = self.transform(items, context)
        known = None if callable(index) else index  # a list has a method of this name
        return pd.DataFrame(rows, columns=list(self.names), index=known)

    def _check_width(self, items: Any, columns: Columns) -> None:
        if not hasattr(items, "shape") or hasattr(items, "columns"):
            return
        if hasattr(self, "feature_names_in_"):
            return
        if len(columns.names) != self.n_features_in_:
            raise ValueError(
                f"X has {len(columns.names)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )

    def _say(self, name: str, news: list[Any]) -> None:
        """Warn of levels that `fit` did not see, of each once, and of missing values (None)."""
        if None in news and (name, None) not in self._said:
            self._said.add((name, None))
            category = isinstance(self.encodings_[name], Categorical)
            warnings.warn(
                f"column {name!r} lacks values, which it did not at the fit: encoded as "
                + ("'other'" if category else "the mean"),
                stacklevel=outside(),
            )
        news = [level for level in news if level is not None]
        fresh = [level for level in news if (name, level) not in self._said]
        if not fresh or len(self._said) > SAID:
            return
        self._said.update((name, level) for level in fresh)
        shown = ", ".join(map(short, fresh[:5])) + (", ..." if len(fresh) > 5 else "")
        warnings.warn(
            f"column {name!r} has {len(fresh)} {'level' if len(fresh) == 1 else 'levels'} that fit "
            f"did not see ({shown}): encoded as 'other'",
            stacklevel=outside(),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all that was declared and learnt as plain data, for JSON."""
        self._check_fitted()
        return {
            "format": FEATURES_FORMAT,
            "sources": [encoding.to_dict() for encoding in self.encodings_.values()],
            "context": list(self.context),
            "interactions": [list(pair) for pair in self.interactions],
            "protected": list(self.protected),
            "constant": bool(self.constant),
            "unseen": self.unseen,
            "missing": self.missing,
            "max_levels": int(self.max_levels),
        }

    def to_json(self) -> str:
        """Return all that was declared and learnt as JSON."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, data: Any) -> Features:
        """Return the features that `to_dict` described.

        Examples
        --------
        >>> import projbandits as pb
        >>> one = pb.Features(numeric={"length": (100.0, 20.0)}).fit()
        >>> pb.Features.from_dict(one.to_dict()).transform([{"length": 120}])
        array([[1., 1.]])
        """
        if not isinstance(data, dict) or data.get("format") != FEATURES_FORMAT:
            raise ValueError(
                f"data must be features of format {FEATURES_FORMAT}, got {short(data)}"
            )
        check_fields("data", data, {**_FIELDS, "format": int})
        declared: dict[str, Any] = {}
        for i, source in enumerate(data["sources"]):
            kind, name, given = read_encoding(f"sources[{i}]", source)
            if any(name in others for others in declared.values()):
                raise ValueError(f"sources must be declared once, got {name!r} more than once")
            declared.setdefault(kind, {})[name] = given
        names = [name for others in declared.values() for name in others]
        for key in ("context", "protected"):
            check_texts(key, data[key])
            for name in data[key]:
                if name not in names:
                    raise ValueError(f"{key} must name sources, got {name!r}")
        for i, pair in enumerate(data["interactions"]):
            check_texts(f"interactions[{i}]", pair)
        pairs = [tuple(pair) for pair in data["interactions"]]
        rest = {name: data[name] for name in _FIELDS if name not in ("sources", "interactions")}
        made = cls(interactions=pairs, **declared, **rest)
        made.fit()
        order = [source["name"] for source in data["sources"]]
        made.encodings_ = {name: made.encodings_[name] for name in order}
        made._forget_layout()  # `fit` took the sources kind by kind
        return made

    @classmethod
    def from_json(cls, text: str) -> Features:
        """Return the features that `to_json` described; anything else is an error."""
        try:
            data = json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"text must be JSON that to_json wrote, {error}") from error
        return cls.from_dict(data)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the features' names as scikit-learn wants them."""
        return np.array(self.names, dtype=object)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return what was declared, as scikit-learn wants it."""
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **params: Any) -> Features:
        """Declare something else; `fit` again."""
        for name, value in params.items():
            if name not in _PARAMETERS:
                raise ValueError(f"{name!r} is no parameter{did_you_mean(name, _PARAMETERS)}")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn asks of a transformer."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(string=True, allow_nan=self.missing != "error"),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "encodings_")

    def _check_fitted(self) -> None:
        if hasattr(self, "encodings_"):
            return
        raise _not_fitted()

    def __repr__(self) -> str:
        shown = [
            f"{name}={value!r}"
            for name, default in _PARAMETERS.items()
            if (value := getattr(self, name)) is not default and value != default
        ]
        return f"Features({', '.join(shown)})"


_PARAMETERS = {name: given.default for name, given in signature(Features).parameters.items()}
"""The parameters with their defaults."""


_FIELDS: dict[str, type] = {
    "sources": list,
    "context": list,
    "interactions": list,
    "protected": list,
    "constant": bool,
    "unseen": str,
    "missing": str,
    "max_levels": int,
}
"""What `to_dict` has beside the format."""


def _encoding(kind: str, name: str, given: Any, columns: Columns | None, rules: Rules) -> Encoding:
    if columns is None and given is None:
        raise ValueError(
            f"table must be given: nothing is known of {name!r}; or give it, as in "
            'numeric={"length": (mean, scale)}'
        )
    kinds: dict[str, type[Numeric | Categorical | Embedding]] = {
        "numeric": Numeric,
        "date": Date,
        "categorical": Categorical,
        "embedding": Embedding,
    }
    return kinds[kind].fit(name, given, columns, rules)


def _given(value: Any) -> Any:
    """Return what is given of a source, None if it is to be learnt."""
    return None if isinstance(value, str) and value == LEARN else value


def _kind_given(name: str, value: Any) -> str:
    """Return the kind of a source of the context by what is given of it."""
    if not isinstance(value, Mapping) or "levels" in value:
        return "categorical"
    if not {"mean", "scale"} <= {*value} <= {"mean", "scale", "reference", "indicator"}:
        raise ValueError(
            f"context must give mean and scale of {name!r} (of a date, reference too), or a list "
            f"of its levels, got {short(dict(value))}"
        )
    return "date" if "reference" in value else "numeric"


def _kind(entries: Column) -> str:
    """Return the kind of a column that nobody declared."""
    if entries.dtype.kind not in "OUS":
        return "date" if entries.dtype.kind == "M" else "numeric"
    first = next((entry for entry in entries if not is_missing(entry)), None)
    if isinstance(first, str):
        dates = days_of(first) is not None and all(days_of(e) is not None for e in entries)
        return "date" if dates else "categorical"
    return "numeric" if first is None or days_of(first) is None else "date"


def _is_vector(value: Any) -> bool:
    """Tell whether a value is a vector of numbers, and not a column of vectors."""
    return np.ndim(value) == 1 and all(np.ndim(entry) == 0 for entry in value)


def _check_some(columns: Columns) -> None:
    """Raise unless a table has rows and columns."""
    shape = (len(columns), len(columns.names))
    for size, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise ValueError(
                f"{columns.name} must have rows and columns, got 0 {what} (shape={shape}) while a "
                "minimum of 1 is required."
            )


def _not_fitted() -> Exception:
    """Return the error of what is not fitted, scikit-learn's own where that is in use."""
    text = "these features are not fitted yet: call fit(table) first"
    if "sklearn" in sys.modules:
        from sklearn.exceptions import NotFittedError

        error: Exception = NotFittedError(text)
        return error
    return ValueError(text)
