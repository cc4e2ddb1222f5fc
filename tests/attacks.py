"""Attacks for longer runs by hand than a test may take: `python -m tests.attacks scales`.

Each prints what failed, and how many of how many tries did.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests import crafted
from tests.scales import attack


def scales(tries: int) -> int:
    """Columns and rewards of scales from 1e-12 to 1e12: a result, or a refusal with a name."""
    failures = [failure for seed in range(tries) if (failure := attack(seed)) is not None]
    for failure in failures:
        print(failure)
    print(f"{len(failures)} of {tries} runs end in anything but a result or a named refusal")
    return len(failures)


def files(tries: int) -> int:
    """Crafted files of a decider: each is refused by name, or makes one that works."""
    failures, refused = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decider"
        cases = crafted.cases(path)[:tries]
        for label, make in cases:
            make()
            try:
                refused += crafted.refused(path)
            except Exception as error:
                failures += 1
                print(f"{label}: {error!r}")
    print(f"{failures} of {len(cases)} crafted files do harm, {refused} are refused")
    return failures


ATTACKS = {"scales": scales, "files": files}


def main() -> None:
    """Run one attack; the exit status says whether anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attack", choices=ATTACKS)
    parser.add_argument("--tries", type=int, default=234)
    arguments = parser.parse_args()
    sys.exit(ATTACKS[arguments.attack](arguments.tries) > 0)


if __name__ == "__main__":
    main()
