"""Ledgers in SQLite and PostgreSQL: one file for a machine, one server for many."""

from __future__ import annotations

import math
import sqlite3
import time
import weakref
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from projbandits.exceptions import ConflictError, UnknownDecisionError
from projbandits.ledger import appending, columns, schema
from projbandits.ledger.appending import Head, Preparation, Written
from projbandits.ledger.batcher import Committer
from projbandits.ledger.connecting import Database, damaged
from projbandits.ledger.events import OUTCOMES, Decided, Described, Learnt, Opened
from projbandits.ledger.reading import Reader
from projbandits.ledger.snapshots import write_snapshot
from projbandits.ledger.sql_ledger import SqlLedger, Work, decided, no_arms

PAUSES = 10
"""How often a transaction waits for more work while it keeps coming.

The threads that bring it then run undisturbed, and share far fewer transactions.
"""

GLANCE = 0.3
"""For how many seconds a file is looked through when it is opened; a larger one in part."""

_open: weakref.WeakValueDictionary[tuple[str, object], SqlStore] = weakref.WeakValueDictionary()
"""The stores of this process: deciders on the same database share connections and flushes."""


def open_store(url: str, make: bool = True) -> SqlStore:
    """Return the store at a URL; all of this process on one database share it."""
    made = SqlStore(url, make)
    file = made.database.file() if made.database.sqlite else None
    return _open.setdefault((url, file), made)


class SqlStore:
    """Ledgers in a database.

    Parameters
    ----------
    url : str
        As in `sqlite:///films.db` or `postgresql://user@host/name`.
    make : bool
        Whether to make the tables if there are none; otherwise that is an error.

    Examples
    --------
    >>> import tempfile
    >>> from projbandits.ledger.store import SqlStore
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = SqlStore(f"sqlite:///{folder}/films.db")
    ...     print(store.names())
    ...     store.close()
    []
    """

    def __init__(self, url: str, make: bool = True) -> None:
        self.database = Database(url)
        if not make and not schema.is_there(self.database):
            raise UnknownDecisionError(
                f"{self.database.shown} holds no deciders: see that this is the right place; "
                "pb.Decider(..., store=..., name=...) makes one"
            )
        schema.prepare(self.database)
        self._glance()
        self._committer: Committer[Work, Any] = Committer(self._commit, PAUSES)
        self.flushes = 0  # transactions of this process

    def names(self) -> list[str]:
        """Return the names of the ledgers, sorted."""
        return self.database.insist(self._names)

    def _names(self) -> list[str]:
        with self.database.reading() as connection:
            return sorted(connection.execute(sa.select(schema.ledgers.c.name)).scalars())

    def create(self, name: str, opened: Opened) -> SqlLedger:
        """Make a new ledger; raise ConflictError if there is one of this name."""
        with self.database.writing() as connection:
            schema.lock(connection)
            if self._number(connection, name) is not None:
                raise ConflictError(
                    f"{self.database.shown} has a ledger named {name!r} already: open it"
                )
            made = {"name": name, "last": 1, "digest": 0, "rows": 0}
            connection.execute(schema.ledgers.insert().values(made))
            number = int(self._number(connection, name) or 0)
            row = columns.encode(opened, schema.place(number, 1))
            digest = columns.sealed(row, 0)
            appending.INSERT.run(connection, [row])
            appending.move(connection, number, Head(1, digest, 0))
        return self.open(name)

    def open(self, name: str) -> SqlLedger:
        """Return a ledger that is there; raise KeyError, with the names that are, if it is not."""
        return self.database.insist(lambda: self._open(name))

    def _open(self, name: str) -> SqlLedger:
        with self.database.reading() as connection:
            number = self._number(connection, name)
            if number is not None:
                reader = Reader(connection, number, no_arms, self.database.shown)
                (first,) = reader.entries(1, 1)
        if number is None:  # a second look within the first would keep a fork waiting
            shown = self.database.shown
            raise UnknownDecisionError(
                f"name must be one of {self.names()} in {shown}, got {name!r}"
            )
        if not isinstance(first.event, Opened):
            raise damaged(self.database.shown, f"ledger {name!r} does not begin with its opening")
        d = len(first.event.subspace)
        return SqlLedger(
            self.database, self._committer.submit, self.close, name=name, number=number, d=d
        )

    def record(self, works: Sequence[Work]) -> Sequence[Any]:
        """Have the work of several callers done in one transaction; return outcomes and errors."""
        return self._committer.submit_all(works)

    def problems(self, seconds: float = math.inf) -> list[str]:
        """Return what the database itself finds wrong with its file; a server sees to that.

        Parameters
        ----------
        seconds : float
            When to stop looking. A damaged index finds too little, which no checksum notices.
        """
        if not self.database.sqlite:
            return []
        until = time.monotonic() + seconds
        with self.database.reading() as connection:
            driver: Any = connection.connection.dbapi_connection
            driver.set_progress_handler(lambda: time.monotonic() > until, 10_000)
            try:
                said = connection.exec_driver_sql("PRAGMA integrity_check(10)").scalars().all()
            except sa.exc.OperationalError as error:
                if getattr(error.orig, "sqlite_errorcode", 0) != sqlite3.SQLITE_INTERRUPT:
                    raise
                said = ["ok"]
            finally:
                driver.set_progress_handler(None, 0)
        return [] if said == ["ok"] else list(said)

    def _glance(self) -> None:
        said = self.problems(GLANCE)
        if said:
            raise damaged(self.database.shown, said[0])

    def close(self) -> None:
        """Finish what was begun, and close all connections; another call opens new ones."""
        self._committer.close()
        self.database.close()

    @staticmethod
    def _number(connection: sa.Connection, name: str) -> int | None:
        chosen = sa.select(schema.ledgers.c.number).where(schema.ledgers.c.name == name)
        return connection.execute(chosen).scalar()

    def _commit(self, works: Sequence[Work]) -> list[Any]:
        """Commit in one transaction; if the connection is lost, find out whether it was."""
        going = decided(works)
        outcomes: dict[int, list[int | Exception]] = {}
        if going:
            before: dict[int, Written] = {}
            packed = columns.offers_packed(event for work in going for event in work.events)
            done = self.database.insist(lambda: self._try(going, packed, before))
            self.flushes += 1
            for work in going:
                number = work.ledger.number
                if number not in outcomes:
                    work.ledger.added(done[number])
                    outcomes[number] = done[number].outcomes[::-1]
        return [work.failed or _answered(work, outcomes) for work in works]

    def _try(
        self, works: Sequence[Work], packed: dict[int, bytes], before: dict[int, Written]
    ) -> dict[int, Written]:
        """Run the transaction; `before` is what the last attempt wrote, and gets what this does."""
        # Of several openings of one ledger the first, the one that `_commit` tells of it.
        ledgers = {work.ledger.number: work.ledger for work in reversed(works)}
        with self.database.appending() as connection:
            turns = [_Turn(connection, ledgers[n], works) for n in sorted(ledgers)]
            heads = {turn.number: turn.head() for turn in turns}
            if any(appending.is_there(connection, n, before[n]) for n in before):
                return before
            written = {turn.number: turn.prepared(heads[turn.number], packed) for turn in turns}
            before.clear()
            before.update(written)
            for number in heads:
                appending.write(connection, number, written[number])
        return written


