"""A service in this process, and what talks to it."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from typing import Any, NamedTuple

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette

from projbandits.ledger.database import Database
from projbandits.service import tokens
from projbandits.service.app import make_app
from projbandits.service.handlers import Limits
from projbandits.service.registry import Hub
from projbandits.service.server import Server

FILMS = [
    {"label": "a", "drama": 1.0, "length": 0.5, "age": 0.1, "genre": "drama"},
    {"label": "b", "drama": 0.2, "length": 0.9, "age": 0.8, "genre": "comedy"},
    {"label": "c", "drama": 0.6, "length": 0.1, "age": 0.4, "genre": "drama"},
]
MAKE: dict[str, Any] = {
    "columns": ["drama", "length", "age"],
    "protected": ["age"],
    "strategy": "GENTRY()",
    "half_life": None,
    "seed": 0,
}
_numbers = count()


class Service(NamedTuple):
    """A running service: a client with its first token, its hub, and a decider's name."""

    client: httpx.Client
    hub: Hub
    url: str
    server: Server
    name: str = ""

    @property
    def path(self) -> str:
        """Where the decider is."""
        return f"/v1/deciders/{self.name}"

    def ok(self, method: str, what: str = "", **more: Any) -> Any:
        """Return the answer to a request that is granted."""
        response = self.client.request(method, f"{self.path}{what}", **more)
        assert response.status_code in (200, 201, 202), response.text
        return response.json()

    def problem(self, status: int, method: str, what: str = "", **more: Any) -> str:
        """Return what is said of a request that is refused."""
        response = self.client.request(method, f"{self.path}{what}", **more)
        assert response.status_code == status, response.text
        assert response.headers["content-type"] == "application/problem+json"
        said = response.json()
        assert said["status"] == status
        assert said["title"]
        return str(said["detail"])

    def ask(self, **body: Any) -> Any:
        """Ask, among all items unless others are named."""
        body = {"filter": {}, **body} if "items" not in body else body
        return self.ok("POST", "/ask", json=body)

    def tell(self, id: str, outcome: float) -> Any:
        """Tell."""
        return self.ok("POST", "/tell", json={"id": id, "outcome": outcome})

    def token(self, *scopes: str, decider: str | None = None, **more: Any) -> dict[str, str]:
        """Make a token and return the header that carries it."""
        text, _ = tokens.make(self.hub.documents, scopes, decider, **more)
        return bearer(text)


def started(url: str, limits: Limits | None = None) -> Iterator[Service]:
    hub = Hub(url)
    app = make_app(hub, limits)
    text, _ = tokens.make(hub.documents, ["administer"])
    with (
        serving(app) as address,
        httpx.Client(base_url=address, headers=bearer(text), timeout=30) as client,
    ):
        yield Service(client, hub, url, app.state.server)


def bearer(text: str) -> dict[str, str]:
    """Return the header that carries a token."""
    return {"authorization": f"Bearer {text}"}


@contextmanager
def locked(url: str) -> Iterator[None]:
    """Let nobody else write to a store meanwhile."""
    database = Database(url)
    with closing(database), database.transaction():
        if not database.sqlite:
            database.run("LOCK TABLE projbandits_ledgers")
        yield


@contextmanager
def serving(app: Starlette, grace: int = 2) -> Iterator[str]:
    """Serve in a thread of this process, and give the address."""
    config = uvicorn.Config(app, port=0, log_level="critical", timeout_graceful_shutdown=grace)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.002)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    yield from started(f"sqlite:///{tmp_path_factory.mktemp('store')}/films.db")


@pytest.fixture
def fresh(running: Service) -> Service:
    """Give a service, and the name of a decider that is not there."""
    return running._replace(name=f"films{next(_numbers)}")


@pytest.fixture
def films(fresh: Service) -> Service:
    """Give a service with a decider and its catalogue."""
    fresh.ok("PUT", json=MAKE)
    fresh.ok("PUT", "/items", json=FILMS)
    return fresh
