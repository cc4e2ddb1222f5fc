"""Frozen values and those found, compared; frozen files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FROZEN = Path(__file__).parent / "frozen"
RELATIVE = 1e-9
"""The relative difference up to which floats are equal."""
ABSOLUTE = 1e-12
"""The difference up to which they are equal however small they are."""
DIGITS = 11
SHOWN = 6
"""The number of differences of a corpus that are printed, the first and the largest among them."""


class Difference(NamedTuple):
    """A value that is not what was frozen; only numbers have a finite relative difference."""

    path: str
    expected: Any
    found: Any
    relative: float

    def __str__(self) -> str:
        size = "" if math.isinf(self.relative) else f", relative difference {self.relative:.1e}"
        return f"{self.path}: expected {_short(self.expected)}, found {_short(self.found)}{size}"


class Missing:
    """What is not there."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()


def differences(expected: Any, found: Any, path: str = "") -> Iterator[Difference]:
    """Yield where two plain values differ, in the order in which they were found."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*found, *(key for key in expected if key not in found)]:
            inner = f"{path}.{key}" if path else str(key)
            yield from differences(expected.get(key, MISSING), found.get(key, MISSING), inner)
    elif isinstance(expected, list) and isinstance(found, list):
        for i in range(max(len(expected), len(found))):
            one, other = (it[i] if i < len(it) else MISSING for it in (expected, found))
            yield from differences(one, other, f"{path}[{i}]")
    elif _is_number(expected) and _is_number(found) and float in (type(expected), type(found)):
        apart, size = abs(expected - found), max(abs(expected), abs(found))
        if apart > max(RELATIVE * size, ABSOLUTE):
            yield Difference(path, expected, found, apart / size)
    elif type(expected) is not type(found) or expected != found:
        yield Difference(path, expected, found, math.inf)


def equal(expected: Any, found: Any) -> bool:
    """Tell whether two plain values are equal, floats up to `RELATIVE`."""
    return next(differences(expected, found), None) is None


def report(name: str, found: list[Difference]) -> str:
    """Return differences in words: the first ones and the largest of those between numbers."""
    numbers = [one for one in found if math.isfinite(one.relative)]
    worst = max(numbers, key=lambda one: one.relative, default=None)
    said = [f"{name}: {len(found):,} values differ"]
    said += [f"    {one}" for one in found[:SHOWN]]
    if len(found) > SHOWN:
        said.append(f"    ... and {len(found) - SHOWN:,} more")
    if worst is not None:
        said.append(f"    worst: {worst}")
    return "\n".join(said)


def read(name: str) -> Any:
    """Return what is frozen under a name; None if nothing is."""
    path = FROZEN / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def write(name: str, value: Any) -> None:
    """Freeze a value under a name."""
    FROZEN.mkdir(exist_ok=True)
    (FROZEN / f"{name}.json").write_text(_text(rounded(value)) + "\n", encoding="utf-8")


def rounded(value: Any) -> Any:
    """Return a value with floats of few digits, far below what is compared."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _text(value: Any, depth: int = 0) -> str:
    """Return JSON with sorted keys, a line for each decision or other small part."""
    whole = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    if depth == 3 or len(whole) < 100 or not isinstance(value, dict | list):
        return whole
    pad = "\n" + " " * (depth + 1)
    if isinstance(value, dict):
        parts = [f"{json.dumps(k)}:{_text(value[k], depth + 1)}" for k in sorted(value)]
        return f"{{{pad}{f',{pad}'.join(parts)}\n{' ' * depth}}}"
    return f"[{pad}{f',{pad}'.join(_text(each, depth + 1) for each in value)}\n{' ' * depth}]"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
