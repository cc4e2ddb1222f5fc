"""Small reproductions, and one that is interrupted."""

from concurrent.futures import Executor, Future
from typing import Any

SMALL: dict[str, Any] = {"trials": 4, "horizon": 60, "progress": False}


class Tired(Executor):
    """Runs what it is given, and is interrupted after some chunks."""

    def __init__(self, chunks: int) -> None:
        self.left = chunks

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future
