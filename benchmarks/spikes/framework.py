"""Spike (d): FastAPI beside Starlette with msgspec: `python -m benchmarks.spikes.framework`.

Both serve an ask and a tell with tokens, problem details and a generated OpenAPI description, for
the same decider of no work, so that what is measured is the framework. Each is used as its
documentation shows. A keep-alive client of its own process calls them in turns.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import psutil
import uvicorn
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field
from starlette.applications import Starlette
from starlette.requests import Request as StarletteRequest
from starlette.responses import Response
from starlette.routing import Route

from benchmarks import calling

TOKEN = "pb_token"


class Nothing:
    """A decider that decides at once."""

    async def ask(self, name: str, body: Any) -> dict[str, Any]:
        """Decide."""
        return {"id": "0" * 32, "label": "item7", "index": 7, "propensity": 0.5, "estimate": 0.25}

    async def tell(self, name: str, pairs: list[tuple[str, float]]) -> int:
        """Count outcomes."""
        return len(pairs)


DECIDER = Nothing()


# begin fastapi
class Body(BaseModel):
    """A JSON object without fields that nobody knows."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Ask(Body):
    """A choice to be made."""

    items: list[str | int | dict[str, Any]] | None = Field(None, description="labels, or rows")
    filter: dict[str, Any] | None = Field(None, description="which items of the catalogue")
    context: dict[str, Any] | None = Field(None, description="columns that come with the call")
    count: int = Field(1, ge=1, description="how many distinct items to choose")
    request_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    meta: Any = None


class Decision(BaseModel):
    """What was decided."""

    id: str
    label: str | int | None
    index: int | None
    propensity: float | None
    estimate: float | None


class Outcome(Body):
    """What came of a decision."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    reward: float = Field(description="what was observed")


class Counted(BaseModel):
    """How many outcomes were reported."""

    told: int


class Problem(BaseModel):
    """A problem (RFC 9457)."""

    title: str
    status: int
    detail: str


bearer = HTTPBearer()


async def allowed(sent: Annotated[HTTPAuthorizationCredentials, Depends(bearer)]) -> str:
    """Let in whoever has the token."""
    if sent.credentials != TOKEN:
        raise HTTPException(401, "this token is unknown")
    return sent.credentials


Token = Annotated[str, Depends(allowed)]
problems: dict[int | str, dict[str, Any]] = {"4XX": {"model": Problem}}
fastapi_app = FastAPI(title="projbandits", responses=problems, strict_content_type=False)


@fastapi_app.exception_handler(RequestValidationError)
async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
    """Answer what does not fit the schema."""
    said = "; ".join(f"{'/'.join(map(str, e['loc'][1:]))}: {e['msg']}" for e in error.errors())
    problem = {"title": "Unprocessable", "status": 422, "detail": said}
    return JSONResponse(problem, 422, media_type="application/problem+json")


@fastapi_app.exception_handler(HTTPException)
async def refused(request: Request, error: HTTPException) -> JSONResponse:
    """Answer what is refused."""
    problem = {"title": "Refused", "status": error.status_code, "detail": error.detail}
    return JSONResponse(problem, error.status_code, media_type="application/problem+json")


@fastapi_app.post("/v1/deciders/{name}/ask")
async def ask(name: str, body: Ask, token: Token) -> Decision:
    """Decide."""
    return Decision(**await DECIDER.ask(name, body))


@fastapi_app.post("/v1/deciders/{name}/tell")
async def tell(name: str, body: Outcome, token: Token) -> Counted:
    """Report an outcome."""
    return Counted(told=await DECIDER.tell(name, [(body.id, body.reward)]))


# end fastapi
# begin starlette
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class SAsk(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A choice to be made."""

    items: Annotated[
        list[str | int | dict[str, Any]] | None, msgspec.Meta(description="labels, or rows")
    ] = None
    filter: Annotated[
        dict[str, Any] | None, msgspec.Meta(description="which items of the catalogue")
    ] = None
    context: Annotated[
        dict[str, Any] | None, msgspec.Meta(description="columns that come with the call")
    ] = None
    count: Annotated[int, msgspec.Meta(ge=1, description="how many distinct items to choose")] = 1
    request_id: Name | None = None
    meta: Any = None


class SDecision(msgspec.Struct):
    """What was decided."""

    id: str
    label: str | int | None
    index: int | None
    propensity: float | None
    estimate: float | None


