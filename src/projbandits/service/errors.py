"""Errors as problem details (RFC 9457), in the library's own words."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import msgspec

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

SCHEMA = "SchemaError"

LONGEST_DETAIL = 2000
"""How many characters of a message are sent."""


class Problem(msgspec.Struct, omit_defaults=True):
    """An error as problem details (RFC 9457)."""

    title: str
    status: int
    detail: str
    kind: str | None = None


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
    kind : str, optional
        What the library raised, for clients that raise the same; SCHEMA if the request does not
        follow the description.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        retry: float | None = None,
        kind: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.retry, self.kind = status, detail, retry, kind

    def problem(self) -> Problem:
        """Return the problem details."""
        title, detail = HTTPStatus(self.status).phrase, self.detail[:LONGEST_DETAIL]
        return Problem(title, self.status, detail, kind=self.kind)

    @classmethod
    def of(cls, problem: Problem) -> Refused:
        """Return the error with these problem details."""
        return cls(problem.status, problem.detail, kind=problem.kind)

    def body(self) -> bytes:
        """Return them as JSON."""
        return msgspec.json.encode(self.problem())

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
