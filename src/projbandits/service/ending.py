"""What a process does when it is asked to end: it learns of it at once, whoever started it."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = signal.SIGINT, signal.SIGTERM


@contextmanager
def told_of_signals(stopping: asyncio.Event) -> Iterator[None]:
    """Set an event of the running loop as soon as the process is asked to end.

    What uvicorn does then, it does after: streams without an end must know before it waits for
    them, and so must connections that are accepted while it closes those that it has.

    Parameters
    ----------
    stopping : asyncio.Event
        What is set.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are not for this thread: whoever started it tells it otherwise
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def handle(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stopping.set)
        follow = before[signal.Signals(number)]
        if callable(follow):
            follow(number, frame)

    for number in SIGNALS:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, follow in before.items():
            signal.signal(number, follow)
