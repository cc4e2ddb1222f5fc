"""Ledgers in one database: SQLite for one machine, PostgreSQL for many, or a temporary one."""

from __future__ import annotations

import os
import sqlite3
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from projbandits.exceptions import ConflictError, UnknownDecisionError
from projbandits.ledger import schema, snapshots, statements
from projbandits.ledger.batcher import Batcher, Job
from projbandits.ledger.database import Database, Row, damaged
from projbandits.ledger.events import GENESIS, Opened, encode, kind_of, link
from projbandits.ledger.fold import Known
from projbandits.ledger.ledger import Decide, Ledger, Transaction
from projbandits.strategies import LinearStrategy

Work = tuple[Ledger, Decide[Any]]
Result = tuple[Any, BaseException | None]
"""An answer, or the error that its caller gets."""

GLANCE = 0.3
"""For how many seconds a file is looked through when it is opened; a larger one in part."""

TEMPORARY = "decider"
"""The name of the ledger in a temporary database, and in a saved one."""

_open: weakref.WeakValueDictionary[tuple[str, object], Store] = weakref.WeakValueDictionary()
"""The stores of this process: deciders on the same database share connections and transactions."""


def open_store(url: str, make: bool = True) -> Store:
    """Return the store at a URL; all of this process on one database share it."""
    made = Store(url, make)
    return _open.setdefault((url, made.database.file()), made)


