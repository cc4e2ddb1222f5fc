"""The code that a simulation depends on, found by following imports, and its digest.

A store of trials, a folder of a reproduction and the compiled kernels on disk outlive the code that
made them. All of them know it by `CODE`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from projbandits._version import __version__

FOLDER = Path(__file__).parents[1]
ROOTS = ("simulation/simulate.py", "simulation/kernels/*.py")
"""Where the imports start: kernels are imported by names that only a strategy knows."""
TYPES_ALONE = re.compile(rb"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)*", re.MULTILINE)
IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(projbandits[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|.*)"
    rb"|import[ \t]+(projbandits[\w.]*))",
    re.MULTILINE,
)
NAME = re.compile(r"\w+")


def digest(package: Path) -> str:
    """Return a digest of the sources in a package's folder, their names included."""
    whole = hashlib.sha256()
    for file, content in sorted(sources(package).items()):
        whole.update(b"%s\0%d\0" % (file.relative_to(package).as_posix().encode(), len(content)))
        whole.update(content)
    return whole.hexdigest()[:12]


def sources(package: Path, roots: Iterable[str] = ROOTS) -> dict[Path, bytes]:
    """Return the files that some files import, directly or not, themselves included.

    Parsing them would take a fifth of a second, so imports are found by their text; a test compares
    the result with what a simulation loads.

    Raises
    ------
    FileNotFoundError
        If there is no file of a name or pattern among the roots.
    """
    files = {module_of(file, package): file for file in package.rglob("*.py")}
    found: dict[Path, bytes] = {}
    left = []
    for root in roots:
        matching = [module_of(file, package) for file in package.glob(root)]
        if not matching:
            raise FileNotFoundError(f"the sources of a simulation must have {root}, got none")
        left += matching
    while left:
        module = left.pop()
        if module in files:
            file = files.pop(module)
            found[file] = file.read_bytes()
            left += imported(found[file])
            left.append(module.rpartition(".")[0])  # the package around it runs first
    return found


def imported(text: bytes) -> Iterator[str]:
    """Yield the modules that a source imports, and what may be modules among the names."""
    for match in IMPORT.finditer(TYPES_ALONE.sub(b"", text)):
        home, names, module = (group.decode() for group in match.groups(b""))
        yield home or module
        yield from (f"{home}.{name}" for name in NAME.findall(names))


def module_of(file: Path, package: Path) -> str:
    """Return the name of the module in a file."""
    parts = file.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


DIGEST = digest(FOLDER)
"""A digest of the files that a simulation depends on, as this process found them.

It is taken with the first import, when the rest of the library is loaded too: files that are edited
while a process runs are not what it runs.
"""
CODE = f"{__version__}-{DIGEST}"
"""The version with that digest."""
