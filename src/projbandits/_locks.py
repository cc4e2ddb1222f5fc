"""Folders that one run at a time writes to."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None

PAUSE = 0.1
"""How many seconds pass between two looks at a folder that is waited for."""
_held: dict[int, tuple[tuple[int, int], int]] = {}
"""The descriptors that hold locks in this process: of which folder, and in which thread."""


@contextmanager
def locked(folder: Path, what: str, waiting: Callable[[], object] | None = None) -> Iterator[bool]:
    """Make a folder and keep other runs out of it, until the end of this one or of its process.

    Nothing is left in the folder. Yields False if the file system cannot lock folders, as some
    network file systems and Windows cannot; then nobody is kept out.

    Parameters
    ----------
    folder : Path
        What to lock.
    what : str
        The name of the argument that named it, for errors.
    waiting : callable, optional
        Called before each pause while another run is in the folder, which is then waited for until
        this raises something. Without it, and if this thread itself is in it, the folder is
        refused.
    """
    if fcntl is None:
        _make(folder, what)
        yield False
        return
    while (taken := _take(folder, what, patient=waiting is not None)) is None:
        if waiting is not None:
            waiting()
        time.sleep(PAUSE)
    descriptor, held = taken
    try:
        yield held
    finally:
        if descriptor in _held:  # not in a child of this process
            del _held[descriptor]
            with suppress(OSError):  # a copy of the descriptor elsewhere must not keep the lock
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _take(folder: Path, what: str, *, patient: bool) -> tuple[int, bool] | None:
    """Return a descriptor of a folder and whether it locks it, or None if it has to be waited for.

    Raises
    ------
    ValueError
        If another run is in the folder and nobody is patient, or if this thread is in it.
    """
    assert fcntl is not None
    _make(folder, what)  # whoever was in it may have removed it
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise unwritable(what, folder, error) from error
    mine = _place(os.fstat(descriptor)), threading.get_ident()
    mine_already = mine in _held.values()
    _held[descriptor] = mine
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        del _held[descriptor]
        os.close(descriptor)
        if patient and not mine_already:
            return None
        raise ValueError(
            f"{what} {str(folder)!r} is in use by another run: wait until it is done, stop it, "
            "or use another folder"
        ) from error
    except OSError:
        return descriptor, False
    return descriptor, True


def _make(folder: Path, what: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(what, folder, error) from error


def _place(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


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
