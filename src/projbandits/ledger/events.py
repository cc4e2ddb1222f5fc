"""What can happen to a decider, and its one encoding.

Everything else about a decider is a reading of these events. An event never changes. In a ledger it
has a position, from 1 and without gaps; the first event is `Opened`. Times are seconds since 1970.

In a store an event is msgpack: an array that begins with the kind, in which arrays of numbers are
little-endian bytes. Each body has a hash, SHA-256 of the hash before and the body, so the last hash
of a ledger vouches for its whole history.
"""

from __future__ import annotations

import math
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array

Rows = NDArray[np.unsignedinteger[Any]]

DTYPES = ("<f8", "<u4", "<u2", "|u1")
"""What numbers in an event may be."""

MOST_ROWS = 2**24
"""How many rows may be written as the first of them and their number."""

GENESIS = bytes(32)
"""The hash before the first event."""


class Event(
    msgspec.Struct,
    frozen=True,
    eq=False,
    array_like=True,
    forbid_unknown_fields=True,
    tag=str.lower,
):
    """Something that happened."""


class Opened(Event, frozen=True):
    """A ledger begins.

    Parameters
    ----------
    key : str
        Random; it names the ledger for good, wherever copies of it are.
    time : float
        When.
    seed : bytes
        Where randomness comes from, with the session and the draw of each decision: a whole number,
        little-endian.
    strategy : dict or None
        Class and parameters of the strategy, None where only its user has it.
    label : str
        Its repr.
    subspace : ndarray of shape (d, u)
        An orthonormal basis of U.
    names : tuple of str or None
        The names of the subspace's coordinates.
    columns : tuple of str or None
        The names of the features, as far as they are known.
    features : str or None
        How raw columns become features, as JSON.
    half_life : tuple of float and str
        After how much, in "decisions" or "seconds", an outcome has half of its weight; empty where
        nothing is forgotten.
    intercept : bool
        Whether outcomes have a level that is learnt.
    """

    key: str
    time: float
    seed: bytes
    strategy: dict[str, Any] | None
    label: str
    subspace: Array
    names: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    features: str | None = None
    half_life: tuple[Any, ...] = ()
    intercept: bool = True


class Offered(Event, frozen=True):
    """Arms that were not on offer before.

    A ledger numbers the rows it has seen 0, 1, 2, ...; decisions refer to them. Rows with the same
    features are two if they are called differently.

    Parameters
    ----------
    first : int
        The number of the first of them.
    vectors : ndarray of shape (n, d)
        Their features.
    labels : tuple of str or None
        What they are called, as `ledger.labels` writes it; None for one without a name.
    """

    first: int
    vectors: Array
    labels: tuple[str | None, ...] | None = None


class Described(Event, frozen=True):
    """An infinite set of arms that no event before had.

    Parameters
    ----------
    id : str
        A digest of the description, by which decisions refer to it.
    arms : str
        The set, as JSON.
    """

    id: str
    arms: str


class Learnt(Event, frozen=True):
    """History that was decided elsewhere.

    Parameters
    ----------
    id : str
        Given by the caller or random; what has the same id is learnt once.
    time : float
        When it was learnt.
    X : ndarray of shape (n, d)
        The features, one observation per row.
    outcomes : ndarray of shape (n,)
        What was observed.
    labels : tuple of str or None
        Whose outcomes they are.
    """

    id: str
    time: float
    X: Array
    outcomes: Array
    labels: tuple[str, ...] | None = None


class Decided(Event, frozen=True):
    """An arm was chosen, by what was known at the position before.

    Parameters
    ----------
    id : str
        Given by the caller, or made of time and randomness.
    time : float
        When.
    step : int
        t, as the strategy saw it: the decisions before, and this one.
    session, draw : int
        Which random stream was used, with the ledger's seed.
    index : int or None
        The place of the chosen arm among those offered; None in an infinite set.
    propensity : float
        The probability with which it was chosen; NaN if that is unknown.
    estimate, standard_error : float
        Its projection reward by the estimate, and the error of that.
    arm : ndarray of shape (d,)
        The chosen arm's features.
    rows : array of unsigned integers or None
        The numbers of the arms on offer, in the order in which they were offered. None where they
        are not finitely many.
    taken : tuple of int
        The places of arms that the same call chose before.
    arms : str or None
        The id of the infinite set that was on offer, if it could be described.
    label : str or None
        What the chosen arm is called, as `ledger.labels` writes it.
    meta : str or None
        What the caller noted, as JSON.
    context : str or None
        The columns that came with the call, as JSON.
    slot : int or None
        The slot that it fills, where a call fills several at once.
    floor : float or None
        The least probability of each arm, where there is one.
    """

    id: str
    time: float
    step: int
    session: int
    draw: int
    index: int | None
    propensity: float
    estimate: float
    standard_error: float
    arm: Array
    rows: Rows | None = None
    taken: tuple[int, ...] = ()
    arms: str | None = None
    label: str | None = None
    meta: str | None = None
    context: str | None = None
    slot: int | None = None
    floor: float | None = None


class Told(Event, frozen=True):
    """The outcome of a decision was reported, or assumed: then `why` says so.

    `decided` is the position of the decision; the ledger sets it. `observed` says which part of a
    decision was observed, where that is not all.
    """

    id: str
    time: float
    outcome: float
    why: str | None = None
    decided: int = 0
    observed: str | None = None


class Amended(Event, frozen=True):
    """An outcome was something else. It counts from here on, in the place of the first report.

    The ledger sets `decided`, the position of the decision, and `first`, that of the first report.
    If there was none, the outcome is learnt here: then it has the arm and its label, too.
    """

    id: str
    time: float
    outcome: float
    decided: int = 0
    first: int | None = None
    arm: Array | None = None
    label: str | None = None


