"""What each request does. Nothing here knows of HTTP beyond a status."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

from projbandits._validation import check_distinct_labels, short
from projbandits.deciding import Decider, Decision
from projbandits.exceptions import UnknownDecisionError
from projbandits.service import item_files as items
from projbandits.service import parquet, replies
from projbandits.service.errors import Refused
from projbandits.service.item_files import FORMATS
from projbandits.service.registry import Hub
from projbandits.service.schemas import Ask, Body, Make, Outcome, Tell, Withdraw

Sent = TypeVar("Sent", bound=Body)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much one request may ask for.

    Parameters
    ----------
    body : int
        Bytes of a body; of a catalogue, `catalogue`.
    catalogue : int
        Bytes of a catalogue.
    rows : int
        Rows on offer, and outcomes told at once.
    items : int
        Rows of a catalogue.
    numbers : int
        Numbers in an offer: rows times features.
    meta, context : int
        Bytes of what is noted with a decision, and of what comes with the call.
    seconds : float
        For how long a request is worked on, and for how long its body may take to arrive.
    in_flight : int
        Requests at a time; of one token, half as many.
    """

    body: int = 16_000_000
    catalogue: int = 256_000_000
    rows: int = 100_000
    items: int = 1_000_000
    numbers: int = 10_000_000
    meta: int = 10_000
    context: int = 100_000
    seconds: float = 30.0
    in_flight: int = 512


