"""How much a server takes, and what it says of itself."""

import json
import random
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from projbandits.service import tokens
from projbandits.service.app import make_app
from projbandits.service.handlers import Limits
from projbandits.service.item_files import read
from projbandits.service.registry import Hub
from projbandits.service.schemas import Make
from projbandits.service.server import HEAVY_THREADS
from tests.faults import requests
from tests.service.conftest import FILMS, MAKE, Service, bearer, locked, serving, started

pytestmark = pytest.mark.filterwarnings("ignore:the arms offered so far:UserWarning")
SMALL = Limits(body=2000, rows=3, numbers=6, items=5, seconds=1, in_flight=4)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Service]:
    for service in started(f"sqlite:///{tmp_path}/films.db", SMALL):
        named = service._replace(name="films")
        # Not by requests: the first one imports much, and may take longer than a second.
        service.hub.make("films", Make(**MAKE))
        service.hub.put_items("films", read("json", json.dumps(FILMS).encode(), "label", 5))
        yield named


def test_what_is_too_large_is_refused_and_the_server_goes_on(small: Service) -> None:
    assert "at most 2,000 bytes" in small.problem(413, "POST", "/ask", content=b" " * 3000)
    pieces = (b" " * 1000 for _ in range(5))  # without a length
    assert "at most 2,000 bytes" in small.problem(413, "POST", "/ask", content=pieces)
    row = {"drama": 1, "length": 1, "age": 1}
    assert "at most 3 rows" in small.problem(413, "POST", "/ask", json={"items": [row] * 4})
    assert "at most 6 numbers" in small.problem(413, "POST", "/ask", json={"items": [row] * 3})
    outcomes = {"outcomes": [["a", 1.0]] * 4}
    assert "outcomes must be at most 3" in small.problem(413, "POST", "/tell", json=outcomes)
    rows = [{**FILMS[0], "label": str(i)} for i in range(6)]
    assert "at most 5 rows" in small.problem(413, "PUT", "/items", json=rows)
    assert small.ask(items=["a", "b"])["step"] == 1


def test_a_body_that_does_not_come_is_not_waited_for(small: Service) -> None:
    url = small.client.base_url
    with socket.create_connection((url.host, url.port or 80)) as slow:
        token = small.client.headers["authorization"]
        head = f"POST {small.path}/ask HTTP/1.1\r\nhost: x\r\nauthorization: {token}\r\n"
        slow.sendall(f"{head}content-length: 100\r\n\r\n{{".encode())
        slow.settimeout(30)
        assert b" 408 " in slow.recv(4096).splitlines()[0]


def test_bodies_that_are_coming_count_as_requests_under_way(small: Service) -> None:
    url, token = small.client.base_url, small.client.headers["authorization"]
    head = f"PUT {small.path}/items HTTP/1.1\r\nhost: x\r\nauthorization: {token}\r\n"
    with ExitStack() as opened:
        for _ in range(2):  # half of what is allowed, for one token
            slow = opened.enter_context(socket.create_connection((url.host, url.port or 80)))
            slow.sendall(f"{head}content-length: 100\r\n\r\n[".encode())
        until = time.monotonic() + 0.9
        while (answer := small.client.put(small.path, json=MAKE)).status_code != 429:
            assert time.monotonic() < until
        assert int(answer.headers["retry-after"]) >= 1
        assert small.client.get("/healthz").status_code == 200
        slow.settimeout(30)
        assert b" 408 " in slow.recv(4096).splitlines()[0]
    assert small.client.put(small.path, json=MAKE).status_code in (200, 429)


def test_what_is_not_there_says_what_is(films: Service) -> None:
    answer = films.client.post(films.path)
    assert (answer.status_code, {*answer.headers["allow"].split(", ")}) == (
        405,
        {"DELETE", "GET", "HEAD", "PUT"},
    )
    assert answer.headers["content-type"] == "application/problem+json"
    assert "must be" in answer.json()["detail"]
    assert "there is no such thing" in films.problem(404, "GET", "/nothing")


