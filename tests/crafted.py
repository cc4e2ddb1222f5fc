"""Crafted files of deciders of the first format, for `tests.attacks` and the tests.

Their checksums always fit; `tests.crafted_parts` has those of the present format.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import math
import random
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import projbandits as pb
from projbandits.deciding import saving
from projbandits.strategies import LinearStrategy
from tests.format1 import FOLDER

NUMBERS = [True, -1, 0, 1, 7, 2**70, 10**400, 1.5, -2.0, math.nan, math.inf, 1e300, 1e-300]
TEXTS = ["", "x", "\ud800", "__init__", "Strategy", "LinearStrategy", "EpsilonGreedy", "GENTRY"]
VALUES: list[Any] = [None, *NUMBERS, *TEXTS, [], ["x"], [1], [[]], {}, {"x": 1}, ["/nowhere"]]

CHANGES: dict[str, Callable[[Any], Any]] = {
    "nan": lambda a: np.where(a == a.flat[-1], np.nan, a),
    "inf": lambda a: np.where(a == a.flat[-1], np.inf, a),
    "huge": lambda a: np.where(a == a.flat[-1], 1e300, a),
    "negative": lambda a: -a,
    "fraction": lambda a: a + 0.25,
    "zero": lambda a: 0 * a,
    "far": lambda a: 1e6 * a,
    "turned": lambda a: a.T,
    "flat": lambda a: a.ravel(),
    "shorter": lambda a: a[:-1],
    "twice": lambda a: np.concatenate([a, a]),
    "empty": lambda a: a[:0],
    "wide and empty": lambda a: np.empty((10**6, 0)),
    "single": lambda a: a.astype(np.float32),
    "whole": lambda a: np.nan_to_num(a).astype(np.int64),
    "bytes": lambda a: np.frombuffer(a.tobytes(), dtype=np.uint8),
    "complex": lambda a: a.astype(np.complex128),
    "texts": lambda a: a.astype(str),
    "pickled": lambda a: a.astype(object),
    "records": lambda a: np.zeros(3, dtype=[("a", "f8"), ("b", "O")]),
    "scalar": lambda a: np.float64(1.0),
}
CELLS = [None, "x", -5, 0, 1.5, math.nan, math.inf, 1e300, 2**62, [], [1.0], [math.nan]]
LISTS: list[Callable[[Any], Any]] = [
    lambda a: a[:-1],
    lambda a: -a,
    lambda a: 1e300 + a,
    lambda a: a + 0.5,
    lambda a: np.zeros_like(a),
]

Case = tuple[str, Callable[[], None]]


def saved(path: Path, strategy: LinearStrategy | None = None) -> None:
    """Put a file of format 1 with a log, some of it spilled, and decisions that are pending."""
    name = type(strategy or pb.GENTRY()).__name__
    path.write_bytes((FOLDER / f"{name}.decider").read_bytes())
    spilled = path.with_name("spilled.parquet")
    spilled.write_bytes((FOLDER / f"{name}.parquet").read_bytes())
    meta, arrays = unpacked(path)
    write(path, {**meta, "log_files": [str(spilled)]}, arrays)


def unpacked(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields and the arrays of a file."""
    with np.load(io.BytesIO(path.read_bytes().split(b"\n", 2)[2])) as stored:
        arrays = dict(stored)
    return json.loads(arrays.pop("meta").tobytes()), arrays


def write(path: Path, meta: Any, arrays: dict[str, Any], pack: Any = np.savez) -> None:
    """Write a file of any fields and arrays."""
    sink = io.BytesIO()
    text = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    pack(sink, **{"meta": text, **arrays})
    sign(path, sink.getvalue())


def sign(path: Path, body: bytes, version: int = 1) -> None:
    """Write a file of any content, with its checksum."""
    digest = hashlib.sha256(body).hexdigest().encode()
    path.write_bytes(b"%s%d\n%s\n%s" % (saving.FILE_KIND, version, digest, body))


