"""Folders that one run at a time writes to."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None

_held: set[int] = set()
"""The descriptors that hold locks in this process."""


@contextmanager
def locked(folder: Path, what: str) -> Iterator[bool]:
    """Make a folder and keep other runs out of it, until the end of this one or of its process.

    Nothing is left in the folder. Yields False if the file system cannot lock folders, as some
    network file systems and Windows cannot; then nobody is kept out.

    Parameters
    ----------
    folder : Path
        What to lock.
    what : str
        The name of the argument that named it, for errors.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = None if fcntl is None else os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise unwritable(what, folder, error) from error
    if fcntl is None or descriptor is None:
        yield False
        return
    _held.add(descriptor)
    try:
        held = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ValueError(
                f"{what} {str(folder)!r} is in use by another run: wait until it is done, stop it, "
                "or use another folder"
            ) from error
        except OSError:
            held = False
        yield held
    finally:
        if descriptor in _held:  # not in a child of this process
            _held.remove(descriptor)
            with suppress(OSError):  # a copy of the descriptor elsewhere must not keep the lock
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def unwritable(what: str, folder: Path, error: OSError) -> OSError | ValueError:
    """Return what to raise when a folder could not be written to: a full disk is not its fault."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
        return error
    reason = error.strerror or error
    return ValueError(
        f"{what} must be a folder that can be written to, got {str(folder)!r}: {reason}"
    )


def _let_go() -> None:
    """Release the locks in a child of this process, where they would outlive the parent."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
