"""What a forked child must not share with its parent: locks, random streams, connections."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Renewed(Protocol):
    """Something that a forked child must renew."""

    def after_fork(self) -> None:
        """Renew it, in the child and before anything else is done there."""
        ...


_all: weakref.WeakSet[Renewed] = weakref.WeakSet()


def renewed(one: Renewed) -> None:
    """Have something renewed in every forked child, as long as it is there."""
    _all.add(one)


def _after_fork() -> None:
    for one in [*_all]:
        one.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
