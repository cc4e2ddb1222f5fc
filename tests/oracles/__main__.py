"""Compare the library with its frozen numbers, or freeze them again."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.oracles import comparing, deciders, simulations

CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"
UNRELEASED = "## [Unreleased]"
LEAST_WHY = 15
"""The number of characters that a reason has at least."""
SIMULATIONS = "simulations"
NAMES = (SIMULATIONS, *deciders.CORPORA)
STORES = ("memory", "sqlite", "postgresql")


def main(given: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _options(given)
    names = options.only or [*NAMES]
    if options.what == "freeze":
        return freeze(names, options.why)
    began, wrong = time.monotonic(), 0
    stores = ["memory"] if options.short else options.store or [*STORES]
    with tempfile.TemporaryDirectory() as folder, _databases(Path(folder), stores) as places:
        for name in names:
            if name == SIMULATIONS:
                wrong += check_simulations(short=options.short)
                continue
            for kind in suiting(name, stores):
                wrong += check_decider(name, kind, places)
    print(f"{wrong or 'none'} differ; {time.monotonic() - began:.0f} s")
    return int(wrong > 0)


def suiting(name: str, stores: list[str]) -> list[str]:
    """Return the places where a corpus can be played; in memory, SQLite stands in for a store."""
    if name in deciders.SHARED:
        return [kind for kind in stores if kind != "memory"] or ["sqlite"]
    return [kind for kind in stores if kind == "memory" or name not in deciders.IN_MEMORY]


def check_simulations(*, short: bool = False) -> int:
    """Compare simulations with the frozen ones and return how many worlds differ."""
    frozen, wrong = comparing.read(SIMULATIONS) or {}, 0
    began = time.monotonic()
    for world, found in simulations.simulations(short=short):
        expected = {name: simulations.apart(it) for name, it in frozen.get(world, {}).items()}
        wrong += _compared(f"{SIMULATIONS}, {world}", expected, found, began)
        began = time.monotonic()
    return wrong


def check_decider(name: str, kind: str, places: Callable[[str], deciders.Place]) -> int:
    """Compare a corpus with the frozen one and return whether it differs."""
    began, frozen = time.monotonic(), comparing.read(name)
    expected = comparing.MISSING if frozen is None else frozen
    return _compared(f"{name}, {kind}", expected, deciders.play(name, places(kind)), began)


def freeze(names: list[str], why: str) -> int:
    """Freeze corpora again where they differ, and say why in the changelog."""
    changed = []
    with tempfile.TemporaryDirectory() as folder, _databases(Path(folder), ["memory"]) as places:
        for name in names:
            frozen = comparing.read(name)
            if name == SIMULATIONS:
                found: Any = {
                    world: {s: simulations.shared(it, comparing.equal) for s, it in numbers.items()}
                    for world, numbers in simulations.simulations()
                }
            else:
                found = deciders.play(name, places(suiting(name, ["memory"])[0]))
            if frozen is None or not comparing.equal(frozen, found):
                comparing.write(name, found)
                changed.append(name)
            print(f"{name}: {'frozen' if name in changed else 'equal'}", flush=True)
    if changed:
        noted(CHANGELOG, changed, why)
        print(f"{CHANGELOG.name} says why")
    return 0


def noted(changelog: Path, names: list[str], why: str) -> None:
    """Write into the changelog that numbers were frozen again, and why."""
    text = changelog.read_text(encoding="utf-8")
    listed = "all" if len(names) == len(NAMES) else ", ".join(names)
    line = f"- Oracles frozen again ({listed}): {why.strip().rstrip('.')}."
    if UNRELEASED not in text:
        first = text.index("\n## ") + 1
        text = f"{text[:first]}{UNRELEASED}\n\n{text[first:]}"
    head, rest = text.split(UNRELEASED, 1)
    end = rest.find("\n## ")
    part, after = (rest, "") if end < 0 else (rest[:end], rest[end:])
    part = f"\n{part.strip()}\n{line}\n" if part.strip() else f"\n{line}\n"
    changelog.write_text(f"{head}{UNRELEASED}\n{part}{after}", encoding="utf-8")


def _compared(where: str, expected: Any, found: Any, began: float) -> int:
    """Print whether something is as it was; return 1 if not."""
    differing = [*comparing.differences(expected, found)]
    if differing:
        print(comparing.report(where, differing), flush=True)
    else:
        print(f"{where}: equal, {time.monotonic() - began:.1f} s", flush=True)
    return int(bool(differing))


@contextmanager
def _databases(folder: Path, stores: list[str]) -> Iterator[Callable[[str], deciders.Place]]:
    """Give a maker of fresh places of each kind."""
    server: Any = None
    if "postgresql" in stores:
        from tests.databases import Server

        server = Server(folder / "postgresql")
    made = 0

    def place(kind: str) -> deciders.Place:
        nonlocal made
        made += 1
        own = folder / str(made)
        own.mkdir()
        url = server.database() if kind == "postgresql" else f"sqlite:///{own}/oracles.db"
        return deciders.Place(own, None if kind == "memory" else url, apart=True)

    try:
        yield place
    finally:
        if server is not None:
            server.stop()


def _options(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.oracles", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["check", "freeze"], default="check")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--short", action="store_true", help="what the tests compare")
    parser.add_argument("--store", nargs="+", choices=STORES, help="where; by default everywhere")
    parser.add_argument("--why", default="", help="why numbers changed; a line in the changelog")
    options = parser.parse_args(given)
    if options.what == "freeze" and len(options.why.strip()) < LEAST_WHY:
        parser.error("freeze needs --why: which change of the code changes which numbers, and why")
    return options


if __name__ == "__main__":
    sys.exit(main())
