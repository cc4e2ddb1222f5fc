"""Where ledgers live, for tests that hold wherever that is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from projbandits.deciding.stores import open_store
from projbandits.ledger.memory_store import MemoryStore
from projbandits.ledger.protocol import Store


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Give an empty store of each kind."""
    made: Store
    if request.param == "memory":
        made = MemoryStore()
    elif request.param == "sqlite":
        made = open_store(f"sqlite:///{tmp_path}/films.db")
    else:
        made = open_store(request.getfixturevalue("postgresql").database())
    yield made
    made.close()
