"""Requests that nobody should send: the server must never be at fault, nor hang."""

import json
import random
from collections import Counter
from typing import Any

import httpx

from tests.databases import Server
from tests.faults.described import Sent, request
from tests.faults.kills import place
from tests.faults.verdicts import Outcomes, promises
from tests.service.conftest import FILMS, MAKE, started

PATH = "/v1/deciders/films"
FIELDS = {
    "ask": ["items", "filter", "count", "request_id", "meta", "context"],
    "tell": ["id", "outcome", "outcomes"],
    "amend": ["id", "outcome"],
    "withdraw": ["id", "why"],
    "items": ["items"],
    "": ["columns", "protected", "strategy", "half_life", "features", "expire", "seed"],
}
LEAVES: list[Any] = [
    None, True, 0, -1, 1, 2**63, 10**400, 1e308, -1e308, 5e-324, float("nan"), float("inf"), "",
    "a", "b", "id", "\0", "\ud800", "\u202e", "<script>", "'; drop table x; --", "x" * 300, "24h",
    "GENTRY()", "EIIDS(alpha=1)", "drama", "age", "label", {}, [],
]  # fmt: skip
VALID: dict[str, dict[str, Any]] = {
    "ask": {"items": ["a", "b"], "count": 1, "request_id": "id", "meta": {"x": 1}},
    "tell": {"id": "id", "outcome": 1.0},
    "amend": {"id": "id", "outcome": 1.0},
    "withdraw": {"id": "id", "why": "a"},
    "items": {"items": FILMS},
    "": MAKE,
}
KEYS = [
    "id",
    "request_id",
    "outcome",
    "label",
    "drama",
    "length",
    "age",
    "genre",
    "min",
    "max",
    "after",
    "x",
]


def value(rng: random.Random, depth: int = 0) -> Any:
    """Return something, or a list or an object of such."""
    kind = rng.random()
    if depth > 4 or kind < 0.6:
        return rng.choice(LEAVES)
    if kind < 0.8:
        return [value(rng, depth + 1) for _ in range(rng.randrange(5))]
    return {rng.choice(KEYS): value(rng, depth + 1) for _ in range(rng.randrange(5))}


def content(rng: random.Random, what: str) -> bytes:
    """Return a body: one that is fine but for a field, known fields, or what is hardly JSON."""
    body = {field: value(rng) for field in FIELDS[what] if rng.random() < 0.6}
    if rng.random() < 0.6:
        changed = rng.choice(FIELDS[what])
        body = {**VALID[what], **({changed: value(rng)} if rng.random() < 0.7 else {})}
    text = json.dumps(body if rng.random() < 0.9 else value(rng)).encode()
    kind = rng.random()
    if kind < 0.1:
        return text[: rng.randrange(len(text) + 1)]
    if kind < 0.15:
        return b"[" * rng.choice([10, 1000, 100_000])
    if kind < 0.2:
        return rng.randbytes(50)
    return text


def _by_hand(rng: random.Random) -> Sent:
    what = rng.choice(sorted(FIELDS))
    path = f"{PATH}/{what}" if what else f"/v1/deciders/d{rng.randrange(9)}"
    kinds = ["application/json", "text/csv", "application/vnd.apache.parquet", "x"]
    kind = rng.choice(kinds) if what == "items" else "application/json"
    return Sent("PUT" if what in ("", "items") else "POST", path, content(rng, what), kind)


def requests(store: str, tries: int, rng: random.Random, server: Server | None = None) -> Outcomes:
    """Send this many bad requests, and see that every one is answered and none is a fault."""
    found: Outcomes = Counter()
    with place(store, server) as (url, _, _):
        for service in started(url):
            client = service.client
            client.put(PATH, json=MAKE).raise_for_status()
            client.put(f"{PATH}/items", json=FILMS).raise_for_status()
            said = client.get("/openapi.json").raise_for_status().json()
            for i in range(tries):
                sent = request(rng, said) if i % 2 else _by_hand(rng)
                token = {} if i % 20 else {"authorization": rng.choice(["", "Bearer x", "Basic y"])}
                headers = {"content-type": sent.kind, **token} if sent.kind else token
                body = sent.body
                try:
                    answer = client.request(sent.method, sent.path, content=body, headers=headers)
                except httpx.TransportError:
                    found["NO ANSWER"] += 1
                    continue
                fault = answer.status_code >= 500
                found[
                    f"SERVER AT FAULT: {sent.method} {sent.path} {body!r}"
                    if fault
                    else f"{answer.status_code}"
                ] += 1
            found += promises(service.hub.decider("films").history())
    return found
