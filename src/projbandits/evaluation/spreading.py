"""Pieces of a log worked on in threads or on an executor, and what comes of them in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from typing import Any, TypeVar

from projbandits._blas import single_threaded_blas

PIECES_AHEAD = 4
"""How many pieces wait for each worker: what was read of them is in memory."""
BUNDLE = 4
"""How many pieces at most are sent together to another process."""

Piece = TypeVar("Piece")
Value = TypeVar("Value")
Progress = Callable[[int], Any]
"""Gets the number of rows that were finished."""


def spread(
    work: Callable[[Piece], Value], pieces: Iterable[Piece], executor: Executor | None
) -> Iterator[Value]:
    """Yield what comes of each piece, in their order.

    Sums over what comes do not depend on how many workers there are.
    """
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {executor!r}")
    with ExitStack() as held:
        held.enter_context(single_threaded_blas())
        workers, most = os.cpu_count() or 1, 1
        if executor is None:
            executor = held.enter_context(ThreadPoolExecutor(workers))
        elif not isinstance(executor, ThreadPoolExecutor):
            workers, most = 64, BUNDLE
        waiting: deque[tuple[int, Future[list[Value]]]] = deque()
        ahead = 0
        try:
            for bundle in bundles(pieces, most, 2 * (os.cpu_count() or 1)):
                waiting.append((len(bundle), executor.submit(_held, work, bundle)))
                ahead += len(bundle)
                while ahead >= PIECES_AHEAD * workers:
                    ahead -= waiting[0][0]
                    yield from waiting.popleft()[1].result()
            while waiting:
                yield from waiting.popleft()[1].result()
        finally:
            for _, future in waiting:
                future.cancel()


def bundles(pieces: Iterable[Piece], most: int, share: int) -> Iterator[list[Piece]]:
    """Yield pieces in bundles, the last ones small, so that workers end together.

    A task for another process takes some milliseconds to send.

    Parameters
    ----------
    pieces : iterable
        What is to be done, in order.
    most : int
        How many are in a bundle at most.
    share : int
        A bundle has one of this many parts of what is left: two for each worker.
    """
    rest, window = iter(pieces), deque[Piece]()
    while True:
        window.extend(islice(rest, most * share - len(window) if most > 1 else 1))
        if not window:
            return
        yield [window.popleft() for _ in range(-(-len(window) // share))]


def _held(work: Callable[[Piece], Value], bundle: list[Piece]) -> list[Value]:
    """Work on pieces with one thread for linear algebra, on whatever machine this is."""
    with single_threaded_blas():
        return [work(piece) for piece in bundle]
