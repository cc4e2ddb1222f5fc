"""What a decider's file may hold: each field and each array is checked once, when it is read.

The checksum of a file finds damage, not intent, since whoever crafts a file computes it anew. So
nothing is taken for granted: arrays are stored as they are, never compressed, of two types and in
shapes that go together, and every field is one that `saving.pack` could have written.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from projbandits._checks import Array
from projbandits.online import offers
from projbandits.online.decision import MOST
from projbandits.online.limits import LARGEST

SHAPES = {
    "factor": "ee",
    "subspace": "du",
    "pending_arms": "pd",
    "pending_values": "p7",
    "told": "t",
    "told_values": "t",
    "meta": "m",
    "log": "l",
}
"""The axes of each array. Those with the same letter have the same length, and e is d + 1."""

NPY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<>]f8|\|u1)', 'fortran_order': (True|False), "
    rb"'shape': \(([\d, ]*)\), \} *\n",
    re.DOTALL,
)
"""How numpy begins an array of floats or of bytes."""


@contextmanager
def named(message: str) -> Iterator[None]:
    """Put the message, which names a file, before what its content is found to lack."""
    try:
        yield
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{message}: {error}") from error


def arrays(body: bytes) -> dict[str, Any]:
    """Return the arrays of a file, of which none can be larger than the file."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as stored:
            infos = {info.filename.removesuffix(".npy"): info for info in stored.infolist()}
            if not {*SHAPES} - {"log"} <= {*infos} <= {*SHAPES}:
                raise ValueError(f"it must have the arrays {[*SHAPES]}, got others")
            if any(info.compress_type != zipfile.ZIP_STORED for info in infos.values()):
                raise ValueError("its arrays must not be compressed")
            found = {name: _array(name, stored.read(info)) for name, info in infos.items()}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise ValueError(f"its arrays cannot be read, {error}") from error
    lengths = {"7": 7}
    for name, array in found.items():
        axes = SHAPES[name]
        same = [
            lengths.setdefault(axis, length) == length
            for axis, length in zip(axes, array.shape, strict=False)
        ]
        if len(axes) != array.ndim or not all(same):
            raise ValueError(f"its {name} must fit its other arrays, got shape {array.shape}")
    if lengths["e"] != lengths["d"] + 1:
        raise ValueError(f"its estimate is not one of {lengths['d']} features")
    return found


def _array(name: str, content: bytes) -> Any:
    """Return an array that numpy wrote, after a look at whether it is all there."""
    start = NPY.match(content)
    if start is None or (start[1] == b"|u1") != (name in ("meta", "log")):
        raise ValueError(f"its {name} must be a plain array")
    shape = [int(length) for length in start[3].replace(b",", b" ").split()]
    dtype = np.dtype(start[1].decode())
    if math.prod(shape) * dtype.itemsize != len(content) - start.end():
        raise ValueError(f"its {name} must be a whole array, got another size")
    flat = np.frombuffer(content, dtype, offset=start.end()).astype(dtype.newbyteorder("="))
    return flat.reshape(shape, order="F" if start[2] == b"True" else "C")


def _text(value: Any) -> bool:
    return isinstance(value, str) and value.encode(errors="ignore").decode() == value


def _whole(least: int, most: int = MOST) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value <= most


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_text, value)) and len(set(value)) == len(value)


def _strategy(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {*value} == {"class", "fields"}
        and _text(value["class"])
        and isinstance(value["fields"], dict)
    )


def _random(value: Any) -> bool:
    large = _whole(0, 2**128 - 1)
    return (
        isinstance(value, dict)
        and {*value} == {"bit_generator", "state", "has_uint32", "uinteger"}
        and value["bit_generator"] == "PCG64"
        and isinstance(value["state"], dict)
        and {*value["state"]} == {"state", "inc"}
        and all(map(large, value["state"].values()))
        and value["state"]["inc"] % 2 == 1
        and _whole(0, 1)(value["has_uint32"])
        and _whole(0, 2**32 - 1)(value["uinteger"])
    )


def _local(value: Any) -> bool:
    """Tell whether these are paths of this machine; an address would be fetched."""
    return _texts(value) and all(
        Path(path).is_absolute() and not Path(path).drive.startswith("\\\\") for path in value
    )


def _or_none(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


FIELDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "library": ("a text", _text),
    "strategy": ("a class and its fields, or null", _or_none(_strategy)),
    "label": ("a text", _text),
    "name": ("a text", _text),
    "given": ("a count", _whole(0)),
    "step": ("a count from 1", _whole(1)),
    "penalty": ("a number", lambda value: type(value) is float),
    "observations": ("a count", _whole(0)),
    "columns": ("distinct texts, or null", _or_none(_texts)),
    "subspace_names": ("distinct texts, or null", _or_none(_texts)),
    "sources": ("distinct texts", _texts),
    "span_checked": ("true or false", lambda value: type(value) is bool),
    "random": ("the state of a PCG64", _random),
    "log_files": ("absolute local paths, or null", _or_none(_local)),
}
"""What each field must be."""


def fields(text: bytes) -> dict[str, Any]:
    """Return the fields of a file."""
    found = json.loads(text)
    if not isinstance(found, dict) or {*found} != {*FIELDS}:
        raise ValueError(f"its fields must be {[*FIELDS]}")
    for name, (what, fits) in FIELDS.items():
        if not fits(found[name]):
            raise ValueError(f"its {name} must be {what}, got {repr(found[name])[:60]}")
    return found


def check_estimate(factor: Array, n: int, penalty: float) -> None:
    """Raise unless a factor can be that of n observations, which bounds its size."""
    most = np.full(len(factor), offers.LARGEST * math.sqrt(penalty))
    most[-1] = LARGEST
    # A projected arm may have entries as large as the arm is long.
    if not (np.abs(factor) <= 1.001 * math.sqrt(n * len(factor)) * most).all():
        raise ValueError(f"its estimate is not one of {n} observations")
