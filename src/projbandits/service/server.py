"""One process of the service: lets requests in, has them worked on by threads, and answers."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, TypeVar
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from projbandits.service.calls import Answer, Call, Limits, Route
from projbandits.service.hub import Hub
from projbandits.service.metrics import Labels, Metrics
from projbandits.service.overview import Overview
from projbandits.service.refusals import EXPECTED_ERRORS, Refused, refused
from projbandits.service.threads import Threads
from projbandits.service.tokens import Token

Done = TypeVar("Done")

THREADS = 64
"""How many requests are worked on at a time: those that wait for one flush share it."""

HEAVY_THREADS = 4
"""How many audits, logs and catalogues are worked on at a time; others do not wait for them."""

COOKIE = "projbandits"
EXPIRING = 10.0
"""How many seconds pass between two looks for decisions that are overdue."""

NOBODY = "nobody"
"""Whose requests those with tokens are that are not known."""

BEGUN = 3.0
"""For how many seconds what was begun is waited for when the process is asked to end."""

HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
REPORT = {
    **HEADERS,
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
}
"""What goes with a report, which has its style and pictures in it, and no script."""

SAFE = ("GET", "HEAD")


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
        self.metrics = Metrics()
        self.stopping = asyncio.Event()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="projbandits")
        self.slow = Threads(2, "projbandits-slow")
        self._heavy = Threads(HEAVY_THREADS, "projbandits-heavy")
        self._door = ThreadPoolExecutor(1, thread_name_prefix="projbandits-door")
        self._overviews: dict[str, Overview] = {}
        self._in_flight: Counter[str] = Counter()
        self._flying = 0
        self._given_up: asyncio.Future[None] | None = None
        self.closing: list[Callable[[], None]] = []

    async def answer(self, route: Route, request: Request) -> Response:
        """Return the answer to a request, or the problem with it."""
        began = time.perf_counter()
        try:
            response = await self._answered(route, request)
        except ClientDisconnect:
            response = problem(Refused(400, "the connection was closed before the body came"))
        except Refused as error:
            response = problem(error)
        self.noted(route, began, response.status_code)
        return response

    def noted(self, route: Route, began: float, status: int) -> None:
        """Take note of a request that was answered."""
        took = time.perf_counter() - began
        self.metrics.took(took, method=route.method, path=route.path.replace(":path}", "}"))
        self.metrics.count("requests", status=str(status))

    def counted(self, call: Call) -> None:
        """Take note of what a request did."""
        for what, many in call.counted.items():
            self.metrics.count(what, many, decider=call.name)

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
        call = Call(
            self.hub, self.limits, request.path_params, request.query_params, kind, body,
            token.decider,
        )  # fmt: skip
        answer = await self.worked(route, call, token.id)
        if call.counted:
            self.counted(call)
        if isinstance(answer, Answer):
            headers = REPORT if answer.media == "text/html" else HEADERS
            return Response(answer.content(), answer.status, headers, answer.media)
        stream, media = answer
        return StreamingResponse(stream, 200, HEADERS, media)

    async def worked(self, route: Route, call: Call, who: str) -> Any:
        """Return the answer of a thread to a request."""
        pool = self._heavy if route.heavy else None
        return await self.run(partial(_worked, route.does, call), who, pool)

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
                + "; `projbandits token make` makes one",
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
        return await self.guarded(find, pool=self._door, who=NOBODY)

    async def run(self, work: Callable[[], Done], who: str, pool: Executor | None = None) -> Done:
        """Have work done by a thread, unless too much is under way."""
        left = self.entered(who)
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(pool or self._pool, work)
        future.add_done_callback(lambda _: left())
        if self._given_up is None:
            self._given_up = loop.create_future()
        either: set[asyncio.Future[Any]] = {future, self._given_up}
        limit, first = self.limits.seconds, asyncio.FIRST_COMPLETED
        done, _ = await asyncio.wait(either, timeout=limit, return_when=first)
        if future not in done:
            future.add_done_callback(_forgotten)
            raise self.ending() if done else self.too_late()
        return future.result()

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

    def too_late(self) -> Refused:
        """Return what a caller gets that has waited long enough."""
        return Refused(
            503,
            f"this took more than {self.limits.seconds:g} s and may still be done: send the same "
            "again, with the same id",
            retry=1,
        )

    def ending(self) -> Refused:
        """Return what a caller gets whose answer would keep the process from ending."""
        return Refused(
            503,
            "the service ends, and this may still be done: send the same again, with the same id",
            retry=1,
        )

    async def guarded(
        self, work: Callable[[], Done], pool: Executor | None = None, who: str = ""
    ) -> Done:
        """Have work done by a thread; what the library raises is a refusal."""
        try:
            return await self.run(work, who, pool)
        except EXPECTED_ERRORS as error:
            raise refused(error) or error from error

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
            found = self._overviews.setdefault(name, Overview(self.hub.decider(name)._ledger))
        found.update()
        return found

    def ready(self) -> dict[str, Any]:
        """Return what is served, or raise if the store cannot be used."""
        return {"status": "ready", "deciders": len(self.hub.names())}

    def measured(self, only: str | None = None) -> str:
        """Return the metrics, of one decider only if a token is for that one."""
        gauges: dict[str, list[tuple[Labels, float]]] = {
            "pending": [],
            "oldest_pending_seconds": [],
            "ledger_decisions": [],
            "ledger_outcomes": [],
        }
        for name in self.hub.names():
            if only not in (None, name):
                continue
            seen, labels = self.overview(name), (("decider", name),)
            for what, value in seen.gauges().items():
                gauges[what].append((labels, value))
        self.metrics.reach("flushes", self.hub.store.flushes)
        gauges["requests_in_flight"] = [((), self._flying)]
        return self.metrics.text(gauges, only)

    async def tick(self) -> None:
        """Notice what other processes changed, and settle what is overdue, until stopped."""
        loop, settled = asyncio.get_running_loop(), 0.0
        settling: asyncio.Future[Any] | None = None
        while not self.stopping.is_set():
            # A store that is away raises here too; requests say so.
            with suppress(*EXPECTED_ERRORS):
                await loop.run_in_executor(self._pool, self.hub.look)
            if time.monotonic() - settled > EXPIRING and (settling is None or settling.done()):
                settled = time.monotonic()
                # It may take long, and revoked tokens must be noticed meanwhile.
                settling = loop.run_in_executor(self.slow, self.hub.expire)
                settling.add_done_callback(_forgotten)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), 1.0)
        until = time.monotonic() + BEGUN
        while self._flying and time.monotonic() < until:
            await asyncio.sleep(0.02)
        if self._given_up is not None and not self._given_up.done():
            self._given_up.set_result(None)

    def close(self) -> None:
        """Finish what was begun, and let go of the store."""
        for close in self.closing:
            close()
        for pool in (self._heavy, self.slow, self._pool, self._door):
            pool.shutdown()
        self.hub.close()


def problem(error: Refused) -> Response:
    """Return a problem as an answer."""
    return Response(error.body(), error.status, {**HEADERS, **error.headers()})


def check_origin(request: Request) -> None:
    """Raise unless a request that changes something comes from a page of this server."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    same = urlsplit(origin).netloc == request.headers.get("host") if origin else False
    if not same or site not in (None, "same-origin"):
        raise Refused(403, "this must be sent from a page of this server, it came from elsewhere")


def _worked(does: Callable[[Call], Answer], call: Call) -> Answer | tuple[Iterator[bytes], str]:
    """Return an answer; of a stream the first piece is there, so its errors are problems too."""
    try:
        answer = does(call)
        if isinstance(answer.value, Iterator):
            first = next(answer.value)
            return chain([first], answer.value), answer.media
        return answer
    except EXPECTED_ERRORS as error:
        known = refused(error)
        if known is None:
            raise
        raise known from error


def _forgotten(future: asyncio.Future[Any]) -> None:
    """Take note of how something ended that nobody waits for."""
    if not future.cancelled():
        future.exception()
