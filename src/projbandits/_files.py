"""Files that appear whole or not at all, whatever stops the program or the machine."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = ".unfinished-"
"""How a file's name begins until it is whole; a killed process may leave one, to be ignored."""


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """Yield a path to write to, which takes the place of `target` if nothing is raised.

    Where `target` is a link, what it leads to is replaced.
    """
    target = Path(os.path.realpath(target))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(target.parent)!r}: make it first")
    part = target.with_name(f"{UNFINISHED}{os.getpid()}-{secrets.token_hex(4)}-{target.name}")
    try:
        yield part
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    if os.name == "posix":  # elsewhere a folder cannot be opened
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_whole(target: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    with whole(target) as part:
        part.write_bytes(content)
