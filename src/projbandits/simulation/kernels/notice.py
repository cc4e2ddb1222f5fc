"""Notice when numba begins to compile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event


class _First(event.Listener):
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def on_start(self, event: Any) -> None:
        if self.callback is not None:
            callback, self.callback = self.callback, None
            callback()

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def on_compile(callback: Callable[[], None]) -> Iterator[None]:
    """Call back once, when numba first compiles something; never if all is cached on disk."""
    with event.install_listener("numba:compile", _First(callback)):
        yield
