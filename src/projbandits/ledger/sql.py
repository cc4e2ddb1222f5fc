"""Statements that are compiled once and then given to the driver as they are.

SQLAlchemy writes them for each database. What it does for every execution (result objects, caches,
events) would take longer than the databases do, twenty times in every ask and tell.
"""

from __future__ import annotations

import importlib
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import compress
from typing import Any

import sqlalchemy as sa

SIZES = (1, 4, 16, 64, 256, 1024)
"""For how many values at once a statement that looks for several is compiled."""

ROWS = (64, 16, 4, 2, 1)
"""How many rows one statement adds on a server."""

Fetch = Callable[[], list[Any]]
"""Returns the rows of a statement that was sent; only then its answer is waited for."""


class Statement:
    """A statement of SQLAlchemy that is executed by the driver itself.

    Parameters
    ----------
    core : select, insert, update or delete
        The statement; its parameters are named, and none is a list.

    Examples
    --------
    >>> import sqlalchemy as sa
    >>> from projbandits.ledger.sql import Statement
    >>> add = Statement(sa.select((sa.bindparam("a", type_=sa.Integer) + 1).label("more")))
    >>> engine = sa.create_engine("sqlite://")
    >>> with engine.connect() as connection:
    ...     add.rows(connection, {"a": 4})
    [Row(more=5)]
    >>> engine.dispose()
    """

    def __init__(self, core: Any) -> None:
        self.core = core
        self._made: dict[str, tuple[str, Any, dict[str, Any], Any]] = {}

    def rows(self, connection: sa.Connection, values: Mapping[str, Any]) -> list[Any]:
        """Execute it and return all rows, as tuples with names."""
        return self.sent(connection, values)()

    def sent(self, connection: sa.Connection, values: Mapping[str, Any]) -> Fetch:
        """Execute it and return what fetches its rows; several go to a server in one trip."""
        text, names, constants, make = self._for(connection)
        cursor = _cursor(connection)
        cursor.execute(text, [values[n] if n in values else constants[n] for n in names])

        def fetch() -> list[Any]:
            try:
                return [*map(make, cursor.fetchall())]
            finally:
                cursor.close()

        return fetch

    def run(self, connection: sa.Connection, many: Sequence[Mapping[str, Any]]) -> None:
        """Execute it for each of several sets of values."""
        text, names, constants, _ = self._for(connection)
        cursor = _cursor(connection)
        try:
            for values in many:
                cursor.execute(text, [values[n] if n in values else constants[n] for n in names])
        finally:
            cursor.close()

    def _for(self, connection: sa.Connection) -> tuple[str, Any, dict[str, Any], Any]:
        found = self._made.get(connection.dialect.name)
        if found is None:
            compiled = self.core.compile(dialect=_dialect(connection))
            columns = getattr(self.core, "selected_columns", ())
            row: Any = namedtuple("Row", [column.key for column in columns])  # type: ignore[misc]
            names = compiled.positiontup or ()
            found = str(compiled), names, dict(compiled.params), row._make
            self._made[connection.dialect.name] = found
        return found


class Among:
    """A select of the rows where a column has one of several values.

    It is compiled for a few numbers of values; of fewer, the last is repeated.

    Parameters
    ----------
    core : select
        The statement without that condition.
    column : column
        Whose values they are.

    Examples
    --------
    >>> import sqlalchemy as sa
    >>> from projbandits.ledger.sql import Among
    >>> films = sa.Table("films", sa.MetaData(), sa.Column("n", sa.Integer))
    >>> engine = sa.create_engine("sqlite://")
    >>> with engine.connect() as connection:
    ...     films.create(connection)
    ...     _ = connection.execute(films.insert(), [{"n": 1}, {"n": 2}, {"n": 3}])
    ...     Among(sa.select(films.c.n), films.c.n).sent(connection, [3, 1])()
    [Row(n=1), Row(n=3)]
    >>> engine.dispose()
    """

    def __init__(self, core: Any, column: Any) -> None:
        self._core, self._column = core, column
        self._sized: dict[int, Statement] = {}

    def sent(self, connection: sa.Connection, values: Sequence[int]) -> Fetch:
        """Execute it and return what fetches its rows."""
        most = SIZES[-1]
        parts = [values[start : start + most] for start in range(0, len(values), most)]
        fetches = [self._sent(connection, part) for part in parts]
        return lambda: [row for fetch in fetches for row in fetch()]

    def _sent(self, connection: sa.Connection, values: Sequence[int]) -> Fetch:
        size = next(size for size in SIZES if size >= len(values))
        if size not in self._sized:
            names = [sa.bindparam(f"value{i}", type_=self._column.type) for i in range(size)]
            self._sized[size] = Statement(self._core.where(self._column.in_(names)))
        padded = [*values, *[values[-1]] * (size - len(values))]
        return self._sized[size].sent(connection, {f"value{i}": v for i, v in enumerate(padded)})


