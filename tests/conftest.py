"""Property tests draw the same examples in every run, so that a failure is a change of the code."""

import gc
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.databases import Server

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage less often.

    Tests and their modules are 440,000 objects, and to look through them takes a third of a second.
    Whatever is not closed is still noticed, in a later test or at the end.
    """
    gc.disable()  # nothing of what is collected goes away
    try:
        return (yield)
    finally:
        gc.set_threshold(10_000, 10, 10)
        gc.enable()


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Server"]:
    """Give a PostgreSQL server; it takes some seconds to start, so all tests share it."""
    pytest.importorskip("pgserver", reason="pgserver has no wheel for this Python")
    from tests.databases import Server

    server = Server(tmp_path_factory.mktemp("postgresql"))
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Give the URL of a fresh database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/films.db"
    server: Server = request.getfixturevalue("postgresql")
    return server.database()
