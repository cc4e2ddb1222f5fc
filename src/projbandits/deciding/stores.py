"""Where a decider's ledger is, by the URL of its store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from projbandits._validation import short, storable
from projbandits.exceptions import ConflictError
from projbandits.ledger import store as stores
from projbandits.ledger.events import Opened
from projbandits.ledger.ledger import Ledger
from projbandits.ledger.store import TEMPORARY, Store
from projbandits.strategies import LinearStrategy

LONGEST_NAME = 200
"""How many characters the name of a decider may have; an index holds no text of any length."""


def open_store(url: Any, make: bool = True) -> Store:
    """Return the store at a URL; it must be there unless `make`."""
    if not isinstance(url, str) or ":" not in url:
        raise TypeError(
            "store must be a URL such as 'sqlite:///films.db' or 'postgresql://host/database', got "
            f"{short(url)}"
        )
    return stores.open_store(url, make)


def named_ledger(
    url: Any, name: Any, first: Opened | None, given: Sequence[LinearStrategy]
) -> Ledger:
    """Return a ledger of a store; a new one that begins with `first`, if there is none."""
    if url is None and first is not None:
        if name is not None:
            raise ValueError(f"name must come with store=..., got {name!r} alone")
        return Store(None).create(TEMPORARY, first, given)
    if not isinstance(name, str) or not name:
        raise ValueError(f"name must say what the decider is called in the store, got {name!r}")
    if len(storable("name", name)) > LONGEST_NAME:
        raise ValueError(f"name must have at most {LONGEST_NAME} characters, got {short(name)}")
    found = open_store(url, make=first is not None)
    if first is not None and name not in found.names():
        try:
            return found.create(name, first, given)
        except ConflictError:  # another process did so meanwhile
            pass
    return found.open(name, given)
