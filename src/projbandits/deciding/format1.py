"""Files of the first format, which had no ledger: a belief, and what was pending.

Nothing is taken for granted: arrays are stored as they are, never compressed, of two types and in
shapes that go together, and every field is one that could have been written. What was believed is
taken over as it is, without its reasons.
"""

from __future__ import annotations

import io
import json
import math
import re
import secrets
import time
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from projbandits._checks import Array, real
from projbandits.arms import FiniteArms
from projbandits.deciding.restoring import Restored, check_fields, local
from projbandits.deciding.soundness import or_none, text, texts, whole
from projbandits.decisions.decision import Decision, check_sound
from projbandits.decisions.limits import LARGEST_ENTRY, check_estimate, check_reward
from projbandits.ledger.fold import Known
from projbandits.ledger.fold import opened as begun
from projbandits.ledger.happened import Believed, Decided, Event, Offered, Opened
from projbandits.ledger.in_memory import MemoryLedger
from projbandits.ledger.index import Fate
from projbandits.strategies import LinearStrategy
from projbandits.subspace import Subspace

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


def _strategy(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {*value} == {"class", "fields"}
        and text(value["class"])
        and isinstance(value["fields"], dict)
    )


def _random(value: Any) -> bool:
    large = whole(0, 2**128 - 1)
    return (
        isinstance(value, dict)
        and {*value} == {"bit_generator", "state", "has_uint32", "uinteger"}
        and value["bit_generator"] == "PCG64"
        and isinstance(value["state"], dict)
        and {*value["state"]} == {"state", "inc"}
        and all(map(large, value["state"].values()))
        and value["state"]["inc"] % 2 == 1
        and whole(0, 1)(value["has_uint32"])
        and whole(0, 2**32 - 1)(value["uinteger"])
    )


FORMAT1_FIELDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "library": ("a text", text),
    "strategy": ("a class and its fields, or null", or_none(_strategy)),
    "label": ("a text", text),
    "name": ("a text", text),
    "given": ("a count", whole(0)),
    "step": ("a count from 1", whole(1)),
    "penalty": ("a number", lambda value: type(value) is float),
    "observations": ("a count", whole(0)),
    "columns": ("distinct texts, or null", or_none(texts)),
    "subspace_names": ("distinct texts, or null", or_none(texts)),
    "sources": ("distinct texts", texts),
    "span_checked": ("true or false", lambda value: type(value) is bool),
    "random": ("the state of a PCG64", _random),
    "log_files": ("absolute local paths, or null", or_none(local)),
}
"""What each field must be."""


