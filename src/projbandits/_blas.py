"""One thread for linear algebra where the matrices are small, or every core is busy already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_holders = 0
_limit: Any = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS from starting threads of its own, until the last holder is done.

    Where trials or pieces of a log already run on every core, threads that BLAS starts for each
    small factorisation wait for each other: making a world in 200 dimensions then takes many times
    as long as playing in it. And on a busy machine they wait for whoever else is at work. The limit
    holds for the whole process, so overlapping holders must share it: each restoring what it found
    could leave the limit behind.
    """
    global _holders, _limit
    with _lock:
        if _holders == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0:
                _limit.restore_original_limits()


@cache
def _controller() -> Any:
    """Return what controls the libraries that are loaded; looking for them takes a while."""
    import scipy.linalg  # noqa: F401  (it has a BLAS of its own, found only once it is loaded)

    return ThreadpoolController()
