"""One connection to SQLite or PostgreSQL, and their errors in the library's words."""

from __future__ import annotations

import ctypes
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from projbandits.exceptions import DamagedError, UnavailableError
from projbandits.ledger.statements import ADD, ADD_MANY

Answer = TypeVar("Answer")
Row = tuple[Any, ...]

LOCK_PATIENCE = 30.0
"""For how many seconds a transaction waits for the one of another process."""

LOOK_AGAIN = 0.0005
"""After how many seconds a transaction that waits for another process looks again.

Left to itself, SQLite looks ever more seldom: under load, whoever waits loses its turn to whoever
just comes.
"""

RECONNECTING = 10.0
"""For how many seconds a call whose connection was lost is tried again."""

SETTINGS = {
    "lock_timeout": int(1000 * LOCK_PATIENCE),
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}
"""Of a connection to PostgreSQL: each statement finds its rows by an index, and is planned once."""

BROKEN_SQLITE = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_CONSTRAINT,
)
BROKEN_WORDS = ("no such table: projbandits_", "Could not decode to UTF-8")
BROKEN_POSTGRESQL = ("XX", "42P01", "23505")
"""How codes begin where what is stored is not what was written."""

NO_CONNECTION = ("08", "57P")
"""How PostgreSQL's codes begin when a connection, or the server, went away."""

NOT_LET_IN = ("does not exist", "authentication failed", "no password", "pg_hba.conf", "denied")

FORK_PATIENCE = 10.0
"""For how many seconds a fork waits for a transaction of another thread."""

_open: weakref.WeakSet[Database] = weakref.WeakSet()