def refused(path: Path) -> bool:
    """Tell whether a file is refused by name; if it is not, what is read must work."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="the arms offered so far cannot identify")
        try:
            decider = pb.Decider.load(path)
        except ValueError as error:
            return _names(error, [str(path)])
        arms = np.random.default_rng(1).normal(size=(4, decider.subspace.ambient))
        for decision in decider.ask(arms, count=2):
            assert math.isfinite(decision.estimate)
            assert 0.0 <= decision.propensity <= 1.0
            decider.tell(decision.id, 1.0)
            decider.explain(decision)
        for pending in decider.pending:
            decider.tell(pending.id, -1.0)
        decider.save(path.with_name("again"))
        pb.Decider.load(path.with_name("again"))
        if not decider._ledger.whole:
            return False
        try:
            for key in decider.log()["id"].iloc[[0, -1]]:
                decider.explain(key)
            decider.audit()
        except (ValueError, FileNotFoundError) as error:
            # A spilled file is looked at when it is needed, and may say that an offer was large.
            files = map(repr, decider._files)
            return _names(error, [*files, "not in the log"])
    return False


def _names(error: Exception, names: list[str]) -> bool:
    if not any(name in str(error) for name in names):
        raise AssertionError(f"{error!r} names no file") from error
    return True


def cases(path: Path, strategy: LinearStrategy | None = None) -> list[Case]:
    """Return many ways to craft the file of a decider that was saved here, in a random order."""
    saved(path, strategy)
    meta, arrays = unpacked(path)
    spilled = path.with_name("spilled.parquet")
    content = spilled.read_bytes()

    def case(label: str, meta: Any, arrays: dict[str, Any]) -> Case:
        def make() -> None:
            write(path, meta, arrays)
            spilled.write_bytes(content)

        return label, make

    def inside(table: pd.DataFrame) -> None:
        log = np.frombuffer(_parquet(table), dtype=np.uint8)
        write(path, meta, {**arrays, "log": log})
        spilled.write_bytes(content)

    def outside(table: pd.DataFrame) -> None:
        write(path, meta, arrays)
        spilled.write_bytes(_parquet(table))

    found = [case(f"field {label}", changed, arrays) for label, changed in _fields(meta)]
    for name, array in arrays.items():
        less = {key: value for key, value in arrays.items() if key != name}
        found.append(case(f"no array {name}", meta, less))
        for how, change in CHANGES.items():
            found.append(case(f"array {name} {how}", meta, {**arrays, name: change(array)}))
    for how, put, log in (
        ("log", inside, arrays["log"].tobytes()),
        ("spilled", outside, content),
    ):
        for label, table in _tables(log).items():
            found.append((f"{how} {label}", partial(put, table)))
    for i, junk in enumerate((b"PAR1 but no more PAR1", b"", content[: len(content) // 2])):
        log = np.frombuffer(junk, dtype=np.uint8)
        found.append(case(f"log is no Parquet {i}", meta, {**arrays, "log": log}))
    random.Random(0).shuffle(found)
    return found


def _fields(meta: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for way in _places(meta):
        for value in VALUES:
            yield f"{way} = {value!r:.20}", _changed(meta, way, value)
        yield f"no {way}", _changed(meta, way, ...)
        yield f"more beside {way}", _changed(meta, (*way[:-1], "more"), 1)


def _places(meta: Any, way: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the way to each field, those within others included."""
    for key, value in meta.items():
        yield (*way, key)
        if isinstance(value, dict):
            yield from _places(value, (*way, key))


def _changed(meta: Any, way: tuple[str, ...], value: Any) -> Any:
    """Return the fields with another value of one of them, or without it."""
    meta = copy.deepcopy(meta)
    inner = meta
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = value
    if value is ...:
        del inner[way[-1]]
    return meta


def _tables(content: bytes) -> dict[str, pd.DataFrame]:
    """Return a log with each of its columns changed in many ways, or gone."""
    table = pd.read_parquet(io.BytesIO(content))
    made = {"no rows": table.iloc[:0], "rows twice": pd.concat([table, table])}
    made["more"] = table.assign(more=1.0)
    for name, values in table.items():
        name = str(name)
        made[f"no {name}"] = table.drop(columns=name)
        made[f"other {name}"] = table.rename(columns={name: "other"})
        made[f"turned {name}"] = table.assign(**{name: values.iloc[::-1].to_numpy()})
        for value in CELLS:
            last = values.astype(object)
            last.iloc[-1] = value
            made[f"{name} ends in {value!r}"] = table.assign(**{name: last})
            every = pd.Series([value] * len(table), dtype=object)
            made[f"{name} is {value!r}"] = table.assign(**{name: every})
        if isinstance(values.iloc[0], np.ndarray):
            for i, change in enumerate(LISTS):
                made[f"{name} changed {i}"] = table.assign(**{name: values.map(change)})
    return made


def _parquet(table: pd.DataFrame) -> bytes:
    sink = io.BytesIO()
    try:
        table.to_parquet(sink, index=False)
    except (ValueError, TypeError, OverflowError):
        return b"no Parquet file can hold it"
    return sink.getvalue()
