"""The web application: which request goes where."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from projbandits._version import __version__
from projbandits.service.calls import ROUTES, Limits, Route
from projbandits.service.dashboard import PAGE, add_dashboard
from projbandits.service.description import described, description, docs_page
from projbandits.service.ending import told_of_signals
from projbandits.service.hub import Hub
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
        redirect_slashes=False,
    )
    app.state.server = server
    for route in ROUTES:
        app.add_api_route(
            route.path,
            _endpoint(server, route),
            methods=[route.method],
            operation_id=route.does.__name__,
            summary=(route.does.__doc__ or "").splitlines()[0],
            openapi_extra=described(route),
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
        token = await server.allowed(request, "observe", None)
        text = await server.guarded(partial(server.measured, token.decider))
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
    if status != HTTPStatus.METHOD_NOT_ALLOWED:
        return problem(Refused(status, said))
    there = [r for r in request.app.routes if r.matches(request.scope)[0] != Match.NONE]
    allow = ", ".join(sorted({method for route in there for method in route.methods}))
    said = f"{request.method} {request.url.path[:200]} must be {allow}; see /docs"
    answer = problem(Refused(status, said))
    answer.headers["allow"] = allow
    return answer


async def _failed(request: Request, error: Exception) -> Response:
    """Answer when the server is at fault; what happened is in its own log."""
    logging.getLogger("uvicorn.error").error("%s %s", request.method, request.url.path)
    return problem(Refused(500, "the server is at fault; nothing was half done. Its log says more"))
