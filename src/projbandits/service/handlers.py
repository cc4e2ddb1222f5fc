"""What each request does: a function whose signature declares its body, query and reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import UNSET

from projbandits._validation import check_distinct_labels, short
from projbandits.deciding import Decider
from projbandits.exceptions import UnknownDecisionError
from projbandits.service import item_files, jobs, parquet, replies, schemas
from projbandits.service.errors import EXPECTED_ERRORS, Problem, Refused, refused
from projbandits.service.item_files import FORMATS
from projbandits.service.jobs import Jobs, Kind
from projbandits.service.registry import Hub
from projbandits.service.schemas import (
    Account,
    Answers,
    Ask,
    Belief,
    By,
    Catalogue,
    Decided,
    Deciders,
    Decisions,
    Described,
    Expired,
    Expiry,
    Fields,
    Items,
    Job,
    Labels,
    Learn,
    Make,
    Page,
    Patch,
    Purge,
    Question,
    Start,
    StartAudit,
    Tell,
    Withdraw,
    check_one,
)

if TYPE_CHECKING:
    import pandas as pd

Value = TypeVar("Value")
Later = Callable[[], Value]
"""A reply that is waited for by a call."""

JSON = "application/json"
PARQUET = "application/vnd.apache.parquet"


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


@dataclass
class Call:
    """A request that was let in.

    Parameters
    ----------
    hub, limits, jobs : Hub, Limits, Jobs
        What it is worked on with.
    path : mapping
        The parameters in its path.
    kind, content : str, bytes
        The media type of its body, and the body.
    only : str or None
        The one decider that its token is for.
    status : int
        The status of the answer.
    counted : dict
        What it adds to counters.
    """

    hub: Hub
    limits: Limits
    jobs: Jobs
    path: Mapping[str, str]
    kind: str = ""
    content: bytes = b""
    only: str | None = None
    status: int = 200
    counted: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the decider."""
        return self.path["name"]

    @property
    def decider(self) -> Decider:
        """The decider."""
        return self.hub.decider(self.name)

    def result(self, what: Kind, part: str) -> bytes:
        """Return a result of the job that is named."""
        return self.jobs.result(self.name, self.path["id"], what, part)


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
    body, query : type or None
        The schemas of body and query.
    replies : tuple of type
        The schemas of its reply.
    media : str
        The media type of its reply.
    batched : bool
        Whether many are worked on together.
    heavy : bool
        Whether it may take seconds, so that few are worked on at a time.
    """

    method: str
    path: str
    scope: str
    does: Callable[..., Any]
    body: type[Fields] | None
    query: type[Fields] | None
    replies: tuple[Any, ...]
    media: str
    batched: bool
    heavy: bool

    @property
    def shown(self) -> str:
        """The path as descriptions and metrics have it."""
        return self.path.replace(":path}", "}")


ROUTES: list[Route] = []
ONE = "/v1/deciders/{name}"
Handler = TypeVar("Handler", bound=Callable[..., Any])


def route(
    method: str,
    path: str,
    scope: str,
    *,
    media: str = JSON,
    batched: bool = False,
    heavy: bool = False,
) -> Callable[[Handler], Handler]:
    """Have a function answer a request; its signature says what is sent and answered."""

    def add(does: Handler) -> Handler:
        hints = get_type_hints(does)
        reply = hints["return"]
        if get_origin(reply) is Callable:
            reply = get_args(reply)[1]
        kinds = (reply,) if get_origin(reply) in (dict, list, None) else get_args(reply)
        sent = hints.get("body"), hints.get("query")
        ROUTES.append(Route(method, path, scope, does, *sent, kinds, media, batched, heavy))
        return does

    return add


@route("GET", "/v1/deciders", "observe")
def all_deciders(call: Call) -> Deciders:
    """Return all deciders that a token may see."""
    names = [name for name in call.hub.declared_names() if call.only in (None, name)]
    return Deciders([_described(call.hub, name) for name in names])


@route("PUT", ONE, "administer")
def make(call: Call, body: Make) -> Described:
    """Make a decider; creation is idempotent."""
    if call.hub.make(call.name, body):
        call.status = 201
    return _described(call.hub, call.name)


@route("DELETE", ONE, "administer")
def delete(call: Call, query: Purge) -> dict[str, int]:
    """Withdraw a decider: it is kept for audits and its name is taken, unless `purge`."""
    call.hub.delete(call.name, query.purge)
    return {"deleted": 1}


@route("GET", ONE, "observe")
def one_decider(call: Call) -> Described:
    """Return one decider."""
    return _described(call.hub, call.name)


def _described(hub: Hub, name: str) -> Described:
    declared, withdrawn = hub.declared(name), hub.withdrawn(name)
    fields = ("columns", "protected", "strategy", "features", "half_life", "intercept", "expire")
    said = {} if declared is None else {field: getattr(declared, field) for field in fields}
    if declared is not None and name not in hub.names():
        waiting = "for its catalogue"
        return Described(name=name, waiting=waiting, withdrawn=withdrawn or UNSET, **said)
    decider = hub.decider(name)
    try:
        catalogue = len(hub.items(name))
    except KeyError:
        catalogue = 0
    columns = decider.columns
    said |= {"strategy": repr(decider.strategy), "columns": columns and list(columns)}
    return Described(
        name=name,
        subspace=repr(decider.subspace),
        decisions=decider.steps,
        observations=decider.ridge.n,
        items=catalogue,
        withdrawn=withdrawn or UNSET,
        **said,
    )


@route("PUT", f"{ONE}/items", "administer", heavy=True)
def put_items(call: Call, query: Labels) -> Catalogue:
    """Replace the catalogue."""
    kind = FORMATS.get(call.kind)
    if kind is None:
        raise Refused(
            415, f"the content type must be one of {', '.join(FORMATS)}, got {short(call.kind)}"
        )
    table = item_files.read(kind, call.content, query.label, call.limits.items)
    call.hub.put_items(call.name, table)
    return _catalogue(table)


@route("PATCH", f"{ONE}/items", "administer", heavy=True)
def patch_items(call: Call, body: Patch) -> Catalogue:
    """Change, add and remove items of the catalogue, all or none."""
    removed = [*map(str, body.remove)]
    return _catalogue(call.hub.patch_items(call.name, body.items, removed, call.limits.items).table)


@route("GET", f"{ONE}/items", "observe", heavy=True)
def get_items(call: Call, query: Page) -> Items:
    """Return items of the catalogue, in its order."""
    table = call.hub.items(call.name).table
    part = table.iloc[query.offset : query.offset + query.limit].reset_index()
    rows: Any = part.astype(object).where(part.notna(), None).to_dict("records")
    return Items(rows, len(table))


def _catalogue(table: pd.DataFrame) -> Catalogue:
    return Catalogue(len(table), [str(column) for column in table.columns])


@route("POST", f"{ONE}/ask", "decide", batched=True)
def ask(call: Call, body: Ask) -> Later[Decided | Decisions | Answers]:
    """Decide, once or for each of many `asks`."""
    if body.asks is None:
        return _asked(call, body)
    if body != Ask(asks=body.asks):
        raise ValueError("asks must come alone: each of them has the other fields")
    _check_size(call, len(body.asks), "asks")
    begun = [_or_problem(partial(_asked, call, each)) for each in body.asks]
    return lambda: Answers(
        [each if isinstance(each, Problem) else _or_problem(each) for each in begun]
    )


def _or_problem(work: Callable[[], Value]) -> Value | Problem:
    """Return the result of work, or what is wrong with it."""
    try:
        return work()
    except (Refused, *EXPECTED_ERRORS) as error:
        known = refused(error)
        if known is None:
            raise
        return known.problem()


def _asked(call: Call, body: Question) -> Later[Decided | Decisions]:
    check_one(body, "an ask")
    for name, value, most in (
        ("meta", body.meta, call.limits.meta),
        ("context", body.context, call.limits.context),
    ):
        if value and len(json.dumps(value)) > most:
            raise Refused(413, f"{name} must have at most {most:,} bytes of JSON")
    decider, context = call.decider, body.context or {}
    with _called_items():
        arms, labels = _offered(call, body)
        future = decider.submit_ask(
            arms,
            count=body.count if body.count > 1 else None,
            context=context or None,
            labels=labels,
            request_id=body.request_id,
            meta=body.meta,
        )

    def decided() -> Decided | Decisions:
        with _called_items():
            made = future.result()
        call.counted["decisions"] = call.counted.get("decisions", 0) + body.count
        warnings = replies.unknown_levels(decider.features, context) if context else []
        return replies.decided(made, warnings)

    return decided


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
                f"the catalogue, or send a {item_files.LABEL!r} in every row",
            )
        raise


def _offered(call: Call, sent: Question) -> tuple[Any, Sequence[str | int] | None]:
    """Return what is on offer, and what it is called."""
    if sent.filter is not None:
        chosen = call.hub.items(call.name).where(sent.filter, partial(_check_size, call))
        return chosen.arms, chosen.labels
    return _listed(call, sent.items or [])


def _listed(
    call: Call, listed: list[Any], *, distinct: bool = True
) -> tuple[Any, Sequence[str | int] | None]:
    """Return rows, or items of the catalogue, and what they are called."""
    _check_size(call, len(listed))
    if not listed:
        raise ValueError("items must hold at least one item, got none")
    rows = [row for row in listed if isinstance(row, dict)]
    if rows and len(rows) == len(listed):
        return _rows(call, rows, distinct)
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
    found = call.hub.items(call.name).named(named, distinct=distinct)
    return found.arms, found.labels


def _rows(
    call: Call, rows: list[dict[str, Any]], distinct: bool
) -> tuple[Any, list[str | int] | None]:
    """Return rows, and their labels if they have them."""
    label = item_files.LABEL
    if not any(label in row for row in rows):
        return rows, None
    features = call.decider.features
    taken = call.decider.columns if features is None else features.encodings_
    if label in (taken or ()):
        return rows, None
    labels = [item_files.label_of(row.pop(label, None), f"row {i}") for i, row in enumerate(rows)]
    if distinct:
        check_distinct_labels("items", labels)
    return rows, labels


def _check_size(call: Call, rows: int, what: str = "items") -> None:
    limits, d = call.limits, call.hub.width(call.name)
    if rows > limits.rows:
        raise Refused(413, f"{what} must have at most {limits.rows:,} rows, got {rows:,}")
    if rows * d > limits.numbers:
        raise Refused(
            413, f"items must hold at most {limits.numbers:,} numbers, got {rows:,} rows of {d}"
        )


@route("POST", f"{ONE}/tell", "decide", batched=True)
def tell(call: Call, body: Tell) -> Later[dict[str, int]]:
    """Report one outcome or many, all or none."""
    listed = [[body.id, body.outcome]] if body.outcomes is None else body.outcomes
    if len(listed) > call.limits.rows:
        raise Refused(413, f"outcomes must be at most {call.limits.rows:,}, got {len(listed):,}")
    future = call.decider.submit_tell([_pair(i, each) for i, each in enumerate(listed)])

    def told() -> dict[str, int]:
        future.result()
        call.counted["outcomes"] = len(listed)
        return {"told": len(listed)}

    return told


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


@route("POST", f"{ONE}/amend", "decide")
def amend(call: Call, body: schemas.Told) -> dict[str, int]:
    """Correct an outcome."""
    call.decider.amend(body.id, body.outcome)
    return {"amended": 1}


@route("POST", f"{ONE}/withdraw", "decide")
def withdraw(call: Call, body: Withdraw) -> dict[str, int]:
    """Say that a decision has no outcome."""
    call.decider.withdraw(body.id, body.why)
    return {"withdrawn": 1}


@route("POST", f"{ONE}/learn", "decide", heavy=True)
def learn(call: Call, body: Learn) -> dict[str, int]:
    """Learn from outcomes of items that were not decided here."""
    with _called_items():
        rows, labels = _listed(call, body.items, distinct=False)
        call.decider.learn(
            rows,
            body.outcomes,
            context=body.context,
            labels=labels,
            request_id=body.request_id,
        )
    return {"learnt": len(body.items)}


@route("POST", f"{ONE}/expire", "decide", heavy=True)
def expire(call: Call, body: Expiry) -> Expired:
    """Settle decisions whose outcome did not come in time."""
    return Expired([*call.decider.expire(body.after, body.outcome)])


@route("GET", f"{ONE}/decisions/{{id:path}}", "observe")
def one_decision(call: Call) -> Account:
    """Return a decision, its outcome, and why it was made."""
    id, decider = call.path["id"], call.decider
    try:
        record = decider.history().find(id)
    except UnknownDecisionError as error:
        raise UnknownDecisionError(
            f"id {short(id)} is unknown: no decision of {call.name!r} has it"
        ) from error
    return replies.account(record, decider.explain(id))


@route("GET", f"{ONE}/audit", "observe", heavy=True)
def audit(call: Call, query: By) -> dict[str, Any]:
    """Show whether the protected part had an influence; docs/audit.md has the schema."""
    return call.decider.audit(by=query.by).to_dict()


@route("GET", f"{ONE}/audit.html", "observe", heavy=True, media="text/html")
def audit_page(call: Call, query: By) -> str:
    """Show the same as a page for the person who must sign it."""
    return call.decider.audit(by=query.by).to_html()


@route("POST", f"{ONE}/audits", "observe")
def start_audit(call: Call, body: StartAudit) -> Job:
    """Start an audit; its state and result are kept."""
    call.status = 202
    return call.jobs.start(call.name, "audit", body.request_id, jobs.audited(body.by))


@route("GET", f"{ONE}/audits/{{id}}", "observe")
def one_audit(call: Call) -> Job:
    """Return the state of an audit."""
    return call.jobs.find(call.name, call.path["id"], "audit")


@route("GET", f"{ONE}/audits/{{id}}/result", "observe")
def audit_result(call: Call) -> dict[str, Any]:
    """Return an audit that is done; docs/audit.md has the schema."""
    found: dict[str, Any] = json.loads(call.result("audit", "json"))
    return found


@route("GET", f"{ONE}/audits/{{id}}/result.html", "observe", media="text/html")
def audit_result_page(call: Call) -> str:
    """Return an audit that is done as a page for the person who must sign it."""
    return call.result("audit", "html").decode()


@route("POST", f"{ONE}/exports", "observe")
def start_export(call: Call, body: Start) -> Job:
    """Start an export of the log; its state and result are kept."""
    call.status = 202
    return call.jobs.start(call.name, "export", body.request_id, jobs.exported)


@route("GET", f"{ONE}/exports/{{id}}", "observe")
def one_export(call: Call) -> Job:
    """Return the state of an export."""
    return call.jobs.find(call.name, call.path["id"], "export")


@route("GET", f"{ONE}/exports/{{id}}/log.parquet", "observe", media=PARQUET)
def export_result(call: Call) -> Iterator[bytes]:
    """Return an export that is done."""
    return iter([call.result("export", "parquet")])


@route("GET", f"{ONE}/belief", "observe")
def belief(call: Call) -> Belief:
    """Return the belief of a decider."""
    return replies.belief(call.decider)


@route("GET", f"{ONE}/log.parquet", "observe", heavy=True, media=PARQUET)
def log(call: Call) -> Iterator[bytes]:
    """Stream the log as a Parquet file."""
    return parquet.streamed(call.decider)
