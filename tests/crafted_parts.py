"""Crafted files of deciders, part by part: their checksums always fit."""

from __future__ import annotations

import dataclasses
import json
import random
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import projbandits as pb
from projbandits.deciding import restore
from projbandits.ledger import dump
from projbandits.ledger.codec import LENGTH, Record, decode, encode
from projbandits.strategies import LinearStrategy
from tests.crafted import VALUES, Case, parquet, sign, tables

U = pb.Subspace.without("age", columns=["age", "price", "size"])

ARRAYS: list[Callable[[Any], Any]] = [
    lambda a: a[:-1],
    lambda a: a.T,
    lambda a: a.ravel(),
    lambda a: np.full_like(a, np.nan),
    lambda a: np.full_like(a, 1e300),
    lambda a: -a,
    lambda a: a + 0.25,
    lambda a: np.zeros((10**6, 0)),
]


def saved(path: Path, strategy: LinearStrategy | None = None, spill: bool = True) -> pb.Decider:
    """Save a decider to which everything happened that can, some of it spilled."""
    decider = pb.Decider(strategy or pb.GENTRY(), subspace=U, seed=0, log=True)
    rng = np.random.default_rng(0)
    decider.learn(rng.normal(size=(4, 3)), [1.0, 2.0, 3.0, 4.0], request_id="old")
    offers = [rng.normal(size=(4, 3)) for _ in range(3)]
    for t in range(6):
        made = decider.ask(offers[t % 3], count=2, meta={"t": t})
        for decision in made if t % 3 else []:
            decider.tell(decision.id, float(rng.normal()))
        if t == 2 and spill:
            decider.spill(path.with_name("told.parquet"))
    decider.amend(made[0], 7.0)
    decider.withdraw(made[1])
    decider.ask(pb.Ball(d=3))
    decider.reconfigure(subspace=pb.Subspace.without("price", columns=["age", "price", "size"]))
    decider.save(path)
    return decider


def unpacked(path: Path) -> tuple[dict[str, Any], list[dump.Part]]:
    """Return the fields and the parts of a file."""
    fields, parts = restore.opened(path.read_bytes().split(b"\n", 2)[2])
    return fields, [*parts]


def write(path: Path, fields: Any, parts: list[dump.Part]) -> None:
    """Write a file of any fields and parts."""
    text = json.dumps(fields).encode()
    packed = [part.packed() for part in parts]
    sign(path, b"".join([LENGTH.pack(len(text)), text, *packed]))


def cases(path: Path, strategy: LinearStrategy | None = None) -> list[Case]:
    """Return many ways to craft the file of a decider, in a random order."""
    found = list[Case]()
    for spill in (True, False):
        saved(path.with_name(f"whole-{spill}"), strategy, spill)
        fields, parts = unpacked(path.with_name(f"whole-{spill}"))

        def case(label: str, fields: Any, parts: list[dump.Part]) -> Case:
            return label, lambda: write(path, fields, parts)

        for name in fields:
            for value in VALUES:
                found.append(case(f"{name} = {value!r:.20}", {**fields, name: value}, parts))
            less = {key: value for key, value in fields.items() if key != name}
            found.append(case(f"no {name}", less, parts))
        for i, part in enumerate(parts):
            for label, others in _changed(part):
                found.append(
                    case(f"part {i}: {label}", fields, [*parts[:i], *others, *parts[i + 1 :]])
                )
    random.Random(0).shuffle(found)
    return found


def log_cases(path: Path, strategy: LinearStrategy | None = None) -> list[Case]:
    """Return many ways to craft the log beside the file of a decider, in a random order."""
    saved(path, strategy)
    spilled = path.with_name("told.parquet")
    content = spilled.read_bytes()

    def put(table: pd.DataFrame) -> None:
        spilled.write_bytes(parquet(table))

    found: list[Case] = [(f"log {label}", partial(put, t)) for label, t in tables(content).items()]
    for i, junk in enumerate((b"PAR1 but no more PAR1", b"", content[: len(content) // 2])):
        found.append((f"log is no Parquet {i}", partial(spilled.write_bytes, junk)))  # type: ignore[arg-type]
    random.Random(0).shuffle(found)
    return found


def _changed(part: dump.Part) -> Iterator[tuple[str, list[dump.Part]]]:
    record = part.record
    yield "gone", []
    yield "twice", [part, part]
    yield "elsewhere", [part._replace(position=part.position + 1)]
    yield "at the end", [part._replace(position=2**63)]
    yield "in another section", [part._replace(section=(part.section + 1) % 6)]
    yield "of another kind", [part._replace(record=record._replace(kind=record.kind % 12 + 1))]
    yield "of another id", [part._replace(record=record._replace(id="other"))]
    yield "without an id", [part._replace(record=record._replace(id=None))]
    yield "shorter", [part._replace(record=record._replace(body=record.body[:-1]))]
    yield "longer", [part._replace(record=record._replace(body=record.body + b"\0"))]
    yield "empty", [part._replace(record=record._replace(body=b""))]
    if part.section == dump.SNAPSHOT:
        return
    event = decode(record)
    for field in dataclasses.fields(event):
        now = getattr(event, field.name)
        arrays = list[Any]()
        if isinstance(now, np.ndarray):
            arrays = [change(now.astype(np.float64)) for change in ARRAYS]
        for value in [*VALUES, *arrays]:
            try:
                made = encode(dataclasses.replace(event, **{field.name: value}))
            except (TypeError, ValueError, AttributeError, struct.error, OverflowError, KeyError):
                continue  # no file can say so
            if isinstance(made.id, str | None):
                label = f"{type(event).__name__}.{field.name} = {value!r:.20}"
                yield label, [part._replace(record=_writable(made))]


def _writable(record: Record) -> Record:
    """Return a record whose id can be written: a lone surrogate cannot."""
    return record._replace(id=record.id and record.id.encode(errors="ignore").decode())
