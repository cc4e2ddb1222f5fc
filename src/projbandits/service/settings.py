"""Start the service: one process, or several on one store."""

from __future__ import annotations

import gc
import json
import logging
import os
import socket
import sys
import tomllib
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette

from projbandits._validation import did_you_mean, integer, positive, short
from projbandits.service import tokens
from projbandits.service.app import make_app
from projbandits.service.handlers import Limits
from projbandits.service.registry import Hub, declaration

SETTINGS_VARIABLE = "PROJBANDITS_SERVICE"
"""The environment variable by which processes of one service learn what they serve."""

SECONDS_TO_END = 3
"""For how many seconds what was begun may go on after SIGTERM."""

WAITING = 2048
"""How many connections may wait to be accepted."""

LARGEST_SETTINGS = 10_000_000
LARGEST_PORT = 65_535
SWITCH = 0.0005
"""How many seconds a thread works before another may: the one that answers must not wait long."""
COLLECTED = 50_000, 20, 50
"""How much is made before what nobody refers to is looked for: all requests wait meanwhile."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is served, and where.

    Parameters
    ----------
    store : str
        The URL of the store.
    host, port : str, int
        Where it listens.
    processes : int
        How many processes answer.
    deciders : mapping
        Deciders to be made at the start, by name, as `PUT /v1/deciders/{name}` takes them.
    limits : mapping
        Fields of `Limits` that differ from their defaults.
    """

    store: str
    host: str = "127.0.0.1"
    port: int = 8000
    processes: int = 1
    deciders: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Where the dashboard is."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/"


def read_settings(path: Path | None, given: Mapping[str, Any]) -> Settings:
    """Return settings from a TOML file, those given on the command line first.

    Parameters
    ----------
    path : Path or None
        The file.
    given : mapping
        What was given otherwise; None where nothing was.
    """
    said: dict[str, Any] = {}
    if path is not None:
        with path.open("rb") as file:
            content = file.read(LARGEST_SETTINGS + 1)
        if len(content) > LARGEST_SETTINGS:
            raise ValueError(f"{path.name} must have at most {LARGEST_SETTINGS:,} bytes")
        try:
            said = tomllib.loads(content.decode())
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path.name} must be a TOML file: {error}") from error
    said |= {key: value for key, value in given.items() if value is not None}
    _check_keys("service.toml" if path is None else path.name, said, Settings)
    if "store" not in said:
        raise ValueError("--store must say where the ledgers are, as in sqlite:///films.db")
    _check_keys("limits", said.get("limits", {}), Limits)
    _check_values(said)
    return Settings(**said)


def _check_values(said: Mapping[str, Any]) -> None:
    """Raise unless each setting is of its kind, naming it."""
    limits, deciders = said.get("limits", {}), said.get("deciders", {})
    positive("seconds", limits.get("seconds", 1))
    integer("port", said.get("port", 1), least=1, most=LARGEST_PORT)
    for name, value in {**limits, "processes": said.get("processes", 1)}.items():
        if name != "seconds":
            integer(name, value, least=1)
    for name in ("store", "host"):
        value = said.get(name, "")
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a text, got {short(value)}")
    if not isinstance(deciders, Mapping):
        raise TypeError(f"deciders must be a table, got {short(deciders)}")
    for name, each in deciders.items():
        if not isinstance(each, Mapping):
            raise TypeError(f"deciders.{name} must be a table, got {short(each)}")


def _check_keys(what: str, said: Any, kind: type[Settings | Limits]) -> None:
    allowed = [each.name for each in fields(kind)]
    if not isinstance(said, Mapping):
        raise TypeError(f"{what} must be a table, got {short(said)}")
    for key in said:
        if key not in allowed:
            hint = did_you_mean(key, allowed)
            raise ValueError(f"{what} takes {', '.join(allowed)}, got {short(key)}{hint}")


def prepare(settings: Settings) -> str | None:
    """Make the store and the declared deciders; return the first token, if there was none."""
    hub = Hub(settings.store)
    for name, said in settings.deciders.items():
        try:
            hub.make(name, declaration(said))
        except (ValueError, TypeError) as error:
            error.args = (f"deciders.{name}: {error}",)
            raise
    first = None
    if not tokens.kept(hub.documents):
        first, _ = tokens.make(hub.documents, ["administer"], note="the first one")
    hub.close()
    return first


def application() -> Starlette:
    """Return the application of a process that was started with settings in its environment."""
    return _app(Settings(**json.loads(os.environ[SETTINGS_VARIABLE])))


def _app(settings: Settings) -> Starlette:
    sys.setswitchinterval(SWITCH)
    app = make_app(Hub(settings.store), Limits(**settings.limits))
    gc.freeze()  # what is there from the start stays, and need not be looked through
    gc.set_threshold(*COLLECTED)
    return app


def serve(settings: Settings) -> None:
    """Serve until stopped; what was begun is then answered first."""
    logging.captureWarnings(True)
    os.environ[SETTINGS_VARIABLE] = json.dumps(asdict(settings))
    where: dict[str, Any] = {"host": settings.host, "port": settings.port}
    with ExitStack() as stack:
        if settings.processes > 1:
            listener = stack.enter_context(listening(settings.host, settings.port))
            where = {"fd": listener.fileno()}
        uvicorn.run(
            "projbandits.service.settings:application",
            factory=True,
            workers=settings.processes,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=SECONDS_TO_END,
            **where,
        )


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that several processes share, whose connections send without delay.

    Of a socket that uvicorn makes for several processes, each answer would wait for its client to
    acknowledge the headers, some 40 ms.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.create_server((host, port), family=family, backlog=WAITING)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # those that it accepts inherit it
    return made
