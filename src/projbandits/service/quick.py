"""Asks and tells, which come by the thousand: one thread works on all that wait, together.

They share one look at the ledger and one flush, and take one thread from the socket and back. What
is unusual about a request (a large body, a decider that is not at hand, an id that was asked for
before) is left to the threads that work on all other requests.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from projbandits.ledger.protocol import Behind, Exists
from projbandits.service.calls import ONE, ROUTES, Answer, Begun, Call
from projbandits.service.refusals import EXPECTED_ERRORS, Refused, refused
from projbandits.service.server import HEADERS, Server, problem

if TYPE_CHECKING:
    from projbandits.ledger.sql import SqlStore

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_BODY = 65_536
"""Bytes; a request with more is left to the others."""

MOST_AT_ONCE = 256
"""How many requests are worked on together at most."""

PREFIX = ONE.partition("{")[0]
QUICK_ROUTES = {
    route.path.rpartition("/")[2]: route for route in ROUTES if route.begins is not None
}


class Waiting(NamedTuple):
    """A request, and what awaits its answer; None is the answer to what is unusual."""

    begin: Callable[[Call], Begun | None]
    call: Call
    answer: asyncio.Future[Answer | None]
    left: Callable[[], None]


class Together:
    """A thread that works on the requests that wait.

    Parameters
    ----------
    store : SqlStore
        Where all of them are recorded.
    """

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def add(self, waiting: Waiting) -> None:
        """Have a request worked on; called by the loop's thread only."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="projbandits-quick")
            self._thread.start()
        self._queue.put(waiting)

    def close(self) -> None:
        """Finish what was begun."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()

    def _serve(self) -> None:
        while True:
            batch = [self._queue.get()]
            while len(batch) < MOST_AT_ONCE and batch[-1] is not None:
                try:
                    batch.append(self._queue.get_nowait())
                except Empty:
                    break
            some = [waiting for waiting in batch if waiting is not None]
            if some:
                loop = some[0].answer.get_loop()
                loop.call_soon_threadsafe(_settle, some, self._worked(some))
            if batch[-1] is None:
                return

    def _worked(self, some: Sequence[Waiting]) -> list[Answer | BaseException | None]:
        """Return the answer to each request, its error, or None if others must see to it."""
        begun = list[Begun | BaseException | None]()
        for waiting in some:
            try:
                begun.append(waiting.begin(waiting.call))
            except BaseException as error:  # nobody's fault may end the thread of all
                begun.append(error)
        works = [each.work for each in begun if isinstance(each, Begun)]
        outcomes: Sequence[Any] = ()
        try:
            if works:
                outcomes = self._store.record(works)
        except BaseException as error:
            outcomes = [error] * len(works)
        left = iter(outcomes)
        return [_answer(each, next(left) if isinstance(each, Begun) else each) for each in begun]


def _answer(begun: Begun | BaseException | None, outcome: Any) -> Answer | BaseException | None:
    if isinstance(begun, Begun) and not isinstance(outcome, BaseException):
        try:
            return begun.answer(outcome)
        except BaseException as error:
            return error
    if outcome is None or isinstance(outcome, Behind | Exists):
        return None
    if isinstance(outcome, EXPECTED_ERRORS):
        return refused(outcome) or outcome
    return outcome  # type: ignore[no-any-return]


def _settle(some: Sequence[Waiting], answers: Sequence[Answer | BaseException | None]) -> None:
    for waiting, answer in zip(some, answers, strict=True):
        waiting.left()
        if waiting.answer.done():  # it took too long, and its caller knows
            continue
        if isinstance(answer, BaseException):
            waiting.answer.set_exception(answer)
        else:
            waiting.answer.set_result(answer)


class Quick:
    """Answers asks and tells before the application sees them, and leaves it the others.

    Parameters
    ----------
    app : callable
        The application behind.
    server : Server
        What all requests share.
    """

    def __init__(self, app: App, server: Server) -> None:
        self._app, self._server = app, server
        self._together = Together(server.hub.store)
        server.closing.append(self._together.close)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self._app(scope, receive, send)
        path: str = scope["path"]
        name, _, what = path[len(PREFIX) :].rpartition("/")
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"none")
        usual = path.startswith(PREFIX) and what in QUICK_ROUTES and name and "/" not in name
        small = length.isdigit() and int(length[:20]) <= LARGEST_BODY
        if not (usual and small and b"authorization" in headers):
            return await self._app(scope, receive, send)
        scope["path_params"] = {"name": name}
        response = await self._response(QUICK_ROUTES[what], name, Request(scope, receive))
        await response(scope, receive, send)
        return None

    async def _response(self, route: Any, name: str, request: Request) -> Response:
        server, began = self._server, time.perf_counter()
        try:
            token = await server.allowed(request, route.scope, name)
            body = await server.body(request, server.limits.body)
            call = Call(server.hub, server.limits, {"name": name}, {}, "", body, token.decider)
            answer = await self._answered(route, call, token.id)
            if answer is None:
                answer = await server.worked(route, call, token.id)
            server.counted(call)
            response = Response(answer.content(), answer.status, HEADERS, answer.media)
        except ClientDisconnect:
            response = problem(Refused(400, "the connection was closed before the body came"))
        except Refused as error:
            response = problem(error)
        server.noted(route, began, response.status_code)
        return response

    async def _answered(self, route: Any, call: Call, who: str) -> Answer | None:
        """Return the answer, None if the request is unusual, or raise its error."""
        server, loop = self._server, asyncio.get_running_loop()
        left = server.entered(who)
        future: asyncio.Future[Answer | None] = loop.create_future()
        late = loop.call_later(server.limits.seconds, _too_late, future, server)
        self._together.add(Waiting(route.begins, call, future, left))
        try:
            return await future
        finally:
            late.cancel()


def _too_late(future: asyncio.Future[Any], server: Server) -> None:
    if not future.done():
        future.set_exception(server.too_late())
