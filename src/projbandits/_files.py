"""Files that appear whole or not at all, whatever stops the program or the machine."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

UNFINISHED = ".unfinished-"
"""How a file's name begins until it is whole; a killed process may leave one."""
UNFINISHED_NAME = re.compile(
    re.escape(UNFINISHED) + r"(?P<here>[0-9a-f]{8})-(?P<pid>\d+)-[0-9a-f]{8}-(.+)"
)
CHECKSUM = "sha256"


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """Yield a path to write to, which takes the place of `target` if nothing is raised.

    If `target` is a link, the file it leads to is replaced.
    """
    target = Path(os.path.realpath(target))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(target.parent)!r}: make it first")
    remove_leftovers(target.parent, target.name)
    part = target.with_name(
        f"{UNFINISHED}{_here()}-{os.getpid()}-{secrets.token_hex(4)}-{target.name}"
    )
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


def remove_leftovers(folder: Path, name: str | None = None, *, locked: bool = False) -> None:
    """Remove what killed processes left half-written, of one file or of all in a folder.

    Nobody else writes to a locked folder. In others only the leftovers of processes of this machine
    that are gone are removed.
    """
    for file in folder.glob(f"{UNFINISHED}*"):
        match = UNFINISHED_NAME.fullmatch(file.name)
        if locked or (match and name in (None, match[3]) and _is_gone(match)):
            with suppress(OSError):  # another process may do the same, or it is read-only
                file.unlink()


def _is_gone(match: re.Match[str]) -> bool:
    if os.name != "posix" or match["here"] != _here():  # elsewhere, asking may end a process
        return False
    try:
        os.kill(int(match["pid"]), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        return False
    return False


@cache
def _here() -> str:
    """Return a short name of where a process id means one process: this machine or container."""
    places = [platform.node()]
    with suppress(OSError):
        places.append(Path("/etc/machine-id").read_text(encoding="utf-8"))
    with suppress(OSError):
        places.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\n".join(places).encode()).hexdigest()[:8]


def write_json(target: Path, content: dict[str, Any]) -> None:
    """Write a JSON file that carries its checksum."""
    sealed = {**content, CHECKSUM: _checksum(content)}
    write_whole(target, json.dumps(sealed, indent=2).encode())


def read_json(path: Path) -> dict[str, Any]:
    """Read a file that `write_json` wrote.

    Raises
    ------
    ValueError
        If something is wrong with it; the message continues a sentence that begins with its name.
    """
    try:
        content: dict[str, Any] = json.loads(path.read_bytes())
        found = content.pop(CHECKSUM, None)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("is no JSON that this library wrote") from error
    if found is None:
        raise ValueError("has no checksum, as in earlier versions")
    if found != _checksum(content):
        raise ValueError("is damaged: its checksum does not fit its content")
    return content


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
