"""The file of a decider: a line that says what it is, a checksum, and a zip of arrays and JSON.

It is read without pickle. Its first line names format and version, its second is the SHA-256 of
all that follows, so that damage is noticed before anything is made of it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from projbandits import strategies
from projbandits._checks import Array
from projbandits._version import __version__
from projbandits.online import journal
from projbandits.online.decision import Decision
from projbandits.ridge import Ridge
from projbandits.strategies import LinearStrategy
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    from projbandits.online.decider import Decider

KIND = b"projbandits decider, format "
FORMAT = 1
PLAIN = (int, float, str, bool, type(None))


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
        stored["log"] = np.frombuffer(journal.parquet(table), dtype=np.uint8)
    sink = io.BytesIO()
    np.savez(sink, **stored)
    body = sink.getvalue()
    return b"%s%d\n%s\n%s" % (KIND, FORMAT, hashlib.sha256(body).hexdigest().encode(), body)


def load(path: str | os.PathLike[str], strategy: LinearStrategy | None) -> Decider:
    """Return the decider in a file."""
    arrays = _read(path)
    try:
        return _made_of(arrays, strategy, path)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(
            f"path must be a whole saved decider, {str(path)!r} lacks part of its content: {error}"
        ) from error


def _made_of(
    arrays: dict[str, Any], strategy: LinearStrategy | None, path: str | os.PathLike[str]
) -> Decider:
    from projbandits.online.decider import Decider

    meta = json.loads(arrays["meta"].tobytes())
    basis, names = arrays["subspace"], meta["subspace_names"]
    subspace = Subspace(basis, None if names is None else tuple(names))
    files = meta["log_files"]
    decider = Decider(_strategy(meta, strategy, path), subspace=subspace, log=files is not None)
    decider.columns = None if meta["columns"] is None else tuple(meta["columns"])
    factor = arrays["factor"]
    if factor.shape != (subspace.ambient + 1,) * 2 or not np.isfinite(factor).all():
        raise ValueError(
            f"path must be a whole saved decider, {str(path)!r} is damaged: its estimate is not "
            f"one of {subspace.ambient} features"
        )
    ridge = Ridge(meta["penalty"], meta["observations"], factor)
    decider._state = decider._state._replace(step=meta["step"], ridge=ridge)
    decider._sources = set(meta["sources"])
    decider._span_checked = meta["span_checked"]
    decider._rng = _generator(meta["random"])
    outcomes = decider._outcomes
    outcomes.name, outcomes.given = meta["name"], meta["given"]
    for x, values in zip(arrays["pending_arms"], arrays["pending_values"].tolist(), strict=True):
        x.flags.writeable = False
        decision = _decision(outcomes.name, x, values)
        outcomes.pending[decision.id] = decision.lean()
    for number, value in zip(arrays["told"].tolist(), arrays["told_values"].tolist(), strict=True):
        outcomes.recent[outcomes.id(int(number))] = value
    if outcomes.journal is not None:
        outcomes.journal.files = files
        table = journal.read(io.BytesIO(arrays["log"].tobytes()))
        for entry in journal.entries(table, decider):
            outcomes.journal.entries[entry.decision.id] = entry
    return decider


def _read(path: str | os.PathLike[str]) -> dict[str, Any]:
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
    with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
        return dict(arrays)


def _strategy_fields(strategy: LinearStrategy) -> dict[str, Any] | None:
    """Return class and parameters of a strategy of the library, None where a file cannot say."""
    name = type(strategy).__name__
    if getattr(strategies, name, None) is not type(strategy):
        return None
    fields = {f.name: getattr(strategy, f.name) for f in dataclasses.fields(strategy)}
    if not all(isinstance(value, PLAIN) for value in fields.values()):
        return None
    return {"class": name, "fields": fields}


def _strategy(
    meta: dict[str, Any], given: LinearStrategy | None, path: str | os.PathLike[str]
) -> LinearStrategy:
    if given is not None:
        if repr(given) != meta["label"]:
            raise ValueError(f"strategy must be {meta['label']}, as in the file, got {given!r}")
        return given
    stored = meta["strategy"]
    if stored is None:
        raise ValueError(
            f"{str(path)!r} was saved with {meta['label']}, which a file cannot hold: pass it as "
            "Decider.load(path, strategy=...)"
        )
    known = getattr(strategies, stored["class"], None)
    if known is None:
        raise ValueError(f"{str(path)!r} needs the strategy {meta['label']}, unknown here")
    made: LinearStrategy = known(**stored["fields"])
    return made


def _generator(state: dict[str, Any]) -> np.random.Generator:
    rng = np.random.default_rng()
    rng.bit_generator.state = state
    return rng


def _number(key: str) -> int:
    return int(key.rpartition("-")[2])


def _values(x: Decision) -> list[float]:
    index = -1 if x.index is None else x.index
    return [
        _number(x.id), index, x.propensity, x.estimate, x.standard_error, x.step, x.asked
    ]  # fmt: skip


def _decision(name: str, x: Array, values: list[float]) -> Decision:
    number, index, propensity, estimate, error, step, asked = values
    return Decision(
        f"{name}-{int(number)}",
        None if index < 0 else int(index),
        x,
        propensity,
        estimate,
        error,
        int(step),
        asked,
    )
