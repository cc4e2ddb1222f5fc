"""Who may do what."""

import time
from typing import Any

import pytest
from typer.testing import CliRunner

from projbandits.cli.app import app
from projbandits.service import tokens
from tests.service.conftest import FILMS, MAKE, Service, bearer

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
    secret = text.rpartition("_")[2]
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
    made = run(app, ["token", "make", *store, "--scope", "observe", "--note", "Ada"])
    (text,) = [line[7:] for line in made.stdout.splitlines() if line.startswith("token: ")]
    assert films.client.get(films.path, headers=bearer(text)).status_code == 200
    id = str(tokens.id_of(text))
    listed = run(app, ["token", "list", *store])
    assert id in listed.stdout
    assert "Ada" in listed.stdout
    assert text.rpartition("_")[2] not in listed.stdout
    assert run(app, ["token", "revoke", id, *store]).exit_code == 0
    assert id not in run(app, ["token", "list", *store]).stdout
    again = run(app, ["token", "revoke", id, *store])
    assert again.exit_code == 2
    assert "id must be that of a token" in again.stderr
