"""The requests described, for programs (OpenAPI) and as a page."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from pydantic.json_schema import models_json_schema

from projbandits._version import __version__
from projbandits.service.handlers import ROUTES, Route
from projbandits.service.item_files import FORMATS


def _described(route: Route) -> dict[str, Any]:
    """Return what the OpenAPI description says of a route beside its path."""
    named = [part.strip("{}").partition(":")[0] for part in route.path.split("/") if "{" in part]
    text = {"type": "string", "minLength": 1, "maxLength": 200}
    said: dict[str, Any] = {
        "operationId": route.does.__name__,
        "summary": (route.does.__doc__ or "").splitlines()[0],
        "security": [{"token": [route.scope]}],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": text} for name in named
        ],
        "responses": {
            "200": {"description": "the answer"},
            "default": {"description": "a problem (RFC 9457)"},
        },
    }
    if route.sent is not None:
        schema = {"$ref": f"#/components/schemas/{route.sent.__name__}"}
        said["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    elif route.method == "PUT":
        rows = {"type": "array", "items": {"type": "object"}}
        content: dict[str, Any] = {kind: {"schema": {"type": "string"}} for kind in FORMATS}
        content["application/json"] = {"schema": {"type": "object", "properties": {"items": rows}}}
        said["requestBody"] = {"required": True, "content": content}
        said["parameters"].append(_query("label", "the column of labels, if it is not label"))
    elif "/audit" in route.path:
        said["parameters"].append(_query("by", "a column of the context or of meta to compare by"))
    return said


def _query(name: str, about: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": about, "schema": {"type": "string"}}


def description() -> dict[str, Any]:
    """Return the OpenAPI description."""
    paths = dict[str, dict[str, Any]]()
    for route in ROUTES:
        there = paths.setdefault(route.path.replace(":path}", "}"), {})
        there[route.method.lower()] = _described(route)
    models = [route.sent for route in ROUTES if route.sent is not None]
    template = "#/components/schemas/{model}"
    _, schemas = models_json_schema([(m, "validation") for m in models], ref_template=template)
    bearer = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "projbandits",
            "version": __version__,
            "description": "Decisions on the part of the outcome that counts.",
        },
        "paths": paths,
        "components": {"schemas": schemas["$defs"], "securitySchemes": {"token": bearer}},
    }


def docs_page(said: dict[str, Any]) -> str:
    """Return the OpenAPI description as a page, without any script."""
    models = said["components"]["schemas"]
    parts = [
        _request(method, path, each, models)
        for path, methods in said["paths"].items()
        for method, each in methods.items()
    ]
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
        "content='width=device-width'><title>projbandits</title>"
        "<link rel=stylesheet href=/static/dashboard.css><link rel=icon href='data:,'>"
        "<main class=plain>"
        f"<h1>projbandits {escape(said['info']['version'])}</h1>"
        "<p>The same for programs: <a href=/openapi.json>openapi.json</a>. A token comes with each "
        "request, as <code>Authorization: Bearer pb_...</code>; errors are problem details (RFC "
        "9457). Beside these there are <code>/healthz</code>, <code>/readyz</code> and "
        "<code>/metrics</code>, and <a href=/>the dashboard</a>.</p>" + "".join(parts)
    )


def _request(method: str, path: str, said: dict[str, Any], models: dict[str, Any]) -> str:
    """Return what the page says of a request."""
    page = (
        f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
        f"<p>{escape(said['summary'])} Needs <em>{said['security'][0]['token'][0]}</em>.</p>"
    )
    content = said.get("requestBody", {}).get("content", {})
    if len(content) > 1:
        page += f"<p>The body is one of <code>{'</code>, <code>'.join(content)}</code>.</p>"
    schema = content.get("application/json", {}).get("schema", {})
    model = models.get(schema.get("$ref", "").rpartition("/")[2], {})
    needed = model.get("required", [])
    rows = [
        (name, about, "required" if name in needed else json.dumps(about.get("default")))
        for name, about in model.get("properties", {}).items()
    ]
    queries = [each for each in said["parameters"] if each["in"] == "query"]
    rows += [(f"?{each['name']}=", each, "none") for each in queries]
    if not rows:
        return page
    head = "<tr><th>field</th><th>what it is</th><th>default</th></tr>"
    lines = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(about.get('description', ''))}</td>"
        f"<td>{escape(default)}</td></tr>"
        for name, about, default in rows
    )
    return f"{page}<div class=wide><table>{head}{lines}</table></div>"
