"""An audit as plain values, for programs; `audit.schema.json` says what is where."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from projbandits.audit.answers import AUDIT_LEVEL, CONFIDENCE
from projbandits.statistics import Estimate

if TYPE_CHECKING:
    from projbandits.audit.audit import Audit

SCHEMA_VERSION = 2
"""It rises when a field changes its meaning or goes; new fields may come without."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of an audit."""
    text = files("projbandits.audit").joinpath("audit.schema.json").read_text(encoding="utf-8")
    read: dict[str, Any] = json.loads(text)
    return read


def plain(audit: Audit) -> dict[str, Any]:
    """Return an audit as lists, dicts, texts, numbers and None; what is unknown is None."""
    return {
        "schema": SCHEMA_VERSION,
        "influence": audit.influence,
        "verdict": audit.verdict,
        "warnings": audit.warnings,
        "level": AUDIT_LEVEL,
        "confidence": CONFIDENCE,
        "about": _plain(audit.about._asdict()),
        **{
            name: _answer(getattr(audit, name))
            for name in ("scores", "choices", "leak", "exposure")
        },
        "proxies": _plain(audit.proxies.rename_axis("piece").reset_index().to_dict("records")),
        "given_up": _plain(audit.given_up._asdict() | {"total": audit.given_up.total}),
    }


def _answer(answer: Any) -> dict[str, Any]:
    return {name: _plain(value) for name, value in vars(answer).items() if name != "shifts"}


def _plain(value: Any) -> Any:
    if isinstance(value, Estimate):
        return {name: _plain(x) for name, x in value._asdict().items()}
    if isinstance(value, dict):
        return {str(key): _plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    if hasattr(value, "to_dict"):  # a table: its index is a column if it has a name
        table = value.reset_index() if value.index.name else value
        return _plain(table.to_dict("records"))
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
