"""Talk to a service as to a decider: `pb.connect(url, token).decider("films")`."""

from __future__ import annotations

import asyncio
import importlib
import random
import time
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit

from msgspec import ValidationError

from projbandits._validation import positive
from projbandits.deciding import reports
from projbandits.exceptions import UnavailableError
from projbandits.service import messages
from projbandits.service.messages import Message, Named, RemoteAudit
from projbandits.service.schemas import RemoteDecision

if TYPE_CHECKING:
    from typing import Self

    import httpx
    import pandas as pd

    from projbandits.deciding.explain import Explanation

Value = TypeVar("Value")

FIRST, LONGEST = 0.05, 2.0
"""How many seconds pass before a request is sent again, at first and at most."""

BETWEEN_LOOKS = 0.1
"""How many seconds pass before a job is looked at again."""

RETRIED = (429, 502, 503, 504)
"""What is answered when the same request may be granted later."""


def connect(url: str, token: str, *, timeout: float = 10.0, patience: float = 30.0) -> Connection:
    """Return a connection to a service that `projbandits serve` started.

    Parameters
    ----------
    url : str
        Where it is, such as ``http://127.0.0.1:8000``.
    token : str
        What allows the calls; `projbandits token create` makes one.
    timeout : float
        How many seconds an answer may take before the same is sent again.
    patience : float
        For how many seconds a call is tried again before it raises `UnavailableError`.

    Examples
    --------
    >>> import projbandits as pb
    >>> films = pb.connect("http://127.0.0.1:8000", token="pb_...").decider("films")
    >>> films
    RemoteDecider('films' at http://127.0.0.1:8000)
    """
    return Connection(url, token, timeout=timeout, patience=patience)


class _Base:
    """What the two kinds of connection share."""

    def __init__(self, url: str, token: str, *, timeout: float, patience: float) -> None:
        if not url.startswith(("http://", "https://")) or not urlsplit(url).hostname:
            raise ValueError(
                f"url must begin with http:// or https:// and name a host, got {url!r}"
            )
        token = token.strip()
        if not token.isascii() or not token.isprintable() or " " in token:  # and is not quoted
            raise ValueError("token must be as `projbandits token create` printed it, this is not")
        try:
            self._httpx: Any = importlib.import_module("httpx")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "connect needs the package 'httpx': pip install 'projbandits[client]'",
                name="httpx",
            ) from error
        self.url = url.rstrip("/")
        self._patience = positive("patience", patience)
        self._options: dict[str, Any] = {
            "base_url": self.url,
            "headers": {
                "authorization": f"Bearer {token}",
                "content-type": "application/json",
            },
            "timeout": positive("timeout", timeout),
        }

    def _pauses(self) -> Iterator[float]:
        """Yield how long to wait before each further attempt, until patience is over."""
        until, pause = time.monotonic() + self._patience, FIRST
        while time.monotonic() < until:
            yield pause * random.uniform(0.5, 1.0)
            pause = min(2 * pause, LONGEST)

    def _read(self, message: Message[Value], response: httpx.Response) -> Value:
        if response.status_code >= 400:
            problem = response.headers.get("content-type", "").startswith("application/problem")
            raise messages.raised(response.status_code, response.json() if problem else None)
        kind = response.headers.get("content-type", "")
        if kind.startswith("application/json"):
            try:
                return message.read(response.json())
            except ValidationError as error:
                kind = f"another reply: {error}"
        if kind.startswith("application/vnd.apache.parquet"):
            return message.read(response.content)
        raise RuntimeError(
            f"{self.url} answered with {kind or 'something'}: see that it is a projbandits service"
        )

    def _later(self, response: httpx.Response, pause: float) -> float:
        said = response.headers.get("retry-after", "")
        return min(max(pause, float(said)), LONGEST) if said.isdecimal() else pause

    def _gone(self, error: Exception) -> UnavailableError:
        return UnavailableError(
            f"{self.url} did not answer for {self._patience:g} s ({type(error).__name__}: {error}):"
            " see that it runs, then call again with the same id",
            lost=True,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url})"