def test_revoked_tokens_are_noticed_while_what_is_overdue_takes_long(
    small: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, go = threading.Semaphore(0), threading.Event()

    def broken() -> None:
        looked.release()
        raise LookupError("something unforeseen")

    monkeypatch.setattr(small.hub, "look", lambda *_: broken())
    monkeypatch.setattr(small.hub, "expire", lambda: go.wait(60))
    try:
        assert all(looked.acquire(timeout=30) for _ in range(3))  # it goes on
    finally:
        go.set()


def test_too_many_requests_at_a_time_are_sent_away_until_later(
    small: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    decider, go = small.hub.decider("films"), threading.Event()
    inside = threading.Semaphore(0)

    def waits(*_: object) -> None:
        inside.release()
        go.wait(60)

    monkeypatch.setattr(decider, "amend", waits)
    others = [small.token("decide") for _ in range(2)]
    body = {"id": "x", "outcome": 1.0}

    def amend(headers: dict[str, str]) -> int:
        return small.client.post(f"{small.path}/amend", json=body, headers=headers).status_code

    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(amend, others[i // 2]) for i in range(2)]
        for _ in waiting:
            inside.acquire()
        answer = small.client.post(f"{small.path}/amend", json=body, headers=others[0])
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) >= 1
        waiting += [pool.submit(amend, others[1]) for _ in range(2)]
        for _ in range(2):
            inside.acquire()
        answer = small.client.get(small.path)
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1
        # What takes too long is answered, and may still be done.
        assert {future.result() for future in waiting} == {503}
        go.set()
    monkeypatch.undo()
    # The four make room as their threads end, and until then a client is told to come again.
    until = time.monotonic() + 30
    while (answer := small.client.get(small.path)).status_code == 503:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert answer.json()["name"] == "films"


def test_many_audits_at_a_time_do_not_hold_up_other_requests(
    films: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    decider, go, inside = films.hub.decider(films.name), threading.Event(), threading.Semaphore(0)

    def waits(**_: object) -> None:
        inside.release()
        go.wait(60)
        raise ValueError("nothing to audit")

    monkeypatch.setattr(decider, "audit", waits)
    with ThreadPoolExecutor(80) as pool:
        sent = [pool.submit(films.client.get, f"{films.path}/audit") for _ in range(80)]
        try:
            assert all(inside.acquire(timeout=30) for _ in range(HEAVY_THREADS))
            assert films.ok("GET", "/belief")["decisions"] == 0
            assert not inside.acquire(blocking=False)  # the others wait their turn
        finally:
            go.set()
        assert {future.result().status_code for future in sent} == {422}


def test_what_takes_too_long_for_a_process_that_ends_is_sent_away_to_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, go, inside = Hub(f"sqlite:///{tmp_path}/films.db"), threading.Event(), threading.Event()
    hub.make("films", Make(**MAKE))
    text, _ = tokens.make(hub.documents, ["decide"])

    def waits(*_: object) -> None:
        inside.set()
        go.wait(60)

    monkeypatch.setattr(hub.decider("films"), "amend", waits)
    with ThreadPoolExecutor(1) as pool, serving(make_app(hub), grace=0) as address:
        url, body = f"{address}/v1/deciders/films/amend", {"id": "x", "outcome": 1.0}
        sent = pool.submit(httpx.post, url, json=body, headers=bearer(text), timeout=30)
        sent.add_done_callback(lambda _: go.set())
        assert inside.wait(30)
    answer = sent.result()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["detail"].startswith("the service ends")


def test_asks_and_tells_that_take_too_long_are_answered_and_may_still_be_done(
    small: Service,
) -> None:
    with locked(small.url), ThreadPoolExecutor(2) as pool:
        asked = [
            pool.submit(
                small.client.post, f"{small.path}/ask", json={"items": ["a"], "request_id": id}
            )
            for id in ("x", "y")
        ]
        assert {future.result().status_code for future in asked} == {503}
    assert "1 s and may still be done" in asked[0].result().json()["detail"]
    body = {"items": ["a"], "request_id": "x"}
    until = time.monotonic() + 30
    while (answer := small.client.post(f"{small.path}/ask", json=body)).status_code == 429:
        assert time.monotonic() < until  # until they are done, they count as under way
        time.sleep(0.01)
    assert answer.json()["id"] == "x"
    assert small.hub.decider("films").steps == 2


def test_an_error_of_one_request_is_not_that_of_the_others_it_is_worked_on_with(
    films: Service,
) -> None:
    films.ask(request_id="first")
    bodies: list[tuple[str, dict[str, Any], int]] = [
        ("ask", {"filter": {}, "request_id": "good"}, 200),
        ("ask", {"filter": {}, "request_id": "first"}, 200),  # again
        ("ask", {"filter": {"genre": "none"}}, 422),
        ("ask", {"items": ["a", "nobody"]}, 404),
        ("tell", {"id": "first", "outcome": 1.0}, 200),
        ("tell", {"id": "first", "outcome": 2.0}, 409),
        ("tell", {"id": "nobody", "outcome": 1.0}, 404),
        ("tell", {"id": "first", "outcome": "x"}, 422),
        ("ask", {"items": [{"drama": 1, "length": 2, "age": 3}]}, 200),  # a new arm
        ("ask", {"items": [{"drama": 3, "length": 2, "age": 1}]}, 200),
    ]
    with ThreadPoolExecutor(len(bodies)) as pool:
        sent = list[Any]()
        with locked(films.url):
            for what, body, _ in bodies:
                sent.append(pool.submit(films.client.post, f"{films.path}/{what}", json=body))
                time.sleep(0.02)  # in this order, as a rule; which tell is first does not matter
        got = [future.result().status_code for future in sent]
    assert sorted(got) == sorted(status for _, _, status in bodies)
    assert got[:4] == [200, 200, 422, 404]


def test_metrics_count_what_the_ledger_has(films: Service) -> None:
    for i in range(4):
        films.ask(request_id=f"m{i}")
    films.tell("m0", 1.0)
    films.ok("POST", "/withdraw", json={"id": "m1"})
    text = films.client.get("/metrics").text
    found = dict(re.findall(rf'projbandits_(\w+){{decider="{films.name}"}} (\S+)', text))
    assert float(found["decisions_total"]) == float(found["ledger_decisions"]) == 4
    assert float(found["outcomes_total"]) == float(found["ledger_outcomes"]) == 1
    assert float(found["pending"]) == 2
    assert float(found["oldest_pending_seconds"]) > 0
    assert re.search(r"projbandits_flushes_total \d+", text)
    asked = r'request_seconds_bucket{le="\S+",method="POST",path="/v1/deciders/{name}/ask"} (\S+)'
    counts = [float(n) for n in re.findall(asked, text)]
    assert counts == sorted(counts)
    assert counts[-1] >= 4


def test_metrics_are_what_prometheus_reads(films: Service) -> None:
    films.tell(films.ask()["id"], 1.0)
    answer = films.client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = {each.name: each for each in text_string_to_metric_families(answer.text)}
    assert {each.type for each in families.values()} == {"counter", "gauge", "histogram"}
    assert all(name.startswith("projbandits_") for name in families)
    assert all(each.documentation for each in families.values())
    assert "projbandits_pending" in families
    assert "_created" not in answer.text


def test_the_description_names_every_route_and_its_page_loads_nothing(films: Service) -> None:
    said = films.client.get("/openapi.json").json()
    assert said["openapi"].startswith("3.")
    assert "/v1/deciders/{name}/ask" in said["paths"]
    schema = said["components"]["schemas"]["Ask"]["properties"]
    assert {"items", "count", "request_id", "meta"} <= set(schema)
    queries = said["paths"]["/v1/deciders/{name}/audit"]["get"]["parameters"]
    assert [each["name"] for each in queries if each["in"] == "query"] == ["by"]
    page = films.client.get("/docs").text
    assert "POST /v1/deciders/{name}/ask" in page
    assert "<script" not in page
    assert "http" not in page.replace("https://json-schema", "")


def test_whatever_is_sent_the_server_is_never_at_fault() -> None:
    found = requests.requests("sqlite", 200, random.Random(0))
    wrong = [what for what in found if any(w.isupper() for w in what.split(":")[0].split())]
    assert not wrong, found
    assert len(found) > 4  # of many kinds
