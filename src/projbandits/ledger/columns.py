"""Events as rows of a table, and back.

What comes with every decision has columns of its own; the other events are kept as the codec writes
them.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from projbandits._checks import Array
from projbandits.ledger import codec
from projbandits.ledger.happened import (
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

Row = dict[str, Any]


def encode(event: Event, about: int | None = None) -> Row:
    """Return the columns of an event, apart from its place and its digest.

    Parameters
    ----------
    event : Event
        What happened.
    about : int, optional
        The place of the decision that an outcome belongs to.
    """
    row: Row = dict.fromkeys(CONTENT)
    row["kind"] = codec.EVENT_KINDS[type(event)]
    if isinstance(event, Decided):
        row["id"], row["hash"] = _text("id", event.id), hashed(event.id)
        row["time"] = float(event.time)
        row["step"] = int(event.step)
        row["known"] = int(event.known)
        row["session"] = int(event.session)
        row["draw"] = int(event.draw)
        row["chosen"] = None if event.index is None else int(event.index)
        row["propensity"] = _number(event.propensity)
        row["estimate"] = _number(event.estimate)
        row["error"] = _number(event.standard_error)
        row["offer"] = None if event.rows is None else pack(event.rows)
        row["taken"] = pack(event.taken) if event.taken else None
        row["arm"] = None if event.arm is None else np.asarray(event.arm, "<f8").tobytes()
        row["arms"] = _text("arms", event.arms)
        row["label"] = _text("label", event.label)
        row["meta"] = _text("meta", event.meta)
        context = _text("context", event.context)
        row["body"] = None if context is None else context.encode()
    elif isinstance(event, Told | Amended | Withdrawn):
        row["about"] = about
        row["time"] = float(event.time)
        if not isinstance(event, Withdrawn):
            row["reward"] = _number(event.reward)
        if not isinstance(event, Amended):
            row["why"] = _text("why", event.why)
    else:
        if isinstance(event, Described | Learnt):
            row["id"], row["hash"] = _text("id", event.key), hashed(event.key)
        row["time"] = getattr(event, "time", None)
        row["body"] = codec.encode(event).body
    return row


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
        _, time, _, reward, step, known, session, draw, propensity, estimate, error, _, chosen,
        kind, name, _, taken, arm, arms, label, meta, why, body,
    ) = content  # fmt: skip
    if kind == TOLD:
        return Told(id or "", time, reward, why)
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
        )
    if kind == AMENDED:
        return Amended(id or "", time, reward)
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
    if value is not None and not value.isprintable():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"{name} must be valid Unicode, got {value!r}") from error
        if "\x00" in value:
            raise ValueError(f"{name} must not have a zero character, got {value!r}")
    return value