class SOutcome(msgspec.Struct, forbid_unknown_fields=True):
    """What came of a decision."""

    id: Name
    reward: Annotated[float, msgspec.Meta(description="what was observed")]


class SCounted(msgspec.Struct):
    """How many outcomes were reported."""

    told: int


class SProblem(msgspec.Struct):
    """A problem (RFC 9457)."""

    title: str
    status: int
    detail: str


class Refused(Exception):  # noqa: N818
    """A request that is not answered."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


async def starlette_problem(request: StarletteRequest, error: Any) -> Response:
    """Answer what is refused, or does not fit the schema."""
    status = error.status if isinstance(error, Refused) else 422
    content = msgspec.json.encode(SProblem("Refused", status, str(error)))
    return Response(content, status, media_type="application/problem+json")


Work = TypeVar("Work", bound=Callable[..., Any])
routes: list[Route] = []
operations: list[tuple[str, Any, Any, Any]] = []


def post(path: str) -> Callable[[Work], Work]:
    """Serve a function whose annotations say what is sent and returned."""

    def add(work: Work) -> Work:
        hints = inspect.get_annotations(work, eval_str=True)
        sent, reply = hints["body"], hints["return"]
        decode, encode = msgspec.json.Decoder(sent).decode, msgspec.json.Encoder().encode

        async def endpoint(request: StarletteRequest) -> Response:
            if request.headers.get("authorization", "").removeprefix("Bearer ") != TOKEN:
                raise Refused(401, "this token is unknown")
            body = decode(await request.body())
            answer = await work(body=body, **request.path_params)
            return Response(encode(answer), media_type="application/json")

        routes.append(Route(path, endpoint, methods=["POST"]))
        operations.append((path, work, sent, reply))
        return work

    return add


@post("/v1/deciders/{name}/ask")
async def s_ask(name: str, body: SAsk) -> SDecision:
    """Decide."""
    return SDecision(**await DECIDER.ask(name, body))


@post("/v1/deciders/{name}/tell")
async def s_tell(name: str, body: SOutcome) -> SCounted:
    """Report an outcome."""
    return SCounted(await DECIDER.tell(name, [(body.id, body.reward)]))


def openapi() -> dict[str, Any]:
    """Return the description, generated from the annotations."""
    kinds = [SProblem, *(kind for _, _, sent, reply in operations for kind in (sent, reply))]
    schemas, components = msgspec.json.schema_components(
        kinds, ref_template="#/components/schemas/{name}"
    )
    paths = dict[str, Any]()
    for i, (path, work, _, _) in enumerate(operations):
        paths[path] = {
            "post": {
                "operationId": work.__name__,
                "summary": (work.__doc__ or "").splitlines()[0],
                "security": [{"token": []}],
                "parameters": [
                    {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                    for name in re.findall(r"{(\w+)", path)
                ],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": schemas[1 + 2 * i]}},
                },
                "responses": {
                    "200": {
                        "description": "the answer",
                        "content": {"application/json": {"schema": schemas[2 + 2 * i]}},
                    },
                    "default": {
                        "description": "a problem",
                        "content": {"application/problem+json": {"schema": schemas[0]}},
                    },
                },
            }
        }
    token = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "projbandits", "version": "0"},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": token}},
    }


async def described(request: StarletteRequest) -> Response:
    """Return the description."""
    return Response(msgspec.json.encode(openapi()), media_type="application/json")


routes.append(Route("/openapi.json", described))
starlette_app = Starlette(
    routes=routes,
    exception_handlers={Refused: starlette_problem, msgspec.DecodeError: starlette_problem},
)
# end starlette


light_app = FastAPI(title="projbandits", openapi_url=None)


@light_app.post("/v1/deciders/{name}/ask")
async def light_ask(name: str, request: Request, token: Token) -> Response:
    """Decide."""
    body = _DECODE_ASK(await request.body())
    return Response(
        _ENCODE(SDecision(**await DECIDER.ask(name, body))), media_type="application/json"
    )


@light_app.post("/v1/deciders/{name}/tell")
async def light_tell(name: str, request: Request, token: Token) -> Response:
    """Report an outcome."""
    body = _DECODE_TELL(await request.body())
    told = await DECIDER.tell(name, [(body.id, body.reward)])
    return Response(_ENCODE(SCounted(told)), media_type="application/json")


_DECODE_ASK = msgspec.json.Decoder(SAsk).decode
_DECODE_TELL = msgspec.json.Decoder(SOutcome).decode
_ENCODE = msgspec.json.Encoder().encode
APPS = {"fastapi": fastapi_app, "fastapi, msgspec": light_app, "starlette": starlette_app}


def lines(name: str) -> int:
    """Return the lines of code of one of the two."""
    text = Path(__file__).read_text().split(f"# begin {name}\n")[1].split(f"# end {name}")[0]
    return sum(bool(line.strip()) for line in text.splitlines())


def port() -> int:
    """Return a port that is free."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        return int(made.getsockname()[1])


