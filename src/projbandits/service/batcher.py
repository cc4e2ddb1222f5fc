"""Asks and tells, which come by the thousand: one thread begins all that wait, together.

They share one look at the ledger and one flush, and take one thread from the loop and back.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from anyio import CapacityLimiter, to_thread

from projbandits.service.handlers import Later

Begin = Callable[[], Later[Any]]

MOST_AT_ONCE = 256
"""How many requests are worked on together at most."""


class Waiting(NamedTuple):
    """A request, and the future of its reply."""

    begin: Begin
    reply: asyncio.Future[Any]
    left: Callable[[], None]


class Failure(NamedTuple):
    """The error of a request."""

    error: BaseException


class Batcher:
    """Has the requests that wait worked on together, while the next ones gather."""

    def __init__(self) -> None:
        self._waiting = deque[Waiting]()
        self._limiter = CapacityLimiter(1)
        self._task: asyncio.Task[None] | None = None

    def add(self, begin: Begin, left: Callable[[], None]) -> asyncio.Future[Any]:
        """Have a request worked on; `left` is called when it is done, whoever still waits."""
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(Waiting(begin, reply, left))
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        return reply

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await to_thread.run_sync(self._work_on_all, loop, limiter=self._limiter)
        self._task = None

    def _work_on_all(self, loop: asyncio.AbstractEventLoop) -> None:
        """Work on one batch after another in this thread, until none waits."""
        while self._waiting:
            many = min(len(self._waiting), MOST_AT_ONCE)
            batch = [self._waiting.popleft() for _ in range(many)]
            begun = [_tried(waiting.begin) for waiting in batch]
            done = [each if isinstance(each, Failure) else _tried(each) for each in begun]
            loop.call_soon_threadsafe(_settle, batch, done)


def _tried(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except BaseException as error:  # it is for its own caller alone
        return Failure(error)


def _settle(batch: Sequence[Waiting], done: Sequence[Any]) -> None:
    for waiting, found in zip(batch, done, strict=True):
        waiting.left()
        if waiting.reply.done():  # it took too long, and its caller knows
            continue
        if isinstance(found, Failure):
            waiting.reply.set_exception(found.error)
        else:
            waiting.reply.set_result(found)
