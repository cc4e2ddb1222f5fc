"""The OpenAPI description of all requests, and the page that shows it."""

from __future__ import annotations

import types
from collections.abc import Sequence
from functools import cache
from typing import Any

from msgspec.json import schema_components

from projbandits._version import __version__
from projbandits.service.errors import Problem
from projbandits.service.handlers import JSON, ROUTES, Route
from projbandits.service.item_files import FORMATS
from projbandits.service.schemas import Fields

PATH = {"type": "string", "minLength": 1, "maxLength": 200}
ROWS = {"type": "array", "minItems": 1, "items": {"type": "object", "minProperties": 1}}
CATALOGUE = {kind: {"schema": {"type": "string"}} for kind in FORMATS if "form" not in kind} | {
    JSON: {"schema": {"type": "object", "properties": {"items": ROWS}, "required": ["items"]}}
}


@cache
def description() -> dict[str, Any]:
    """Return the OpenAPI description."""
    sent = [kind for route in ROUTES for kind in (route.body, route.query) if kind]
    replied = [kind for route in ROUTES if route.media == JSON for kind in route.replies]
    _, bodies = schemas(sent)
    for kind in sent:
        if kind.one_of:
            bodies[kind.__name__]["anyOf"] = _alternatives(kind)
    _, replies = schemas([*replied, Problem])
    paths = dict[str, dict[str, Any]]()
    for route in ROUTES:
        there = paths.setdefault(route.shown, {})
        there[route.method.lower()] = _described(route, bodies)
    bearer = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "projbandits",
            "version": __version__,
            "description": "Decisions on the part of the outcome that counts.",
        },
        "paths": paths,
        "components": {
            "schemas": {**_or_null(replies), **bodies},
            "securitySchemes": {"token": bearer},
        },
    }


def _alternatives(kind: type[Fields]) -> list[dict[str, Any]]:
    """Return what each alternative of a request needs, and must not have."""
    groups = [each.split(" and ") for each in kind.one_of]
    return [
        {
            "required": fields,
            "properties": {
                name: {"not": {"type": "null"}} if group is fields else {"type": "null"}
                for group in groups
                for name in group
            },
        }
        for fields in groups
    ]


def schemas(kinds: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the schemas of some types, and those that they refer to."""
    found, components = schema_components(kinds, ref_template="#/components/schemas/{name}")
    return tuple(found), components


def _or_null(said: Any) -> Any:
    """Return schemas of replies, in which NaN and infinities are null."""
    if isinstance(said, dict):
        changed = {key: _or_null(each) for key, each in said.items()}
        return {**changed, "type": ["number", "null"]} if said.get("type") == "number" else changed
    return [*map(_or_null, said)] if isinstance(said, list) else said


def _described(route: Route, components: dict[str, Any]) -> dict[str, Any]:
    """Return what the description says of a route beside its path."""
    named = [part.strip("{}").partition(":")[0] for part in route.path.split("/") if "{" in part]
    said: dict[str, Any] = {
        "operationId": route.does.__name__,
        "summary": (route.does.__doc__ or "").splitlines()[0],
        "security": [{"token": [route.scope]}],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": PATH} for name in named
        ],
        "responses": {
            "2XX": {"description": "the answer", "content": _replied(route)},
            "default": {
                "description": "a problem (RFC 9457)",
                "content": {"application/problem+json": {"schema": schemas([Problem])[0][0]}},
            },
        },
    }
    if route.query is not None:
        fields = components[route.query.__name__]["properties"]
        said["parameters"] += [
            {"name": name, "in": "query", "schema": schema} for name, schema in fields.items()
        ]
    if route.body is not None:
        content = {JSON: {"schema": schemas([route.body])[0][0]}}
        said["requestBody"] = {"required": True, "content": content}
    elif route.method == "PUT":
        said["requestBody"] = {"required": True, "content": CATALOGUE}
    return said


def _replied(route: Route) -> dict[str, Any]:
    if route.media != JSON:
        return {route.media: {"schema": {"type": "string"}}}
    kinds = [kind for kind in route.replies if kind is not types.NoneType]
    found = [_or_null(each) for each in schemas(kinds)[0]]
    return {JSON: {"schema": found[0] if len(found) == 1 else {"anyOf": found}}}