class Insert:
    """Adds rows to a table; what is None in them is left out.

    A server gets several rows in one statement. SQLite is in the same process, and has no use for
    that.

    Parameters
    ----------
    table : Table
        Where they go.
    """

    def __init__(self, table: sa.Table) -> None:
        self._table = table
        self._names = [column.name for column in table.columns]
        self._made: dict[tuple[str, tuple[bool, ...], int], str] = {}

    def run(self, connection: sa.Connection, rows: Sequence[Sequence[Any]]) -> None:
        """Add rows, each with a value for every column, in the order of the table."""
        alike: dict[tuple[bool, ...], list[list[Any]]] = {}
        for row in rows:
            there = tuple([value is not None for value in row])
            alike.setdefault(there, []).append([value for value in row if value is not None])
        cursor = _cursor(connection)
        try:
            for there, some in alike.items():
                if connection.dialect.name == "sqlite":
                    cursor.executemany(self._text(connection, there, 1), some)
                    continue
                start = 0
                while start < len(some):
                    size = next(size for size in ROWS if size <= len(some) - start)
                    values = [value for row in some[start : start + size] for value in row]
                    cursor.execute(self._text(connection, there, size), values)
                    start += size
        finally:
            cursor.close()

    def _text(self, connection: sa.Connection, there: tuple[bool, ...], size: int) -> str:
        key = connection.dialect.name, there, size
        if key not in self._made:
            names = list(compress(self._names, there))
            rows: list[dict[str, Any]] = [
                {name: sa.bindparam(f"{name}_{i}") for name in names} for i in range(size)
            ]
            compiled = self._table.insert().values(rows).compile(dialect=_dialect(connection))
            self._made[key] = str(compiled)
        return self._made[key]


def command(connection: sa.Connection, text: str) -> None:
    """Execute a command that has no values and returns nothing."""
    cursor = _driver(connection).cursor()
    cursor.execute(text)
    cursor.close()


def unread(connection: sa.Connection) -> AbstractContextManager[None]:
    """Send statements to a server without waiting for each; their errors come at the end."""
    driver = _driver(connection)
    return _unread(driver.pipeline) if hasattr(driver, "pipeline") else nullcontext()


@contextmanager
def _unread(pipeline: Callable[[], AbstractContextManager[Any]]) -> Iterator[None]:
    failed = None
    try:
        with pipeline():
            try:
                yield
            except BaseException as error:
                failed = error  # the driver would log what goes wrong after it
    finally:
        if failed is not None:
            raise failed


def _dialect(connection: sa.Connection) -> sa.Dialect:
    """Return how to write statements whose parameters go by their order."""
    if connection.dialect.name == "sqlite":
        return connection.dialect
    kind: Any = type(connection.dialect)
    server: sa.Dialect = kind(paramstyle="numeric_dollar")
    return server


def _cursor(connection: sa.Connection) -> Any:
    driver = _driver(connection)
    if connection.dialect.name == "sqlite":
        return driver.cursor()
    # It passes on what it is given, where others look through the text each time for parameters.
    # Numbers come as they are and not as text.
    cursor = importlib.import_module("psycopg").RawCursor(driver)
    cursor.format = 1
    return cursor


def _driver(connection: sa.Connection) -> Any:
    return connection.connection.dbapi_connection
