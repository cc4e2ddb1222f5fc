"""How kernels are compiled, by numba's public interface alone, and kept on disk.

A kernel is a plain function at module level, so a new process finds it on disk. numba misses an
edit of a function that a kernel calls, in another file or the same: a file beside the kernels has
the digest of all their sources, and where it differs, those that are kept are removed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from numba import carray, njit, types  # type: ignore[attr-defined]
from numba.core.errors import NumbaError
from numba.extending import intrinsic, overload, register_jitable

from projbandits._files import write_whole
from projbandits.simulation.sources import DIGEST

REMEDY = "set NUMBA_CACHE_DIR to a folder with room that can be written to"
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
part = register_jitable(**OPTIONS)
"""Mark a function that only kernels call."""
_INLINED: Any = OPTIONS | {"forceinline": True}
inlined = register_jitable(**_INLINED)
"""Mark a function that becomes a part of each kernel that calls it."""
_said: list[str] = []
_waiting: list[Callable[[], None]] = []


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that is called from Python, and keep it on disk where that is possible."""
    try:
        compiled = njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # numba looked for a folder and found none
        _warn("compiled kernels cannot be kept")
        return uncached(function)
    if hasattr(compiled, "stats"):  # NUMBA_DISABLE_JIT leaves functions as they are
        remove_other_code(compiled.stats.cache_path)
    return compiled


@lru_cache(maxsize=64)
def uncached(function: Callable[..., Any]) -> Any:
    """Compile a function for this process alone."""
    return njit(**OPTIONS)(function)


@lru_cache(maxsize=8)
def remove_other_code(folder: str) -> None:
    """Remove the kernels that were compiled from other sources than those of this process."""
    mark = Path(folder, "kernels.digest")
    try:
        if not mark.exists() or mark.read_text() != DIGEST:
            _remove(folder, "*")
            write_whole(mark, DIGEST.encode())
    except OSError as error:
        _warn(f"compiled kernels cannot be checked ({error})")


def call(kernel: Any, *arguments: Any) -> None:
    """Call a kernel; where the disk fails it, the kernel is compiled without the disk.

    An error in the kernel's own code is raised as it is.
    """
    if getattr(kernel, "signatures", True):
        kernel(*arguments)
        return
    folder, name = kernel.stats.cache_path, kernel.py_func.__qualname__
    files = f"{kernel.py_func.__module__.rpartition('.')[2]}.{name}-*.nb?"
    if folder is None or not any(Path(folder).glob(files)):
        while _waiting:
            _waiting.pop()()
    try:
        kernel(*arguments)
    except NumbaError:  # it cannot be compiled
        raise
    except Exception as error:
        if folder is None or (kernel.signatures and not isinstance(error, OSError)):
            raise
        _remove(folder, files)
        try:
            kernel(*arguments)  # what was damaged is gone, or it is compiled and was not kept
        except OSError:
            uncached(kernel.py_func)(*arguments)
        _warn(f"a compiled kernel cannot be kept or read ({error})")


@contextmanager
def on_compile(callback: Callable[[], None]) -> Iterator[None]:
    """Call back once, when a kernel must be compiled first; never if all are kept on disk."""
    _waiting.append(callback)
    try:
        yield
    finally:
        _waiting.clear()


def _to_pointer(typing: Any, address: Any) -> Any:
    """Return an address as a pointer, as in numba's documentation of `intrinsic`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.voidptr(types.uintp), code


_pointer: Any = intrinsic(_to_pointer)


def lent(value: Any) -> Any:
    """Return the same array, or named tuple of arrays, without counters of references.

    The caller of a kernel holds its arrays. Otherwise each access to a field or a row counts up and
    down, atomically: most of a step.
    """
    return value  # where numba is switched off


@overload(lent, jit_options=_INLINED)
def _lent(value):  # numba compares annotations, too
    kind: Any = value
    if isinstance(value, types.Array):
        return lambda value: carray(_pointer(value.ctypes.data), value.shape, value.dtype)
    if not isinstance(value, types.BaseNamedTuple):
        return lambda value: value
    fields = ", ".join(f"lent(value.{name})" for name in kind.fields)
    names: dict[str, Any] = {"lent": lent, "kind": kind.instance_class}
    exec(f"def rebuilt(value): return kind({fields})", names)  # as `namedtuple` makes its own
    return names["rebuilt"]


def _remove(folder: str, files: str) -> None:
    for file in Path(folder).glob(files):
        if file.suffix in (".nbi", ".nbc"):
            file.unlink(missing_ok=True)


def _warn(text: str) -> None:
    """Warn once in a process: a disk that fails one kernel fails them all."""
    if not _said:
        _said.append(text)
        warnings.warn(f"{text}, so each process compiles anew: {REMEDY}", stacklevel=3)