def main() -> None:
    """Run the measurement, or serve one of the applications."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", nargs=2)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--connections", type=int, nargs="*", default=[16, 64])
    parser.add_argument("--whole", action="store_true", help="instead: this tree's service")
    options = parser.parse_args()
    if options.whole:
        whole(options.connections, options.seconds)
        return
    if options.serve:
        name, where = options.serve
        uvicorn.run(
            APPS[name], port=int(where), log_level="warning", access_log=False,
            server_header=False, date_header=False, timeout_keep_alive=60,
        )  # fmt: skip
        return
    running = {}
    for name in APPS:
        where = port()
        command = [sys.executable, "-m", "benchmarks.spikes.framework", "--serve", name, str(where)]
        running[name] = subprocess.Popen(command), where
    try:
        for _, where in running.values():
            until = time.monotonic() + 60
            while time.monotonic() < until:
                try:
                    socket.create_connection(("127.0.0.1", where)).close()
                    break
                except OSError:
                    time.sleep(0.1)
        for connections in options.connections:
            said: dict[str, list[tuple[float, float, float]]] = {name: [] for name in APPS}
            for _ in range(options.rounds):
                for name, (process, where) in running.items():
                    said[name].append(_load(process.pid, where, connections, options.seconds))
            for name, each in said.items():
                rate, cost, late = (sorted(column) for column in zip(*each, strict=True))
                print(
                    f"{connections} connections, {name}: {rate[-1]:,.0f} requests/s at best, "
                    f"{rate[len(rate) // 2]:,.0f} at the median; {cost[0]:.0f} to {cost[-1]:.0f} us"
                    f" of processor each (median {cost[len(cost) // 2]:.0f}); 99 % {late[0]:.1f} ms"
                )
    finally:
        for process, _ in running.values():
            process.terminate()
            process.wait()
    for name in ("fastapi", "starlette"):
        print(f"{name}: {lines(name)} lines")
    for name, made in (("fastapi", fastapi_app.openapi()), ("starlette", openapi())):
        size = len(json.dumps(made))
        print(f"{name}: OpenAPI with {len(made['components']['schemas'])} schemas, {size} bytes")


def whole(connections: list[int], seconds: float) -> None:
    """Print what a request costs in the service of this tree, its decider and SQLite included."""
    from benchmarks.service import _started

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="service")))
        service, _ = _started(stack, folder, "sqlite", 1)
        pid = next(
            each.pid
            for each in psutil.net_connections("tcp")
            if each.laddr.port == service.port and each.status == "LISTEN" and each.pid
        )
        for many in connections * 2:
            rate, cost, late = _load(pid, service.port, many, seconds, str(service.token))
            print(
                f"{many} connections, the whole service: {rate:,.0f} requests/s, {cost:.0f} us of "
                f"processor each; 99 % {late:.1f} ms"
            )


def _load(
    pid: int, where: int, connections: int, seconds: float, token: str = TOKEN
) -> tuple[float, float, float]:
    said = {"port": where, "token": token, "connections": connections, "seconds": seconds,
            "tells": True, "pace": 0.0}  # fmt: skip
    before = psutil.Process(pid).cpu_times()
    printed = subprocess.run(
        [sys.executable, calling.__file__, json.dumps(said)], check=True, capture_output=True
    )
    after = psutil.Process(pid).cpu_times()
    taken = sorted(json.loads(printed.stdout))
    spent = after.user + after.system - before.user - before.system
    return len(taken) / seconds, 1e6 * spent / len(taken), 1e3 * taken[int(0.99 * len(taken))]


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
