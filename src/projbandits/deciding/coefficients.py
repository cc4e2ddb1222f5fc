"""The belief about each feature, as a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from projbandits._validation import Array
from projbandits.features.features import Features
from projbandits.ledger.fold import Known

if TYPE_CHECKING:
    import pandas as pd


def coefficients(known: Known) -> pd.DataFrame:
    """Return the estimate of each feature with its standard error, and that of the level."""
    import pandas as pd

    state, features = known.state, known.features
    ridge = state.ridge if state.effects is None else state.effects.linear
    units = 1.0 if features is None else features.units
    names = known.columns or [f"x[{j}]" for j in range(ridge.d)]
    kept = known.subspace.matrix.diagonal() > 1e-9
    designed, noise = features is not None, ridge.noise
    if state.effects is not None and not ridge.equal:
        noise = state.effects.noise
    errors = ridge.errors(np.eye(ridge.d), designed, noise)
    if ridge.intercept and features is not None and features.constant and not ridge.equal:
        errors[0] = 0.0  # what it might have is the level's
    columns = {
        "estimate": ridge.theta / units,
        "standard_error": errors / units,
        "counts": kept,
    }
    table = pd.DataFrame(columns, index=pd.Index(names, name="feature"))
    if not ridge.intercept:
        return table
    zeros = np.zeros(ridge.d) if features is None else _of_zeros(features)
    away = float(ridge.errors(zeros - ridge.centre, designed, noise))
    mean = noise / math.sqrt(ridge.mass) if ridge.mass else math.nan
    level = pd.DataFrame(
        {
            "estimate": ridge.level + zeros @ ridge.theta,
            "standard_error": math.hypot(mean, away),
            "counts": False,
        },
        index=pd.Index(["intercept"], name="feature"),
    )
    return pd.concat([level, table])


def _of_zeros(features: Features) -> Array:
    """Return the features of an item whose columns are 0, and at no level of a category."""
    parts = dict[str, Array]()
    for name, encoding in features.encodings_.items():
        mean, scale = getattr(encoding, "mean", 0.0), getattr(encoding, "scale", 1.0) or 1.0
        parts[name] = np.broadcast_to(-np.asarray(mean) / scale, len(encoding.names))
    constant = [np.ones(int(features.constant))]
    products = [np.outer(parts[a], parts[b]).ravel() for a, b in features.interactions]
    return np.concatenate([*constant, *parts.values(), *products]) + 0.0
