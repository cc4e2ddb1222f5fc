"""The oldest versions that `pyproject.toml` allows: `python -m tests.oldest` prints constraints.

`make oldest` runs the tests with them.
"""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def constraints() -> list[str]:
    """Return a line for each dependency of the package, its extras and its tests."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    extras = project["optional-dependencies"]
    # Speed is measured, and the code linted, with the newest.
    tested = [extras[name] for name in extras if name not in ("bench", "dev", "docs")]
    wanted = [line for group in (project["dependencies"], *tested) for line in group]
    wanted = [line.partition(";")[0] for line in wanted]  # a constraint needs no marker
    named = [re.sub(r"\[.*?\]", "", line) for line in wanted if not line.startswith("projbandits")]
    return sorted(line.replace(">=", "==") for line in named)  # a constraint has no extras


if __name__ == "__main__":
    print(*constraints(), sep="\n")
