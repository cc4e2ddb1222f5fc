"""Work of many threads, done together.

Callers put work into a queue; one thread takes all that waits, has it done in one transaction, and
tells each caller how its own part went. Before that it waits a little for those it has just served,
as long as they keep coming: who asks in a loop is about to ask again. A lone caller does the work
itself.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

Work = TypeVar("Work")

MOST_TOGETHER = 1024
"""How many pieces of work go into one transaction at most."""

PAUSE, PAUSES = 0.0005, 4
"""For how many seconds more work is awaited at a time, and how often."""

Job = tuple[Work, "Future[Any]"]


class Batcher(Generic[Work]):
    """Has pieces of work done together.

    Parameters
    ----------
    run : callable
        Does several pieces, and settles the future of each. If it raises, each future gets the
        error.

    Examples
    --------
    >>> from projbandits.ledger.batcher import Batcher
    >>> def double(jobs):
    ...     for number, future in jobs:
    ...         future.set_result(2 * number)
    >>> Batcher(double).do(4)
    8
    """

    def __init__(self, run: Callable[[Sequence[Job[Work]]], None]) -> None:
        self._run = run
        self._waiting: SimpleQueue[Job[Work] | None] = SimpleQueue()
        self._busy = threading.Lock()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._alone = True

    def do(self, work: Work) -> Any:
        """Return the result of a piece of work, or raise its error."""
        if not self._alone or self._busy.locked():
            return self.submit(work).result()
        with self._busy:  # nothing else: an interrupt just after `acquire` would leave it taken
            future = Future[Any]()
            self._run([(work, future)])
        return future.result()

    def submit(self, work: Work) -> Future[Any]:
        """Have a piece of work done by the thread, and return the future of its result."""
        future = Future[Any]()
        self._waiting.put((work, future))
        if self._thread is None:
            self._start()
        return future

    def now(self, jobs: Sequence[Job[Work]]) -> None:
        """Do several pieces of work in this thread; an error is that of each future."""
        try:
            self._run(jobs)
        except BaseException as error:  # a caller must never wait for a thread that died
            for _, future in jobs:
                if not future.done():
                    future.set_exception(error)

    def close(self) -> None:
        """Let the thread end once it has done what was submitted; more work starts another."""
        with self._starting:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._waiting.put(None)
                thread.join()
        if not self._waiting.empty():  # somebody came who still saw the thread
            self._start()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                # The thread must not keep alive what it works for.
                weakref.finalize(self, _end, os.getpid(), self._waiting).atexit = False
                thread = threading.Thread(
                    target=_serve, args=(weakref.ref(self), self._waiting), daemon=True,
                    name="projbandits-batches",
                )  # fmt: skip
                thread.start()
                self._thread = thread  # last: whoever is interrupted before starts another

    def together(self, jobs: Sequence[Job[Work]]) -> int:
        """Do several pieces of work; return how many may come next: these, and who waits."""
        with self._busy:
            self.now(jobs)
        others = self._waiting.qsize()
        self._alone = len(jobs) == 1 and others == 0
        return len(jobs) + others


def _end(pid: int, waiting: SimpleQueue[Any]) -> None:
    if pid == os.getpid():  # in a forked child there is no such thread
        waiting.put(None)


def _serve(batcher: weakref.ref[Batcher[Any]], waiting: SimpleQueue[Any]) -> None:
    expected = 0
    while True:
        jobs = [waiting.get()]
        there = -1
        for _ in range(PAUSES):
            before, there = there, waiting.qsize()
            if there == before or there + 1 >= expected:
                break
            time.sleep(PAUSE)
        while len(jobs) < MOST_TOGETHER and jobs[-1] is not None:
            try:
                jobs.append(waiting.get_nowait())
            except Empty:
                break
        found, wanted = batcher(), [job for job in jobs if job is not None]
        if found is not None and wanted:
            expected = found.together(wanted)
        ended = jobs[-1] is None
        del found, jobs, wanted  # nothing of them lives on while more is awaited
        if ended:
            return
