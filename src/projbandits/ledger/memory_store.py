"""A store in the memory of one process, for tests and for trying things out."""

from __future__ import annotations

from projbandits.ledger.happened import Opened
from projbandits.ledger.in_memory import MemoryLedger
from projbandits.ledger.protocol import Conflict, Unknown


class MemoryStore:
    """Ledgers in the memory of this process, by name.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits.ledger.memory_store import MemoryStore
    >>> store = MemoryStore()
    >>> decider = pb.Decider(subspace=pb.Subspace.coordinates([0], d=2), store=store, name="films")
    >>> store.names()
    ['films']
    """

    def __init__(self) -> None:
        self._ledgers: dict[str, MemoryLedger] = {}

    def names(self) -> list[str]:
        """Return the names of the ledgers."""
        return sorted(self._ledgers)

    def create(self, name: str, opened: Opened) -> MemoryLedger:
        """Make a new ledger; raise Conflict if there is one of this name."""
        made = MemoryLedger(opened, name=name)
        if self._ledgers.setdefault(name, made) is not made:
            raise Conflict(f"name must be new, there is a ledger {name!r}: open it")
        return made

    def open(self, name: str) -> MemoryLedger:
        """Return a ledger that is there."""
        if name not in self._ledgers:
            raise Unknown(f"name must be one of {self.names()}, got {name!r}")
        return self._ledgers[name]

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""