@dataclass(frozen=True)
class Call:
    """A request that was let in."""

    hub: Hub
    limits: Limits
    path: Mapping[str, str]
    query: Mapping[str, str]
    kind: str
    body: bytes
    only: str | None = None
    counted: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Whose request it is."""
        return self.path["name"]

    @property
    def decider(self) -> Decider:
        """Which decider it is about."""
        return self.hub.decider(self.name)

    def read(self, model: type[Sent]) -> Sent:
        """Return the body, which is JSON whatever its type is said to be."""
        return model.model_validate_json(self.body)


class Answer(NamedTuple):
    """What is sent back: a value as JSON, a text, or a stream of bytes."""

    value: Any
    status: int = 200
    media: str = "application/json"

    def content(self) -> bytes:
        """Return it as bytes."""
        if isinstance(self.value, str):
            return self.value.encode()
        return json.dumps(self.value, allow_nan=False, separators=(",", ":")).encode()


def all_deciders(call: Call) -> Answer:
    """Return all deciders that a token may see."""
    names = [name for name in call.hub.declared_names() if call.only in (None, name)]
    return Answer({"deciders": [_described(call.hub, name) for name in names]})


def make(call: Call) -> Answer:
    """Make a decider."""
    new = call.hub.make(call.name, call.read(Make))
    return Answer(_described(call.hub, call.name), 201 if new else 200)


def one_decider(call: Call) -> Answer:
    """Return one decider."""
    return Answer(_described(call.hub, call.name))


def put_items(call: Call) -> Answer:
    """Replace the catalogue."""
    kind = FORMATS.get(call.kind)
    if kind is None:
        raise Refused(
            415, f"the content type must be one of {', '.join(FORMATS)}, got {short(call.kind)}"
        )
    label = call.query.get("label", items.LABEL)
    table = items.read(kind, call.body, label, call.limits.items)
    made = call.hub.put_items(call.name, table)
    return Answer({"items": len(made), "columns": [str(column) for column in table.columns]})


class Begun(NamedTuple):
    """What is left of a request: something to record, and then the answer."""

    work: Any
    answer: Callable[[Any], Answer]


def ask(call: Call) -> Answer:
    """Decide."""
    sent, decider = call.read(Ask), call.decider
    with _called_items():
        arms, more = _asked(call, sent)
        decisions: list[Decision] = (
            decider.ask(arms, count=sent.count, **more)
            if sent.count > 1
            else [decider.ask(arms, **more)]
        )
    return _decided(call, sent, decisions)


def begin_ask(call: Call) -> Begun | None:
    """Begin to decide; None if that takes more than what is at hand."""
    sent, decider = call.read(Ask), call.hub.at_hand(call.name)
    if decider is None or (sent.items is None and not call.hub.has_items(call.name)):
        return None
    with _called_items():
        arms, more = _asked(call, sent)
        work = decider.submit_ask(arms, count=None if sent.count == 1 else sent.count, **more)
    return Begun(work, lambda made: _decided(call, sent, made if sent.count > 1 else [made]))


@contextmanager
def _called_items() -> Iterator[None]:
    """Say "items" in errors where the library says "arms", and remedies that do over HTTP."""
    try:
        yield
    except (ValueError, TypeError) as error:
        said = str(error)
        if said.startswith("arms "):
            error.args = ("items" + said[4:],)
        elif said.startswith("context needs a decider"):
            error.args = (
                "context needs a decider that was made with features, of which some come with the "
                'call, as in {"features": {"context": ["segment"], ...}}: leave it out',
            )
        elif said.startswith("labels must say who"):
            error.args = (
                "items must say who they are, since the strategy has arm_effects: name items of "
                f"the catalogue, or send a {items.LABEL!r} in every row",
            )
        raise


def _asked(call: Call, sent: Ask) -> tuple[Any, dict[str, Any]]:
    """Return what a decider is asked with."""
    limits = call.limits
    for name, value, most in (
        ("meta", sent.meta, limits.meta),
        ("context", sent.context, limits.context),
    ):
        if value and len(json.dumps(value)) > most:
            raise Refused(413, f"{name} must have at most {most:,} bytes of JSON")
    arms, labels = _offered(call, sent)
    return arms, {
        "context": sent.context or None,
        "labels": labels,
        "request_id": sent.request_id,
        "meta": sent.meta,
    }


def _decided(call: Call, sent: Ask, decisions: list[Decision]) -> Answer:
    call.counted["decisions"] = len(decisions)
    said = [replies.decision(made) for made in decisions]
    return Answer(said[0] if sent.count == 1 else {"decisions": said})


def _offered(call: Call, sent: Ask) -> tuple[Any, Sequence[str | int] | None]:
    """Return what is on offer, and what it is called."""
    if (sent.items is None) == (sent.filter is None):
        given = "neither" if sent.items is None else "both"
        raise ValueError(f"items or filter must say what is on offer, got {given}")
    if sent.filter is not None:
        chosen = call.hub.items(call.name).where(sent.filter, partial(_check_size, call))
        return chosen.arms, chosen.labels
    listed = sent.items or []
    _check_size(call, len(listed))
    if not listed:
        raise ValueError("items must hold at least one item, got none")
    rows = [row for row in listed if isinstance(row, dict)]
    if rows and len(rows) == len(listed):
        return _rows(call, rows)
    named = list[str]()
    for i, label in enumerate(listed):
        if not isinstance(label, str | int) or isinstance(label, bool) or rows:
            raise TypeError(
                f"items must be labels, or all of them rows as objects, got {short(label)} in "
                f"row {i}"
            )
        named.append(str(label))
    if not call.hub.items(call.name).knows(named):  # perhaps another process has a new catalogue
        call.hub.look(0.0)
    found = call.hub.items(call.name).named(named)
    return found.arms, found.labels


def _rows(call: Call, rows: list[dict[str, Any]]) -> tuple[Any, list[str | int] | None]:
    """Return rows, and their labels if they have them."""
    if not any(items.LABEL in row for row in rows):
        return rows, None
    features = call.decider.features
    taken = call.decider.columns if features is None else features.encodings_
    if items.LABEL in (taken or ()):
        return rows, None
    labels = [items.label_of(row.pop(items.LABEL, None), f"row {i}") for i, row in enumerate(rows)]
    check_distinct_labels("items", labels)
    return rows, labels


def _check_size(call: Call, rows: int) -> None:
    limits, d = call.limits, call.hub.width(call.name)
    if rows > limits.rows:
        raise Refused(413, f"items must have at most {limits.rows:,} rows, got {rows:,}")
    if rows * d > limits.numbers:
        raise Refused(
            413, f"items must hold at most {limits.numbers:,} numbers, got {rows:,} rows of {d}"
        )


def tell(call: Call) -> Answer:
    """Report one outcome or many, all or none."""
    pairs = _outcomes(call)
    call.decider.tell_many(pairs)
    return _told(call, pairs)


def begin_tell(call: Call) -> Begun | None:
    """Begin to report outcomes; None if their decider is not at hand."""
    decider = call.hub.at_hand(call.name)
    if decider is None:
        return None
    pairs = _outcomes(call)
    return Begun(decider.submit_tell(pairs), lambda _: _told(call, pairs))


def _outcomes(call: Call) -> list[tuple[str, Any]]:
    """Return the outcomes that a request reports."""
    sent = call.read(Tell)
    if (sent.outcomes is None) == (sent.id is None) or (sent.outcome is None) != (sent.id is None):
        raise ValueError(
            'the body must be {"id": "...", "outcome": 1.0} or {"outcomes": [...]}, got '
            f"{short(sent.model_dump(exclude_unset=True))}"
        )
    listed = [{"id": sent.id, "outcome": sent.outcome}] if sent.outcomes is None else sent.outcomes
    if len(listed) > call.limits.rows:
        raise Refused(413, f"outcomes must be at most {call.limits.rows:,}, got {len(listed):,}")
    return [_pair(i, each) for i, each in enumerate(listed)]


def _told(call: Call, pairs: list[tuple[str, Any]]) -> Answer:
    call.counted["outcomes"] = len(pairs)
    return Answer({"told": len(pairs)})


def _pair(row: int, sent: Any) -> tuple[str, Any]:
    """Return an outcome as id and outcome."""
    if isinstance(sent, dict) and set(sent) == {"id", "outcome"}:
        sent = [sent["id"], sent["outcome"]]
    if not isinstance(sent, list) or len(sent) != 2 or not isinstance(sent[0], str):
        raise ValueError(
            f'outcomes must be {{"id": "...", "outcome": 1.0}} or ["...", 1.0], got {short(sent)} '
            f"in row {row}"
        )
    return sent[0], sent[1]


def amend(call: Call) -> Answer:
    """Correct an outcome."""
    sent = call.read(Outcome)
    call.decider.amend(sent.id, sent.outcome)
    return Answer({"amended": 1})


def withdraw(call: Call) -> Answer:
    """Say that a decision has no outcome."""
    sent = call.read(Withdraw)
    call.decider.withdraw(sent.id, sent.why)
    return Answer({"withdrawn": 1})


def one_decision(call: Call) -> Answer:
    """Return a decision, what became of it, and why it was made."""
    id, decider = call.path["id"], call.decider
    try:
        record = decider.history().find(id)
    except UnknownDecisionError as error:
        raise UnknownDecisionError(
            f"id {short(id)} is unknown: no decision of {call.name!r} has it"
        ) from error
    return Answer(replies.account(record, decider.explain(id)))


def audit(call: Call) -> Answer:
    """Show whether the protected part had an influence; `by` is a column of the context or meta."""
    return Answer(call.decider.audit(by=call.query.get("by")).to_dict())


def audit_page(call: Call) -> Answer:
    """Show the same as a page for the person who must sign it."""
    return Answer(call.decider.audit(by=call.query.get("by")).to_html(), media="text/html")


def belief(call: Call) -> Answer:
    """Return what a decider believes."""
    return Answer(replies.belief(call.decider))


def log(call: Call) -> Answer:
    """Stream the log as a Parquet file."""
    stream: Iterator[bytes] = parquet.streamed(call.decider)
    return Answer(stream, media="application/vnd.apache.parquet")


def _described(hub: Hub, name: str) -> dict[str, Any]:
    declared = hub.declared(name)
    said = {} if declared is None else declared.model_dump(exclude={"seed"})
    if declared is not None and name not in hub.names():
        return {**said, "name": name, "waiting": "for its catalogue"}
    decider = hub.decider(name)
    try:
        catalogue = len(hub.items(name))
    except KeyError:
        catalogue = 0
    columns = decider.columns
    return {
        **said,
        "name": name,
        "columns": None if columns is None else list(columns),
        "strategy": repr(decider.strategy),
        "subspace": repr(decider.subspace),
        "decisions": decider.steps,
        "observations": decider.ridge.n,
        "items": catalogue,
    }


class Route(NamedTuple):
    """A request that is answered.

    Parameters
    ----------
    method, path : str
        How it is asked for.
    scope : str
        What a token must allow.
    does : callable
        What answers it.
    sent : type or None
        What the body is.
    begins : callable or None
        What begins to answer it, if many are answered together.
    heavy : bool
        Whether it may take seconds, so that few are worked on at a time.
    """

    method: str
    path: str
    scope: str
    does: Callable[[Call], Answer]
    sent: type[Body] | None = None
    begins: Callable[[Call], Begun | None] | None = None
    heavy: bool = False


ONE = "/v1/deciders/{name}"
ROUTES = [
    Route("GET", "/v1/deciders", "observe", all_deciders),
    Route("PUT", ONE, "administer", make, Make),
    Route("GET", ONE, "observe", one_decider),
    Route("PUT", f"{ONE}/items", "administer", put_items, heavy=True),
    Route("POST", f"{ONE}/ask", "decide", ask, Ask, begin_ask),
    Route("POST", f"{ONE}/tell", "decide", tell, Tell, begin_tell),
    Route("POST", f"{ONE}/amend", "decide", amend, Outcome),
    Route("POST", f"{ONE}/withdraw", "decide", withdraw, Withdraw),
    Route("GET", f"{ONE}/decisions/{{id:path}}", "observe", one_decision),
    Route("GET", f"{ONE}/audit", "observe", audit, heavy=True),
    Route("GET", f"{ONE}/audit.html", "observe", audit_page, heavy=True),
    Route("GET", f"{ONE}/belief", "observe", belief),
    Route("GET", f"{ONE}/log.parquet", "observe", log, heavy=True),
]
