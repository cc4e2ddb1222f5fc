"""numba's own cache on disk, made safe by public means: for loops at module level.

numba finds a function in its cache by the file that it stands in; it does not notice that a
function it calls, in another file, was edited. So a digest of all sources is part of each loop's
name, and what other sources left is removed.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit

FOLDER = Path(__file__).parent


def digest_of(folder: Path) -> str:
    """Return a digest of the sources in a folder."""
    whole = hashlib.sha256()
    for file in sorted(folder.glob("*.py")):
        whole.update(b"%s\0" % file.name.encode() + file.read_bytes() + b"\0")
    return whole.hexdigest()[:12]


DIGEST = digest_of(FOLDER)


def kept(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a loop and keep it on disk, where there is a place for it."""

    def decorate(function: Callable[..., Any]) -> Any:
        name = function.__qualname__
        function.__qualname__ = f"{name}_{DIGEST}"  # the name of its files begins with this
        try:
            loop = njit(cache=True, **options)(function)
        except RuntimeError as error:  # numba looked for a folder to write to and found none
            warnings.warn(f"kernels are compiled anew in each process: {error}", stacklevel=2)
            return njit(**options)(function)
        for file in Path(loop.stats.cache_path).glob(f"*.{name}_*.nb[ic]"):
            if DIGEST not in file.name:
                file.unlink(missing_ok=True)
        return loop

    return decorate
