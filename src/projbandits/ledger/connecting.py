"""Connections to SQLite and PostgreSQL, and their errors in the library's words."""

from __future__ import annotations

import os
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

from projbandits.exceptions import DamagedError, UnavailableError
from projbandits.ledger.fork_gate import Gate
from projbandits.ledger.forking import renewed
from projbandits.ledger.sql import command, unread
from projbandits.ledger.write_ahead import log_damage

Answer = TypeVar("Answer")

LOCK_PATIENCE = 30.0
"""For how many seconds a transaction waits for the one of another process."""

LOOK_AGAIN = 0.0005
"""After how many seconds a transaction that waits for another looks again."""

RECONNECTING = 10.0
"""For how many seconds a call whose connection was lost is tried again."""

IDLE = 8
"""How many connections wait for their next use."""

DRIVERS = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+psycopg"}

NO_CONNECTION = ("08", "57P")
"""How PostgreSQL's codes begin when a connection, or the server, went away."""

BROKEN_SQLITE = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_CONSTRAINT,
)
BROKEN_POSTGRESQL = ("XX", "42P01", "23505")
"""How codes begin where what is stored is not what was written: a table is gone, or a ledger of
which the events are still there.
"""
NOT_LET_IN = ("does not exist", "authentication failed", "no password", "pg_hba.conf", "denied")

BEGIN_SQLITE = "BEGIN IMMEDIATE"
BEGIN_POSTGRESQL = "BEGIN ISOLATION LEVEL READ COMMITTED"

SETTINGS = {
    "lock_timeout": int(1000 * LOCK_PATIENCE),
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}
"""Of a connection to PostgreSQL. Every statement here finds its rows by an index.

Left to itself, the server would plan each of them again every time, and read a table from end to
end as long as it has not counted its rows.
"""

ERRORS = sa.exc.DBAPIError, UnicodeDecodeError
"""What goes wrong in a database, beside the errors of its driver."""

_inherited: list[Any] = []
"""Connections that a forked child has from its parent. To close them would disturb the parent."""


