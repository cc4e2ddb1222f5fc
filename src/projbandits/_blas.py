"""One thread for linear algebra where the matrices are small, or every core is busy already.

BLAS starts threads for products that take microseconds, and then waits for all of them. On a
machine that is busy one of them waits for a core, so that the same work takes ten to a hundred
times as long. The library holds BLAS to one thread while it works: once for a long job
(`single_threaded_blas`), or for a decision if its matrices are such that BLAS would start threads
(`while_small`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController, threadpool_limits

LITTLE = 4096
"""For matrices of fewer numbers, BLAS starts no threads; holding it would cost ten microseconds."""
LARGE = 2e9
"""From this many multiplications on, threads are worth waiting for."""

_lock = Lock()
_holders = 0
_before: list[int] = []


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS from starting threads of its own, until the last holder is done.

    It is a decorator too. The limit holds for the whole process, so overlapping holders must share
    it: each restoring what it found could leave the limit behind.
    """
    global _holders, _before
    libraries = _libraries()
    with _lock:
        if _holders == 0:
            _before = [library.get_num_threads() for library in libraries]
            _set([1] * len(libraries))
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders = max(_holders - 1, 0)  # a process that was forked meanwhile has none
            if _holders == 0:
                _set(_before)


def while_small(rows: int, d: int) -> AbstractContextManager[None]:
    """Hold BLAS to one thread if matrices of this size are neither tiny nor large.

    Besides the matrix itself there is one of d x d.
    """
    if max(rows, d) * d < LITTLE or rows * d * d > LARGE:
        return nullcontext()
    return single_threaded_blas()


def single_threaded() -> AbstractContextManager[Any]:
    """Hold everything to one thread, OpenMP too: for models of scikit-learn.

    It looks for what is loaded each time, which takes a millisecond.
    """
    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


def _set(threads: list[int]) -> None:
    """Set the number of threads of each library, from whichever thread of the process."""
    # Not by `limit`: what it does besides takes three times as long.
    for library, count in zip(_libraries(), threads, strict=False):
        # The first thread that sets it would keep control, and calls of others do nothing.
        free = getattr(library, "clear_controlling_thread", lambda force: None)
        free(force=True)
        library.set_num_threads(count)
        free(force=True)


def _forked() -> None:
    """Let go of what other threads of the process held that this one was forked from."""
    global _lock, _holders
    _lock = Lock()
    if _holders:
        _holders = 0
        _set(_before)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@cache
def _libraries() -> list[Any]:
    """Return the BLAS libraries that are loaded; looking for them takes a while."""
    import scipy.linalg  # noqa: F401  (it has a BLAS of its own, found only once it is loaded)

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)