def opened(body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields of a file, and its arrays."""
    found = arrays(body)
    return check_fields(json.loads(found["meta"].tobytes()), FORMAT1_FIELDS), found


def ledger(
    fields: dict[str, Any],
    found: dict[str, Any],
    given: Sequence[LinearStrategy],
    largest: float,
) -> Restored:
    """Return a ledger that goes on from a file's belief, with what was pending in it."""
    names, columns, logged = fields["subspace_names"], fields["columns"], fields["log_files"]
    subspace = Subspace(found["subspace"], None if names is None else tuple(names))
    d, strategy = subspace.ambient, given[0]
    if any(of is not None and len(of) != d for of in (names, columns)):
        raise ValueError(f"its columns must be {d}, got {names} and {columns}")
    if names is not None and columns != names:
        raise ValueError(f"its columns must be those of its subspace, got {columns} for {names}")
    if fields["penalty"] != strategy.ridge:
        raise ValueError(f"its penalty must be that of {strategy!r}, got {fields['penalty']}")
    if fields["name"] not in fields["sources"]:
        raise ValueError(f"its sources must include {fields['name']!r}, got {fields['sources']}")
    check_estimate(found["factor"], fields["observations"], strategy.ridge)
    first = Opened(
        fields["name"],
        time.time(),
        secrets.randbits(128),
        fields["strategy"],
        fields["label"],
        subspace.basis,
        subspace.names,
        None if columns is None else tuple(columns),
    )
    steps, sources = fields["step"] - 1, tuple(fields["sources"])
    pending = [
        _decision(fields, x, values)
        for x, values in zip(found["pending_arms"], found["pending_values"].tolist(), strict=True)
    ]
    for decision in pending:
        check_sound(decision, LARGEST_ENTRY * math.sqrt(strategy.ridge), steps)
    recent = _recent(fields, found)
    if len({decision.id for decision in pending} | {*recent}) != len(pending) + len(recent):
        raise ValueError("its decisions must be distinct")
    made = MemoryLedger(first, whole=logged is not None)
    logs = list[bytes]()
    if logged is not None:
        known = begun(first, given)
        known = known._replace(state=known.state._replace(step=fields["step"]))
        pending, logs = _log(found["log"].tobytes(), known, pending, largest)
    taking = Taking(made)
    for decision in pending:
        taking.decision(decision, sources)
    made.append([Believed(time.time(), steps, fields["observations"], found["factor"], sources)])
    made.index().recent.update(recent)
    return Restored(made, logs)


class Taking:
    """Takes over what was pending, each decision with what was believed when it was made."""

    def __init__(self, ledger: MemoryLedger) -> None:
        self._ledger = ledger

    def decision(self, decision: Decision, sources: tuple[str, ...]) -> None:
        """Append a decision that waits for its outcome."""
        grounds, events = decision.grounds, list[Event]()
        catalogue, rows = self._ledger.catalogue(), None
        taken: tuple[int, ...] = ()
        size = 0 if catalogue is None else len(catalogue)
        if grounds is not None:
            ridge = grounds.state.ridge
            events.append(Believed(time.time(), decision.step - 1, ridge.n, ridge.factor, sources))
            if catalogue is not None and isinstance(grounds.arms, FiniteArms):
                numbers, new = catalogue.numbered(grounds.arms.vectors)
                taken = grounds.taken
                # What was taken before is not in a log, and was not on offer to this choice.
                every = np.zeros(len(numbers) + len(taken), dtype=numbers.dtype)
                every[grounds.rows(len(numbers))] = numbers
                rows = every
                if len(new):
                    events.insert(0, Offered(size, new))
        known = self._ledger.last() + len(events)
        events.append(
            Decided(
                decision.id,
                decision.asked,
                decision.step,
                known,
                -1,
                0,
                decision.index,
                decision.propensity,
                decision.estimate,
                decision.standard_error,
                rows,
                taken,
                None if rows is not None else decision.arm,
            )
        )
        self._ledger.append(events, size)


def _log(
    content: bytes, known: Known, pending: list[Decision], largest: float
) -> tuple[list[Decision], list[bytes]]:
    """Return what is pending with its grounds, and the rest of the log."""
    import pandas as pd

    from projbandits.accounts import logfile
    from projbandits.accounts.logtable import about

    tables = [*logfile.tables(content, known.subspace.ambient, largest)]
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame({"told_after": []})
    accounts = logfile.accounts(table, known) if tables else []
    waiting = {a.decision.id: a.decision for a in accounts if a.told_after < 0}
    ids = {account.decision.id for account in accounts}
    if {*waiting} != {decision.id for decision in pending} or len(ids) != len(table):
        raise ValueError("its log must have each decision that is pending, and none twice")
    told = table[table["told_after"] >= 0]
    logs = [logfile.content([told], about(known, []))] if len(told) else []
    return [waiting[decision.id] for decision in pending], logs


def _recent(fields: dict[str, Any], found: dict[str, Any]) -> dict[str, Fate]:
    recent = dict[str, Fate]()
    for number, value in zip(found["told"].tolist(), found["told_values"].tolist(), strict=True):
        check_reward("a reward", real("a reward", value))
        recent[_id(fields, number)] = Fate(0, -1, value, None, 1, None)
    if len(recent) != len(found["told"]):
        raise ValueError("its decisions must be distinct")
    return recent


def _decision(fields: dict[str, Any], x: Array, values: list[float]) -> Decision:
    number, index, propensity, estimate, error, step, asked = values
    x.flags.writeable = False
    place = None if index == -1 else _whole(index)
    step = _whole(step)
    return Decision(_id(fields, number), place, x, propensity, estimate, error, step, asked)


def _id(fields: dict[str, Any], number: float) -> str:
    if not 1 <= number <= fields["given"]:
        raise ValueError(f"its decisions must be the first {fields['given']}, got {number}")
    return f"{fields['name']}-{_whole(number)}"


def _whole(number: float) -> int:
    if not number.is_integer():
        raise ValueError(f"a count must be whole, got {number}")
    return int(number)
