"""Requests made from the OpenAPI description: as it says, or off by one thing."""

import json
import random
from typing import Any, NamedTuple
from urllib.parse import quote

TEXTS = ["a", "b", "films", "id", "drama", "24h", "EIIDS()", "x" * 200, "ü\u202e", "<b>", "../x"]
NUMBERS = [0, 1, 2, -1, 0.5, 1e308, 2**63]
OFF: list[Any] = [None, True, "", -1, 1.5, [], {}, [[]], {"x": None}, "\0", "y" * 201, 10**400]
DEEP = 5


class Sent(NamedTuple):
    """A request to be sent."""

    method: str
    path: str
    body: bytes | None
    kind: str


def request(rng: random.Random, said: dict[str, Any]) -> Sent:
    """Return a request for one of the described operations."""
    described = [
        (path, method)
        for path, methods in sorted(said["paths"].items())
        for method, operation in sorted(methods.items())
        if method != "delete"  # what is left of the decider is looked at in the end
        for _ in range(4 if "requestBody" in operation else 1)  # where more can be wrong
    ]
    path, method = rng.choice(described)
    operation = said["paths"][path][method]
    query = ""
    for parameter in operation.get("parameters", ()):
        drawn = "films" if rng.random() < 0.7 else str(_value(rng, said, parameter["schema"]))
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", quote(drawn, safe=""))
        elif rng.random() < 0.3:
            query = f"?{parameter['name']}={quote(drawn, safe='')}"
    contents = operation.get("requestBody", {}).get("content")
    if not contents:
        return Sent(method.upper(), path + query, None, "")
    kind = rng.choice(sorted(contents))
    value = _value(rng, said, contents[kind]["schema"])
    if rng.random() < 0.5:
        value = _off(rng, value)
    body = value.encode() if isinstance(value, str) else json.dumps(value).encode()
    return Sent(method.upper(), path + query, body, kind)


def _value(rng: random.Random, said: dict[str, Any], schema: dict[str, Any], depth: int = 0) -> Any:
    """Return a value that a schema describes."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _value(rng, said, said["components"]["schemas"][name], depth)
    if "anyOf" in schema and "properties" not in schema:
        return _value(rng, said, rng.choice(schema["anyOf"]), depth)
    kinds = schema.get("type", ["string", "number", "boolean", "null", "object"])
    kind = kinds if isinstance(kinds, str) else rng.choice(kinds)
    if kind == "object":
        properties = schema.get("properties", {"drama": {}, "x": {}} if depth < DEEP else {})
        needed = schema.get("required", ())
        return {
            name: _value(rng, said, each, depth + 1)
            for name, each in properties.items()
            if name in needed or rng.random() < 0.5
        }
    if kind == "array":
        parts = schema.get("prefixItems")
        if parts:
            return [_value(rng, said, each, depth + 1) for each in parts]
        some = range(rng.randrange(4) if depth < DEEP else 0)
        return [_value(rng, said, schema.get("items", {}), depth + 1) for _ in some]
    if kind in ("integer", "number"):
        drawn = rng.choice(NUMBERS)
        return max(int(drawn), schema.get("minimum", -(2**63))) if kind == "integer" else drawn
    return {"boolean": rng.random() < 0.5, "null": None}.get(kind, rng.choice(TEXTS))


def _off(rng: random.Random, value: Any) -> Any:
    """Return a value with one thing in it that is not as described."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        if rng.random() < 0.2:
            return {name: each for name, each in value.items() if name != key}
        if rng.random() < 0.2:
            return {**value, "unknown": value[key]}
        return {**value, key: _off(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.7:
        i = rng.randrange(len(value))
        return [*value[:i], _off(rng, value[i]), *value[i + 1 :]]
    return rng.choice(OFF)
