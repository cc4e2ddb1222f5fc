"""The log as a stream: a Parquet file that is never whole anywhere."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from projbandits.deciding import Decider


class Sink(io.RawIOBase):
    """A file that can only be written, and whose content is taken away piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        """Say that it can be written."""
        return True

    def write(self, data: Any) -> int:
        """Take bytes."""
        piece = bytes(data)
        self._pieces.append(piece)
        self._size += len(piece)
        return len(piece)

    def tell(self) -> int:
        """Return how many bytes were ever written."""
        return self._size

    def taken(self) -> bytes:
        """Return what was written since the last call."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


def streamed(decider: Decider) -> Iterator[bytes]:
    """Yield the log as `Decider.export` writes it, some thousand decisions at a time."""
    sink = Sink()
    for _ in decider.iter_export(sink):
        piece = sink.taken()
        if piece:
            yield piece
    yield sink.taken()
