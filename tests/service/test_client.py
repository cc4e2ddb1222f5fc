"""A decider behind a service is used as one at hand."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pandas as pd
import pytest

import projbandits as pb
from projbandits.ledger.failures import Unavailable
from projbandits.ledger.protocol import Conflict
from projbandits.service.client import RemoteDecider
from tests.service.conftest import FILMS, MAKE, Service

TABLE = pd.DataFrame(FILMS).set_index("label")[MAKE["columns"]]
pytestmark = pytest.mark.filterwarnings("ignore:the arms offered so far:UserWarning")


Remote = Callable[..., RemoteDecider]


@pytest.fixture
def remote() -> Iterator[Remote]:
    """Give what connects to a decider; connections are closed in the end."""
    with ExitStack() as opened:

        def connected(films: Service, text: str = "", url: str = "", **more: Any) -> RemoteDecider:
            text = text or films.client.headers["authorization"].removeprefix("Bearer ")
            connection = pb.connect(url or str(films.client.base_url), text, **more)
            return opened.enter_context(connection).decider(films.name)

        yield connected


@pytest.fixture(params=["at hand", "behind a service"])
def decider(request: pytest.FixtureRequest, fresh: Service, remote: Remote) -> Any:
    if request.param == "at hand":
        U = pb.Subspace.without("age", columns=TABLE.columns)
        return pb.Decider(pb.GENTRY(), subspace=U, seed=0, log=True)
    fresh.ok("PUT", json=MAKE)
    return remote(fresh)


def test_a_decider_does_the_same_wherever_it_is(decider: Any) -> None:
    first = decider.ask(TABLE, id="one", meta={"page": 1})
    assert (first.id, first.step) == ("one", 1)
    assert first.label == TABLE.index[first.index]
    assert 0 < first.propensity <= 1
    assert decider.ask(TABLE, id="one").index == first.index
    with pytest.raises(Conflict, match="'one' was decided before"):
        decider.ask(TABLE.iloc[::-1] + 1, id="one")
    several = decider.ask(TABLE, count=2, id="two")
    assert [each.id for each in several] == ["two/0", "two/1"]
    decider.tell(first, 1.0)
    decider.tell("one", 1.0)
    with pytest.raises(Conflict, match=r"was told 1\.0 before"):
        decider.tell("one", 0.0)
    decider.amend("one", 0.5)
    with pytest.raises(KeyError, match="'nobody' is unknown"):
        decider.tell("nobody", 1.0)
    with pytest.raises(KeyError, match="'nobody' is unknown"):
        decider.tell_many([("two/0", 1.0), ("nobody", 1.0)])
    decider.tell_many({"two/0": 1.0})
    decider.withdraw("two/1")
    with pytest.raises(Conflict, match="withdrawn"):
        decider.tell("two/1", 1.0)
    with pytest.raises(ValueError, match="must be finite"):
        decider.tell("one", float("nan"))
    with pytest.raises(TypeError, match="must be a number"):
        decider.tell("one", "x")
    with pytest.raises(ValueError, match="the columns"):
        decider.ask(TABLE.drop(columns="age"))
    with pytest.raises(ValueError, match="count must be at most"):
        decider.ask(TABLE, count=9)
    with pytest.raises(TypeError, match="JSON can hold"):
        decider.ask(TABLE, meta={1, 2})
    log = decider.log()
    assert log["id"].tolist() == ["one", "two/0", "two/1"]
    assert log["reward"].tolist()[:2] == [0.5, 1.0]
    explained = decider.explain("one")
    assert "probability" in explained.reason
    assert explained.table["chosen"].sum() == 1
    assert "Nothing can be concluded" in decider.audit().verdict


def test_items_are_named_or_filtered(films: Service, remote: Remote) -> None:
    decider = remote(films)
    assert decider.ask(["a"]).label == "a"
    assert decider.ask({"genre": "comedy"}).label == "b"
    assert decider.ask([{**TABLE.iloc[0], "label": "z"}]).label == "z"
    with pytest.raises(TypeError, match="features have names"):
        decider.ask(TABLE.to_numpy())
    with pytest.raises(KeyError, match="there is no decider"):
        remote(films._replace(name="nobody")).ask(["a"])
    with pytest.raises(PermissionError, match="a token is needed"):
        remote(films, "pb_x").ask(["a"])


def test_calls_can_be_awaited(films: Service) -> None:
    async def work() -> int:
        text = films.client.headers["authorization"].removeprefix("Bearer ")
        with pb.connect(str(films.client.base_url), text) as plain:
            connection = plain.asynchronous()
        async with connection:
            decider = connection.decider(films.name)
            made = await asyncio.gather(*(decider.ask({}, id=f"q{i}") for i in range(10)))
            await decider.tell_many((each, 1.0) for each in made)
            await decider.amend(made[0], 0.0)
            await decider.withdraw(made[1])
            with pytest.raises(Conflict):
                await decider.tell(made[2], 0.0)
            assert "probability" in (await decider.explain(made[0])).reason
            assert (await decider.audit()).verdict
            return len(await decider.log())

    assert asyncio.run(work()) == 10


class Flaky(BaseHTTPRequestHandler):
    """Answers, or not, as its server says, and keeps what was sent."""

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["content-length"]))
        server: Any = self.server
        server.bodies.append(sent)
        status = server.statuses.pop(0) if len(server.statuses) > 1 else server.statuses[0]
        if status is None:
            self.close_connection = True
            return
        body = b'{"told": 1}'
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def flaky() -> Iterator[Any]:
    server: Any = HTTPServer(("127.0.0.1", 0), Flaky)
    server.bodies, server.statuses = [], [200]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_what_was_not_answered_is_sent_again_with_the_same_id(
    flaky: Any, fresh: Service, remote: Remote
) -> None:
    flaky.statuses = [None, 503, None, 200]
    url = f"http://127.0.0.1:{flaky.server_port}"
    decider = remote(fresh, "pb_x", url, patience=10)
    with pytest.raises(TypeError):  # what comes back is no decision
        decider.ask(["a"])
    assert len(flaky.bodies) == 4
    assert len(set(flaky.bodies)) == 1
    assert b'"id"' in flaky.bodies[0]


def test_patience_ends_with_the_remedy(flaky: Any, fresh: Service, remote: Remote) -> None:
    flaky.statuses = [None]
    url = f"http://127.0.0.1:{flaky.server_port}"
    decider = remote(fresh, "pb_x", url, patience=0.2)
    with pytest.raises(Unavailable, match="call again with the same id"):
        decider.tell("q", 1.0)
    assert len(flaky.bodies) > 1
    flaky.statuses = [503]
    with pytest.raises(Unavailable):
        decider.tell("q", 1.0)
    with pytest.raises(ValueError, match="url must begin with"):
        pb.connect("127.0.0.1:8000", "pb_x")
