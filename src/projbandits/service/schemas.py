"""Requests and replies: each is declared once, and checks, OpenAPI and client derive from it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert

from projbandits._validation import did_you_mean
from projbandits.service.errors import SCHEMA, Problem, Refused

Sent = TypeVar("Sent", bound="Fields")

FAULT = re.compile(
    r"(?P<what>.*?(?: field `(?P<field>.*?)`)?)(?: - at `\$\.?(?P<where>.*)`)?", re.DOTALL
)
"""How a value is refused, and where it is."""

HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")
"""How half of a character may be written in JSON, or all of a rare one."""

Text = Annotated[str, Meta(min_length=1, max_length=200)]
Row = dict[str, Any]
# The library checks these itself, in its own words; here they are only described.
Outcome = Annotated[Any, Meta(extra_json_schema={"type": ["number", "boolean"]})]
Item = Annotated[Any, Meta(extra_json_schema={"type": ["string", "integer", "object"]})]
Labelled = Annotated[Row, Meta(extra_json_schema={"required": ["label"]})]
Some = Meta(extra_json_schema={"minItems": 1})
Span = Annotated[
    str, Meta(extra_json_schema={"pattern": r"^[1-9][0-9]{0,3}[smhdw]$", "examples": ["24h"]})
]
Time = Annotated[float, Meta(gt=0)] | Span
Pair = Annotated[
    Any,
    Meta(
        extra_json_schema={
            "anyOf": [
                {"$ref": "#/components/schemas/Told"},
                {
                    "type": "array",
                    "prefixItems": [{"type": "string"}, {"type": ["number", "boolean"]}],
                    "minItems": 2,
                    "maxItems": 2,
                },
            ]
        }
    ),
]


class Fields(Struct, kw_only=True, forbid_unknown_fields=True):
    """A JSON object, or a query, without unknown fields; `one_of` its fields is given."""

    one_of: ClassVar[tuple[str, ...]] = ()


class Expiry(Fields):
    """When a decision without an outcome is settled, and how."""

    after: Annotated[Time, Meta(description="seconds, or a text such as '24h'")]
    outcome: Annotated[
        float | None, Meta(description="the outcome to assume; null: none, and nothing is learnt")
    ] = None


class Make(Fields):
    """The declaration of a decider. Creation is idempotent."""

    one_of: ClassVar[tuple[str, ...]] = ("columns", "features")

    columns: Annotated[
        Annotated[list[str], Some] | None, Meta(description="the features by name, in their order")
    ] = None
    protected: Annotated[
        list[str], Meta(description="those of the columns that must not count")
    ] = []
    strategy: Annotated[str, Meta(description="who decides, such as 'GENTRY(alpha=2)'")] = "EIIDS()"
    features: Annotated[
        Row | None,
        Meta(
            description="instead of columns, how raw columns become features: the arguments of "
            "pb.Features, or its to_dict; the first catalogue fits what they leave open"
        ),
    ] = None
    half_life: Annotated[
        Time | None,
        Meta(description="after how many decisions, or how much time ('60d'), outcomes fade"),
    ] = None
    intercept: Annotated[bool, Meta(description="whether a level of all outcomes is learnt")] = True
    seed: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="source of randomness; fresh if null")
    ] = None
    expire: Annotated[
        Expiry | None, Meta(description="when decisions without an outcome are settled")
    ] = None


class Question(Fields):
    """A choice to be made among items of the catalogue, or rows."""

    one_of: ClassVar[tuple[str, ...]] = ("items", "filter")

    items: Annotated[
        Annotated[list[Item], Some] | None,
        Meta(description="labels of the catalogue, or rows as objects with all features"),
    ] = None
    filter: Annotated[
        Row | None,
        Meta(
            description="which items of the catalogue: by column a value, a list of values, or "
            '{"min": 1, "max": 2, "not": [...]}; {} is all of them'
        ),
    ] = None
    context: Annotated[Row | None, Meta(description="columns that come with the call")] = None
    count: Annotated[int, Meta(ge=1, description="how many distinct items to choose")] = 1
    request_id: Annotated[
        Text | None, Meta(description="the id of the decision; made up if null")
    ] = None
    meta: Annotated[Any, Meta(description="a note, of any kind")] = None


class Ask(Question):
    """A choice to be made, or many, each by itself."""

    one_of: ClassVar[tuple[str, ...]] = ("items", "filter", "asks")
    asks: Annotated[
        list[Question] | None,
        Meta(description="many at once, each with an answer or an error of its own"),
    ] = None


class Told(Fields):
    """An outcome of a decision."""

    id: Annotated[Text, Meta(description="the id of the decision")]
    outcome: Annotated[Outcome, Meta(description="its outcome, a number")]


class Tell(Fields):
    """One outcome, or many: all or none."""

    one_of: ClassVar[tuple[str, ...]] = ("id and outcome", "outcomes")

    id: Annotated[Text | None, Meta(description="the id of the decision")] = None
    outcome: Annotated[Outcome, Meta(description="its outcome, a number")] = None
    outcomes: Annotated[
        list[Pair] | None,
        Meta(
            description='or many at once, each {"id": "...", "outcome": 1.0} or ["...", 1.0]',
        ),
    ] = None


class Withdraw(Fields):
    """A decision that has no outcome."""

    id: Annotated[Text, Meta(description="the id of the decision")]
    why: Annotated[Text, Meta(description="the reason")] = "withdrawn"


class Learn(Fields):
    """Outcomes of items that were not decided here."""

    items: Annotated[
        Annotated[list[Item], Some],
        Meta(description="labels of the catalogue, or rows as objects with all features"),
    ]
    outcomes: Annotated[list[Outcome], Meta(description="the outcome of each")]
    context: Annotated[
        Row | list[Row] | None, Meta(description="the context of all, or of each")
    ] = None
    request_id: Annotated[
        Text | None, Meta(description="the id of this history; the same again is idempotent")
    ] = None


class Patch(Fields):
    """Changes of a catalogue: all or none."""

    items: Annotated[
        list[Labelled],
        Meta(description="items to add, and by label the columns that change of known items"),
    ] = []
    remove: Annotated[list[str | int], Meta(description="labels of items to remove")] = []


class Page(Fields):
    """A part of a catalogue."""

    offset: Annotated[int, Meta(ge=0, description="the first item")] = 0
    limit: Annotated[int, Meta(ge=1, le=10_000, description="the number of items")] = 1000


class Purge(Fields):
    """How much is deleted."""

    purge: Annotated[
        bool, Meta(description="whether its history goes too, and its name is free again")
    ] = False


class By(Fields):
    """Which groups an audit compares."""

    by: Annotated[Text | None, Meta(description="a column of the context or of meta")] = None


class Start(Fields):
    """A job to be started."""

    request_id: Annotated[
        Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$")] | None,
        Meta(description="the id of the job; the same again is idempotent; made up if null"),
    ] = None


class StartAudit(Start):
    """An audit to be started."""

    by: Annotated[Text | None, Meta(description="a column of the context or of meta")] = None


class Labels(Fields):
    """Where a catalogue has its labels."""

    label: Annotated[str, Meta(description="the column of labels")] = "label"


class Since(Fields):
    """What a page shows already."""

    position: Annotated[str, Meta(description="the position that the page shows")] = ""


class RemoteDecision(Struct, frozen=True, kw_only=True):
    """What a decider behind a service decided; the fields are those of `Decision`.

    Parameters
    ----------
    id : str
        What to name to `tell`.
    label : str, int or None
        What the chosen item is called.
    index : int or None
        Its row among those offered.
    propensity : float
        The probability with which it was chosen; nan if it is unknown.
    estimate : float
        Its projection reward by the estimate.
    standard_error : float
        That estimate's standard error; nan before any outcome is known.
    step : int
        t, the number of this decision, counted from 1.
    asked : float
        When, in seconds since 1970.
    """

    id: str
    label: str | int | None
    index: int | None
    propensity: float
    estimate: float
    standard_error: float
    step: int
    asked: float


class Decided(RemoteDecision, frozen=True, kw_only=True):
    """A decision, and what may be wrong with its request."""

    warnings: list[str] | UnsetType = UNSET


class Decisions(Struct):
    """Several distinct items, chosen one after another."""

    decisions: list[RemoteDecision]
    warnings: list[str] | UnsetType = UNSET


class Answers(Struct):
    """The answers to many asks, in their order: a decision, decisions, or a problem."""

    answers: list[Any]


class Expired(Struct):
    """The ids of decisions that were settled."""

    expired: list[str]


class Items(Struct):
    """Items of a catalogue, and their number in all."""

    items: list[Row]
    total: int


class Job(Struct):
    """Work that goes on after its request, and whose result is kept."""

    id: str
    what: Literal["audit", "export"]
    state: Literal["running", "done", "failed", "lost"]
    progress: float
    began: float
    seen: float
    problem: Problem | None = None


class Reason(Struct):
    """Why a decision was made; each arm has its features and its parts of the score."""

    reason: str
    arms: list[Row]


class Account(RemoteDecision, frozen=True, kw_only=True):
    """A decision, its outcome, and why it was made."""

    meta: Any
    context: Row | None
    arm: list[float]
    outcome: float
    told: float
    withdrawn: str | None
    assumed: str | None
    explanation: Reason


class Coefficient(Struct):
    """The estimate for one feature, with its 95 % interval."""

    feature: str
    estimate: float
    standard_error: float
    low: float
    high: float
    kept: float
    protected: bool


class Belief(Struct):
    """What a decider believes."""

    decisions: int
    observations: int
    penalty: float
    coefficients: list[Coefficient]


class Catalogue(Struct):
    """The size and the columns of a catalogue."""

    items: int
    columns: list[str]


class Described(Struct, kw_only=True):
    """A decider: its declaration, unless it was made in Python, and its counts."""

    name: str
    columns: list[str] | None
    strategy: str
    protected: list[str] | UnsetType = UNSET
    features: Row | UnsetType | None = UNSET
    half_life: float | str | UnsetType | None = UNSET
    intercept: bool | UnsetType = UNSET
    expire: Expiry | UnsetType | None = UNSET
    subspace: str | UnsetType = UNSET
    decisions: int | UnsetType = UNSET
    observations: int | UnsetType = UNSET
    items: int | UnsetType = UNSET
    waiting: str | UnsetType = UNSET
    withdrawn: bool | UnsetType = UNSET


class Deciders(Struct):
    """All deciders that a token may see."""

    deciders: list[Described]


def read(kind: type[Sent], content: bytes) -> Sent:
    """Return a body, which is JSON whatever its type is said to be."""
    return _fitted(kind, parsed(content), "the body", strict=True)


def parsed(content: bytes) -> Any:
    """Return a body of JSON as plain values."""
    try:
        said = json.loads(content.decode())
        if HALF_CHARACTER.search(content):  # half of a character alone is no text
            json.dumps(said, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body must be JSON in UTF-8: {error}") from error
    return said


def read_query(kind: type[Sent], said: Mapping[str, str]) -> Sent:
    """Return the parameters of a query."""
    return _fitted(kind, dict(said), "the query", strict=False)


def _fitted(kind: type[Sent], said: Any, name: str, *, strict: bool) -> Sent:
    try:
        made = convert(said, kind, strict=strict)
    except ValidationError as error:
        match = FAULT.fullmatch(str(error))
        assert match is not None
        where, what = match["where"] or "", match["what"].replace("`", "")
        if match["field"]:
            where = f"{where}.{match['field']}".lstrip(".")
            known = "must be given" if "required" in what else "must be a known field"
            what = known + did_you_mean(match["field"], kind.__struct_fields__)
        what = what.replace("Expected", "must be").replace("Number out of", "must be in")
        raise Refused(422, f"{where or name} {what}", kind=SCHEMA) from error
    check_one(made, name)
    return made


def check_one(made: Fields, name: str) -> None:
    """Raise unless a request has exactly one of the fields of which it needs one."""
    given = [
        [getattr(made, field) is not None for field in each.split(" and ")] for each in made.one_of
    ]
    if made.one_of and (sum(map(any, given)) != 1 or sum(map(all, given)) != 1):
        fields = [field for each in made.one_of for field in each.split(" and ")]
        got = " and ".join(field for field in fields if getattr(made, field) is not None)
        wanted = " or ".join(made.one_of)
        raise Refused(422, f"{name} must have {wanted}, got {got or 'none of them'}", kind=SCHEMA)
