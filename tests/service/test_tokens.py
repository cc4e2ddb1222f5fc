"""Who may do what."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from typer.testing import CliRunner

from projbandits.exceptions import UnavailableError
from projbandits.service import tokens
from projbandits.service.handlers import ROUTES
from tests.commands import app
from tests.service.conftest import FILMS, MAKE, Service, bearer

pytestmark = pytest.mark.filterwarnings("ignore:the arms offered so far:UserWarning")
PATHS = ["/v1/deciders", "/readyz", "/metrics", "/docs", "/openapi.json"]


def test_without_a_token_there_is_no_answer_but_that_the_server_lives(films: Service) -> None:
    foreign = "pb_0123456789ab_" + "x" * 43
    basic = {"authorization": "Basic x"}
    for headers in ({"authorization": ""}, bearer("x"), bearer(foreign), basic):
        assert films.client.get("/healthz", headers=headers).json() == {"status": "ok"}
        for path in (*PATHS, films.path, f"{films.path}/belief", f"{films.path}/log.parquet"):
            answer = films.client.get(path, headers=headers)
            assert answer.status_code == 401, path
            assert answer.headers["www-authenticate"].startswith("Bearer")
        for path in ("ask", "tell", "amend", "withdraw"):
            answer = films.client.post(f"{films.path}/{path}", headers=headers, json={})
            assert answer.status_code == 401
            elsewhere = films.client.post(f"{films.path}/{path}/", headers=headers, json={})
            assert elsewhere.status_code == 404  # and nobody is sent on
    for path in PATHS:
        assert films.client.get(path).status_code == 200


ASK: tuple[str, str, Any] = ("POST", "/ask", {"filter": {}})
READ = ("GET", "/belief", None)
CHANGE = ("PUT", "/items", FILMS)


@pytest.mark.parametrize(
    ("scopes", "allowed"),
    [
        (["decide"], [ASK]),
        (["observe"], [READ]),
        (["decide", "observe"], [ASK, READ]),
        (["administer"], [ASK, READ, CHANGE]),
    ],
)
def test_a_token_allows_what_its_scopes_say(
    films: Service, scopes: list[str], allowed: list[Any]
) -> None:
    headers = films.token(*scopes)
    for method, what, body in (ASK, READ, CHANGE):
        answer = films.client.request(method, films.path + what, json=body, headers=headers)
        assert answer.status_code == (200 if (method, what, body) in allowed else 403)


def test_every_request_needs_its_scope_on_its_decider(films: Service) -> None:
    other = films._replace(name=f"{films.name}-other")
    other.ok("PUT", json=MAKE)
    given = {
        (scope, whose): films.token(scope, decider=films.name if whose == "own" else None)
        for scope in ("decide", "observe")
        for whose in ("own", "all")
    }
    given["administer", "all"] = films.token("administer")
    for route in ROUTES:
        if "{name}" not in route.path:
            continue
        for (scope, whose), headers in given.items():
            for service in (films, other):
                path = route.path.replace("{name}", service.name).replace("{id:path}", "nobody")
                body = None if route.method == "GET" else b"{}"
                answer = films.client.request(route.method, path, headers=headers, content=body)
                allowed = scope in (route.scope, "administer")
                allowed &= whose == "all" or service is films
                assert (answer.status_code != 403) == allowed, (route.path, scope, whose)
                assert answer.status_code != 500


def test_what_is_measured_of_other_deciders_is_not_told(films: Service) -> None:
    other = films._replace(name=f"{films.name}-other")
    other.ok("PUT", json=MAKE)
    other.ask(items=[{"drama": 1, "length": 1, "age": 1}])
    films.ask()
    own = films.client.get("/metrics", headers=films.token("observe", decider=films.name)).text
    assert f'ledger_decisions{{decider="{films.name}"}} 1' in own
    assert {*re.findall(r'decider="(.*?)"', own)} == {films.name}
    both = films.client.get("/metrics", headers=films.token("observe")).text
    assert {films.name, other.name} <= {*re.findall(r'decider="(.*?)"', both)}


def test_a_token_that_cannot_be_looked_up_is_asked_for_again_later(
    films: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> Any:
        raise UnavailableError("the store is away: start it")

    monkeypatch.setattr(films.hub.documents, "revisions", away)
    foreign = "pb_0123456789ab_" + "x" * 43
    answer = films.client.get(films.path, headers=bearer(foreign))
    assert (answer.status_code, answer.json()["detail"]) == (503, "the store is away: start it")
    assert answer.headers["retry-after"] == "1"
    assert films.client.get("/", headers=bearer(foreign)).status_code == 503
    origin = {"origin": str(films.client.base_url).rstrip("/")}
    page = films.client.post("/sign-in", data={"token": foreign}, headers=origin)
    assert page.status_code == 503
    assert "the store is away" in page.text
    assert films.client.get(films.path).status_code == 200  # this one is at hand


def test_those_who_send_unknown_tokens_share_a_look_at_the_store(
    films: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    revisions, looks, go = films.hub.documents.revisions, list[float](), threading.Event()

    def slow() -> Any:
        looks.append(time.monotonic())
        go.wait(30)
        return revisions()

    monkeypatch.setattr(films.hub.documents, "revisions", slow)
    foreign = bearer("pb_0123456789ab_" + "x" * 43)
    with ThreadPoolExecutor(16) as pool:
        sent = [pool.submit(films.client.get, films.path, headers=foreign) for _ in range(16)]
        time.sleep(0.3)  # until all of them have come
        go.set()
        assert {future.result().status_code for future in sent} == {401}
    assert len(looks) < 8


def test_a_token_for_one_decider_opens_no_other(films: Service) -> None:
    other = films._replace(name=f"{films.name}-other")
    other.ok("PUT", json=MAKE)
    headers = films.token("decide", "observe", decider=films.name)
    assert films.client.get(films.path, headers=headers).status_code == 200
    assert other.client.get(other.path, headers=headers).status_code == 403
    assert other.client.post(f"{other.path}/ask", json={}, headers=headers).status_code == 403
    listed = films.client.get("/v1/deciders", headers=headers).json()["deciders"]
    assert [each["name"] for each in listed] == [films.name]


def test_a_token_ends_when_its_time_is_over_or_it_is_revoked(films: Service) -> None:
    headers = films.token("observe", expires=0.3)
    assert films.client.get(films.path, headers=headers).status_code == 200
    time.sleep(0.3)
    assert films.client.get(films.path, headers=headers).status_code == 401
    text, token = tokens.make(films.hub.documents, ["observe"])
    assert films.client.get(films.path, headers=bearer(text)).status_code == 200
    tokens.revoke(films.hub.documents, token.id)
    until = time.monotonic() + 5
    while films.client.get(films.path, headers=bearer(text)).status_code == 200:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_only_hashes_are_kept(films: Service) -> None:
    text, token = tokens.make(films.hub.documents, ["decide"], note="shop")
    secret = text.split("_", 2)[2]  # it may hold the sign too
    kept = films.hub.documents.all(tokens.TOKEN_DOCUMENT)
    assert not any(secret.encode() in each.body for each in kept.values())
    assert tokens.matches(text, token)
    assert not tokens.matches(text[:-1] + ("A" if text[-1] != "A" else "B"), token)
    assert not tokens.matches(text, None)


def test_what_cannot_be_a_token_is_refused(films: Service) -> None:
    for scopes, decider in ((["everything"], None), ([], None), (["administer"], "films")):
        with pytest.raises(ValueError, match="scope must be"):
            tokens.make(films.hub.documents, scopes, decider)
    with pytest.raises(ValueError, match="expires must be"):
        tokens.make(films.hub.documents, expires="soon")


def test_tokens_are_made_listed_and_revoked_from_the_command_line(films: Service) -> None:
    run = CliRunner().invoke
    store = ["--store", films.url]
    made = run(app, ["token", "create", *store, "--scope", "observe", "--note", "Ada"])
    (text,) = [line[7:] for line in made.stdout.splitlines() if line.startswith("token: ")]
    assert films.client.get(films.path, headers=bearer(text)).status_code == 200
    id = str(tokens.id_of(text))
    listed = run(app, ["token", "list", *store])
    assert id in listed.stdout
    assert "Ada" in listed.stdout
    assert text.split("_", 2)[2] not in listed.stdout
    assert run(app, ["token", "revoke", id, *store]).exit_code == 0
    assert id not in run(app, ["token", "list", *store]).stdout
    again = run(app, ["token", "revoke", id, *store])
    assert again.exit_code == 2
    assert "id must be that of a token" in again.stderr
