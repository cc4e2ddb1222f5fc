"""The web application: which request goes where."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Any

from anyio import create_task_group, move_on_after, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from projbandits._format import render
from projbandits.service.dashboard import PAGE, add_dashboard
from projbandits.service.description import description
from projbandits.service.errors import Refused
from projbandits.service.handlers import ROUTES, Limits, Route
from projbandits.service.registry import Hub
from projbandits.service.replies import written
from projbandits.service.server import HEADERS, Server, problem, repeat

Endpoint = Callable[[Request], Awaitable[Response]]

LOOKING, EXPIRING = 1.0, 10.0
"""How many seconds pass between two looks at the store, and at decisions that are overdue."""

CLOSING = 1.0
"""For how many seconds a process that ends waits until the store is closed."""


def make_app(hub: Hub, limits: Limits | None = None) -> Starlette:
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
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with create_task_group() as tasks:
            tasks.start_soon(repeat, lambda: hub.look(), LOOKING)
            tasks.start_soon(repeat, server.jobs.show, LOOKING)
            # It may take long, and revoked tokens must be noticed meanwhile.
            tasks.start_soon(repeat, lambda: hub.expire(), EXPIRING)
            yield
            tasks.cancel_scope.cancel()
        with move_on_after(CLOSING):  # another process may hold the store
            await to_thread.run_sync(server.close, abandon_on_cancel=True)

    app = Starlette(
        lifespan=lifespan, exception_handlers={HTTPException: _elsewhere, Exception: _failed}
    )
    app.router.redirect_slashes = False
    app.state.server = server
    for route in ROUTES:
        app.add_route(route.path, _endpoint(server, route), methods=[route.method])
    _own_routes(app, server)
    add_dashboard(app, server)
    return app


def _endpoint(server: Server, route: Route) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return await server.answer(route, request)

    return endpoint


def _own_routes(app: Starlette, server: Server) -> None:
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
        return _json(description())

    async def docs(request: Request) -> Response:
        await server.allowed(request, "observe", None)
        return Response(render("requests.html", said=description()), 200, PAGE, "text/html")

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
    return Response(written(value), 200, HEADERS, "application/json")


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
