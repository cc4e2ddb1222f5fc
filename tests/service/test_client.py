"""A decider behind a service is used as one at hand."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits.exceptions import ConflictError, UnavailableError
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
        return pb.Decider(pb.GENTRY(), subspace=U, seed=0)
    fresh.ok("PUT", json=MAKE)
    return remote(fresh)


def test_a_decider_does_the_same_wherever_it_is(decider: Any) -> None:
    first = decider.ask(TABLE, request_id="one", meta={"page": 1})
    assert (first.id, first.step) == ("one", 1)
    assert first.label == TABLE.index[first.index]
    assert 0 < first.propensity <= 1
    assert decider.ask(TABLE, request_id="one").index == first.index
    with pytest.raises(ConflictError, match="'one' was decided before"):
        decider.ask(TABLE.iloc[::-1] + 1, request_id="one")
    several = decider.ask(TABLE, count=2, request_id="two")
    assert [each.id for each in several] == ["two/0", "two/1"]
    decider.tell(first, 1.0)
    decider.tell("one", 1.0)
    with pytest.raises(ConflictError, match=r"was told 1\.0 before"):
        decider.tell("one", 0.0)
    decider.amend("one", 0.5)
    with pytest.raises(KeyError, match="'nobody' is unknown"):
        decider.tell("nobody", 1.0)
    with pytest.raises(KeyError, match="'nobody' is unknown"):
        decider.tell_many([("two/0", 1.0), ("nobody", 1.0)])
    decider.tell_many({"two/0": 1.0})
    decider.withdraw("two/1")
    with pytest.raises(ConflictError, match="withdrawn"):
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
    for bad in (float("nan"), float("inf")):
        with pytest.raises(
            ValueError, match=r"must be finite, got (nan|inf) in row 1, column 'age'"
        ):
            decider.ask(TABLE.assign(age=[1.0, bad, 1.0]))
    with pytest.raises(ValueError, match="labels must have 3 entries"):
        decider.ask(TABLE, labels=["a"])
    for twice in ({"labels": ["a", "b", "a"]}, {}):
        with pytest.raises(ValueError, match="must be distinct, got 'a' in rows 0 and 2"):
            decider.ask(TABLE.set_axis(["a", "b", "a"]), **twice)
    with pytest.raises(TypeError):
        decider.ask("abc")
    for _ in range(2):
        decider.learn(TABLE, [1.0, 0.0, 1.0], request_id="past")
    with pytest.raises(ConflictError, match="'past'"):
        decider.learn(TABLE, [0.0, 0.0, 1.0], request_id="past")
    assert decider.expire("1h") == ()
    log = decider.log()
    assert log["id"].tolist() == ["one", "two/0", "two/1"]
    assert log["outcome"].tolist()[:2] == [0.5, 1.0]
    explained = decider.explain("one")
    assert "probability" in explained.reason
    assert explained.table["chosen"].sum() == 1
    assert decider.audit().influence == "unclear"
    assert decider.audit(by="page").influence == "unclear"


def test_arms_are_called_the_same_wherever_a_decider_is(decider: Any) -> None:
    row = {"drama": np.float32(1), "length": np.int64(1), "age": 1}
    assert decider.ask([row], labels=["x"]).label == "x"
    assert decider.ask([row], labels=[5]).label == 5
    assert decider.ask([row]).label is None
    assert decider.ask(TABLE.iloc[:1].reset_index(drop=True)).label == 0
    assert decider.ask(TABLE.iloc[:1].set_axis(np.array([7]))).label == 7
    with pytest.raises(ValueError, match="must be distinct, got 1 in rows 0 and 1"):
        decider.ask(TABLE.iloc[[0, 0]].set_axis([1, 1]))


def test_items_are_named_or_filtered(films: Service, remote: Remote) -> None:
    decider = remote(films)
    assert decider.ask(["a"]).label == "a"
    assert decider.ask({"genre": "comedy"}).label == "b"
    assert decider.ask([{**TABLE.iloc[0], "label": "z"}]).label == "z"
    assert decider.ask(pd.DataFrame(FILMS).drop(columns="genre")).label in ("a", "b", "c")
    for wrong in (TABLE.to_numpy(), "abc"):
        with pytest.raises(TypeError, match="features have names"):
            decider.ask(wrong)
    with pytest.raises(TypeError, match="labels must come with rows"):
        decider.ask(["a"], labels=["b"])
    with pytest.raises(TypeError, match="must hold numbers and texts, got Timestamp"):
        decider.ask([{**FILMS[0], "age": pd.Timestamp("2020-01-01")}])
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
            made = await asyncio.gather(*(decider.ask({}, request_id=f"q{i}") for i in range(10)))
            await decider.tell_many((each, 1.0) for each in made)
            await decider.amend(made[0], 0.0)
            await decider.withdraw(made[1])
            with pytest.raises(ConflictError):
                await decider.tell(made[2], 0.0)
            assert "probability" in (await decider.explain(made[0])).reason
            assert (await decider.audit()).verdict
            await decider.learn(["a", "a"], [1.0, 0.0])
            assert len(await decider.expire(1e-6)) == 0
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
        self.send_header("content-type", server.kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def flaky() -> Iterator[Any]:
    server: Any = HTTPServer(("127.0.0.1", 0), Flaky)
    server.bodies, server.statuses, server.kind = [], [200], "application/json"
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
    with pytest.raises(RuntimeError, match="see that it is a projbandits service"):
        decider.ask(["a"])
    assert len(flaky.bodies) == 4
    assert len(set(flaky.bodies)) == 1
    assert b'"request_id"' in flaky.bodies[0]


def test_patience_ends_with_the_remedy(flaky: Any, fresh: Service, remote: Remote) -> None:
    flaky.statuses = [None]
    url = f"http://127.0.0.1:{flaky.server_port}"
    decider = remote(fresh, "pb_x", url, patience=0.2)
    with pytest.raises(UnavailableError, match="call again with the same id"):
        decider.tell("q", 1.0)
    assert len(flaky.bodies) > 1
    flaky.statuses = [503]
    with pytest.raises(UnavailableError):
        decider.tell("q", 1.0)
    for wrong in ("127.0.0.1:8000", "http://"):
        with pytest.raises(ValueError, match="url must begin with"):
            pb.connect(wrong, "pb_x")


def test_a_token_is_never_quoted(films: Service, remote: Remote) -> None:
    text = films.client.headers["authorization"].removeprefix("Bearer ")
    assert remote(films, f"{text}\n").ask(["a"]).label == "a"  # as it is read from a file
    for wrong in (f"{text}\nx", f"{text} x", f"{text}é"):
        with pytest.raises(ValueError, match="token must be as") as refused:
            remote(films, wrong)
        assert text not in str(refused.value)


def test_what_answers_but_is_no_service_is_named(
    flaky: Any, fresh: Service, remote: Remote
) -> None:
    decider = remote(fresh, "pb_x", f"http://127.0.0.1:{flaky.server_port}")
    flaky.kind = "text/html"
    with pytest.raises(RuntimeError, match="text/html: see that it is a projbandits service"):
        decider.tell("q", 1.0)
    flaky.statuses = [404]
    with pytest.raises(ValueError, match="the status 404, and no reason"):
        decider.tell("q", 1.0)
