"""Errors as problem details (RFC 9457), in the library's own words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from pydantic import ValidationError

from projbandits._validation import short
from projbandits.exceptions import ConflictError, DamagedError, UnavailableError, VersionError

EXPECTED_ERRORS = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    OSError,
    MemoryError,
    RecursionError,
)
"""What the library raises of a request."""

LONGEST_DETAIL = 2000
"""How many characters of a message are sent."""


class Refused(Exception):  # noqa: N818
    """A request that is not answered.

    Parameters
    ----------
    status : int
        The HTTP status.
    detail : str
        What was wrong with which field, and the remedy.
    retry : float, optional
        After how many seconds the same request may be answered.
    errors : sequence, optional
        Where there are several faults, each with its field.
    kind : str, optional
        What the library raised, for clients that raise the same.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        retry: float | None = None,
        errors: list[dict[str, str]] | None = None,
        kind: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.retry, self.errors = status, detail, retry, errors
        self.kind = kind

    def body(self) -> bytes:
        """Return the problem as JSON."""
        said: dict[str, Any] = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail[:LONGEST_DETAIL],
        }
        if self.kind:
            said["kind"] = self.kind
        if self.errors:
            said["errors"] = self.errors
        return json.dumps(said).encode()

    def headers(self) -> Mapping[str, str]:
        """Return the headers that go with it."""
        said = {"content-type": "application/problem+json", "cache-control": "no-store"}
        if self.status == HTTPStatus.UNAUTHORIZED:
            said["www-authenticate"] = 'Bearer realm="projbandits"'
        if self.retry is not None:
            said["retry-after"] = str(max(round(self.retry), 1))
        return said


def refused(error: BaseException) -> Refused | None:
    """Return what to answer when the library raises; None if that is a fault of the server.

    Examples
    --------
    >>> from projbandits.service.errors import refused
    >>> problem = refused(ValueError("alpha must be positive, got -1.0"))
    >>> problem.status, problem.detail
    (422, 'alpha must be positive, got -1.0')
    """
    said = str(error)
    if isinstance(error, Refused):
        return error
    if isinstance(error, ValidationError):
        return _invalid(error)
    if isinstance(error, UnavailableError):
        return Refused(503, said, retry=1)
    if isinstance(error, DamagedError | VersionError):
        return Refused(503, said, retry=60)
    if isinstance(error, ConflictError):
        return Refused(409, said, kind="ConflictError")
    if isinstance(error, KeyError):
        what = str(error.args[0]) if error.args else "there is no such thing"
        return Refused(404, what, kind="KeyError")
    if isinstance(error, MemoryError):
        return Refused(413, "there is not enough memory for this: ask for less")
    if isinstance(error, ValueError | TypeError | OverflowError | RecursionError):
        return Refused(
            422, said, kind="TypeError" if isinstance(error, TypeError) else "ValueError"
        )
    return None


def _invalid(error: ValidationError) -> Refused:
    """Return the faults of a body, each with its field."""
    if error.error_count() and error.errors(include_input=False)[0]["type"] == "json_invalid":
        said = error.errors(include_input=False)[0]["msg"].removeprefix("Invalid JSON: ")
        return Refused(400, f"the body must be JSON: {said}")
    found = []
    for each in error.errors(include_url=False, include_context=False)[:20]:
        field = "/".join(map(str, each["loc"])) or "the body"
        missing = each["type"] == "missing"
        got = "it is missing" if missing else f"got {short(each['input'])}"
        found.append({"field": field, "detail": f"{field}: {_lower(each['msg'])}, {got}"})
    return Refused(422, "; ".join(each["detail"] for each in found), errors=found)


def _lower(text: str) -> str:
    text = text.removeprefix("Value error, ")
    return text[:1].lower() + text[1:]
