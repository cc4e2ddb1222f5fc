"""One process of the service: lets requests in, works on them in threads, and answers."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, TypeVar
from urllib.parse import urlsplit

from anyio import CapacityLimiter, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from projbandits.service.batcher import Batcher
from projbandits.service.errors import EXPECTED_ERRORS, Refused, refused
from projbandits.service.handlers import JSON, Call, Limits, Route
from projbandits.service.jobs import Jobs
from projbandits.service.metrics import Metrics
from projbandits.service.overview import Overview
from projbandits.service.registry import Hub
from projbandits.service.replies import written
from projbandits.service.schemas import read, read_query
from projbandits.service.tokens import Token

Done = TypeVar("Done")

THREADS = 64
"""How many requests are worked on at a time: those that wait for one flush share it."""

HEAVY_THREADS = 4
"""How many audits, logs and catalogues are worked on at a time; others do not wait for them."""

SMALL_BODY = 65_536
"""Bytes of a body up to which an ask or a tell is worked on together with others."""

VIEWS = 2
"""How many views of the dashboard are worked on at a time."""

COOKIE = "projbandits"

NOBODY = "nobody"
"""Whose requests those with tokens are that are not known."""

HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
REPORT = {
    **HEADERS,
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
}
"""What goes with a report, which has its style and pictures in it, and no script."""

SAFE = ("GET", "HEAD")

ENDING = Refused(
    503,
    "the service ends, and this may still be done: send the same again, with the same id",
    retry=1,
)
"""What a caller gets whose answer would keep the process from ending."""


class TooLong(Refused):
    """A request that is still worked on."""


class Server:
    """What all requests of a process share.

    Parameters
    ----------
    hub : Hub
        Deciders, catalogues and tokens.
    limits : Limits
        How much a request may ask for.
    """

    def __init__(self, hub: Hub, limits: Limits | None = None) -> None:
        self.hub, self.limits = hub, limits or Limits()
        self.metrics, self.jobs = Metrics(), Jobs(hub)
        self._usual, self._heavy = CapacityLimiter(THREADS), CapacityLimiter(HEAVY_THREADS)
        self.views, self._door = CapacityLimiter(VIEWS), CapacityLimiter(1)
        self._batcher = Batcher()
        self._running: set[asyncio.Task[Any]] = set()
        self._overviews: dict[str, Overview] = {}
        self._in_flight: Counter[str] = Counter()
        self._flying = 0

    def close(self) -> None:
        """Finish what was begun, and close the store."""
        self.jobs.close()
        self.hub.close()

    async def answer(self, route: Route, request: Request) -> Response:
        """Return the answer to a request, or the problem with it."""
        began = time.perf_counter()
        try:
            response = await self._answered(route, request)
        except ClientDisconnect:
            response = problem(Refused(400, "the connection was closed before the body came"))
        except Refused as error:
            response = problem(error)
        except asyncio.CancelledError:  # uvicorn has waited for it as long as a process may take
            response = problem(ENDING)
        self.metrics.seconds.labels(route.method, route.shown).observe(time.perf_counter() - began)
        self.metrics.requests.labels(response.status_code).inc()
        return response

    async def _answered(self, route: Route, request: Request) -> Response:
        name = request.path_params.get("name")
        token = await self.allowed(request, route.scope, name)
        with_items = route.path.endswith("/items")
        body = b""
        if route.method not in SAFE:
            most = self.limits.catalogue if with_items else self.limits.body
            left = self.entered(token.id)  # what has come of a body takes memory
            try:
                body = await self.body(request, most)
            finally:
                left()
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        path, only = request.path_params, token.decider
        call = Call(self.hub, self.limits, self.jobs, path, kind, body, only)
        begin = partial(_called, partial(_begun, route, call, request.query_params))
        if route.batched and len(body) <= SMALL_BODY and self.hub.at_hand(call.name):
            left = self.entered(token.id)
            reply = await self._in_time(self._batcher.add(begin, left))
        else:
            work = partial(_finished, begin)
            limiter = self._heavy if route.heavy else None
            try:
                reply = await self.run(work, token.id, limiter)
            except TooLong as error:
                if "/audit" not in route.path:
                    raise
                raise Refused(
                    503,
                    f"this took more than {self.limits.seconds:g} s: start it as a job by POST "
                    f"/v1/deciders/{name}/audits, which takes as long as it needs",
                ) from error
        for what, many in call.counted.items():
            self.metrics.counts[what].labels(call.name).inc(many)
        headers = REPORT if route.media == "text/html" else HEADERS
        if isinstance(reply, Iterator):
            return StreamingResponse(reply, call.status, headers, route.media)
        return Response(reply, call.status, headers, route.media)

    async def allowed(self, request: Request, scope: str, decider: str | None) -> Token:
        """Return the token of a request, or raise if it does not allow what is asked."""
        said = request.headers.get("authorization", "")
        cookie = request.cookies.get(COOKIE)
        by_cookie = not said and cookie is not None
        if by_cookie and request.method not in SAFE:
            check_origin(request)
        text = cookie if by_cookie else said[7:] if said[:7].lower() == "bearer " else None
        token = self.hub.known_token(text)
        if token is None and text:
            token = await self.looked_up(text)
        if token is None:
            raise Refused(
                401,
                "a token is needed, as in 'Authorization: Bearer pb_...': "
                + ("this one is unknown, revoked or has ended" if text else "there is none")
                + "; `projbandits token create` makes one",
            )
        everything = decider is None and scope == "observe" and scope in token.scopes
        if not everything and not token.allows(scope, decider):
            what = "all deciders" if decider is None else f"decider {decider!r}"
            raise Refused(
                403,
                f"this token allows {', '.join(token.scopes)} on {token.decider or 'all deciders'}"
                f", and {scope} on {what} is needed",
            )
        return token

    async def looked_up(self, text: str) -> Token | None:
        """Return what a token allows that is not at hand.

        All who send such tokens share a limit, a thread, and a look at the store.
        """
        find = partial(self.hub.token, text, time.monotonic())
        return await self.guarded(find, self._door, NOBODY)

    async def run(
        self, work: Callable[[], Done], who: str, limiter: CapacityLimiter | None = None
    ) -> Done:
        """Have work done by a thread, unless too much is under way.

        Work that takes too long goes on without its caller, and keeps its place until it is done.
        """
        left = self.entered(who)

        def ended(task: asyncio.Task[Done]) -> None:
            left()
            self._running.discard(task)
            if not task.cancelled():
                task.exception()  # nobody may be there any more to be told

        call = to_thread.run_sync(work, limiter=limiter or self._usual)
        task = asyncio.create_task(call)
        self._running.add(task)
        task.add_done_callback(ended)
        return await self._in_time(asyncio.shield(task))

    async def _in_time(self, done: asyncio.Future[Done]) -> Done:
        """Return what is awaited, or raise when its caller has waited long enough."""
        limit = self.limits.seconds
        try:
            async with asyncio.timeout(limit):
                return await done
        except TimeoutError as error:
            if not done.cancelled():
                raise
            raise TooLong(
                503,
                f"this took more than {limit:g} s and may still be done: send the same again, with "
                "the same id",
                retry=1,
            ) from error

    def entered(self, who: str) -> Callable[[], None]:
        """Let work begin, unless too much is under way; return what is called when it ends."""
        limits, flying = self.limits, self._in_flight
        if self._flying >= limits.in_flight:
            raise Refused(503, f"{self._flying} requests are under way: send this again", retry=1)
        if who and flying[who] >= max(limits.in_flight // 2, 1):
            raise Refused(429, f"this token has {flying[who]} requests under way: wait", retry=1)
        flying[who] += 1
        self._flying += 1
        return partial(self._left, who)

    def _left(self, who: str) -> None:
        self._flying -= 1
        self._in_flight[who] -= 1

    async def guarded(
        self, work: Callable[[], Done], limiter: CapacityLimiter | None = None, who: str = ""
    ) -> Done:
        """Have work done by a thread; what the library raises is a refusal."""
        return await self.run(partial(_called, work), who, limiter)

    async def body(self, request: Request, most: int) -> bytes:
        """Return the body, unless it is too large or too slow."""
        too_large = Refused(413, f"the body must have at most {most:,} bytes")
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > most:
            raise too_large
        pieces, size = list[bytes](), 0
        try:
            async with asyncio.timeout(self.limits.seconds):
                async for piece in request.stream():
                    size += len(piece)
                    if size > most:
                        raise too_large
                    pieces.append(piece)
        except TimeoutError as error:
            raise Refused(
                408, f"the body must arrive within {self.limits.seconds:g} s", retry=1
            ) from error
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def overview(self, name: str) -> Overview:
        """Return the numbers of a decider, up to date."""
        found = self._overviews.get(name)
        if found is None:
            found = self._overviews.setdefault(name, Overview(self.hub.decider(name)))
        found.update()
        return found

    def ready(self) -> dict[str, Any]:
        """Return the state, or raise if the store cannot be used."""
        return {"status": "ready", "deciders": len(self.hub.names())}

    def measured(self, only: str | None = None) -> str:
        """Return the metrics, of one decider only if a token is for that one."""
        names = [name for name in self.hub.names() if only in (None, name)]
        deciders = {name: self.overview(name).gauges() for name in names}
        return self.metrics.text(deciders, self._flying, self.hub.store.flushes, only)


async def repeat(work: Callable[[], object], seconds: float) -> None:
    """Have something done by a thread again and again, until this is cancelled."""
    limiter = CapacityLimiter(1)
    while True:
        # A store that is away raises here too; requests say so.
        with suppress(*EXPECTED_ERRORS):
            await to_thread.run_sync(work, limiter=limiter, abandon_on_cancel=True)
        await asyncio.sleep(seconds)


def problem(error: Refused) -> Response:
    """Return a problem as an answer."""
    return Response(error.body(), error.status, {**HEADERS, **error.headers()})


def check_origin(request: Request) -> None:
    """Raise unless a request that changes something comes from a page of this server."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    same = urlsplit(origin).netloc == request.headers.get("host") if origin else False
    if not same or site not in (None, "same-origin"):
        raise Refused(403, "this must be sent from a page of this server, it came from elsewhere")


def _begun(route: Route, call: Call, query: Mapping[str, str]) -> Callable[[], Any]:
    """Begin to answer a request, and return a function that waits for what is sent back."""
    sent = dict[str, Any]()
    if route.scope == "decide" or route.method in ("PUT", "PATCH"):
        call.hub.check_active(call.name)
    if route.body is not None:
        sent["body"] = read(route.body, call.content)
    if route.query is not None:
        sent["query"] = read_query(route.query, query)
    reply = route.does(call, **sent)
    return partial(_called, partial(_content, route, reply))


def _finished(begin: Callable[[], Callable[[], Done]]) -> Done:
    return begin()()


def _content(route: Route, reply: Any) -> bytes | str | Iterator[bytes]:
    """Return a reply as it is sent; of a stream the first piece is there, so it can fail here."""
    if callable(reply):
        reply = reply()
    if isinstance(reply, Iterator):
        return chain([next(reply)], reply)
    return written(reply) if route.media == JSON else str(reply)


def _called(work: Callable[[], Done]) -> Done:
    """Return the result of work; errors of the library are problems."""
    try:
        return work()
    except EXPECTED_ERRORS as error:
        known = refused(error)
        if known is None:
            raise
        raise known from error
