"""Asks and tells, which come by the thousand: one thread works on all that wait, together.

They share one look at the ledger and one flush, and take one thread from the loop and back. What is
unusual about a request (a large body, a decider that is not at hand, an id that was asked for
before) is left to the threads that work on all other requests.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from anyio import CapacityLimiter, to_thread

from projbandits.service.errors import EXPECTED_ERRORS, refused
from projbandits.service.handlers import Answer, Begun, Call

Begin = Callable[[Call], Begun | None]
Outcome = Answer | BaseException | None

MOST_AT_ONCE = 256
"""How many requests are worked on together at most."""


class Waiting(NamedTuple):
    """A request, and what awaits its answer; None is the answer to what is unusual."""

    begin: Begin
    call: Call
    answer: asyncio.Future[Answer | None]
    left: Callable[[], None]


class Batcher:
    """Has the requests that wait worked on together, while the next ones gather."""

    def __init__(self) -> None:
        self._waiting = deque[Waiting]()
        self._limiter = CapacityLimiter(1)
        self._task: asyncio.Task[None] | None = None

    def add(self, begin: Begin, call: Call, left: Callable[[], None]) -> asyncio.Future[Any]:
        """Have a request worked on; `left` is called when it is done, whoever still waits."""
        answer: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(Waiting(begin, call, answer, left))
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        return answer

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
            loop.call_soon_threadsafe(_settle, batch, self._outcomes(batch))

    def _outcomes(self, batch: Sequence[Waiting]) -> list[Outcome]:
        """Return the answer to each request, its error, or None if others must see to it."""
        begun = list[Begun | BaseException | None]()
        for waiting in batch:
            try:
                begun.append(waiting.begin(waiting.call))
            except BaseException as error:  # it is for its own caller alone
                begun.append(error)
        return [_outcome(each) for each in begun]


def _settle(batch: Sequence[Waiting], outcomes: Sequence[Outcome]) -> None:
    for waiting, outcome in zip(batch, outcomes, strict=True):
        waiting.left()
        if waiting.answer.done():  # it took too long, and its caller knows
            continue
        if isinstance(outcome, BaseException):
            waiting.answer.set_exception(outcome)
        else:
            waiting.answer.set_result(outcome)


def _outcome(begun: Begun | BaseException | None) -> Outcome:
    if not isinstance(begun, Begun):
        found: Outcome = begun
    else:
        try:
            return begun.answer(begun.work.result())
        except BaseException as error:
            found = error
    return (refused(found) or found) if isinstance(found, EXPECTED_ERRORS) else found