class Database:
    """A database, its connections, and what to call it in messages.

    Parameters
    ----------
    url : str
        As in `sqlite:///films.db` or `postgresql://user@host/name`.
    """

    def __init__(self, url: str) -> None:
        self.url = _checked(url)
        self._file: tuple[int, int] | None = None
        self.waited = False  # whether the last transaction on SQLite had to, for another process
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.shown = _shown(self.url)
        what = log_damage(self.shown) if self.sqlite else None
        if what is not None:
            raise damaged(f"{self.shown}-wal", what)
        self.after_fork()
        renewed(self)

    def after_fork(self) -> None:
        """Make fresh connections, and leave alone those of the parent of a forked child."""
        _inherited.append(getattr(self, "_idle", None))
        self._gate = Gate(self.close if self.sqlite else None)
        # No pool with locks: a signal in the main thread could leave one taken for ever.
        self._idle: deque[sa.Connection] = deque()
        self._engine = self._made()

    def _made(self) -> sa.Engine:
        if self.sqlite:
            engine = sa.create_engine(
                self.url,
                poolclass=sa.pool.NullPool,
                isolation_level="AUTOCOMMIT",  # the transactions are ours
                connect_args={"timeout": LOCK_PATIENCE, "check_same_thread": False},
            )
            sa.event.listen(engine, "connect", _prepare_sqlite)
            return engine
        try:
            engine = sa.create_engine(
                self.url.set(drivername=DRIVERS["postgresql"]),
                poolclass=sa.pool.NullPool,
                isolation_level="AUTOCOMMIT",
                connect_args={"connect_timeout": 10},
            )
        except ImportError as error:  # the package, or the C library that it needs
            raise ModuleNotFoundError(
                f"a store on PostgreSQL needs the package 'psycopg': {error}: "
                "pip install 'projbandits[store]'"
            ) from error
        sa.event.listen(engine, "connect", _prepare_postgresql)
        return engine

    def insist(self, call: Callable[[], Answer]) -> Answer:
        """Return what a call does; if its connection is lost, try again for a while."""
        until, pause = time.monotonic() + RECONNECTING, 0.01
        while True:
            try:
                return call()
            except UnavailableError as error:
                if not error.lost or time.monotonic() > until:
                    raise
                self.close()  # the other connections are likely to be lost too
                time.sleep(pause)
                pause = min(2 * pause, 0.5)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Give a connection on which each statement sees one state of the database."""
        # In one piece, for every call comes this way: a context of its own for each part of it
        # would take as long as the statements do.
        gate, token = self._gate, object()
        try:
            gate.enter(token)
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._engine.connect()
            try:
                yield connection
            except BaseException as error:
                _drop(connection)
                before = error.__context__
                if isinstance(error, AssertionError) and not isinstance(before, Exception | None):
                    # An interrupt inside of psycopg's pipeline comes out as psycopg's surprise.
                    raise before from None
                raise
            if len(self._idle) < IDLE:
                self._idle.append(connection)
            else:
                connection.close()
        except (*ERRORS, self._engine.dialect.loaded_dbapi.Error) as error:
            known = self._known(error)
            if known is None:
                raise  # a fault of this library
            raise known from error
        finally:
            gate.leave(token)

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Give a connection in a transaction, which is committed at the end or undone."""
        with self.reading() as connection, self._transaction(connection):
            yield connection

    @contextmanager
    def appending(self) -> Iterator[sa.Connection]:
        """Give what `writing` does to `Statement` and its like, in as few round trips as can be.

        Nothing is waited for until something is fetched, or everything is committed.
        """
        with self.reading() as connection, unread(connection), self._transaction(connection):
            yield connection

    @contextmanager
    def _transaction(self, connection: sa.Connection) -> Iterator[None]:
        # SQLite would find the file locked if a transaction began by reading, and then wrote. On
        # PostgreSQL a statement after the one that waited for the lock must see what was committed.
        if self.sqlite:
            self._check_file()
            began = time.monotonic()
            (_take_turns if self.waited else command)(connection, BEGIN_SQLITE)
            self.waited = time.monotonic() - began > LOOK_AGAIN
        else:
            command(connection, BEGIN_POSTGRESQL)
        # An error closes the connection, which undoes the transaction.
        yield
        command(connection, "COMMIT")

    def file(self) -> tuple[int, int] | None:
        """Return what tells one SQLite file from another in its place; None if there is none."""
        try:
            found = os.stat(self.shown)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def has_table(self, name: str) -> bool:
        """Tell whether a SQLite file has a table, and change nothing: it may be somebody else's."""
        uri, token = f"file:{quote(self.shown)}?mode=ro", object()
        try:
            self._gate.enter(token)
            with closing(sqlite3.connect(uri, uri=True, timeout=LOCK_PATIENCE)) as connection:
                found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [name])
                return found.fetchone() is not None
        except (*ERRORS, sqlite3.Error) as error:
            raise self._known(error) or error from error
        finally:
            self._gate.leave(token)

    def _known(self, error: Exception) -> Exception | None:
        """Return an error of the database as one that names it and says what to do."""
        if isinstance(error, UnicodeDecodeError):
            return damaged(self.shown, "a text in it is none")
        said = error.orig if isinstance(error, sa.exc.DBAPIError) else error
        return (_of_sqlite if self.sqlite else _of_postgresql)(said, self.shown)

    def _check_file(self) -> None:
        """Raise if the file was replaced: what is written to the old one would be lost."""
        found = self.file()
        self._file = self._file or found
        if found is None or found != self._file:
            raise UnavailableError(
                f"{self.shown} was moved, deleted or replaced while it was in use: put it back, or "
                "start this process again to use what is there now"
            )

    def close(self) -> None:
        """Close all connections; the next use opens new ones."""
        while self._idle:
            _drop(self._idle.pop())


def _checked(url: str) -> URL:
    parsed = None
    if isinstance(url, str):
        with suppress(sa.exc.ArgumentError, ValueError):
            parsed = make_url(url)
    if parsed is None or parsed.get_backend_name() not in DRIVERS:
        kind = str(url).partition(":")[0]  # the rest may hold a password
        raise ValueError(
            f"store must be a URL such as 'sqlite:///films.db' or 'postgresql://user@host/name', "
            f"got one that begins with {kind!r}"
        )
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise ValueError(
            "store must name a file, as in 'sqlite:///films.db'; to keep a ledger in memory, "
            "leave store out"
        )
    if parsed.get_backend_name() == "sqlite":
        parsed = parsed.set(database=os.path.abspath(str(parsed.database)))
    return parsed


