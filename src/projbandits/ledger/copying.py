"""A ledger as a file of its own: a SQLite database with its events and nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from projbandits._files import whole
from projbandits.ledger import statements
from projbandits.ledger.events import GENESIS, StoredEvent, encode, kind_of, link
from projbandits.ledger.history import History
from projbandits.ledger.reading import Reader
from projbandits.ledger.statements import TABLES, TYPES, VERSION
from projbandits.ledger.store import TEMPORARY

HEADER = b"SQLite format 3\x00"
ITS_TABLES = {"projbandits_schema", "projbandits_ledgers", "projbandits_events"}


def write_copy(history: History, path: Path) -> None:
    """Copy a ledger up to the position of a history to a file, which appears whole or not at all.

    The events are read with their hashes verified, so damage is not copied.
    """
    with whole(path) as part, closing(sqlite3.connect(part, isolation_level=None)) as raw:
        raw.execute("PRAGMA journal_mode=OFF")
        for statement in TABLES.format(**TYPES[True]).split(";"):
            raw.execute(statement)
        raw.execute("BEGIN")
        raw.execute(statements.NEW_LEDGER, (TEMPORARY,))
        (number,) = raw.execute(statements.NUMBER, (TEMPORARY,)).fetchone()
        digest = GENESIS
        for position, event in history.events():
            body = encode(event)
            digest = link(digest, body)
            about = number, position, kind_of(event), getattr(event, "id", None)
            raw.execute(statements.ADD, (*about, body, digest))
        raw.execute("COMMIT")


@contextmanager
def copied(path: Path) -> Iterator[tuple[Iterator[list[StoredEvent]], bytes]]:
    """Give the events of a file that `write_copy` wrote, verified, and the last digest.

    Nothing in the file is executed; raise ValueError if it is something else, or damaged.
    """
    with open(path, "rb") as file:
        begin = file.read(100)
    if not begin.startswith(HEADER):
        old = begin.partition(b"\n")[0]
        said = "has another format: read it with the version of projbandits that wrote it"
        said = said if old.startswith(b"projbandits decider") else "is something else"
        raise ValueError(f"path must be a saved decider, {str(path)!r} {said}")
    uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as raw:
            for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0"):
                raw.execute(f"PRAGMA {pragma}")
            _check_layout(raw)
            numbers = raw.execute("SELECT number FROM projbandits_ledgers").fetchall()
            if len(numbers) != 1 or type(numbers[0][0]) is not int:
                raise ValueError(f"it must have one ledger, got {len(numbers)}")
            reader = Reader(
                lambda text, values: raw.execute(text, values).fetchall(), numbers[0][0], str(path)
            )
            position, digest = reader.head()
            yield reader.read(0, position), digest
    except sqlite3.Error as error:
        raise ValueError(f"it is damaged, {error}") from error


def _check_layout(raw: sqlite3.Connection) -> None:
    """Raise unless the tables that are read are plain tables of this version, and sound."""
    found = raw.execute("SELECT name, type, sql FROM sqlite_master").fetchall()
    plain = {name for name, kind, sql in found if kind == "table" and "VIRTUAL" not in sql.upper()}
    if not plain >= ITS_TABLES:
        raise ValueError("it has no ledger")
    versions = raw.execute(statements.SCHEMA_VERSION).fetchall()
    if versions != [(VERSION,)]:
        raise ValueError(
            f"it must have layout {VERSION}, got {versions}: read it with the version of "
            "projbandits that wrote it"
        )
    said = raw.execute("PRAGMA integrity_check(1)").fetchall()
    if said != [("ok",)]:
        raise ValueError(f"it is damaged, {said[0][0]}")