class Database:
    """A connection to a database, which threads share.

    Parameters
    ----------
    url : str or None
        As in `sqlite:///films.db` or `postgresql://user@host/name`. None is a temporary database of
        this process: it spills to disk when it is large, and goes with the process.

    Examples
    --------
    >>> from projbandits.ledger.database import Database
    >>> database = Database(None)
    >>> database.read("SELECT 1 + ?", (2,))
    [(3,)]
    """

    def __init__(self, url: str | None) -> None:
        self.url = url
        self.temporary = url is None
        self.path = "" if url is None else _path_of(url)
        self.sqlite = self.path is not None
        self.shown = self.path or ("a temporary database" if url is None else _shown(url or ""))
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._raw: Any = None
        self._patient = True
        self._file: tuple[int, int] | None = None
        self._pid = os.getpid()
        _open.add(self)

    def here(self) -> None:
        """Begin anew in a forked child; the connection of its parent is neither used nor closed."""
        if self._pid == os.getpid():
            return
        if self.temporary:
            raise UnavailableError(
                "this decider lives in the process that made it, and this is a forked child: give "
                "it a store, as in pb.Decider(..., store='sqlite:///films.db', name='films')"
            )
        self._raw, self._lock, self._owner = None, threading.Lock(), None
        self._pid = os.getpid()

    def write_ahead(self) -> None:
        """Have a file of SQLite written ahead: who reads waits for nobody who writes."""
        if self.path:
            self.read("PRAGMA journal_mode=WAL")

    def read(self, text: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a statement that changes nothing."""
        self.here()
        return self.insist(lambda: self._read(text, values))

    def _read(self, text: str, values: Sequence[Any]) -> list[Row]:
        with self.exclusive():
            return self.run(text, values)

    def check_free(self) -> None:
        """Raise if this thread is in a transaction already."""
        if self._owner == threading.get_ident() and self._lock.locked():
            raise RuntimeError(
                "a strategy must not use its decider while it decides: pass all that it needs "
                "with the items, or in the context"
            )

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other threads from the connection; an error undoes what is unfinished."""
        self.check_free()
        with self._lock:
            yield from self._owned()  # an interrupt before its first line leaves no lock taken

    def _owned(self) -> Iterator[None]:
        try:
            self._owner = threading.get_ident()
            yield
        except BaseException as error:
            self._undo()
            known = self.translated(error)
            if known is None:
                raise  # a fault of this library, or of the caller's
            raise known from error
        finally:
            self._owner = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Begin a transaction, and commit it at the end; an error undoes it."""
        self.here()
        with self.exclusive():
            self.begun()
            yield
            self.committed()

    def begun(self, questions: Sequence[tuple[str, Sequence[Any]]] = ()) -> list[list[Row]]:
        """Begin a transaction, and return the rows of some statements, in one trip to a server."""
        if self.sqlite:
            self._begin()
            return [self.run(*question) for question in questions]
        with self._connected().pipeline():
            self._raw.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
            cursors = [
                self._raw.execute(_numbered(text), values, binary=True)
                for text, values in questions
            ]
            return [cursor.fetchall() for cursor in cursors]

    def committed(self, rows: Sequence[Row] = ()) -> None:
        """Add rows to the events and make the transaction durable, in one trip to a server."""
        if self.sqlite:
            if len(rows) == 1:
                self._raw.execute(ADD, rows[0])
            elif rows:
                self.change(ADD, rows)
            if self._raw.in_transaction:
                self._raw.execute("COMMIT")
            return
        with self._raw.pipeline():
            if rows:
                self._raw.execute(
                    _numbered(ADD_MANY), [[*column] for column in zip(*rows, strict=True)]
                )
            self._raw.execute("COMMIT")

    def _begin(self) -> None:
        """Begin a transaction on SQLite, and wait for those of other processes to end."""
        raw = self._connected()
        if raw.in_transaction:
            raw.rollback()  # a call that was interrupted left it
        if self.temporary:
            return  # nobody else writes; a lone row needs no transaction
        if self._patient:
            raw.execute("PRAGMA busy_timeout=0")
            self._patient = False
        self._check_file()
        until = time.monotonic() + LOCK_PATIENCE
        while True:
            try:
                raw.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > until:
                    raise
            time.sleep(LOOK_AGAIN)

    def run(self, text: str, values: Sequence[Any] = ()) -> list[Row]:
        """Execute a statement, within `exclusive` or a transaction, and return its rows."""
        raw = self._connected()
        if self.sqlite:
            found: list[Row] = raw.execute(text, values).fetchall()
            return found
        cursor = raw.execute(_numbered(text), values or None, binary=True)
        return cursor.fetchall() if cursor.description else []

    def change(self, text: str, rows: Sequence[Row]) -> None:
        """Execute a statement that writes, within a transaction, for each of several rows."""
        raw = self._connected()
        if self.sqlite:
            if not raw.in_transaction:
                raw.execute("BEGIN")
            raw.executemany(text, rows)
        elif rows:
            raw.cursor().executemany(_numbered(text), rows)

    def raw(self) -> Any:
        """Return the driver's connection."""
        return self._connected()

    def insist(self, call: Callable[[], Answer]) -> Answer:
        """Return what a call does; if its connection is lost, try again for a while."""
        until, pause = time.monotonic() + RECONNECTING, 0.01
        while True:
            try:
                return call()
            except UnavailableError as error:
                if not error.lost or time.monotonic() > until:
                    raise
                time.sleep(pause)
                pause = min(2 * pause, 0.5)

    def translated(self, error: BaseException) -> Exception | None:
        """Return an error of the driver as one that names the database and says what to do."""
        if self.sqlite and isinstance(error, sqlite3.Error):
            return _of_sqlite(error, self.shown)
        if not self.sqlite and type(error).__module__.startswith("psycopg"):
            return _of_postgresql(error, self.shown)
        return None

    def _undo(self) -> None:
        """Undo a transaction, if one is open; a server's connection is given up."""
        if self.sqlite:
            if self._raw is not None and self._raw.in_transaction:
                with suppress(sqlite3.Error):
                    self._raw.rollback()
        else:
            self._drop()

    def _drop(self) -> None:
        raw, self._raw = self._raw, None
        if raw is not None:
            with suppress(Exception):
                raw.close()

    def _connected(self) -> Any:
        if self._raw is None:
            self._raw = self._sqlite() if self.sqlite else self._postgresql()
        return self._raw

    def _sqlite(self) -> Any:
        raw = sqlite3.connect(
            self.path or "", timeout=LOCK_PATIENCE, isolation_level=None, check_same_thread=False
        )
        self._patient = True
        pragmas = ["synchronous=FULL", "fullfsync=ON"]
        if self.temporary:
            # A build may have other defaults: nothing of it need ever be on a disk.
            pragmas = ["journal_mode=MEMORY", "temp_store=FILE"]
        for pragma in ["trusted_schema=OFF", *pragmas]:
            raw.execute(f"PRAGMA {pragma}")
        return raw

    def _postgresql(self) -> Any:
        try:
            import psycopg
        except ImportError as error:  # the package, or the C library that it needs
            raise ModuleNotFoundError(
                f"a store on PostgreSQL needs the package 'psycopg': {error}: "
                "pip install 'projbandits[postgresql]'"
            ) from error
        from psycopg.types.numeric import FloatBinaryDumper, Int8BinaryDumper
        from psycopg.types.string import BytesBinaryDumper

        raw = psycopg.connect(
            self.url or "", autocommit=True, connect_timeout=10, cursor_factory=psycopg.RawCursor
        )
        # By default each number has the smallest type that holds it, and a statement is prepared
        # anew for every combination of types.
        for kind, dumper in ((int, Int8BinaryDumper), (float, FloatBinaryDumper)):
            raw.adapters.register_dumper(kind, dumper)
        raw.adapters.register_dumper(bytes, BytesBinaryDumper)
        raw.execute("".join(f"SET {name} = {value}; " for name, value in SETTINGS.items()))
        if raw.execute("SHOW synchronous_commit").fetchone() == ("off",):
            raw.execute("SET synchronous_commit = on")  # each commit waits for the disk
        return raw

    def file(self) -> tuple[int, int] | None:
        """Return what tells one SQLite file from another in its place; None if there is none."""
        try:
            found = os.stat(self.path or "")
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _check_file(self) -> None:
        """Raise if the file was replaced: what is written to the old one would be lost."""
        if self.temporary:
            return
        found = self.file()
        self._file = self._file or found
        if found is None or found != self._file:
            raise UnavailableError(
                f"{self.shown} was moved, deleted or replaced while it was in use: put it back, or "
                "start this process again to use what is there now"
            )

    def __del__(self) -> None:
        if getattr(self, "_pid", None) == os.getpid():  # a forked child leaves its parent's alone
            self._drop()

    def close(self) -> None:
        """Close the connection; the next use opens another."""
        if self._pid == os.getpid():
            with self._lock:
                self._drop()


_held_for_fork: list[threading.Lock] = []


def _before_fork() -> None:
    """Wait until no transaction is under way, and close the connections to files.

    SQLite keeps in the memory of a process which locks its connections hold: a child that is forked
    in the middle of a transaction would wait for ever for one that nobody gives back.
    """
    for database in [*_open]:
        lock = database._lock
        if database._owner != threading.get_ident() and lock.acquire(timeout=FORK_PATIENCE):
            _held_for_fork.append(lock)
            if database.path:
                database._drop()


def _after_fork() -> None:
    while _held_for_fork:
        _held_for_fork.pop().release()


def _in_child() -> None:
    """Hold on to the connections of a parent for ever.

    To close one, which Python does at the end of a process, would disturb the parent.
    """
    _held_for_fork.clear()
    for database in [*_open]:
        if database._raw is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(database._raw))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)


