"""Deciders that make their features of raw columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from projbandits._validation import did_you_mean, short
from projbandits.deciding import Decider
from projbandits.features.features import Features

if TYPE_CHECKING:
    import pandas as pd

ALLOWED = tuple(Features().get_params())


def fitted(said: Mapping[str, Any], table: pd.DataFrame | None) -> Features | None:
    """Return the features that a declaration describes; None if they need a table first.

    A declaration that no table could be fitted to is refused without one.

    Parameters
    ----------
    said : mapping
        The arguments of `Features`, or what its `to_dict` returned.
    table : DataFrame or None
        The first catalogue, from which means, scales and levels are learnt that are not given.
    """
    if "format" in said:
        return Features.from_dict(dict(said))
    for key in said:
        if key not in ALLOWED:
            hint = did_you_mean(key, ALLOWED)
            raise ValueError(f"features takes {', '.join(ALLOWED)}, got {short(key)}{hint}")
    pairs = said.get("interactions", ())
    if not isinstance(pairs, list | tuple) or not all(isinstance(p, list | tuple) for p in pairs):
        raise ValueError(f"features: interactions must be pairs of sources, got {short(pairs)}")
    made = Features(**{**said, "interactions": [tuple(pair) for pair in pairs]})
    if not made.check() and table is None:
        return None
    return made.fit(table)


def check(decider: Decider, table: pd.DataFrame) -> None:
    """Raise unless a catalogue has all raw columns that do not come with a call."""
    features = decider.features
    assert features is not None
    if not features.context:
        features.transform(table)
        return
    wanted = [name for name in features.encodings_ if name not in features.context]
    missing = [name for name in wanted if name not in table and not _block(features, name)]
    if missing:
        raise ValueError(f"items must have the columns {missing!r}, they are missing")


def _block(features: Features, name: str) -> bool:
    """Tell whether a source is made of several columns of other names."""
    return isinstance(features.embedding, Mapping) and name in features.embedding
