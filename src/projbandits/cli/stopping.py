"""Ctrl-C: one line and exit code 130, whatever the process is doing.

While a command runs, Ctrl-C raises KeyboardInterrupt, so that files are closed and the user learns
what was kept. But an exception can be lost: in a destructor, in a library's callback, or while
waiting for a thread that compiles. So it gets only a limited time. Ending at once is always safe,
because every file appears whole or not at all.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

STOPPED_CODE = 130
GRACE = 2.0
"""How many seconds a command may take to close."""

_asked = threading.Event()
_telling = threading.Lock()


def listen() -> None:
    """End this process with one line at Ctrl-C, unless the shell has it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
        sys.unraisablehook = _lost


@contextmanager
def raising() -> Iterator[None]:
    """Let the first Ctrl-C raise KeyboardInterrupt within this block; a second one ends it."""
    if signal.getsignal(signal.SIGINT) is not _end:
        yield  # somebody else's process
        return
    signal.signal(signal.SIGINT, _ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _end)
        if _asked.is_set() and not isinstance(sys.exception(), KeyboardInterrupt):
            raise KeyboardInterrupt  # it was lost, or taken for something else


def tell(line: str) -> None:
    """Write the one line of a command that was stopped, unless it has been written already.

    Not through sys.stderr, which may be in the middle of writing something else.
    """
    if _telling.acquire(blocking=False):
        with suppress(OSError):
            os.write(2, f"{line}\n".encode(errors="backslashreplace"))


def _ask(*_: Any) -> None:
    signal.signal(signal.SIGINT, _end)
    _asked.set()
    patience = threading.Timer(GRACE, _end)
    patience.daemon = True
    patience.start()
    raise KeyboardInterrupt


def _end(*_: Any) -> None:
    cursor = "\r\x1b[2K\x1b[?25h" if os.isatty(2) else ""  # a progress bar hides it
    tell(f"{cursor}projbandits: stopped")
    os._exit(STOPPED_CODE)


def _lost(exception: Any) -> None:
    """Handle what Python would only print: an exception in a destructor or a callback."""
    if _asked.is_set():
        _end()
    sys.__unraisablehook__(exception)
