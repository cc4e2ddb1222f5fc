"""What a client sends for each call, and how it reads the answer."""

from __future__ import annotations

import io
import json
import math
import secrets
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote

import numpy as np
from msgspec import convert

from projbandits._validation import is_table, outside, short
from projbandits.deciding import Decision, reports
from projbandits.deciding.explain import Explanation
from projbandits.deciding.labels import read_labels
from projbandits.exceptions import ConflictError, UnavailableError, UnknownDecisionError
from projbandits.ledger.streams import new_id
from projbandits.service.schemas import Job, RemoteDecision

if TYPE_CHECKING:
    import pandas as pd

Value = TypeVar("Value")

LABEL = "label"
"""Under which name a row says what it is called."""


Named = str | Decision | RemoteDecision


@dataclass(frozen=True, kw_only=True, eq=False)
class RemoteAudit:
    """What an audit found, as plain values; docs/audit.md has the schema."""

    influence: str
    verdict: str
    warnings: list[str]
    scores: dict[str, Any]
    choices: dict[str, Any]
    leak: dict[str, Any]
    exposure: dict[str, Any]
    proxies: list[dict[str, Any]]
    given_up: dict[str, float]
    about: dict[str, Any]

    def __str__(self) -> str:
        answers = [
            f"{name}: {found['verdict']}"
            for name, found in (
                ("scores", self.scores),
                ("choices", self.choices),
                ("leak", self.leak),
                ("exposure", self.exposure),
            )
        ]
        return "\n".join([self.verdict, "", *answers, "", *self.warnings]).rstrip()


@dataclass(frozen=True)
class Message(Generic[Value]):
    """A request, and how its answer is read.

    Parameters
    ----------
    method, path : str
        Where it goes.
    read : callable
        Makes a value of the body of the answer.
    body : optional
        What is sent, as JSON.
    """

    method: str
    path: str
    read: Callable[[Any], Value]
    body: Any = None

    @property
    def content(self) -> bytes | None:
        """The body as bytes; the service itself refuses numbers that are none, and says where."""
        return None if self.body is None else json.dumps(self.body, default=_written).encode()


def ask(
    path: str,
    items: Any,
    context: Mapping[str, Any] | None,
    count: int | None,
    labels: Iterable[str | int] | None,
    request_id: str | None,
    meta: Any,
) -> Message[Any]:
    """Ask; with an id in any case, so that the same can be sent again."""
    names, _ = reports.request_ids(request_id, count), reports.note(meta)
    body: dict[str, Any] = {"request_id": request_id or (names[0] if count is None else new_id())}
    if isinstance(items, Mapping):
        body["filter"] = dict(items)
    else:
        body["items"] = rows(items, labels)
    if count is not None and count > 1:
        body["count"] = count
    if context is not None:
        body["context"] = dict(context)
    if meta is not None:
        body["meta"] = meta
    if count is None:
        return Message("POST", f"{path}/ask", _decision, body)
    return Message("POST", f"{path}/ask", _decisions, body)


def rows(items: Any, labels: Iterable[str | int] | None) -> list[Any]:
    """Return what is on offer as labels, or as rows by name."""
    table, listed = is_table(items), isinstance(items, Sequence)
    if isinstance(items, np.ndarray | str | bytes) or not (table or listed):
        raise TypeError(
            "items must be labels of the catalogue, a filter, or rows with names (a table or "
            f"dicts), got a {type(items).__name__}: over HTTP features have names"
        )
    given: Any = labels
    if table:
        frame = items.to_pandas() if hasattr(items, "to_pandas") else items
        named = frame.columns.map(str)
        if not named.is_unique:
            raise ValueError(f"items must have distinct columns, got {short(list(named))}")
        found = frame.astype(object).to_numpy().tolist()
        made: list[Any] = [dict(zip(named, row, strict=True)) for row in found]
        if labels is None and LABEL not in named and _telling(frame.index):
            given = frame.index
    else:
        made = list(items)
    return made if given is None else _labelled(made, _plain(given))


def _labelled(rows: list[Any], labels: list[Any]) -> list[Any]:
    """Return rows with what they are called."""
    if len(labels) != len(rows):
        raise ValueError(
            f"labels must have {len(rows)} entries, one for each item, got {len(labels)}"
        )
    read_labels(labels, None, len(rows), needed=True)  # as a decider at hand refuses them
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping) or LABEL in row:
            raise TypeError(
                f"labels must come with rows that have no {LABEL!r} yet, got {short(row)} in "
                f"row {i}"
            )
    return [{**row, LABEL: label} for row, label in zip(rows, labels, strict=True)]


def _telling(index: Any) -> bool:
    """Tell whether an index has names for the rows."""
    whole = (str, int, np.integer)
    return all(isinstance(each, whole) and not isinstance(each, bool) for each in index)


