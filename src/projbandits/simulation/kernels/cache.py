"""Compiled kernels on disk, checked before they are used; compiling goes on without the disk."""

from __future__ import annotations

import hashlib
import pickle
import warnings
from pathlib import Path
from typing import Any

import numba

from projbandits._files import write_whole

REMEDY = "set NUMBA_CACHE_DIR to a folder with room that can be written to"
_said: list[str] = []


def keep(kernel: Any) -> None:
    """Keep on disk what is compiled of a kernel, where there is a place for it."""
    if not hasattr(kernel, "enable_caching"):
        return  # NUMBA_DISABLE_JIT leaves functions as they are
    try:
        kernel.enable_caching()
    except RuntimeError:  # numba looked for a folder and found none
        _warn(f"compiled kernels cannot be kept, so each process compiles anew: {REMEDY}")
    else:
        kernel._cache = ForgivingCache(kernel._cache)


class ForgivingCache:
    """numba's cache of one kernel, except that what fails is a miss."""

    def __init__(self, cache: Any) -> None:
        cache._cache_file = CheckedFiles(cache._impl, cache._cache_file._dump)
        self.cache = cache
        self.cache_path = cache.cache_path

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the kernel as it was kept, or None."""
        try:
            return self.cache.load_overload(signature, target)
        except OSError as error:
            _warn(f"a kept kernel cannot be read, so it is compiled anew: {error}")
            return None

    def save_overload(self, signature: Any, kernel: Any) -> None:
        """Keep the kernel, if that is possible."""
        try:
            self.cache.save_overload(signature, kernel)
        except OSError as error:
            _warn(f"a compiled kernel cannot be kept: {REMEDY} ({error})")


class CheckedFiles:
    """A file for each signature: a digest, then what numba makes of the kernel.

    numba loads whatever it finds. One flipped bit of machine code may be another number, or the
    end of the process.
    """

    def __init__(self, place: Any, dump: Any) -> None:
        self.place = place
        self.dump = dump

    def path(self, key: Any) -> Path:
        """Return where the kernel of a signature, on this machine, is kept."""
        name = hashlib.sha256(repr((numba.__version__, key)).encode()).hexdigest()[:16]
        folder = Path(self.place.locator.get_cache_path())
        return folder / f"{self.place.filename_base}.{name}.nbc"

    def load(self, key: Any) -> Any:
        """Return what was saved, or None if there is nothing or it was damaged."""
        path = self.path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        digest, data = content[:32], content[32:]
        if hashlib.sha256(data).digest() != digest:
            _warn(f"a kept kernel was damaged, so it is compiled anew: {str(path)!r}")
            return None
        return pickle.loads(data)

    def save(self, key: Any, kernel: Any) -> None:
        """Write a file that appears whole or not at all; a damaged one is replaced."""
        data = self.dump(kernel)
        write_whole(self.path(key), hashlib.sha256(data).digest() + data)


def _warn(text: str) -> None:
    """Warn once in a process: what is wrong with the disk is wrong for every kernel."""
    if not _said:
        _said.append(text)
        warnings.warn(text, stacklevel=2)
