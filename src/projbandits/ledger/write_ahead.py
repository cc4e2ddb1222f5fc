"""SQLite's write-ahead log, looked at before SQLite does.

After a process was killed, the newest transactions are in `films.db-wal` alone. There SQLite takes
the first frame whose checksum is wrong for the end of the log, and forgets without a word what
follows: right for a transaction that was never finished, and a loss of what was acknowledged if a
byte of it has changed. The two can be told apart. The next transaction begins after the one before
is on the disk, so whoever finds one that goes on from a commit has found that commit finished.
"""

from __future__ import annotations

import time
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

HEADER, FRAME_HEADER = 32, 24
MAGIC = {0x377F0682: "<u4", 0x377F0683: ">u4"}
"""How a log begins, and in which order its checksums take the bytes of a number."""

PAGE_SIZES = [2**k for k in range(9, 17)]
MOST_AT_ONCE = 8_000_000
"""How many bytes are read at a time."""

LOOKS, PAUSE = 3, 0.05
"""How often damage must be seen, so many seconds apart: others may be writing meanwhile."""

Words = NDArray[np.uint32]


class Frames(NamedTuple):
    """What the frames of a log say: each a page, and in the last of a transaction its commit."""

    linked: NDArray[np.bool_]
    """Whether the checksum goes on from that of the frame before, or of the header."""
    same: NDArray[np.bool_]
    """Whether it was written since the log began anew."""
    commits: NDArray[np.bool_]


def log_damage(path: str) -> str | None:
    """Return what is wrong with the write-ahead log beside a file; None if nothing is.

    Parameters
    ----------
    path : str
        The database.
    """
    for look in range(LOOKS):
        if look:
            time.sleep(PAUSE)
        found = _looked(path)
        if found is None:
            break
    return found


def _looked(path: str) -> str | None:
    try:
        with open(f"{path}-wal", "rb") as file:
            header = file.read(HEADER).ljust(HEADER, b"\0")
            words = np.frombuffer(header, ">u4").astype(np.uint32)
            order, page = MAGIC.get(int(words[0])), int(words[2])
            if order is None or page not in PAGE_SIZES or not _sound(header, order):
                frames = [_frames(file, o, p, words) for o in MAGIC.values() for p in PAGE_SIZES]
                gone_on = any((each.commits[:-1] & each.linked[1:]).any() for each in frames)
                return "its first bytes have changed" if gone_on else None
            linked, same, commits = _frames(file, order, page, words)
    except OSError:
        return None  # there is none, or it may not be read: SQLite says so
    valid, commits = linked & same, commits & same
    first = len(valid) if valid.all() else int(valid.argmin())
    if (commits[first:-1] & valid[first + 1 :]).any():
        lost = int(commits[first:].sum())
        return f"frame {first + 1} of {len(valid)} has changed, and hides {lost} transactions"
    return None


def _sound(header: bytes, order: str) -> bool:
    *_, s, t = np.frombuffer(header, ">u4").tolist()
    words = np.frombuffer(header[:-8], order)[None]
    return bool((_summed(words, np.zeros((1, 2), np.uint32)) == [[s, t]]).all())


def _frames(file: BinaryIO, order: str, page: int, header: Words) -> Frames:
    """Return what all frames say."""
    file.seek(HEADER)
    size, before = FRAME_HEADER + page, header[6:8]
    found = [Frames(*np.zeros((3, 0), bool))]
    while len(data := file.read(size * max(MOST_AT_ONCE // size, 1))) >= size:
        whole = np.frombuffer(data, np.uint8)[: len(data) // size * size].reshape(-1, size)
        read, before = _read(whole, order, header[4:6], before)
        found.append(read)
    return Frames(*map(np.concatenate, zip(*found, strict=True)))


def _read(frames: NDArray[np.uint8], order: str, salt: Words, start: Words) -> tuple[Frames, Words]:
    """Return what frames say, and the checksum of the last."""
    heads = np.ascontiguousarray(frames[:, :FRAME_HEADER]).view(">u4").astype(np.uint32)
    sums = heads[:, 4:6]
    before = np.concatenate([start[None], sums[:-1]])
    content = np.concatenate([frames[:, :8], frames[:, FRAME_HEADER:]], axis=1)
    linked = (_summed(content.view(order), before) == sums).all(axis=1) & (heads[:, 0] != 0)
    same = (heads[:, 2:4] == salt).all(axis=1)
    return Frames(linked, same, heads[:, 1] != 0), sums[-1]


def _summed(words: NDArray[np.uint32], start: Words) -> Words:
    """Return SQLite's checksums of rows of words that go on from other checksums.

    A pair of words (a, b) takes the sums (s, t) to (s + t + a, s + 2 t + a + b), modulo 2^32. So n
    pairs take them to powers of [[1, 1], [1, 2]], whose entries are every other Fibonacci number.
    """
    a = words[:, 0::2].astype(np.uint32)
    b = a + words[:, 1::2].astype(np.uint32)
    n = a.shape[1]
    fibonacci = np.empty(2 * n + 2, np.uint32)  # from the one before 0
    fibonacci[:2] = 1, 0
    with np.errstate(over="ignore"):
        for i in range(2, len(fibonacci)):
            fibonacci[i] = fibonacci[i - 1] + fibonacci[i - 2]
    one, two, three = (fibonacci[k : k + 2 * n : 2][::-1] for k in range(3))
    s = (a * one + b * two).sum(axis=1, dtype=np.uint32)
    t = (a * two + b * three).sum(axis=1, dtype=np.uint32)
    low, high = fibonacci[2 * n, None], fibonacci[2 * n + 1, None]
    s += start[:, 0] * low + start[:, 1] * high
    t += start[:, 0] * high + start[:, 1] * (low + high)
    return np.stack([s, t], axis=1)