class Withdrawn(Event, frozen=True):
    """A decision has no outcome: it never comes, or what was told does not count.

    `decided` and `first` are those of `Amended`.
    """

    id: str
    time: float
    why: str
    decided: int = 0
    first: int | None = None


class Changed(Event, frozen=True):
    """Something else holds from here on; what is None stays as it was.

    Parameters
    ----------
    time : float
        When.
    strategy : dict or None
        Class and parameters of the new strategy, None where only its user has it.
    label : str or None
        The repr of a new strategy.
    subspace : ndarray or None
        The basis of a new subspace.
    names : tuple of str or None
        The names of its coordinates.
    columns : tuple of str or None
        The names of the features, where they are known now.
    half_life : tuple of float and str, or None
        Another half-life; empty if nothing is forgotten from here on.
    """

    time: float
    strategy: dict[str, Any] | None = None
    label: str | None = None
    subspace: Array | None = None
    names: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    half_life: tuple[Any, ...] | None = None


class Decayed(Event, frozen=True):
    """All outcomes so far lost weight: each has `by` times what it had."""

    time: float
    by: float


Outcome = Told | Amended | Withdrawn
OUTCOMES = (Told, Amended, Withdrawn)
"""The same as a tuple, which isinstance looks through faster."""

AnyEvent = (
    Opened | Offered | Described | Learnt | Decided | Told | Amended | Withdrawn | Changed | Decayed
)


class StoredEvent(NamedTuple):
    """An event in its place, from 1 and without gaps."""

    position: int
    event: Event


def encode_value(value: Any) -> Any:
    """Return an array as msgpack has it; consecutive rows are their first and their number."""
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, np.ndarray):
        raise TypeError(f"a {type(value).__name__} has no place in an event")
    if value.dtype.kind == "u":
        n = len(value)
        if n > 4 and int(value[-1]) - int(value[0]) == n - 1 and (np.diff(value) == 1).all():
            return [int(value[0]), n]
        value = value.astype(value.dtype.newbyteorder("<"), copy=False)
    else:
        value = value.astype("<f8", copy=False)
    return [value.dtype.str, [*value.shape], value.tobytes()]


def decode_value(kind: Any, said: Any) -> Any:
    """Return the array that `encode_value` wrote, or raise ValueError."""
    try:
        if len(said) == 2:
            first, n = said
            if not (type(first) is type(n) is int and first >= 0 and 0 < n <= MOST_ROWS):
                raise ValueError(f"{said} is no range of rows")
            return compact(np.arange(first, first + n))
        dtype, shape, content = said
        if dtype not in DTYPES or len(shape) > 3 or any(type(n) is not int for n in shape):
            raise ValueError(f"there is no array of {dtype!r} and {shape}")
        if min(shape, default=0) < 0 or math.prod(shape) * np.dtype(dtype).itemsize != len(content):
            raise ValueError(f"an array of shape {shape} is not all there")
        return np.frombuffer(content, dtype).reshape(shape)
    except TypeError as error:
        raise ValueError(f"an array must be its kind, shape and bytes: {error}") from error


ENCODER = msgspec.msgpack.Encoder(enc_hook=encode_value)
DECODER = msgspec.msgpack.Decoder(AnyEvent, dec_hook=decode_value)


def encode(event: Event) -> bytes:
    """Return an event as bytes.

    Examples
    --------
    >>> from projbandits.ledger.events import Told, decode, encode
    >>> decode(encode(Told("a", 1.5, 2.0)))
    Told(id='a', time=1.5, outcome=2.0, why=None, decided=0, observed=None)
    """
    return ENCODER.encode(event)


def decode(body: bytes) -> Event:
    """Return the event of some bytes; raise ValueError if there is none in them."""
    try:
        event: Event = DECODER.decode(body)
        return event
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ValueError(f"an event cannot be read: {error}") from error


def link(before: bytes, body: bytes) -> bytes:
    """Return the digest of an event by its bytes and the digest before."""
    return sha256(before + body).digest()


def kind_of(event: Event) -> str:
    """Return the kind of an event, as its column in a store has it."""
    return str(event.__struct_config__.tag)


def compact(numbers: NDArray[Any]) -> Rows:
    """Return whole numbers from 0 in the smallest type that holds them."""
    largest = int(numbers.max(initial=0))
    kind = np.uint8 if largest < 2**8 else np.uint16 if largest < 2**16 else np.uint32
    small: Rows = numbers.astype(kind)
    return small


def seed_of(opened: Opened) -> int:
    """Return the seed of a ledger."""
    return int.from_bytes(opened.seed, "little")


def seed_bytes(seed: int) -> bytes:
    """Return a seed as an event has it, which may exceed the whole numbers of msgpack."""
    return seed.to_bytes(max((seed.bit_length() + 7) // 8, 1), "little")


def head_text(position: int, digest: bytes) -> str:
    """Return a head as people keep it: POSITION:HASH."""
    return f"{position}:{digest.hex()}"


def read_head(text: str) -> tuple[int, bytes]:
    """Return the position and the digest of a head.

    Examples
    --------
    >>> from projbandits.ledger.events import head_text, read_head
    >>> read_head(head_text(3, bytes(32))) == (3, bytes(32))
    True
    """
    position, _, digest = text.strip().partition(":")
    try:
        found = int(position), bytes.fromhex(digest)
    except ValueError:
        found = 0, b""
    if found[0] < 1 or len(found[1]) != len(GENESIS):
        raise ValueError(f"head must be POSITION:HASH, as `ledger show` prints it, got {text!r}")
    return found
