"""Replies about decisions and beliefs, and how every reply is written as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET

from projbandits._validation import did_you_mean, is_missing, short
from projbandits.deciding import Decider, Decision
from projbandits.deciding.explain import Explanation
from projbandits.features.encodings import Categorical
from projbandits.features.features import Features
from projbandits.ledger.history import Record
from projbandits.service.schemas import (
    Account,
    Belief,
    Coefficient,
    Decided,
    Decisions,
    Reason,
    RemoteDecision,
)
from projbandits.subspace import feature_names

Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""

MOST_ARMS = 1000
"""Of how many arms on offer an explanation tells."""


def written(value: Any) -> bytes:
    """Return a reply as JSON: NaN and infinities become null.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.service.replies import written
    >>> written({"x": np.float64("nan"), "y": np.array([1, 2]), "z": True})
    b'{"x":null,"y":[1,2],"z":true}'
    """
    return msgspec.json.encode(value, enc_hook=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a reply must hold numbers, texts and lists, got {value!r}")


def decision(made: Decision) -> RemoteDecision:
    """Return a decision."""
    return RemoteDecision(**_fields(made))


def decided(made: Decision | list[Decision], warnings: list[str]) -> Decided | Decisions:
    """Return a decision, or several, with warnings about the request."""
    said = warnings or UNSET
    if isinstance(made, list):
        return Decisions([*map(decision, made)], said)
    return Decided(**_fields(made), warnings=said)


def unknown_levels(features: Features | None, context: Mapping[str, Any]) -> list[str]:
    """Return a warning for each level of the context that the features do not know."""
    found = []
    for name, value in context.items() if features else ():
        source = features.encodings_.get(name) if features else None
        if (
            isinstance(source, Categorical)
            and not source.folded
            and not is_missing(value)
            and value not in source.levels
        ):
            hint = did_you_mean(str(value), map(str, source.levels))
            found.append(
                f"context: {name!r} has no level {short(value)}, and counts as another level{hint}"
            )
    return found


def _fields(made: Decision) -> dict[str, Any]:
    return {name: getattr(made, name) for name in RemoteDecision.__struct_fields__}


def account(held: Record, explanation: Explanation) -> Account:
    """Return a decision with its outcome, and why it was made."""
    made, table = held.decision, explanation.table
    first = np.arange(len(table)) < MOST_ARMS
    shown = table[first | table["chosen"].to_numpy(dtype=bool)]
    rows = zip(shown.index.tolist(), shown.to_dict("records"), strict=True)
    arms = [{"arm": key, **{str(name): each for name, each in row.items()}} for key, row in rows]
    return Account(
        **_fields(made),
        meta=made.meta,
        context=made.context,
        arm=made.arm.tolist(),
        outcome=held.outcome,
        told=held.told_at,
        withdrawn=None if held.told else held.why,
        assumed=held.why if held.told else None,
        explanation=Reason(explanation.reason, arms),
    )


def belief(decider: Decider) -> Belief:
    """Return the belief of a decider: a coefficient per feature, with its 95 % interval."""
    ridge, subspace = decider.ridge, decider.subspace
    d = subspace.ambient
    errors = ridge.errors(np.eye(d), designed=decider.features is not None)
    kept = np.diag(subspace.matrix).tolist()
    rows = zip(
        feature_names(decider.columns, d), ridge.theta.tolist(), errors.tolist(), kept, strict=True
    )
    coefficients = [
        Coefficient(name, value, error, value - Z * error, value + Z * error, share, share < 0.5)
        for name, value, error, share in rows
    ]
    return Belief(decider.steps, ridge.n, ridge.penalty, coefficients)