@cache
def _numbered(text: str) -> str:
    """Return a statement with the parameters of PostgreSQL."""
    first, *others = text.split("?")
    return first + "".join(f"${i}{part}" for i, part in enumerate(others, 1))


def _path_of(url: str) -> str | None:
    """Return the file of a URL of SQLite, None for one of PostgreSQL; raise if it is neither."""
    kind = str(url).partition(":")[0]
    if kind in ("postgresql", "postgres"):
        return None
    prefix = "sqlite:///"
    if not isinstance(url, str) or not url.startswith(prefix):
        raise ValueError(  # the rest may hold a password
            "store must be a URL such as 'sqlite:///films.db' or 'postgresql://user@host/name', "
            f"got one that begins with {kind!r}"
        )
    path = url.removeprefix(prefix)
    if path in ("", ":memory:"):
        raise ValueError(
            "store must name a file, as in 'sqlite:///films.db'; for a temporary ledger, leave "
            "store out"
        )
    return os.path.abspath(path)


def _shown(url: str) -> str:
    """Return a URL without its password."""
    parts = urlsplit(url)
    login, at, host = parts.netloc.rpartition("@")
    user = unquote(login.partition(":")[0]) + (":***" if ":" in login else "")
    query = f"?{parts.query}" if parts.query and "password" not in parts.query else ""
    return f"{parts.scheme}://{user}{at}{host}{parts.path}{query}"


def damaged(shown: str, what: str) -> DamagedError:
    """Return the error for a database whose content is not what was written to it."""
    return DamagedError(
        f"{shown} is damaged: {what}; restore it from a backup (docs/durability.md says how), "
        "and see what `projbandits ledger check` finds"
    )


def _of_sqlite(error: Any, path: str) -> Exception | None:
    said = str(error)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in BROKEN_SQLITE or said.startswith(BROKEN_WORDS):
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
