"""The layout of a store: making it, and refusing others."""

from __future__ import annotations

from projbandits.exceptions import UnknownDecisionError, VersionError
from projbandits.ledger.database import Database, damaged
from projbandits.ledger.statements import (
    HAS_TABLES,
    ONE_AT_A_TIME,
    SCHEMA_VERSION,
    TABLES,
    TYPES,
    VERSION,
)


def version(database: Database) -> int | None:
    """Return the version of a database's layout; None if it holds no ledgers yet."""
    if database.read(HAS_TABLES[database.sqlite]) == [(0,)]:
        return None
    found = database.read(SCHEMA_VERSION)
    if len(found) != 1:
        raise damaged(database.shown, "its layout has no version")
    return int(found[0][0])


def prepare(database: Database, make: bool = True) -> None:
    """Make the tables where there are none, and raise if they are of another version."""
    absent = not make and database.sqlite and database.file() is None
    found = None if absent else version(database)
    if found is None and not make:
        raise UnknownDecisionError(
            f"{database.shown} holds no deciders: see that this is the right place; "
            "pb.Decider(..., store=..., name=...) makes one"
        )
    if found is None:
        database.write_ahead()
        with database.transaction():
            if not database.sqlite:
                database.run(ONE_AT_A_TIME)
            if database.run(HAS_TABLES[database.sqlite]) == [(0,)]:
                for statement in TABLES.format(**TYPES[database.sqlite]).split(";"):
                    database.run(statement)
        found = version(database)
    if found != VERSION:
        raise VersionError(
            f"{database.shown} has layout {found}, and this version of projbandits reads layout "
            f"{VERSION} alone: install the projbandits that wrote it, or name another place"
        )
    database.write_ahead()
