"""Forks wait until nobody is using a SQLite file.

SQLite keeps in the memory of a process which locks its connections hold. A child that is forked in
the middle of a transaction would inherit a lock that nobody ever gives back. So a fork waits for
what is under way, and closes the connections: a child begins without any.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable

LONGEST_WAIT = 10.0
"""For how many seconds a fork waits at most."""


class Gate:
    """Lets operations in, but not during a fork.

    It has no lock that an interrupted thread could leave taken: who comes in says so first and
    looks second, and a fork does the same the other way round.

    Parameters
    ----------
    close : callable or None
        What a fork does when everybody is out; None: forks need not wait.

    Examples
    --------
    >>> from projbandits.ledger.fork_gate import Gate
    >>> gate, me = Gate(print), object()
    >>> gate.enter(me)
    >>> gate.leave(me)
    """

    def __init__(self, close: Callable[[], None] | None) -> None:
        self._inside: dict[object, int] = {}
        self._shut = False
        self._close = close
        if close is not None:
            _all.add(self)

    def enter(self, token: object) -> None:
        """Be inside, once nothing is forked; whoever calls this leaves in any case."""
        self._inside[token] = threading.get_ident()
        while self._shut:
            del self._inside[token]
            time.sleep(0.001)
            self._inside[token] = threading.get_ident()

    def leave(self, token: object) -> None:
        """Be outside."""
        self._inside.pop(token, None)

    def shut(self) -> None:
        """Let nobody in, and wait until everybody else is out."""
        self._shut = True
        until, me = time.monotonic() + LONGEST_WAIT, threading.get_ident()
        while any(who != me for who in [*self._inside.values()]) and time.monotonic() < until:
            time.sleep(0.0005)
        if self._close is not None and not self._inside:
            self._close()

    def open(self) -> None:
        """Let everybody in again."""
        self._shut = False


_all: weakref.WeakSet[Gate] = weakref.WeakSet()


def _shut_all() -> None:
    for gate in [*_all]:
        gate.shut()


def _open_all() -> None:
    for gate in [*_all]:
        gate.open()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_shut_all, after_in_parent=_open_all)