def _plain(labels: Iterable[Any]) -> list[Any]:
    return [int(each) if isinstance(each, np.integer) else each for each in labels]


def tell(path: str, outcomes: Iterable[tuple[Any, Any]]) -> Message[None]:
    """Tell one outcome or many."""
    told = [reports.told(_id(id), outcome) for id, outcome in outcomes]
    body = {"outcomes": [[each.id, each.outcome] for each in told]}
    return Message("POST", f"{path}/tell", _nothing, body)


def amend(path: str, id: Named, outcome: Any) -> Message[None]:
    """Correct an outcome."""
    sent = reports.amended(_id(id), outcome)
    return Message("POST", f"{path}/amend", _nothing, {"id": sent.id, "outcome": sent.outcome})


def withdraw(path: str, id: Named, why: str) -> Message[None]:
    """Say that a decision has no outcome."""
    sent = reports.withdrawn(_id(id), why)
    return Message("POST", f"{path}/withdraw", _nothing, {"id": sent.id, "why": sent.why})


def explain(path: str, id: Named) -> Message[Explanation]:
    """Ask why."""
    return Message("GET", f"{path}/decisions/{quote(_id(id), safe='')}", _explanation)


def learn(
    path: str,
    items: Any,
    outcomes: Any,
    context: Any,
    labels: Iterable[str | int] | None,
    request_id: str | None,
) -> Message[None]:
    """Learn from history; with an id in any case, so that the same can be sent again."""
    body = {
        "items": rows(items, labels),
        "outcomes": [*outcomes],
        "context": rows(context, None) if is_table(context) else context,
        "request_id": request_id or new_id(),
    }
    return Message("POST", f"{path}/learn", _nothing, body)


def expire(path: str, after: float | str, outcome: float | None) -> Message[tuple[str, ...]]:
    """Settle what is overdue."""
    body = {"after": after, "outcome": outcome}
    return Message("POST", f"{path}/expire", lambda said: tuple(said["expired"]), body)


def start_audit(path: str, by: str | None) -> Message[Job]:
    """Start an audit; with an id, so that the same can be sent again."""
    body = {"by": by, "request_id": secrets.token_hex(8)}
    return Message("POST", f"{path}/audits", _job, body)


def one_audit(path: str, job: Job) -> Message[Job]:
    """Ask how far an audit is."""
    return Message("GET", f"{path}/audits/{job.id}", _job)


def audit(path: str, job: Job) -> Message[RemoteAudit]:
    """Ask for an audit that has ended."""
    return Message("GET", f"{path}/audits/{job.id}/result", _audit)


def log(path: str) -> Message[pd.DataFrame]:
    """Ask for the log."""
    return Message("GET", f"{path}/log.parquet", _log)


def raised(status: int, said: Any) -> Exception:
    """Return the error that a problem stands for, of the kind that a decider raises."""
    detail = f"it was answered with the status {status}, and no reason"
    if isinstance(said, dict):
        detail = said.get("detail", detail)
    kind = said.get("kind") if isinstance(said, dict) else None
    if status in (401, 403):
        return PermissionError(detail)
    if status in (429, 503):
        return UnavailableError(detail)
    if status >= 500:
        return RuntimeError(detail)
    kinds = {
        "ConflictError": ConflictError,
        "KeyError": UnknownDecisionError,
        "TypeError": TypeError,
    }
    return kinds.get(str(kind), ValueError)(detail)


def _written(value: Any) -> Any:
    """Return a value that JSON does not know as one that it does."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    raise TypeError(f"items and context must hold numbers and texts, got {short(value)}")


def _id(id: Any) -> Any:
    return id.id if isinstance(id, RemoteDecision) else id


def _warn(said: Any) -> None:
    for warning in said.get("warnings", ()):
        warnings.warn(warning, UserWarning, stacklevel=outside())


def _decision(said: Any) -> RemoteDecision:
    _warn(said)
    unknown = ("propensity", "estimate", "standard_error")
    values = {name: said.get(name) for name in RemoteDecision.__struct_fields__}
    return convert(
        {**values, **{n: math.nan for n in unknown if values[n] is None}}, RemoteDecision
    )


def _decisions(said: Any) -> list[RemoteDecision]:
    _warn(said)
    return [_decision(each) for each in said.get("decisions", [said])]


def _explanation(said: Any) -> Explanation:
    import pandas as pd

    found = said["explanation"]
    return Explanation(found["reason"], pd.DataFrame(found["arms"]).set_index("arm"))


def _job(said: Any) -> Job:
    return convert(said, Job)


def _audit(said: Any) -> RemoteAudit:
    return RemoteAudit(**{field.name: said[field.name] for field in fields(RemoteAudit)})


def _log(content: bytes) -> pd.DataFrame:
    import pandas as pd

    table = pd.read_parquet(io.BytesIO(content))
    return table.sort_values("step", kind="stable", ignore_index=True)


def _nothing(_: Any) -> None:
    return None
