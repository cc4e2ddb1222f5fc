"""Snapshots in a database: the newest, and ever fewer of the older ones."""

from __future__ import annotations

import zlib

import sqlalchemy as sa

from projbandits.ledger.protocol import Snapshot
from projbandits.ledger.schema import snapshots
from projbandits.ledger.sql import Insert, Statement

NEWEST = 4
"""How many of the newest snapshots are kept; of the older ones, one for each doubling of age."""

_here = snapshots.c.ledger == sa.bindparam("ledger")
_positions = sa.select(snapshots.c.position).where(_here).order_by(snapshots.c.position.desc())
_newest = (
    sa.select(snapshots.c.position, snapshots.c.body, snapshots.c.digest)
    .where(_here, snapshots.c.position <= sa.bindparam("upto"))
    .order_by(snapshots.c.position.desc())
    .limit(NEWEST)
)
_drop = snapshots.delete().where(
    snapshots.c.ledger == sa.bindparam("whose"), snapshots.c.position == sa.bindparam("dropped")
)
POSITIONS, NEWEST_FEW, DROP = map(Statement, (_positions, _newest, _drop))
KEEP = Insert(snapshots)


def write_snapshot(connection: sa.Connection, ledger: int, snapshot: Snapshot) -> None:
    """Keep a snapshot in the place of any of the same position, and drop older ones."""
    positions = [row.position for row in POSITIONS.rows(connection, {"ledger": ledger})]
    dropped = too_many([snapshot.position, *positions]) | {snapshot.position}
    DROP.run(connection, [{"whose": ledger, "dropped": each} for each in sorted(dropped)])
    if snapshot.position in too_many(sorted({snapshot.position, *positions}, reverse=True)):
        return
    kept = [snapshot.position, ledger, _digest(snapshot.body), snapshot.body]
    KEEP.run(connection, [kept])


def find_snapshot(connection: sa.Connection, ledger: int, upto: int | None) -> Snapshot | None:
    """Return the last sound snapshot at or before a position."""
    values = {"ledger": ledger, "upto": 2**62 if upto is None else upto}
    for position, body, digest in NEWEST_FEW.rows(connection, values):
        if _digest(body) == digest:
            return Snapshot(position, bytes(body))
    return None


def too_many(positions: list[int]) -> set[int]:
    """Return which of these positions, the newest first, to drop.

    Examples
    --------
    >>> from projbandits.ledger.snapshots import too_many
    >>> sorted(too_many([9, 8, 7, 6, 5, 4, 3, 2, 1]))
    [2, 3, 4]
    """
    seen, dropped = set[int](), set[int]()
    for position in positions[NEWEST:]:
        age = (positions[0] - position).bit_length()
        if age in seen:
            dropped.add(position)
        seen.add(age)
    return dropped


def _digest(body: bytes) -> int:
    return zlib.crc32(body) - 2**31
