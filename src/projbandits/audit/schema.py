"""An audit as plain values, for programs, and the JSON Schema that they follow."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from projbandits._validation import Array
from projbandits.audit.answers import AUDIT_LEVEL, CONFIDENCE, Influence

if TYPE_CHECKING:
    from projbandits.audit.audit import Audit

SCHEMA_VERSION = 3
"""It rises when a field changes its meaning or goes; new fields may come without."""

KINDS: dict[Any, Any] = {
    float: ["number", "null"],
    int: "integer",
    str: "string",
    bool: "boolean",
    type(None): "null",
}
"""The types of JSON of plain values; a number that is unknown, or infinite, is null."""


def plain(audit: Audit) -> dict[str, Any]:
    """Return an audit as lists, dicts, texts, numbers and None; what is unknown is None."""
    found = _plain(audit)
    found["given_up"]["total"] = _plain(audit.given_up.total)
    return {
        "schema": SCHEMA_VERSION,
        "influence": audit.influence,
        "verdict": audit.verdict,
        "warnings": audit.warnings,
        "level": AUDIT_LEVEL,
        "confidence": CONFIDENCE,
        **found,
    }


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    elif hasattr(value, "to_dict"):
        value = rows(value)
    if isinstance(value, dict):
        return {str(key): _plain(x) for key, x in value.items() if not isinstance(x, np.ndarray)}
    if isinstance(value, list | tuple):
        return [*map(_plain, value)]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of an audit, made of the fields that it has."""
    from projbandits.audit.audit import Audit

    rule = _rule(Audit)
    head: dict[str, Any] = {
        "influence": Influence,
        "verdict": str,
        "warnings": list[str],
        "level": float,
        "confidence": float,
    }
    rule["properties"]["given_up"]["properties"]["total"] = _rule(float)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An audit of a projbandits decider",
        "description": "Numbers that are unknown, or infinite, are null.",
        **_object(
            {"schema": {"const": SCHEMA_VERSION}}
            | {name: _rule(hint) for name, hint in head.items()}
            | rule["properties"]
        ),
    }


def _rule(hint: Any) -> dict[str, Any]:
    """Return the schema of the values of a type."""
    import pandas as pd

    kind, of = get_origin(hint), get_args(hint)
    if hint in KINDS:
        return {"type": KINDS[hint]}
    if kind is Literal:
        return {"enum": [*of]}
    if kind is UnionType:
        return {"anyOf": [*map(_rule, of)]}
    if kind is dict:
        return {"type": "object", "additionalProperties": _rule(of[1])}
    if kind in (Annotated, list, tuple):  # a table is told by its rows
        return {"type": "array", "items": _rule(of[kind is Annotated])}
    hints = get_type_hints(hint, localns={"pd": pd}, include_extras=True)
    return _object({name: _rule(each) for name, each in hints.items() if each != Array})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def rows(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a table; its index is a column if it has a name."""
    whole = table.reset_index() if table.index.name else table
    return list(whole.to_dict("records"))