class Store:
    """Ledgers in a database.

    Parameters
    ----------
    url : str or None
        As in `sqlite:///films.db` or `postgresql://user@host/name`; None is a temporary one.
    make : bool
        Whether to make the tables if there are none; otherwise that is an error.

    Examples
    --------
    >>> from projbandits.ledger.store import Store
    >>> Store(None).names()
    []
    """

    def __init__(self, url: str | None, make: bool = True) -> None:
        self.url = url
        self.database = Database(url)
        # Long readings do not keep those who write waiting.
        self._readings = self.database if url is None else Database(url)
        self.shown = self.database.shown
        schema.prepare(self.database, make)
        if url is not None:
            self._glance()
        self._begin()

    def _begin(self) -> None:
        self._batcher: Batcher[Work] = Batcher(self._run)
        self._pid = os.getpid()
        self.flushes = 0  # transactions of this process

    def _here(self) -> None:
        """Begin anew in a forked child."""
        if self._pid != os.getpid():
            self.database.here()
            self._begin()

    def read(self, text: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a statement that changes nothing."""
        return self._readings.read(text, values)

    def names(self) -> list[str]:
        """Return the names of the ledgers, sorted."""
        return [name for (name,) in self.read(statements.NAMES)]

    def create(self, name: str, opened: Opened, given: Sequence[LinearStrategy] = ()) -> Ledger:
        """Make a new ledger; raise ConflictError if there is one of this name."""
        self._here()
        database, body = self.database, encode(opened)
        with database.transaction():
            if not database.sqlite:
                database.run(statements.ONE_AT_A_TIME)
            if database.run(statements.NUMBER, (name,)):
                raise ConflictError(f"{self.shown} has a ledger named {name!r} already: open it")
            database.run(statements.NEW_LEDGER, (name,))
            number = database.run(statements.NUMBER, (name,))[0][0]
            row = number, 1, kind_of(opened), None, body, link(GENESIS, body)
            database.run(statements.ADD, row)
        return Ledger(self, number, name, given)

    def remove(self, name: str, *, used: bool = True) -> bool:
        """Remove a ledger with all its events; one that is not there is no error.

        Parameters
        ----------
        name : str
            The name of the ledger.
        used : bool
            Whether to remove it although something was decided or learnt; otherwise this returns
            False then.
        """
        self._here()
        with self.database.transaction():
            for (number,) in self.database.run(statements.NUMBER, (name,)):
                if not self.database.sqlite:
                    self.database.run(statements.LOCK, (number,))
                if not used and self.database.run(statements.USED, (number,)):
                    return False
                for statement in statements.REMOVE_LEDGER:
                    self.database.change(statement, [(number,)])
        return True

    def open(self, name: str, given: Sequence[LinearStrategy] = ()) -> Ledger:
        """Return a ledger that is there; raise an error, with the names that are, if it is not."""
        self._here()
        found = self.read(statements.NUMBER, (name,))
        if not found:
            raise UnknownDecisionError(
                f"name must be one of {self.names()} in {self.shown}, got {name!r}"
            )
        return Ledger(self, found[0][0], name, given)

    def transact(self, ledger: Ledger, decide: Decide[Any]) -> Any:
        """Return what `decide` returns once what it appended is durable."""
        self._here()
        self.database.check_free()
        if not self.database.temporary:
            return self._batcher.do((ledger, decide))
        ((answer, error),) = self._results([(ledger, decide)])
        if error is not None:
            raise error
        return answer

    def submit(self, ledger: Ledger, decide: Decide[Any]) -> Future[Any]:
        """Return a future of what `decide` returns once what it appended is durable."""
        self._here()
        self.database.check_free()
        if not self.database.temporary:
            return self._batcher.submit((ledger, decide))
        future = Future[Any]()
        self._batcher.now([((ledger, decide), future)])
        return future

    def look(self, ledger: Ledger) -> Known:
        """Return what is known of a ledger now."""
        self._here()
        database = self.database

        def once() -> Known:
            with database.exclusive():
                tx = Transaction(ledger, database)
                if not (ledger.sure and database.temporary):
                    since = ledger.number, tx.position
                    tx.caught_up(database.run(statements.FROM_POSITION, since))
                known = tx.known
                tx.done()
                return known

        return database.insist(once)

    def _run(self, jobs: Sequence[Job[Work]]) -> None:
        """Run what callers want in one transaction; if the connection is lost, once more."""
        jobs = [job for job in jobs if job[1].set_running_or_notify_cancel()]
        results = self._results([work for work, _ in jobs])
        for (_, future), (answer, error) in zip(jobs, results, strict=True):
            if error is None:
                future.set_result(answer)
            else:
                future.set_exception(error)

    def _results(self, works: Sequence[Work]) -> list[Result]:
        self.flushes += 1
        return self.database.insist(_Attempt(self.database, works).made)

    def problems(self, seconds: float = 1e9) -> list[str]:
        """Return what the database itself finds wrong with its file; a server sees to that.

        Parameters
        ----------
        seconds : float
            When to stop looking. A damaged index finds too little, which no hash notices.
        """
        if not self.database.sqlite:
            return []
        until = time.monotonic() + seconds
        with self._readings.exclusive():
            raw = self._readings.raw()
            raw.set_progress_handler(lambda: time.monotonic() > until, 10_000)
            try:
                said = [row[0] for row in raw.execute("PRAGMA integrity_check(10)").fetchall()]
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                    raise
                said = ["ok"]
            finally:
                raw.set_progress_handler(None, 0)
        return [] if said == ["ok"] else said

    def _glance(self) -> None:
        said = self.problems(GLANCE)
        if said:
            raise damaged(self.shown, said[0])

    def close(self) -> None:
        """Finish what was begun, and close the connections; another call opens new ones."""
        self._here()
        self.database.check_free()
        self._batcher.close()
        if not self.database.temporary:
            self.database.close()
            self._readings.close()


class _Attempt:
    """One transaction for several callers, which is tried again if the connection is lost."""

    def __init__(self, database: Database, works: Sequence[Work]) -> None:
        self._database, self._works = database, works
        self._ledgers = sorted({ledger for ledger, _ in works}, key=lambda each: each.number)
        self._heads: list[tuple[int, int, bytes]] = []
        self._results: list[Result] = []

    def made(self) -> list[Result]:
        """Return the answer, or the error, of each caller."""
        try:
            with self._database.exclusive():
                return self._made()
        except BaseException:
            for ledger in self._ledgers:
                ledger.forget()
            raise

    def _made(self) -> list[Result]:
        database, questions = self._database, list[tuple[str, tuple[Any, ...]]]()
        # Nobody else adds to a temporary database.
        unsure = [each for each in self._ledgers if not (database.temporary and each.sure)]
        for ledger in unsure:
            if not database.sqlite:
                questions.append((statements.LOCK, (ledger.number,)))
            since = ledger.number, ledger.place.position
            questions.append((statements.FROM_POSITION, since))
        answers = database.begun(questions)
        if not database.sqlite:
            answers = answers[1::2]
        if self._heads and all(
            database.run(statements.HASH, (number, position)) == [(digest,)]
            for number, position, digest in self._heads
        ):
            return self._results  # it was committed before the connection was lost
        txs = {ledger.number: Transaction(ledger, database) for ledger in self._ledgers}
        for ledger, rows in zip(unsure, answers, strict=True):
            txs[ledger.number].caught_up(rows)
        self._results = [
            self._outcome(txs[ledger.number], decide) for ledger, decide in self._works
        ]
        self._heads = [(n, tx.position, tx.hash) for n, tx in txs.items() if tx.added]
        rows, kept = list[Row](), list[Transaction]()
        for tx in txs.values():
            more, body = tx.finished()
            rows += more
            if body is not None:
                _keep(database, tx, body)
                kept.append(tx)
            tx.ledger.sure = False
        database.committed(rows)
        for tx in txs.values():
            tx.done()
        for tx in kept:
            tx.ledger.kept_at = tx.position
        return self._results

    def _outcome(self, tx: Transaction, decide: Decide[Any]) -> Result:
        mark = tx.mark()
        try:
            return decide(tx), None
        except BaseException as error:
            known = self._database.translated(error)
            if known is not None:
                raise known from error  # of the database: for all
            if len(self._works) == 1 and not isinstance(error, Exception):
                raise  # an interrupt may come anywhere
            tx.back(mark)
            return None, error


def _keep(database: Database, tx: Transaction, body: bytes) -> None:
    """Keep a snapshot of what a transaction knows, and drop older ones."""
    number, position = tx.ledger.number, tx.position
    there = [at for (at,) in database.run(statements.SNAPSHOTS, (number,))]
    for dropped in snapshots.too_many([position, *there]):
        database.change(statements.DROP_SNAPSHOT, [(number, dropped)])
    if position not in there:
        database.change(statements.KEEP, [(number, position, body, snapshots.seal(tx.hash, body))])
