"""The tables of a store, the version of their layout, and how an older layout becomes a newer one.

A ledger is a row of `projbandits_ledgers`, and its events are rows of `projbandits_events`. Both
databases have the same tables, and the same statements are run on them.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import sqlalchemy as sa

from projbandits.exceptions import VersionError
from projbandits.ledger.codec import EVENT_KINDS
from projbandits.ledger.connecting import Database
from projbandits.ledger.events import Offered

MOST_EVENTS = 2**40
"""How many events a ledger may have."""

VERSION = 2
"""The version of the layout below."""

MIGRATIONS: dict[int, Callable[[sa.Connection], None]] = {}
"""What makes version v + 1 of version v, by v."""

metadata = sa.MetaData()
Count = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Real: sa.Double[float] = sa.Double()

versions = sa.Table(
    "projbandits_schema", metadata, sa.Column("version", sa.Integer, nullable=False)
)

ledgers = sa.Table(
    "projbandits_ledgers",
    metadata,
    sa.Column("number", Count, primary_key=True, autoincrement=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("last", Count, nullable=False),  # the position of the last event
    sa.Column("digest", sa.Integer, nullable=False),  # that event's digest
    sa.Column("rows", Count, nullable=False),  # how many rows the catalogue has
)

events = sa.Table(
    "projbandits_events",
    metadata,
    # The wide columns first: PostgreSQL aligns each to its size.
    sa.Column("place", Count, primary_key=True, autoincrement=False),  # see `place`
    sa.Column("time", Real),
    sa.Column("about", Count),  # the place of the decision that an outcome belongs to
    sa.Column("outcome", Real),
    sa.Column("step", Count),
    sa.Column("known", Count),
    sa.Column("session", Count),
    sa.Column("draw", Count),
    sa.Column("propensity", Real),  # null for nan, in this and the next two
    sa.Column("estimate", Real),
    sa.Column("error", Real),
    sa.Column("hash", Count),  # of the id
    sa.Column("digest", sa.Integer, nullable=False),  # of this event and the digest before it
    sa.Column("chosen", sa.Integer),  # the chosen arm's place among those offered
    sa.Column("kind", sa.SmallInteger, nullable=False),
    sa.Column("id", sa.Text),  # of a decision, of history or of an infinite set
    sa.Column("offer", sa.LargeBinary),  # the numbers of the rows on offer, packed
    sa.Column("taken", sa.LargeBinary),  # the places taken before, packed
    sa.Column("arm", sa.LargeBinary),  # the features of an arm that is no row
    sa.Column("arms", sa.Text),  # the id of an infinite set
    sa.Column("label", sa.Text),
    sa.Column("meta", sa.Text),  # JSON
    sa.Column("why", sa.Text),
    sa.Column("body", sa.LargeBinary),  # what else happened, by the codec
    sa.Column("counted", sa.Integer),  # how many decisions of its batch one counted as open
)

is_offered = events.c.kind == sa.literal_column(str(EVENT_KINDS[Offered]))
"""Written out, because a condition on a parameter would not find the index below."""


def _index(name: str, column: sa.Column[Any], where: Any) -> None:
    sa.Index(name, column, sqlite_where=where, postgresql_where=where)


_index("projbandits_ids", events.c.hash, where=events.c.hash.is_not(None))
_index("projbandits_outcomes", events.c.about, where=events.c.about.is_not(None))
_index("projbandits_offers", events.c.place, where=is_offered)

snapshots = sa.Table(
    "projbandits_snapshots",
    metadata,
    sa.Column("position", Count, nullable=False),
    sa.Column("ledger", sa.Integer, nullable=False),
    sa.Column("digest", sa.Integer, nullable=False),  # of the body
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("ledger", "position"),
)


def place(ledger: int, position: int) -> int:
    """Return where an event stands among those of all ledgers.

    One number instead of two takes half of the room in an index.

    Examples
    --------
    >>> from projbandits.ledger.schema import MOST_EVENTS, place
    >>> place(3, 7) - 3 * MOST_EVENTS
    7
    """
    return ledger * MOST_EVENTS + position


def hashed(id: str) -> int:
    """Return 64 bits of an id, as a signed number: what an index holds of it.

    Two ids may share them, so whoever looks one up compares the ids too.

    Examples
    --------
    >>> from projbandits.ledger.schema import hashed
    >>> hashed("a"), hashed("b")
    (3405396810240292928, 8453121595177857668)
    """
    return int.from_bytes(
        blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little", signed=True
    )


def version(database: Database) -> int | None:
    """Return the version of a database's layout; None if it holds no ledgers yet."""
    with database.reading() as connection:
        if not sa.inspect(connection).has_table(versions.name):
            return None
        found = connection.execute(sa.select(versions.c.version)).scalar()
    return None if found is None else int(found)


def is_there(database: Database) -> bool:
    """Tell whether a database holds the tables, and leave it as it is if it does not."""
    if database.sqlite:
        return database.file() is not None and database.has_table(versions.name)
    return version(database) is not None


def prepare(database: Database) -> None:
    """Make the tables where there are none, and raise if they are of another version."""
    found = version(database)
    if found is None:
        with database.writing() as connection:
            lock(connection)
            metadata.create_all(connection)
            if connection.execute(sa.select(versions.c.version)).scalar() is None:
                connection.execute(versions.insert().values(version=VERSION))
        found = version(database)
    if found is not None and found > VERSION:
        raise VersionError(
            f"{database.shown} has layout {found}, and this version of projbandits knows layouts "
            f"up to {VERSION}: install the projbandits that wrote it, or a newer one"
        )
    if found is not None and not {*range(found, VERSION)} <= {*MIGRATIONS}:
        raise VersionError(
            f"{database.shown} has layout {found}, and this version of projbandits reads layout "
            f"{VERSION} alone, as what was decided before cannot be decided again by its rules: "
            "install the projbandits that wrote it, or name another place"
        )
    if found is not None and found < VERSION:
        raise VersionError(
            f"{database.shown} has layout {found}, and this version of projbandits needs layout "
            f"{VERSION}: back it up, then run `projbandits ledger migrate --store URL`"
        )


def migrate(database: Database) -> tuple[int, int]:
    """Bring a database to this version in one transaction; return the versions before and after."""
    found = version(database)
    if found is None or found >= VERSION:
        prepare(database)
        return VERSION, VERSION
    with database.writing() as connection:
        lock(connection)
        before = int(connection.execute(sa.select(versions.c.version)).scalar_one())
        for step in range(before, VERSION):
            MIGRATIONS[step](connection)
        connection.execute(versions.update().values(version=VERSION))
    return before, VERSION


def lock(connection: sa.Connection) -> None:
    """Let one process at a time change the layout; SQLite's transactions see to it themselves."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7071766552)")