class Connection(_Base):
    """A connection to a service; threads may share it."""

    def __init__(self, url: str, token: str, *, timeout: float, patience: float) -> None:
        super().__init__(url, token, timeout=timeout, patience=patience)
        self._client: httpx.Client = self._httpx.Client(**self._options)

    def decider(self, name: str) -> RemoteDecider:
        """Return a decider of the service."""
        return RemoteDecider(self, name)

    def asynchronous(self) -> AsyncConnection:
        """Return a connection whose calls are awaited."""
        headers = self._options["headers"]["authorization"]
        return AsyncConnection(
            self.url,
            headers.removeprefix("Bearer "),
            timeout=self._options["timeout"],
            patience=self._patience,
        )

    def send(self, message: Message[Value]) -> Value:
        """Send a request, again while the service is away, and return the answer."""
        pauses, content = self._pauses(), message.content
        while True:
            try:
                response = self._client.request(message.method, message.path, content=content)
            except self._httpx.TransportError as error:
                pause = next(pauses, None)
                if pause is None:
                    raise self._gone(error) from error
            else:
                pause = next(pauses, None) if response.status_code in RETRIED else None
                if pause is None:
                    return self._read(message, response)
                pause = self._later(response, pause)
            time.sleep(pause)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: Any, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncConnection(_Base):
    """A connection to a service whose calls are awaited."""

    def __init__(self, url: str, token: str, *, timeout: float, patience: float) -> None:
        super().__init__(url, token, timeout=timeout, patience=patience)
        self._client: httpx.AsyncClient = self._httpx.AsyncClient(**self._options)

    def decider(self, name: str) -> AsyncRemoteDecider:
        """Return a decider of the service."""
        return AsyncRemoteDecider(self, name)

    async def send(self, message: Message[Value]) -> Value:
        """Send a request, again while the service is away, and return the answer."""
        pauses, content = self._pauses(), message.content
        while True:
            try:
                response = await self._client.request(message.method, message.path, content=content)
            except self._httpx.TransportError as error:
                pause = next(pauses, None)
                if pause is None:
                    raise self._gone(error) from error
            else:
                pause = next(pauses, None) if response.status_code in RETRIED else None
                if pause is None:
                    return self._read(message, response)
                pause = self._later(response, pause)
            await asyncio.sleep(pause)

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: Any, trace: TracebackType | None
    ) -> None:
        await self.close()


