"""How much a Parquet file says it holds, by its footer alone.

pyarrow tells the same, but ends the whole process where a footer contradicts itself, so it is asked
only after this. The footer is in Thrift's compact protocol.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO

from projbandits._parquet import MAGIC

FILE_ROWS, FILE_GROUPS, GROUP_CHUNKS = 3, 4, 1
CHUNK_METADATA, METADATA_VALUES, METADATA_BYTES = 3, 5, 6
"""The numbers of the fields: of a file, a group of rows, a chunk of a column, and its metadata."""


def declared(file: BinaryIO) -> tuple[int, int, int]:
    """Return how many rows, values and bytes before compression a file says it has.

    Examples
    --------
    >>> import io, pandas as pd
    >>> from projbandits.service.footer import declared
    >>> sink = io.BytesIO()
    >>> pd.DataFrame({"x": [[0.0] * 1000, [1.0]]}).to_parquet(sink)
    >>> declared(sink)[:2]
    (2, 1001)
    """
    end = file.seek(0, os.SEEK_END)
    file.seek(max(end - 8, 0))
    tail = file.read()
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > end - 8:
        raise ValueError("it is no Parquet file")
    file.seek(end - 8 - length)
    said = Compact(file.read(length)).struct()
    about = [chunk[CHUNK_METADATA] for group in said[FILE_GROUPS] for chunk in group[GROUP_CHUNKS]]
    file.seek(0)
    return (
        said[FILE_ROWS],
        sum(chunk[METADATA_VALUES] for chunk in about),
        sum(chunk[METADATA_BYTES] for chunk in about),
    )


class Compact:
    """Reads what Thrift wrote, field by field; texts are passed over."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def struct(self) -> dict[int, Any]:
        """Return the fields of a struct by their numbers."""
        found: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._signed()
            found[field] = self._value(head & 15)
        return found

    def _value(self, kind: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind in (3, 4, 5, 6):
            return self._byte() if kind == 3 else self._signed()
        if kind in (7, 8):
            length = 8 if kind == 7 else self._whole()
            self.at += length
            return None
        if kind == 9:
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._whole()
            # Of truth values each has a byte here; in a struct the kind says all.
            inner = max(head & 15, 3)
            return [self._value(inner) for _ in range(size)]
        if kind == 12:
            return self.struct()
        raise ValueError(f"its footer has a value of kind {kind}")

    def _byte(self) -> int:
        if self.at >= len(self.data):
            raise ValueError("its footer ends too early")
        self.at += 1
        return self.data[self.at - 1]

    def _whole(self) -> int:
        number = shift = 0
        while (byte := self._byte()) > 127:
            number |= (byte & 127) << shift
            shift += 7
        return number | byte << shift

    def _signed(self) -> int:
        number = self._whole()
        return number >> 1 ^ -(number & 1)
