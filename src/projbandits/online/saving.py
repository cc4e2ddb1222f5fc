"""The file of a decider: a line that says what it is, a checksum, and a zip of arrays and JSON.

It is read without pickle. Its first line names format and version, its second is the SHA-256 of
all that follows, so that damage is noticed before anything is made of it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import io
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from projbandits import strategies
from projbandits._checks import Array, real
from projbandits._version import __version__
from projbandits.online import contents, journal, logfile
from projbandits.online.decision import Decision, check_sound
from projbandits.online.limits import check_reward
from projbandits.online.offers import LARGEST
from projbandits.online.outcomes import Outcomes
from projbandits.ridge import Ridge
from projbandits.strategies import LinearStrategy
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    from projbandits.online.decider import Decider

KIND = b"projbandits decider, format "
FORMAT = 1
PLAIN = (int, float, str, bool, type(None))
KNOWN: dict[str, type[LinearStrategy]] = {
    name: value
    for name in strategies.__all__
    if isinstance(value := getattr(strategies, name), type)
    and issubclass(value, LinearStrategy)
    and not inspect.isabstract(value)
}
"""The strategies that a file may name."""


def pack(decider: Decider) -> bytes:
    """Return a decider as the content of its file."""
    state, outcomes = decider._state, decider._outcomes
    pending = [Decision(*lean) for lean in outcomes.pending.values()]
    log = outcomes.journal
    meta = {
        "library": __version__,
        "strategy": _strategy_fields(decider.strategy),
        "label": repr(decider.strategy),
        "name": outcomes.name,
        "given": outcomes.given,
        "step": state.step,
        "penalty": state.ridge.penalty,
        "observations": state.ridge.n,
        "columns": decider.columns,
        "subspace_names": decider.subspace.names and [*map(str, decider.subspace.names)],
        "sources": sorted(decider._sources),
        "span_checked": decider._span_checked,
        "random": decider._rng.bit_generator.state,
        "log_files": None if log is None else log.files,
    }
    arrays: dict[str, Array] = {
        "factor": state.ridge.factor,
        "subspace": decider.subspace.basis,
        "pending_arms": np.array([x.arm for x in pending]).reshape(-1, decider.subspace.ambient),
        "pending_values": np.array([_values(x) for x in pending]).reshape(-1, 7),
        "told": np.array([_number(key) for key in outcomes.recent], dtype=np.float64),
        "told_values": np.array([*outcomes.recent.values()], dtype=np.float64),
    }
    stored: dict[str, Any] = dict(arrays)
    stored["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    if log is not None:
        table = journal.frame([*log.entries.values()], decider)
        stored["log"] = np.frombuffer(logfile.parquet(table), dtype=np.uint8)
    sink = io.BytesIO()
    np.savez(sink, **stored)
    body = sink.getvalue()
    return b"%s%d\n%s\n%s" % (KIND, FORMAT, hashlib.sha256(body).hexdigest().encode(), body)


def load(path: str | os.PathLike[str], strategy: LinearStrategy | None, largest: float) -> Decider:
    """Return the decider in a file."""
    body = _body(path)
    with contents.named(f"path must be a whole saved decider, {str(path)!r} is none"):
        arrays = contents.arrays(body)
        meta = contents.fields(arrays["meta"].tobytes())
    if strategy is None and meta["strategy"] is None:
        raise ValueError(
            f"{str(path)!r} was saved with {meta['label']}, which a file cannot hold: pass it as "
            "Decider.load(path, strategy=...)"
        )
    if strategy is not None and repr(strategy) != meta["label"]:
        raise ValueError(f"strategy must be {meta['label']}, as in the file, got {strategy!r}")
    with contents.named(f"path must be a whole saved decider, {str(path)!r} is none"):
        return _made_of(arrays, meta, strategy or _strategy(meta), largest)


def _made_of(
    arrays: dict[str, Any], meta: dict[str, Any], strategy: LinearStrategy, largest: float
) -> Decider:
    from projbandits.online.decider import Decider

    names, columns, files = meta["subspace_names"], meta["columns"], meta["log_files"]
    subspace = Subspace(arrays["subspace"], None if names is None else tuple(names))
    if any(of is not None and len(of) != subspace.ambient for of in (names, columns)):
        raise ValueError(f"its columns must be {subspace.ambient}, got {names} and {columns}")
    if names is not None and columns != names:
        raise ValueError(f"its columns must be those of its subspace, got {columns} for {names}")
    decider = Decider(strategy, subspace=subspace, log=files is not None)
    decider.columns = None if columns is None else tuple(columns)
    penalty, n = decider.ridge.penalty, meta["observations"]
    if meta["penalty"] != penalty:
        raise ValueError(f"its penalty must be that of {strategy!r}, got {meta['penalty']}")
    contents.check_estimate(arrays["factor"], n, penalty)
    ridge = Ridge(penalty, n, arrays["factor"])
    decider._state = decider._state._replace(step=meta["step"], ridge=ridge)
    if meta["name"] not in meta["sources"]:
        raise ValueError(f"its sources must include {meta['name']!r}, got {meta['sources']}")
    decider._sources = set(meta["sources"])
    decider._span_checked = meta["span_checked"]
    decider._rng.bit_generator.state = meta["random"]
    outcomes = decider._outcomes
    outcomes.name, outcomes.given = meta["name"], meta["given"]
    for x, values in zip(arrays["pending_arms"], arrays["pending_values"].tolist(), strict=True):
        x.flags.writeable = False
        decision = _decision(outcomes, x, values)
        check_sound(decision, LARGEST * math.sqrt(penalty), decider.steps)
        outcomes.pending[decision.id] = decision.lean()
    for number, value in zip(arrays["told"].tolist(), arrays["told_values"].tolist(), strict=True):
        check_reward("a reward", real("a reward", value))
        outcomes.recent[_id(outcomes, number)] = value
    listed = len(arrays["pending_arms"]) + len(arrays["told"])
    if len({*outcomes.pending, *outcomes.recent}) != listed:
        raise ValueError("its decisions must be distinct")
    if outcomes.journal is not None:
        outcomes.journal.files, outcomes.journal.largest = files, largest
        table = logfile.read(arrays["log"].tobytes(), subspace.ambient, largest)
        for entry in journal.entries(table, decider):
            outcomes.journal.entries[entry.decision.id] = entry
        logged = outcomes.journal.entries
        waiting = {key for key, entry in logged.items() if entry.told_after < 0}
        if waiting != {*outcomes.pending} or len(logged) != len(table):
            raise ValueError("its log must have each decision that is pending, and none twice")
    return decider


def _body(path: str | os.PathLike[str]) -> bytes:
    content = Path(path).read_bytes()
    kind, _, rest = content.partition(b"\n")
    if not kind.startswith(KIND):
        raise ValueError(f"path must be a saved decider, {str(path)!r} is something else")
    version = kind.removeprefix(KIND).decode(errors="replace")
    if version != str(FORMAT):
        raise ValueError(
            f"path must be a decider saved in format {FORMAT}, {str(path)!r} has format {version}: "
            "read it with the version of projbandits that wrote it"
        )
    digest, _, body = rest.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise ValueError(
            f"path must be a whole saved decider, {str(path)!r} is damaged: its checksum does not "
            "fit its content"
        )
    return body


def _strategy_fields(strategy: LinearStrategy) -> dict[str, Any] | None:
    """Return class and parameters of a strategy of the library, None where a file cannot say."""
    name = type(strategy).__name__
    if KNOWN.get(name) is not type(strategy):
        return None
    fields = {f.name: getattr(strategy, f.name) for f in dataclasses.fields(strategy)}
    if not all(isinstance(value, PLAIN) for value in fields.values()):
        return None
    return {"class": name, "fields": fields}


def _strategy(meta: dict[str, Any]) -> LinearStrategy:
    """Return the strategy that a file names, one of the library's and no other name of it."""
    name, fields = meta["strategy"]["class"], meta["strategy"]["fields"]
    if name not in KNOWN:
        raise ValueError(f"its strategy must be one of {[*KNOWN]}, got {name!r}")
    made = KNOWN[name](**fields)
    if repr(made) != meta["label"]:
        raise ValueError(f"its label must be {made!r}, got {meta['label']!r}")
    return made


def _number(key: str) -> int:
    return int(key.rpartition("-")[2])


def _values(x: Decision) -> list[float]:
    index = -1 if x.index is None else x.index
    return [
        _number(x.id), index, x.propensity, x.estimate, x.standard_error, x.step, x.asked
    ]  # fmt: skip


def _decision(outcomes: Outcomes, x: Array, values: list[float]) -> Decision:
    number, index, propensity, estimate, error, step, asked = values
    return Decision(
        _id(outcomes, number),
        None if index == -1 else _whole(index),
        x,
        propensity,
        estimate,
        error,
        _whole(step),
        asked,
    )


def _id(outcomes: Outcomes, number: float) -> str:
    if not 1 <= number <= outcomes.given:
        raise ValueError(f"its decisions must be the first {outcomes.given}, got {number}")
    return outcomes.id(_whole(number))


def _whole(number: float) -> int:
    if not number.is_integer():
        raise ValueError(f"a count must be whole, got {number}")
    return int(number)
