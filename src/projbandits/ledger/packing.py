"""Lists of whole numbers in few bytes.

An offer of 100 items out of 1,000 takes 127 bytes in any order, and fewer in the order of the
catalogue. The whole catalogue takes 4, however large it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from projbandits.ledger.events import Rows

Numbers = npt.NDArray[np.int64]

WORD, SIZE = ">u4", 4
"""How a number looks before its bits are taken apart: the high ones first."""

RISING = 0x80
"""Set in the first byte when each number exceeds the one before it."""


def pack(numbers: npt.ArrayLike) -> bytes:
    """Return whole numbers that are not negative as bytes, in their order.

    The first byte holds the number of bits per number. Then come how many numbers there are and,
    where they rise, the first of them; then the bits, of the gaps less one where they rise.

    Parameters
    ----------
    numbers : sequence of int
        None of them negative, all below 2^32.

    Examples
    --------
    >>> from projbandits.ledger.packing import pack, unpack
    >>> unpack(pack([7, 3, 900])).tolist(), len(pack([7, 3, 900]))
    ([7, 3, 900], 6)
    >>> len(pack(range(10_000)))
    4
    """
    values = np.asarray(numbers)
    n = len(values)
    if n == 0:
        return b""
    # Most lists that do not rise show it in what they span.
    rising = n > 1 and int(values[-1]) - int(values[0]) >= n - 1
    rising = rising and np.count_nonzero(values[1:] > values[:-1]) == n - 1
    kept = values[1:] - values[:-1] - 1 if rising else values
    width = int(kept.max()).bit_length()
    head = bytes([width | RISING * rising]) + _count(n)
    if rising:
        head += _count(int(values[0]))
    word, size = (">u2", 2) if width <= 16 else (WORD, SIZE)
    bits = np.unpackbits(kept.astype(word).view(np.uint8).reshape(-1, size), axis=1)
    return head + np.packbits(bits[:, 8 * size - width :]).tobytes()


def unpack(packed: bytes) -> Rows:
    """Return the numbers that `pack` made bytes of, in the smallest type that holds them.

    Examples
    --------
    >>> from projbandits.ledger.packing import pack, unpack
    >>> unpack(pack([2, 3, 5])), unpack(b"").tolist()
    (array([2, 3, 5], dtype=uint8), [])
    """
    return unpack_many([packed])[0]


def unpack_many(packed: Sequence[bytes]) -> list[Rows]:
    """Return what `unpack` does for each; those of the same shape are unpacked together.

    Examples
    --------
    >>> from projbandits.ledger.packing import pack, unpack_many
    >>> [numbers.tolist() for numbers in unpack_many([pack([9, 2]), pack([1, 2]), pack([8, 5])])]
    [[9, 2], [1, 2], [8, 5]]
    """
    shapes: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    found = [np.zeros(0, dtype=np.uint8)] * len(packed)
    for i, content in enumerate(packed):
        if content:
            n, start = _counted(content, 1)
            first = 0
            if content[0] & RISING:
                first, start = _counted(content, start)
            shapes.setdefault((content[0], n), []).append((i, first, start))
    for (head, n), members in shapes.items():
        width, rising = head & ~RISING, bool(head & RISING)
        kept = n - rising
        stored = b"".join(packed[i][start:] for i, _, start in members)
        values = _numbers(stored, len(members), kept, width)
        if rising:
            numbers = np.empty((len(members), n), dtype=np.int64)
            numbers[:, 0] = [first for _, first, _ in members]
            numbers[:, 1:] = values + 1
            np.cumsum(numbers, axis=1, out=numbers)
            for (i, _, _), row in zip(members, numbers, strict=True):
                found[i] = row.astype(_kind(int(row[-1]).bit_length()))
        else:
            values = values.astype(_kind(width))
            for (i, _, _), row in zip(members, values, strict=True):
                found[i] = row
    return found


def _numbers(stored: bytes, members: int, n: int, width: int) -> Numbers:
    """Return, for each member, n numbers from their bits; each member begins a byte."""
    size = (n * width + 7) // 8
    if len(stored) != members * size:
        raise ValueError(f"packed numbers have {len(stored)} bytes for {members * size}")
    bytes_ = np.frombuffer(stored, np.uint8).reshape(members, size)
    bits = np.zeros((members * n, 8 * SIZE), dtype=np.uint8)
    taken = np.unpackbits(bytes_, axis=1, count=n * width).reshape(members * n, width)
    bits[:, 8 * SIZE - width :] = taken
    values = np.packbits(bits, axis=1).view(WORD).reshape(members, n)
    return values.astype(np.int64)


def _kind(bits: int) -> Any:
    return np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32


def unpack_at(packed: bytes, place: int) -> int:
    """Return one of the numbers that `pack` made bytes of.

    Examples
    --------
    >>> from projbandits.ledger.packing import pack, unpack_at
    >>> unpack_at(pack([7, 3, 900]), 2)
    900
    """
    if packed[0] & RISING and packed[0] != RISING:
        return int(unpack(packed)[place])
    width = packed[0] & ~RISING
    n, start = _counted(packed, 1)
    if not 0 <= place < n:
        raise IndexError(f"there is no place {place} among {n}")
    if packed[0] == RISING:
        return _counted(packed, start)[0] + place
    begin, end = place * width, (place + 1) * width
    part = packed[start + begin // 8 : start + (end + 7) // 8]
    return int.from_bytes(part, "big") >> -end % 8 & (1 << width) - 1


def _count(number: int) -> bytes:
    """Return a whole number as bytes of seven bits, the last of them below 128."""
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _counted(packed: bytes, start: int) -> tuple[int, int]:
    """Return the number that `_count` wrote at a place, and the place behind it."""
    number = shift = 0
    while packed[start] >= 0x80:
        number |= (packed[start] & 0x7F) << shift
        start, shift = start + 1, shift + 7
    return number | packed[start] << shift, start + 1
