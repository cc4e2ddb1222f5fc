"""What a store keeps beside its ledgers: small named documents, such as tokens and catalogues.

Each has a revision, which changes whenever the document does, so that other processes notice.
"""

from __future__ import annotations

import time
from hashlib import sha256
from typing import NamedTuple

from projbandits.ledger import statements
from projbandits.ledger.database import Database, damaged
from projbandits.ledger.schema import prepare


class Document(NamedTuple):
    """What was written, and which revision it is."""

    revision: int
    body: bytes


class Documents:
    """The documents of a store.

    Parameters
    ----------
    database : Database
        Where they are.

    Examples
    --------
    >>> import tempfile
    >>> from projbandits.ledger.database import Database
    >>> from projbandits.ledger.documents import Documents
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     documents = Documents(Database(f"sqlite:///{folder}/films.db"))
    ...     revision = documents.write("note", "a", b"hello")
    ...     print(documents.read("note", "a").body, documents.read("note", "b"))
    b'hello' None
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        prepare(database)

    def read(self, kind: str, name: str) -> Document | None:
        """Return a document, None if there is none of this kind and name."""
        return self.all(kind).get(name)

    def all(self, kind: str) -> dict[str, Document]:
        """Return the documents of a kind by their names."""
        rows = self._database.read(statements.DOCUMENTS, (kind,))
        for name, _, body, digest in rows:
            if sha256(body).digest() != digest:
                raise damaged(self._database.shown, f"the {kind} {name!r} is not what was written")
        return {name: Document(revision, body) for name, revision, body, _ in rows}

    def revisions(self) -> dict[tuple[str, str], int]:
        """Return the revision of every document by kind and name."""
        rows = self._database.read(statements.REVISIONS)
        return {(kind, name): revision for kind, name, revision in rows}

    def write(self, kind: str, name: str, body: bytes, *, after: int | None = None) -> int | None:
        """Write a document, durably, and return its revision.

        Parameters
        ----------
        kind, name : str
            What it is called.
        body : bytes
            What it says.
        after : int, optional
            The revision that it replaces. Where there is another, it stays, and this returns None.
        """
        return self._database.insist(lambda: self._write(kind, name, body, after))

    def _write(self, kind: str, name: str, body: bytes, after: int | None) -> int | None:
        database = self._database
        with database.transaction():
            if not database.sqlite:
                database.run(statements.ONE_AT_A_TIME)
            before = database.run(statements.REVISION, (kind, name))
            if after is not None and before != [(after,)]:
                return None
            revision = max(time.time_ns(), before[0][0] + 1 if before else 0)
            row = kind, name, revision, body, sha256(body).digest()
            database.run(statements.WRITE, row)
        return revision

    def remove(self, kind: str, name: str) -> bool:
        """Remove a document, and tell whether there was one."""
        with self._database.transaction():
            found = self._database.run(statements.REVISION, (kind, name))
            self._database.run(statements.REMOVE, (kind, name))
        return bool(found)
