"""Statements that are compiled once and then given to the driver as they are.

SQLAlchemy writes them for each database. What it does for every execution (result objects, caches,
events) would take longer than the databases do, twenty times in every ask and tell.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import sqlalchemy as sa


class Statement:
    """A statement of SQLAlchemy that is executed by the driver itself.

    Parameters
    ----------
    core : select, insert, update or delete
        The statement; its parameters are named, and none is a list.

    Examples
    --------
    >>> import sqlalchemy as sa
    >>> from projbandits.ledger.statements import Statement
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
        text, names, constants, make = self._for(connection)
        cursor = _driver(connection).cursor()
        try:
            cursor.execute(text, _arranged(names, constants, values))
            return [make(row) for row in cursor.fetchall()]
        finally:
            cursor.close()

    def run(self, connection: sa.Connection, many: Sequence[Mapping[str, Any]]) -> None:
        """Execute it for each of several sets of values."""
        text, names, constants, _ = self._for(connection)
        cursor = _driver(connection).cursor()
        try:
            arranged = [_arranged(names, constants, values) for values in many]
            if len(arranged) == 1:
                cursor.execute(text, arranged[0])
            else:
                cursor.executemany(text, arranged)
        finally:
            cursor.close()

    def _for(self, connection: sa.Connection) -> tuple[str, Any, dict[str, Any], Any]:
        found = self._made.get(connection.dialect.name)
        if found is None:
            compiled = self.core.compile(dialect=connection.dialect)
            columns = getattr(self.core, "selected_columns", ())
            names = [column.key for column in columns]
            row: Any = namedtuple("Row", names)  # type: ignore[misc]
            found = str(compiled), compiled.positiontup, dict(compiled.params), row._make
            self._made[connection.dialect.name] = found
        return found


def command(connection: sa.Connection, text: str) -> None:
    """Execute a command that has no values and returns nothing."""
    cursor = _driver(connection).cursor()
    cursor.execute(text)
    cursor.close()


def unread(connection: sa.Connection) -> AbstractContextManager[Any]:
    """Send statements to a server without waiting for each; their errors come at the end."""
    pipeline = getattr(_driver(connection), "pipeline", None)
    return nullcontext() if pipeline is None else pipeline()


def _driver(connection: sa.Connection) -> Any:
    return connection.connection.dbapi_connection


def _arranged(names: Any, constants: dict[str, Any], values: Mapping[str, Any]) -> Any:
    everything = {**constants, **values}
    return everything if names is None else [everything[name] for name in names]
