"""Pieces of a log worked on in threads or on an executor, and what comes of them in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, TypeVar

from projbandits._blas import single_threaded_blas

PIECES_AHEAD = 4
"""How many pieces wait for each worker: what is read of them is in memory."""

Piece = TypeVar("Piece")
Found = TypeVar("Found")
Progress = Callable[[int], Any]
"""Gets the number of rows that were finished."""


def spread(
    work: Callable[[Piece], Found], pieces: Iterable[Piece], executor: Executor | None
) -> Iterator[Found]:
    """Yield what comes of each piece, in their order.

    Sums over what comes do not depend on how many workers there are.
    """
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {executor!r}")
    with ExitStack() as held:
        held.enter_context(single_threaded_blas())
        workers = os.cpu_count() or 1
        if executor is None:
            executor = held.enter_context(ThreadPoolExecutor(workers))
        elif not isinstance(executor, ThreadPoolExecutor):
            workers = 64
        waiting: deque[Future[Found]] = deque()
        try:
            for piece in pieces:
                waiting.append(executor.submit(_held, work, piece))
                if len(waiting) >= PIECES_AHEAD * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _held(work: Callable[[Piece], Found], piece: Piece) -> Found:
    """Work on a piece with one thread for linear algebra, on whatever machine this is."""
    with single_threaded_blas():
        return work(piece)