class RemoteDecider:
    """A decider behind a service, with the meaning and the errors of `Decider`.

    A call that gets no answer is made again, with the same id. So nothing is decided or told twice.

    Parameters
    ----------
    connection : Connection
        How to reach it.
    name : str
        What it is called there.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        self.name = name
        self._connection = connection
        self._path = f"/v1/deciders/{quote(name, safe='')}"

    def ask(
        self,
        items: Any,
        *,
        context: Mapping[str, Any] | None = None,
        count: int | None = None,
        labels: Iterable[str | int] | None = None,
        request_id: str | None = None,
        meta: Any = None,
    ) -> Any:
        """Choose one of the items on offer, or several one after another.

        Parameters
        ----------
        items : list of labels, dict, list of dicts, or DataFrame
            Items of the catalogue by label or by a filter, or rows with all features.
        context, count, labels, request_id, meta
            As `Decider.ask` takes them.

        Returns
        -------
        RemoteDecision, or list of RemoteDecision if `count` is given
        """
        message = messages.ask(self._path, items, context, count, labels, request_id, meta)
        return self._connection.send(message)

    def tell(self, id: Named, outcome: float) -> None:
        """Report the outcome of a decision, in any order and any time later."""
        self._connection.send(messages.tell(self._path, [(id, outcome)]))

    def tell_many(
        self, outcomes: Mapping[str, float] | pd.Series | Iterable[tuple[Named, float]]
    ) -> None:
        """Report many outcomes: all of them, or, on an error, none."""
        self._connection.send(messages.tell(self._path, reports.pairs(outcomes)))

    def amend(self, id: Named, outcome: float) -> None:
        """Correct an outcome."""
        self._connection.send(messages.amend(self._path, id, outcome))

    def withdraw(self, id: Named, why: str = "withdrawn") -> None:
        """Say that a decision has no outcome."""
        self._connection.send(messages.withdraw(self._path, id, why))

    def learn(
        self,
        items: Any,
        outcomes: Iterable[float],
        *,
        context: Any = None,
        labels: Iterable[str | int] | None = None,
        request_id: str | None = None,
    ) -> None:
        """Learn from history that was not decided here: rows, or labels of the catalogue."""
        message = messages.learn(self._path, items, outcomes, context, labels, request_id)
        self._connection.send(message)

    def expire(self, after: float | str, outcome: float | None = None) -> tuple[str, ...]:
        """Settle the decisions whose outcome did not come in time, and return their ids."""
        return self._connection.send(messages.expire(self._path, after, outcome))

    def explain(self, decision: Named) -> Explanation:
        """Say why an item was chosen."""
        return self._connection.send(messages.explain(self._path, decision))

    def audit(self, *, by: str | None = None) -> RemoteAudit:
        """Show from the log whether the part that must not count had an influence.

        Parameters
        ----------
        by : str, optional
            A column of the context or of meta; exposure is then compared within each of its values.
        """
        send = self._connection.send
        job = send(messages.start_audit(self._path, by))
        while job.state == "running":
            time.sleep(BETWEEN_LOOKS)
            job = send(messages.one_audit(self._path, job))
        return send(messages.audit(self._path, job))

    def log(self) -> pd.DataFrame:
        """Return the decisions as a table, a row each."""
        return self._connection.send(messages.log(self._path))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r} at {self._connection.url})"


class AsyncRemoteDecider:
    """A decider behind a service, whose calls are awaited; see `RemoteDecider`.

    Parameters
    ----------
    connection : AsyncConnection
        How to reach it.
    name : str
        What it is called there.
    """

    def __init__(self, connection: AsyncConnection, name: str) -> None:
        self.name = name
        self._connection = connection
        self._path = f"/v1/deciders/{quote(name, safe='')}"

    async def ask(
        self,
        items: Any,
        *,
        context: Mapping[str, Any] | None = None,
        count: int | None = None,
        labels: Iterable[str | int] | None = None,
        request_id: str | None = None,
        meta: Any = None,
    ) -> Any:
        """Choose one of the items on offer, or several one after another."""
        message = messages.ask(self._path, items, context, count, labels, request_id, meta)
        return await self._connection.send(message)

    async def tell(self, id: Named, outcome: float) -> None:
        """Report the outcome of a decision."""
        await self._connection.send(messages.tell(self._path, [(id, outcome)]))

    async def tell_many(
        self, outcomes: Mapping[str, float] | pd.Series | Iterable[tuple[Named, float]]
    ) -> None:
        """Report many outcomes: all of them, or, on an error, none."""
        await self._connection.send(messages.tell(self._path, reports.pairs(outcomes)))

    async def amend(self, id: Named, outcome: float) -> None:
        """Correct an outcome."""
        await self._connection.send(messages.amend(self._path, id, outcome))

    async def withdraw(self, id: Named, why: str = "withdrawn") -> None:
        """Say that a decision has no outcome."""
        await self._connection.send(messages.withdraw(self._path, id, why))

    async def learn(
        self,
        items: Any,
        outcomes: Iterable[float],
        *,
        context: Any = None,
        labels: Iterable[str | int] | None = None,
        request_id: str | None = None,
    ) -> None:
        """Learn from history that was not decided here: rows, or labels of the catalogue."""
        message = messages.learn(self._path, items, outcomes, context, labels, request_id)
        await self._connection.send(message)

    async def expire(self, after: float | str, outcome: float | None = None) -> tuple[str, ...]:
        """Settle the decisions whose outcome did not come in time, and return their ids."""
        return await self._connection.send(messages.expire(self._path, after, outcome))

    async def explain(self, decision: Named) -> Explanation:
        """Say why an item was chosen."""
        return await self._connection.send(messages.explain(self._path, decision))

    async def audit(self, *, by: str | None = None) -> RemoteAudit:
        """Show from the log whether the part that must not count had an influence."""
        send = self._connection.send
        job = await send(messages.start_audit(self._path, by))
        while job.state == "running":
            await asyncio.sleep(BETWEEN_LOOKS)
            job = await send(messages.one_audit(self._path, job))
        return await send(messages.audit(self._path, job))

    async def log(self) -> pd.DataFrame:
        """Return the decisions as a table, a row each."""
        return await self._connection.send(messages.log(self._path))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r} at {self._connection.url})"


__all__ = [
    "AsyncConnection",
    "AsyncRemoteDecider",
    "Connection",
    "RemoteAudit",
    "RemoteDecider",
    "RemoteDecision",
    "connect",
]
