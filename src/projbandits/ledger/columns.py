"""Events as rows of a table, and back.

What comes with every decision has columns of its own; the other events are kept as the codec writes
them.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from projbandits._validation import Array, storable
from projbandits.ledger import codec
from projbandits.ledger.events import (
    OUTCOMES,
    Amended,
    Decided,
    Described,
    Event,
    Learnt,
    Rows,
    Told,
    Withdrawn,
)
from projbandits.ledger.packing import pack, unpack
from projbandits.ledger.schema import events, hashed

DECIDED, TOLD = codec.EVENT_KINDS[Decided], codec.EVENT_KINDS[Told]
AMENDED, WITHDRAWN = codec.EVENT_KINDS[Amended], codec.EVENT_KINDS[Withdrawn]

CONTENT = tuple(column.name for column in events.columns if column.name != "digest")
"""What a digest covers, in this order."""

AT_TIME, AT_ABOUT, AT_REWARD, AT_HASH, AT_KIND, AT_ID, AT_WHY, AT_BODY = (
    CONTENT.index(name)
    for name in ("time", "about", "outcome", "hash", "kind", "id", "why", "body")
)
AT_DIGEST = [column.name for column in events.columns].index("digest")

Row = list[Any]
"""What the columns hold, in the order of the table."""


def encode(
    event: Event,
    place: int,
    about: int | None = None,
    packed: Mapping[int, bytes] = {},
) -> Row:
    """Return the columns of an event, in the order of `CONTENT`.

    Parameters
    ----------
    event : Event
        What happened.
    place : int
        Where it stands.
    about : int, optional
        The place of the decision that an outcome belongs to.
    packed : mapping
        The numbers on offer as `offers_packed` has them, if it was asked for them.
    """
    kind = codec.EVENT_KINDS[type(event)]
    if isinstance(event, Decided):
        context, index = _text("context", event.context), event.index
        return [
            place,
            float(event.time),
            None,
            None,
            int(event.step),
            int(event.known),
            int(event.session),
            int(event.draw),
            _number(event.propensity),
            _number(event.estimate),
            _number(event.standard_error),
            hashed(event.id),
            None if index is None else int(index),
            kind,
            _text("id", event.id),
            None if event.rows is None else packed.get(id(event.rows)) or pack(event.rows),
            pack(event.taken) if event.taken else None,
            None if event.arm is None else np.asarray(event.arm, "<f8").tobytes(),
            _text("arms", event.arms),
            _text("label", event.label),
            _text("meta", event.meta),
            None,
            None if context is None else context.encode(),
            int(event.counted) or None,
        ]
    row: Row = [None] * len(CONTENT)
    row[0], row[AT_KIND] = place, kind
    if isinstance(event, OUTCOMES):
        row[AT_TIME], row[AT_ABOUT] = float(event.time), about
        if not isinstance(event, Withdrawn):
            row[AT_REWARD] = _number(event.outcome)
        if not isinstance(event, Amended):
            row[AT_WHY] = _text("why", event.why)
        return row
    if isinstance(event, Described | Learnt):
        row[AT_HASH], row[AT_ID] = hashed(event.key), _text("id", event.key)
    row[AT_TIME] = getattr(event, "time", None)
    row[AT_BODY] = codec.encode(event).body
    return row


def offers_packed(happened: Iterable[Event]) -> dict[int, bytes]:
    """Return the numbers on offer, packed, by the id of the array, which many may share.

    It takes longer than all else that is done for a decision while a ledger is locked, and so it is
    done before.
    """
    offered = {id(event.rows): event.rows for event in happened if type(event) is Decided}
    return {key: pack(rows) for key, rows in offered.items() if rows is not None}


def sealed(content: Row, before: int) -> int:
    """Put its digest among the columns of an event, and return it."""
    content.insert(AT_DIGEST, digest(content, before))
    return int(content[AT_DIGEST])


def decode(content: Sequence[Any], id: str | None = None, rows: Rows | None = None) -> Event:
    """Return the event of a row.

    Parameters
    ----------
    content : sequence
        The columns of `CONTENT`.
    id : str, optional
        Whose outcome it is.
    rows : array, optional
        The numbers on offer, unpacked.
    """
    # In the order of CONTENT; by name would take most of the time of reading a long ledger.
    (
        _, time, _, outcome, step, known, session, draw, propensity, estimate, error, _, chosen,
        kind, name, _, taken, arm, arms, label, meta, why, body, counted,
    ) = content  # fmt: skip
    if kind == TOLD:
        return Told(id or "", time, outcome, why)
    if kind == DECIDED:
        return Decided(
            name,
            time,
            step,
            known,
            session,
            draw,
            chosen,
            math.nan if propensity is None else propensity,
            math.nan if estimate is None else estimate,
            math.nan if error is None else error,
            rows,
            () if taken is None else tuple(unpack(taken).tolist()),
            None if arm is None else array(arm),
            arms,
            label,
            meta,
            None if body is None else bytes(body).decode(),
            counted or 0,
        )
    if kind == AMENDED:
        return Amended(id or "", time, outcome)
    if kind == WITHDRAWN:
        return Withdrawn(id or "", time, why)
    return codec.decode(codec.Record(kind, name, body))


def digest(content: list[Any], before: int) -> int:
    """Return the CRC-32 of a row's content and of the digest before it, as a signed number.

    So each digest vouches for all events up to its own.
    """
    unsigned = zlib.crc32(repr(content).encode(), before & 0xFFFFFFFF)
    return unsigned - 2**32 if unsigned >= 2**31 else unsigned


def _number(value: float) -> float | None:
    """Return a number as both databases keep it: SQLite has neither nan nor a negative zero."""
    return None if math.isnan(value) else float(value) + 0.0


def array(content: bytes) -> Array:
    """Return the numbers that bytes of float64 are."""
    return np.frombuffer(content, "<f8").astype(np.float64)


def _text(name: str, value: str | None) -> str | None:
    """Return a text that both databases can keep."""
    return None if value is None else storable(name, value)