class _Turn:
    """What a transaction does in one ledger, which nobody else changes meanwhile."""

    def __init__(self, connection: sa.Connection, ledger: SqlLedger, works: Sequence[Work]) -> None:
        self.number, self._ledger = ledger.number, ledger
        self._works = [work for work in works if work.ledger.number == ledger.number]
        ids, self._keys = set[str](), set[str]()
        for work in self._works:
            for event in work.events:
                if isinstance(event, OUTCOMES) or (isinstance(event, Decided) and not work.fresh):
                    ids.add(event.id)
                elif isinstance(event, Learnt | Described):
                    self._keys.add(event.key)
        self._sure, self._decided = ledger.kept(ids)
        self._ids = ids
        self._reader = ledger.reader(connection)
        unsure = [*self._sure.values(), *self._decided]
        self._locked = appending.Locked(self._reader, ledger.shared, unsure)

    def head(self) -> Head:
        """Return where the ledger stands."""
        return self._locked.head()

    def prepared(self, head: Head, packed: dict[int, bytes]) -> Written:
        """Return what is to be written."""
        ledger, reader = self._ledger, self._reader
        ledger.shared = head != ledger.left
        if ledger.shared:
            held = self._locked.became(head)
        else:
            held = self._sure | (reader.became(self._decided) if self._decided else {})
        unknown = self._ids - held.keys()
        if unknown:
            held |= reader.held(unknown)
        for work in self._works:
            if work.snapshot is not None:
                write_snapshot(reader.connection, self.number, work.snapshot)
        preparation = Preparation(reader, head, held, self._keys, packed)
        return preparation.written([work.events for work in self._works])


def _answered(work: Work, outcomes: dict[int, list[int | Exception]]) -> Any:
    """Return what a caller gets: the next outcome of its ledger, or what was decided."""
    outcome = outcomes[work.ledger.number].pop()
    return outcome if isinstance(outcome, Exception) or work.answer is None else work.answer
