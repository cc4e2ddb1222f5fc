"""Events as bytes: the same in memory, in a database and in a file.

A record is a kind, the id of what it is about, and a body. Decisions and outcomes, of which there
are many, are packed field by field; other events are JSON and plain arrays. Nothing in a record
is executed or believed: what cannot have been encoded here is refused.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from projbandits.ledger.events import (
    Amended,
    Changed,
    Decayed,
    Decided,
    Described,
    Event,
    Learnt,
    Offered,
    Opened,
    Rows,
    Told,
    Withdrawn,
)

EVENT_KINDS: dict[type, int] = {
    Opened: 1,
    Offered: 2,
    Described: 3,
    Learnt: 4,
    Decided: 5,
    Told: 6,
    Amended: 7,
    Withdrawn: 8,
    Changed: 9,
    Decayed: 12,
}
"""The number of each kind of event in a record; numbers are never used again."""

TYPES = {number: kind for kind, number in EVENT_KINDS.items()}
KEY_FIELDS = {
    Learnt: "key",
    Described: "key",
    Decided: "id",
    Told: "id",
    Amended: "id",
    Withdrawn: "id",
}
"""The field by which an event is found."""

DECISION_HEAD = struct.Struct("<dQQqQidddI")
"""time, step, known, session, draw, index, propensity, estimate, standard error and counted."""
DECISION_PARTS = struct.Struct("<BIHIHII")
"""How rows are written and how many, places taken, features, and the lengths of three texts."""
TELLING = struct.Struct("<dd")
WIDTHS: dict[int, Any] = {1: np.dtype("<u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4")}
RANGE, NONE = 8, 0
FIRST_LENGTH = struct.Struct("<I")
LENGTH = struct.Struct("<I")
DECISION_SEAL = struct.Struct("<QB")


class Record(NamedTuple):
    """An event as a store keeps it."""

    kind: int
    id: str | None
    body: bytes


def encode(event: Event) -> Record:
    """Return an event as a record.

    Examples
    --------
    >>> from projbandits.ledger.codec import decode, encode
    >>> from projbandits.ledger.events import Told
    >>> decode(encode(Told("a", 1.5, 2.0)))
    Told(id='a', time=1.5, outcome=2.0, why=None)
    """
    kind = type(event)
    about = KEY_FIELDS.get(kind)
    id = None if about is None else getattr(event, about)
    return Record(EVENT_KINDS[kind], id, _ENCODERS.get(kind, _packed)(event))


def decode(record: Record) -> Event:
    """Return the event of a record; raise ValueError if there is none in it."""
    try:
        kind = TYPES[record.kind]
        made: Event = _DECODERS.get(kind, _unpacked)(kind, record.id, record.body)
    except (struct.error, ValueError, TypeError, LookupError, RecursionError) as error:
        raise ValueError(f"an event of kind {record.kind} cannot be read, {error}") from error
    return made


def claimed(body: bytes) -> int:
    """Return how many rows the body of a decision has in a few bytes, by first and number."""
    if len(body) < DECISION_HEAD.size + DECISION_PARTS.size:
        raise ValueError("a decision must have more bytes")
    written, count, *_ = DECISION_PARTS.unpack_from(body, DECISION_HEAD.size)
    return int(count) if written == RANGE else 0


def checksum(position: int, record: Record) -> int:
    """Return a CRC-32 of a record in its place."""
    sum_ = zlib.crc32(DECISION_SEAL.pack(position, record.kind))
    if record.id is not None:
        sum_ = zlib.crc32(record.id.encode(), sum_)
    return zlib.crc32(record.body, sum_)


def _decided(event: Any) -> bytes:
    rows, arm = event.rows, event.arm
    written, count, numbers = _rows_written(rows)
    texts = [b"" if text is None else text.encode() for text in (event.arms, event.label)]
    meta = b"" if event.meta is None else event.meta.encode()
    return b"".join(
        (
            DECISION_HEAD.pack(
                event.time,
                event.step,
                event.known,
                event.session,
                event.draw,
                -1 if event.index is None else event.index,
                event.propensity,
                event.estimate,
                event.standard_error,
                event.counted,
            ),
            DECISION_PARTS.pack(
                written,
                count,
                len(event.taken),
                0 if arm is None else len(arm),
                len(texts[0]),
                len(texts[1]),
                len(meta),
            ),
            numbers,
            np.array(event.taken, dtype="<u4").tobytes() if event.taken else b"",
            b"" if arm is None else np.asarray(arm, dtype="<f8").tobytes(),
            *texts,
            meta,
            b"" if event.context is None else event.context.encode(),
        )
    )


def _rows_written(rows: Rows | None) -> tuple[int, int, bytes]:
    """Return how rows are written, how many they are, and their bytes."""
    if rows is None:
        return NONE, 0, b""
    n = len(rows)
    if n > 4 and int(rows[-1]) - int(rows[0]) == n - 1:
        first = int(rows[0])
        if (rows == np.arange(first, first + n, dtype=rows.dtype)).all():
            return RANGE, n, FIRST_LENGTH.pack(first)
    width = rows.dtype.itemsize
    return width, n, rows.astype(WIDTHS[width], copy=False).tobytes()


def _read_decided(kind: type, id: str | None, body: bytes) -> Decided:
    *head, p, estimate, error, counted = DECISION_HEAD.unpack_from(body)
    time, step, known, session, draw, index = head
    written, count, taken, d, *lengths = DECISION_PARTS.unpack_from(body, DECISION_HEAD.size)
    at = DECISION_HEAD.size + DECISION_PARTS.size
    rows: Rows | None = None
    if written == RANGE:
        (first,) = FIRST_LENGTH.unpack_from(body, at)
        at += FIRST_LENGTH.size
        if first + count > 2**32:
            raise ValueError(f"its rows end at {first + count}")
        width = 1 if first + count <= 2**8 else 2 if first + count <= 2**16 else 4
        rows = np.arange(first, first + count, dtype=WIDTHS[width])
    elif written != NONE:
        rows = np.frombuffer(body, WIDTHS[written], count, at)
        at += rows.nbytes
    places = tuple(np.frombuffer(body, "<u4", taken, at).tolist())
    at += 4 * taken
    arm = np.frombuffer(body, "<f8", d, at) if d else None
    at += 8 * d
    texts = list[str | None]()
    for length in lengths:
        texts.append(body[at : at + length].decode() if length else None)
        at += length
    if at > len(body):
        raise ValueError(f"it has {len(body)} bytes for {at}")
    arms, label, meta = texts
    context = body[at:].decode() or None  # what follows the rest; once there was nothing
    return Decided(
        str(id), time, step, known, session, draw, None if index < 0 else index, p, estimate,
        error,
        rows, places, arm, arms, label, meta, context, counted,
    )  # fmt: skip


def _told(event: Any) -> bytes:
    why = getattr(event, "why", None)
    return TELLING.pack(event.time, event.outcome) + ("" if why is None else why).encode()


def _read_told(kind: type, id: str | None, body: bytes) -> Event:
    time, outcome = TELLING.unpack_from(body)
    why = body[TELLING.size :].decode()
    if kind is Amended:
        return Amended(str(id), time, outcome)
    return Told(str(id), time, outcome, why or None)


def _packed(event: Any) -> bytes:
    """Return the fields of an event as JSON, and behind it its arrays."""
    fields, arrays = dict[str, Any](), list[bytes]()
    for name in type(event).__dataclass_fields__:
        value = getattr(event, name)
        if isinstance(value, np.ndarray):
            arrays.append(np.ascontiguousarray(value, dtype="<f8").tobytes())
            value = {"shape": value.shape}
        fields[name] = value
    head = json.dumps(fields).encode()
    return b"".join((LENGTH.pack(len(head)), head, *arrays))


def _unpacked(kind: Any, id: str | None, body: bytes) -> Event:
    (length,) = LENGTH.unpack_from(body)
    at = LENGTH.size + length
    fields = json.loads(body[LENGTH.size : at])
    if not isinstance(fields, dict):
        raise ValueError("its fields are none")
    for name, value in fields.items():
        if isinstance(value, dict) and "shape" in value:
            shape = [int(length) for length in value["shape"]]
            size = math.prod(shape)
            if min(shape, default=0) < 0 or 8 * size > len(body) - at:
                raise ValueError(f"its {name} is not all there")
            flat = np.frombuffer(body, "<f8", size, at)
            fields[name] = flat.reshape(shape)
            at += flat.nbytes
        elif isinstance(value, list):
            fields[name] = tuple(value)
    if at != len(body):
        raise ValueError(f"it has {len(body)} bytes for {at}")
    made: Event = kind(**fields)
    return made


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    Decided: _decided,
    Told: _told,
    Amended: _told,
}
_DECODERS: dict[type, Callable[[Any, str | None, bytes], Event]] = {
    Decided: _read_decided,
    Told: _read_told,
    Amended: _read_told,
}
