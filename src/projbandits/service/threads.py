"""Threads for what may take long: a process that is asked to end does not wait for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import SimpleQueue
from typing import Any


class Threads(Executor):
    """An executor whose threads end with the process, whatever they are at.

    Those of `ThreadPoolExecutor` are waited for: an audit could keep a process from ending in time.

    Parameters
    ----------
    many : int
        How many threads there are at most.
    name : str
        What they are called.

    Examples
    --------
    >>> from projbandits.service.threads import Threads
    >>> threads = Threads(2, "few")
    >>> threads.submit(pow, 2, 3).result()
    8
    >>> threads.shutdown()
    """

    def __init__(self, many: int, name: str) -> None:
        self._many, self._name = many, name
        self._threads: list[threading.Thread] = []
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._ended = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have something done."""
        future: Future[Any] = Future()
        with self._lock:
            if self._ended:
                raise RuntimeError("these threads have been shut down")
            if len(self._threads) < self._many:
                thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._threads.append(thread)
                thread.start()
        self._queue.put((future, partial(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = True) -> None:
        """Begin nothing more; what was begun is left to itself."""
        with self._lock:
            self._ended = True
        for _ in self._threads:
            self._queue.put(None)

    def _work(self) -> None:
        while (next_one := self._queue.get()) is not None:
            future, work = next_one
            if self._ended:
                future.cancel()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                done = work()
            except BaseException as error:  # it is for whoever waits for it
                future.set_exception(error)
            else:
                future.set_result(done)
