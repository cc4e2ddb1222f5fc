"""What the server answers, as plain values for JSON."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from projbandits.deciding import Decider, Decision
from projbandits.deciding.explain import Explanation
from projbandits.ledger.history import Record
from projbandits.subspace import feature_names

Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""

MOST_ARMS = 1000
"""Of how many arms on offer an explanation tells."""


def plain(value: Any) -> Any:
    """Return a value as JSON has it: numbers that are none, or infinite, are null.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.service.replies import plain
    >>> plain({"x": np.float64("nan"), "y": np.array([1, 2]), "z": True})
    {'x': None, 'y': [1, 2], 'z': True}
    """
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def decision(made: Decision) -> dict[str, Any]:
    """Return a decision."""
    return {
        "id": made.id,
        "label": made.label,
        "index": made.index,
        "propensity": _number(made.propensity),
        "estimate": _number(made.estimate),
        "standard_error": _number(made.standard_error),
        "step": made.step,
        "asked": made.asked,
    }


def account(held: Record, explanation: Explanation) -> dict[str, Any]:
    """Return a decision with what became of it, and why it was made."""
    made = held.decision
    table = explanation.table
    first = np.arange(len(table)) < MOST_ARMS
    shown = table[first | table["chosen"].to_numpy(dtype=bool)]
    return {
        **decision(made),
        "meta": made.meta,
        "context": made.context,
        "arm": plain(made.arm),
        "outcome": _number(held.outcome),
        "told": _number(held.told_at),
        "withdrawn": None if held.told else held.why,
        "assumed": held.why if held.told else None,
        "explanation": {
            "reason": explanation.reason,
            "arms": [
                {"arm": plain(key), **plain(row)}
                for key, row in zip(shown.index.tolist(), shown.to_dict("records"), strict=True)
            ],
        },
    }


def belief(decider: Decider) -> dict[str, Any]:
    """Return what a decider believes: a coefficient per feature, with its 95 % interval."""
    ridge, subspace = decider.ridge, decider.subspace
    d = subspace.ambient
    errors = ridge.errors(np.eye(d), designed=decider.features is not None)
    kept = np.diag(subspace.matrix)
    rows = zip(feature_names(decider.columns, d), ridge.theta, errors, kept, strict=True)
    return {
        "decisions": decider.steps,
        "observations": ridge.n,
        "penalty": ridge.penalty,
        "coefficients": [
            {
                "feature": name,
                "estimate": _number(value),
                "standard_error": _number(error),
                "low": _number(value - Z * error),
                "high": _number(value + Z * error),
                "kept": _number(share),
                "protected": bool(share < 0.5),
            }
            for name, value, error, share in rows
        ],
    }


def _number(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None
