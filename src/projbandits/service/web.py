"""The web application: which request goes where."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from html import escape
from typing import Any

from fastapi import FastAPI, Request
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.responses import Response

from projbandits._version import __version__
from projbandits.service.calls import ROUTES, Limits, Route
from projbandits.service.dashboard import PAGE, add_dashboard
from projbandits.service.ending import told_of_signals
from projbandits.service.hub import Hub
from projbandits.service.item_tables import FORMATS
from projbandits.service.quick import Quick
from projbandits.service.refusals import Refused
from projbandits.service.server import HEADERS, Server, problem

Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(hub: Hub, limits: Limits | None = None) -> FastAPI:
    """Return the application on a store.

    Parameters
    ----------
    hub : Hub
        Deciders, catalogues and tokens.
    limits : Limits, optional
        How much a request may ask for.
    """
    server = Server(hub, limits)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        ticking = asyncio.create_task(server.tick())
        with told_of_signals(server.stopping):
            yield {"stopping": server.stopping}
        server.stopping.set()
        await ticking
        server.close()

    app = FastAPI(
        title="projbandits",
        version=__version__,
        description="Decisions on the part of the reward that counts.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.server = server
    for route in ROUTES:
        app.add_api_route(
            route.path,
            _endpoint(server, route),
            methods=[route.method],
            operation_id=route.does.__name__,
            summary=(route.does.__doc__ or "").splitlines()[0],
            openapi_extra=_described(route),
            response_model=None,
        )
    _own_routes(app, server)
    add_dashboard(app, server)
    app.add_middleware(Quick, server=server)
    app.add_exception_handler(HTTPException, _elsewhere)
    app.add_exception_handler(Exception, _failed)
    return app


def _endpoint(server: Server, route: Route) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return await server.answer(route, request)

    return endpoint


def _own_routes(app: FastAPI, server: Server) -> None:
    """Add what a server says of itself."""

    async def healthz(request: Request) -> Response:
        return _json({"status": "ok"})

    async def readyz(request: Request) -> Response:
        await server.allowed(request, "observe", None)
        return _json(await server.guarded(server.ready))

    async def metrics(request: Request) -> Response:
        await server.allowed(request, "observe", None)
        text = await server.guarded(server.measured)
        return Response(text, 200, HEADERS, "text/plain; version=0.0.4")

    async def openapi(request: Request) -> Response:
        await server.allowed(request, "observe", None)
        return _json(description(app))

    async def docs(request: Request) -> Response:
        await server.allowed(request, "observe", None)
        return Response(docs_page(description(app)), 200, PAGE, "text/html")

    for path, endpoint in {
        "/healthz": healthz,
        "/readyz": readyz,
        "/metrics": metrics,
        "/openapi.json": openapi,
        "/docs": docs,
    }.items():
        app.add_route(path, caught(endpoint), methods=["GET"])


def caught(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint whose refusals are problems."""

    async def inner(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Refused as error:
            return problem(error)

    return inner


def _json(value: Any) -> Response:
    return Response(json.dumps(value), 200, HEADERS, "application/json")


async def _elsewhere(request: Request, error: Exception) -> Response:
    """Answer a request that goes nowhere."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    said = f"{request.method} {request.url.path[:200]}: there is no such thing here; see /docs"
    return problem(Refused(status, said))


async def _failed(request: Request, error: Exception) -> Response:
    """Answer when the server is at fault; what happened is in its own log."""
    logging.getLogger("uvicorn.error").error("%s %s", request.method, request.url.path)
    return problem(Refused(500, "the server is at fault; nothing was half done. Its log says more"))


def _described(route: Route) -> dict[str, Any]:
    """Return what the OpenAPI description says of a route beside its path."""
    named = [part.strip("{}").partition(":")[0] for part in route.path.split("/") if "{" in part]
    text = {"type": "string", "minLength": 1, "maxLength": 200}
    said: dict[str, Any] = {
        "security": [{"token": [route.scope]}],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": text} for name in named
        ],
        "responses": {"default": {"description": "a problem (RFC 9457)"}},
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
        label = {"name": "label", "in": "query", "schema": {"type": "string"}}
        said["parameters"].append(label)
    return said


def description(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI description."""
    said = app.openapi()
    models = [route.sent for route in ROUTES if route.sent is not None]
    template = "#/components/schemas/{model}"
    _, schemas = models_json_schema([(m, "validation") for m in models], ref_template=template)
    bearer = {"type": "http", "scheme": "bearer"}
    said["components"] = {"schemas": schemas["$defs"], "securitySchemes": {"token": bearer}}
    return said


def docs_page(said: dict[str, Any]) -> str:
    """Return the OpenAPI description as a page, without any script."""
    parts = list[str]()
    for path, methods in said["paths"].items():
        for method, each in methods.items():
            scope = each.get("security", [{"token": ["none"]}])[0]["token"][0]
            parts.append(
                f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
                f"<p>{escape(each['summary'])} Needs <em>{scope}</em>.</p>"
            )
            sent = each.get("requestBody", {}).get("content", {}).get("application/json", {})
            name = sent.get("schema", {}).get("$ref", "").rpartition("/")[2]
            fields = said["components"]["schemas"].get(name, {}).get("properties", {})
            if fields:
                rows = "".join(
                    f"<tr><td><code>{escape(field)}</code></td>"
                    f"<td>{escape(about.get('description', ''))}</td>"
                    f"<td>{escape(json.dumps(about.get('default', '')))}</td></tr>"
                    for field, about in fields.items()
                )
                head = "<tr><th>field</th><th>what it is</th><th>default</th></tr>"
                parts.append(f"<table>{head}{rows}</table>")
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
        "content='width=device-width'><title>projbandits</title>"
        "<link rel=stylesheet href=/static/dashboard.css><link rel=icon href='data:,'>"
        "<main class=plain>"
        f"<h1>projbandits {escape(said['info']['version'])}</h1>"
        "<p>The same for programs: <a href=/openapi.json>openapi.json</a>.</p>" + "".join(parts)
    )
