"""Where a store is, by its URL."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from projbandits._validation import short, storable
from projbandits.exceptions import ConflictError
from projbandits.ledger.events import Opened
from projbandits.ledger.protocol import Ledger

if TYPE_CHECKING:
    from projbandits.ledger.store import SqlStore

LONGEST_NAME = 200
"""How many characters the name of a decider may have; an index holds no text of any length."""


def open_store(url: Any, make: bool = True) -> SqlStore:
    """Return the store at a URL; it must be there unless `make`."""
    if not isinstance(url, str) or ":" not in url:
        raise TypeError(
            "store must be a URL such as 'sqlite:///films.db' or 'postgresql://host/database', got "
            f"{short(url)}"
        )
    found: SqlStore = database_part("store").open_store(url, make)
    return found


def database_part(name: str) -> Any:
    """Return a module of the ledger that needs a database's packages, or say what brings them."""
    try:
        return importlib.import_module(f"projbandits.ledger.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "projbandits":
            raise
        raise ModuleNotFoundError(
            f"a store needs the package {error.name!r}: pip install 'projbandits[store]'"
        ) from error


def named_ledger(url: Any, name: Any, first: Opened | None) -> Ledger:
    """Return a ledger of a store; a new one that begins with `first`, if there is none."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"name must say what the decider is called in the store, got {name!r}")
    if len(storable("name", name)) > LONGEST_NAME:
        raise ValueError(f"name must have at most {LONGEST_NAME} characters, got {short(name)}")
    found = open_store(url, make=first is not None)
    if first is None:
        return found.open(name)
    if name not in found.names():
        try:
            return found.create(name, first)
        except ConflictError:  # another process did so meanwhile
            pass
    return found.open(name)
