"""Values that files of deciders and their logs cannot have; `tests.crafted_parts` writes them."""

from __future__ import annotations

import hashlib
import io
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import projbandits as pb
from projbandits.deciding import saving

NUMBERS = [True, -1, 0, 1, 7, 2**70, 10**400, 1.5, -2.0, math.nan, math.inf, 1e300, 1e-300]
TEXTS = ["", "x", "\ud800", "__init__", "Strategy", "LinearStrategy", "EpsilonGreedy", "GENTRY"]
VALUES: list[Any] = [None, *NUMBERS, *TEXTS, [], ["x"], [1], [[]], {}, {"x": 1}, ["/nowhere"]]

CELLS = [None, "x", -5, 0, 1.5, math.nan, math.inf, 1e300, 2**62, [], [1.0], [math.nan]]
LISTS: list[Callable[[Any], Any]] = [
    lambda a: a[:-1],
    lambda a: -a,
    lambda a: 1e300 + a,
    lambda a: a + 0.5,
    lambda a: np.zeros_like(a),
]

Case = tuple[str, Callable[[], None]]


def sign(path: Path, body: bytes, version: int = saving.FILE_FORMAT) -> None:
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


def tables(content: bytes) -> dict[str, pd.DataFrame]:
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


def parquet(table: pd.DataFrame) -> bytes:
    sink = io.BytesIO()
    try:
        table.to_parquet(sink, index=False)
    except (ValueError, TypeError, OverflowError):
        return b"no Parquet file can hold it"
    return sink.getvalue()
