"""What a store keeps beside its ledgers: small named documents, such as tokens and catalogues.

They are in a table of their own. Each has a revision, which changes whenever the document does, so
that other processes notice.
"""

from __future__ import annotations

import time
import zlib
from typing import NamedTuple

import sqlalchemy as sa

from projbandits.ledger import schema
from projbandits.ledger.connecting import Database, damaged

metadata = sa.MetaData()

documents = sa.Table(
    "projbandits_documents",
    metadata,
    sa.Column("revision", schema.Count, nullable=False),
    sa.Column("digest", schema.Count, nullable=False),  # of the body
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("kind", "name"),
)


class Document(NamedTuple):
    """What was written, and which revision it is."""

    revision: int
    body: bytes


class Documents:
    """The documents of a store.

    Parameters
    ----------
    database : Database
        Where they are. The table is made if there is none.

    Examples
    --------
    >>> import tempfile
    >>> from projbandits.ledger.connecting import Database
    >>> from projbandits.ledger.documents import Documents
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     documents = Documents(Database(f"sqlite:///{folder}/films.db"))
    ...     revision = documents.write("note", "a", b"hello")
    ...     print(documents.read("note", "a").body, documents.read("note", "b"))
    b'hello' None
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.reading() as connection:
            found = sa.inspect(connection).has_table(documents.name)
        if not found:
            with database.writing() as connection:
                schema.lock(connection)
                metadata.create_all(connection)

    def read(self, kind: str, name: str) -> Document | None:
        """Return a document, None if there is none of this kind and name."""
        return self.all(kind, name).get(name)

    def all(self, kind: str, name: str | None = None) -> dict[str, Document]:
        """Return the documents of a kind by their names."""
        return self._database.insist(lambda: self._all(kind, name))

    def _all(self, kind: str, name: str | None) -> dict[str, Document]:
        t = documents.c
        wanted = sa.select(t.name, t.revision, t.digest, t.body).where(t.kind == kind)
        if name is not None:
            wanted = wanted.where(t.name == name)
        with self._database.reading() as connection:
            rows = connection.execute(wanted.order_by(t.name)).all()
        for each, _, digest, body in rows:
            if zlib.crc32(body) != digest:
                shown = self._database.shown
                raise damaged(shown, f"the {kind} {each!r} is not what was written")
        return {each: Document(int(revision), bytes(body)) for each, revision, _, body in rows}

    def revisions(self) -> dict[tuple[str, str], int]:
        """Return the revision of every document by kind and name."""
        return self._database.insist(self._revisions)

    def _revisions(self) -> dict[tuple[str, str], int]:
        t = documents.c
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(t.kind, t.name, t.revision)).all()
        return {(kind, name): int(revision) for kind, name, revision in rows}

    def write(self, kind: str, name: str, body: bytes, *, new: bool = False) -> int | None:
        """Write a document, durably, and return its revision.

        Parameters
        ----------
        kind, name : str
            What it is called.
        body : bytes
            What it says.
        new : bool
            Whether to leave a document that is there as it is, and return None.
        """
        return self._database.insist(lambda: self._write(kind, name, body, new))

    def _write(self, kind: str, name: str, body: bytes, new: bool) -> int | None:
        t = documents.c
        mine = sa.and_(t.kind == kind, t.name == name)
        with self._database.writing() as connection:
            schema.lock(connection)
            before = connection.execute(sa.select(t.revision).where(mine)).scalar()
            if new and before is not None:
                return None
            revision = max(time.time_ns(), (before or 0) + 1)
            said = {"revision": revision, "digest": zlib.crc32(body), "body": body}
            if before is None:
                said |= {"kind": kind, "name": name}
                connection.execute(documents.insert().values(said))
            else:
                connection.execute(documents.update().where(mine).values(said))
        return revision

    def remove(self, kind: str, name: str) -> bool:
        """Remove a document, and tell whether there was one."""
        t = documents.c
        with self._database.writing() as connection:
            gone = sa.delete(documents).where(sa.and_(t.kind == kind, t.name == name))
            return connection.execute(gone).rowcount > 0