def _shown(url: URL) -> str:
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.difference_update_query(["password"]).render_as_string(hide_password=True)


def _prepare_sqlite(connection: sqlite3.Connection, _: Any) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA fullfsync=ON")


def _take_turns(connection: sa.Connection, begin: str) -> None:
    """Begin as soon as no other process writes.

    Left to itself, SQLite looks again ever more seldom, up to a tenth of a second apart: under
    load, whoever waits loses its turn to whoever just comes.
    """
    until = time.monotonic() + LOCK_PATIENCE
    command(connection, "PRAGMA busy_timeout=0")
    while True:
        try:
            command(connection, begin)
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(LOOK_AGAIN)
    command(connection, f"PRAGMA busy_timeout={1000 * LOCK_PATIENCE:.0f}")


def _prepare_postgresql(connection: Any, _: Any) -> None:
    """Wait for the disk at each commit, whatever the server's default; not for ever for a lock."""
    from psycopg.types.numeric import FloatBinaryDumper, Int8BinaryDumper
    from psycopg.types.string import BytesBinaryDumper

    # Numbers as they are. By default each has the smallest type that holds it, and a statement is
    # prepared anew for every combination of types.
    for kind, dumper in ((int, Int8BinaryDumper), (float, FloatBinaryDumper)):
        connection.adapters.register_dumper(kind, dumper)
    connection.adapters.register_dumper(bytes, BytesBinaryDumper)
    cursor = connection.cursor()
    cursor.execute("".join(f"SET {name} = {value}; " for name, value in SETTINGS.items()))
    if cursor.execute("SHOW synchronous_commit").fetchone() == ("off",):
        cursor.execute("SET synchronous_commit = on")


def _drop(connection: sa.Connection) -> None:
    """Close a connection that may be lost, in the middle of something, or both."""
    connection.invalidate()
    connection.close()


def _of_sqlite(error: Any, path: str) -> Exception | None:
    said = str(error)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in BROKEN_SQLITE or said.startswith("no such table: projbandits_"):
        return damaged(path, said)
    remedies = {
        sqlite3.SQLITE_READONLY: "let this user write the file and its folder",
        sqlite3.SQLITE_PERM: "let this user write the file and its folder",
        sqlite3.SQLITE_FULL: "make room on its disk, then call again; nothing was changed",
        sqlite3.SQLITE_CANTOPEN: "create its folder, or let this user read and write it",
        sqlite3.SQLITE_IOERR: "see to its disk, then call again with the same id",
        sqlite3.SQLITE_BUSY: f"another process kept it for {LOCK_PATIENCE:.0f} s; call again",
        sqlite3.SQLITE_LOCKED: "another connection keeps it; call again",
    }
    return UnavailableError(f"{path}: {said}: {remedies[code]}") if code in remedies else None


def _of_postgresql(error: Any, shown: str) -> Exception | None:
    said = str(error).strip().splitlines()[0] if str(error).strip() else "no answer"
    state = getattr(error, "sqlstate", None) or ""
    if state.startswith(BROKEN_POSTGRESQL):
        return damaged(shown, said)
    if state.startswith("53"):
        return UnavailableError(f"{shown}: {said}: make room on the server, then call again")
    if state == "25006":
        return UnavailableError(f"{shown}: {said}: connect to the primary server, not to a standby")
    # Who is not let in gets no code, only words.
    refused = not state and "FATAL" in said and any(word in said for word in NOT_LET_IN)
    if refused or state in ("42501", "28000", "28P01", "3D000"):
        return UnavailableError(
            f"{shown}: {said}: see to the names of user and database, the password and the rights"
        )
    if state in ("55P03", "40P01", "40001", "57014"):
        return UnavailableError(f"{shown}: {said}: another process kept the ledger; call again")
    cut = not state and type(error).__name__ in ("OperationalError", "InterfaceError")
    if cut or state.startswith(NO_CONNECTION):
        return UnavailableError(
            f"{shown}: {said}: see that the server runs, then call again with the same id",
            lost=True,
        )
    return None


def damaged(shown: str, what: str) -> DamagedError:
    """Return the error for a database whose content is not what was written to it."""
    return DamagedError(
        f"{shown} is damaged: {what}; restore it from a backup (docs/durability.md says how), "
        "and see what `projbandits ledger check` finds"
    )
