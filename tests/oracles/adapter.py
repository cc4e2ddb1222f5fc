"""The oracles' view of the library: a rename in the library changes this file and no other.

Functions take and return the vocabulary of the frozen files: numbers, texts, lists and dicts. They
call what is public. The clock and the randomness of the process are held still, since times and the
randomness of those who join a decider are part of what is compared.
"""

from __future__ import annotations

import math
import secrets
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

import projbandits as pb
from projbandits.strategies import seeking

ESTIMATES = {
    "linear": "linear weights",
    "linear_doubly_robust": "linear weights, doubly robust",
    "by_arm": "arm by arm",
    "by_arm_self_normalised": "arm by arm, self-normalised",
    "by_arm_clipped": "arm by arm, clipped",
    "by_arm_doubly_robust": "arm by arm, doubly robust",
    "model": "model",
}
START = 1_750_000_000.0
"""When everything begins, in seconds since 1970."""
ENGINES = ("reference", "compiled", "events")


class Process:
    """A process as deciders see it, with its own randomness and a clock that is set by hand."""

    def __init__(self, number: int = 0, now: float = 0.0) -> None:
        self.number = number
        self.now = now

    @contextmanager
    def running(self) -> Iterator[None]:
        """Give everything called from here its clock and its randomness, and keep warnings out."""
        with (
            warnings.catch_warnings(),
            patch.object(time, "time", lambda: START + self.now),
            patch.object(time, "time_ns", lambda: round((START + self.now) * 1e9)),
            patch.object(secrets, "randbits", lambda bits: self._drawn() % 2**bits),
            patch.object(secrets, "randbelow", lambda end: self._drawn() % end),
            patch.object(secrets, "token_hex", lambda size=32: f"{self._drawn():0{2 * size}x}"),
        ):
            warnings.simplefilter("ignore")
            yield

    def _drawn(self) -> int:
        """Return the same number however often it is asked for, below that of any token."""
        return 7_919 * self.number + 12_345


# --- strategies, sets, problems, simulations ------------------------------------------------------


def made(name: str, *given: Any, **parameters: Any) -> Any:
    """Return a strategy, a decision set, a noise or a problem by its public name."""
    if "drift" in parameters:
        kind, how = parameters["drift"]
        parameters["drift"] = made(kind, **how)
    place = next(place for place in (pb, pb.problems, seeking) if hasattr(place, name))
    return getattr(place, name)(*given, **parameters)


def strategy_names() -> set[str]:
    """Return the names of all strategies that the library offers."""
    protocols = {"LinearStrategy", "Strategy"}
    offered = {name: getattr(pb.strategies, name) for name in pb.strategies.__all__}
    return {n for n, it in offered.items() if n not in protocols and hasattr(it, "select")}


def keep(places: Sequence[int], d: int) -> Any:
    """Return the subspace of some coordinates."""
    return pb.Subspace.coordinates(list(places), d)


def without(protected: Sequence[str], columns: Sequence[str]) -> Any:
    """Return the subspace of all columns but the protected ones."""
    return pb.Subspace.without(list(protected), columns=list(columns))


def simulate(problem: Any, strategy: Any, engine: str, **size: Any) -> dict[str, Any] | None:
    """Return the numbers of a simulation; None if the engine or the strategy cannot serve."""
    try:
        result = pb.simulate(problem, strategy, seed=3, engine=engine, progress=False, **size)
    except ValueError:
        return None
    found = {"regret": result.regret[0], "return_regret": result.return_regret[0][:, -1]}
    for name in ("found_best", "pulls"):
        if (counted := getattr(result, name)) is not None:
            found[name] = counted[0]
    return {name: plain(each) for name, each in found.items()}


# --- deciders -------------------------------------------------------------------------------------


def features(table: Mapping[str, Sequence[Any]], **declared: Any) -> Any:
    """Return raw columns' features, fitted to a table."""
    return pb.Features(**declared).fit(frame(table))


def frame(table: Any) -> Any:
    """Return a table of raw columns, `label` naming the rows; anything else as it is."""
    if not isinstance(table, Mapping):
        return table
    read = pd.DataFrame({name: list(column) for name, column in table.items()})
    return read.set_index("label") if "label" in read.columns else read


class Decider:
    """A decider in the vocabulary of the frozen files; it keeps all it was asked.

    What is not defined here is called by the name that the library has for it.
    """

    def __init__(self, decider: Any) -> None:
        self._decider = decider
        self.asked: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decider, name)

    @classmethod
    def make(cls, url: str | None, name: str, **options: Any) -> Decider:
        """Return a new decider: in a temporary database, or in a store."""
        where: dict[str, Any] = {} if url is None else {"store": url, "name": name}
        return cls(pb.Decider(options.pop("strategy", None), **options, **where))

    @classmethod
    def join(cls, url: str, name: str) -> Decider:
        """Return a decider that is in a store."""
        return cls(pb.Decider.open(url, name))

    def saved(self, path: Any) -> Decider:
        """Save it, and return the one that is loaded from the file."""
        self._decider.save(path)
        return type(self)(pb.Decider.load(path))

    def ask(self, items: Any, **options: Any) -> Any:
        """Return a decision, or several where `count` is given."""
        decided = self._decider.ask(frame(items), **options)
        several = isinstance(decided, list)
        found = [_decision(one) for one in (decided if several else [decided])]
        self.asked += found
        return found if several else found[0]

    def expire(self, after: str, outcome: float | None = None) -> list[str]:
        """Settle what is late, and return its ids."""
        return [*self._decider.expire(after, outcome)]

    def learn(self, items: Any, outcomes: Sequence[float], **options: Any) -> None:
        """Learn from history."""
        self._decider.learn(frame(items), outcomes, **options)

    def belief(self) -> dict[str, Any]:
        """Return what it believes now."""
        ridge, table = self._decider.ridge, self._decider.coefficients()
        return {
            "decisions": self._decider.steps,
            "observations": ridge.n,
            "theta": plain(ridge.theta),
            "covariance on a ramp": ramped(ridge.inverse),
            "noise": plain(ridge.noise),
            "penalty": plain(ridge.penalty),
            "projection of a ramp": ramped(self._decider.subspace.matrix),
            "coefficients": _records(table, estimate=float, standard_error=float, counts=bool),
            "pending": [decision.id for decision in self._decider.pending],
        }

    def explain(self, id: str, items: Any = None) -> dict[str, Any]:
        """Return the scores behind a decision."""
        table = self._decider.explain(id, items).table
        return _records(
            table, counted=float, ignored=float, effect=float, probability=float, chosen=bool
        )

    def history(self) -> list[dict[str, Any]]:
        """Return all decisions with their outcomes and what was believed."""
        same = (
            "step", "index", "outcome", "propensity", "estimate", "standard_error", "taken",
            "probabilities", "observations", "forgotten",
        )  # fmt: skip
        found = []
        for row in self._decider.log().to_dict("records"):
            size = math.isqrt(len(row["belief"]))
            factor = row["belief"].reshape(size, size)
            moments = factor.T @ factor
            found.append(
                {
                    "request_id": row["id"],
                    **{name: plain(row[name]) for name in same},
                    "asked": plain(row["asked"].timestamp() - START),
                    "told": None if pd.isna(row["told"]) else row["told"].timestamp() - START,
                    "told_after": plain(row["outcome_position"]),
                    "offered": None if row["offered"] is None else plain(np.sum(row["offered"])),
                    "squares": plain(np.trace(moments)),
                    "products": plain(moments[:-1, -1]),
                    "context": row["context"],
                    "meta": row["meta"],
                }
            )
        return found

    def audit(self, attributes: Any = None, by: str | None = None) -> dict[str, Any]:
        """Return the numbers of an audit."""
        made = self._decider.audit(frame(attributes), by=by)
        numbers = {
            "scores": ("largest", "guesses", "beyond", "decisions"),
            "choices": (
                "guesses", "explored", "shift", "shift_guesses", "shift_explored", "settled",
                "with_scores", "wandering", "decisions",
            ),
            "leak": ("outcomes", "critical"),
            "exposure": ("critical", "unmatched"),
        }  # fmt: skip
        answers = {
            name: {
                each: plain(getattr(getattr(made, name), each))
                for each in ("found", "size", "share", *fields)
            }
            for name, fields in numbers.items()
        }
        answers["leak"]["directions"] = _records(
            made.leak.table, believed=float, least_squares=float, leak=float, low=float, high=float,
            z=float, found_from=float,
        )  # fmt: skip
        shares = (
            "offered", "best_guess", "explored", "chosen", "difference", "low", "high", "z",
            "chosen_z", "decisions",
        )  # fmt: skip
        groups = made.exposure.table.rename(columns={"best guess": "best_guess"})
        answers["exposure"]["groups"] = {
            f"{row['attribute']} / {row['group']} / {row['segment']}": {
                name: plain(row[name]) for name in shares
            }
            for row in groups.to_dict("records")
        }
        answers["exposure"]["followed"] = _records(
            made.exposure.followed, r2=float, low=float, high=float, r=float
        )
        return {
            **answers,
            "influence": made.influence,
            "proxies": _records(made.proxies, r2=float, r2_squares=float, r2_closest=float),
            "given_up": {
                name: plain(getattr(made.given_up, name))
                for name in ("projection", "learning", "exploring", "total")
            },
            "decisions": made.about.decisions,
            "looked_at": made.about.looked_at,
            "decided_again": made.about.decided_again,
            "outcomes": made.about.outcomes,
            "left_out": sum(made.about.left_out.values()),
        }

    def replay(self, strategy: Any, value: str = "projection") -> dict[str, Any]:
        """Return another strategy's value by its own log."""
        return estimates(pb.replay(self._decider, strategy, value=value))

    def as_log(self) -> Any:
        """Return its log as one of any origin."""
        return pb.Log.from_ledger(self._decider)

    def find_subspace(self, by: str, leave_out: int) -> tuple[Any, dict[str, Any]]:
        """Return the subspace where groups agree, and the numbers behind it."""
        found = self._decider.find_subspace(by=by, leave_out=leave_out, seed=0)
        numbers = {
            "projection of a ramp": ramped(found.subspace.matrix),
            "angle": plain(found.angle),
            "rows": found.rows,
            "hanging_share": plain(self._decider.sensitivity(found).share),
        }
        return found.subspace, numbers


# --- logs -----------------------------------------------------------------------------------------


def log(table: Mapping[str, Sequence[Any]], items: Any, **columns: Any) -> Any:
    """Return a log of any origin."""
    return pb.Log.from_table(frame(table), frame(items), **columns)


def fitted(log: Any, subspace: Any = None) -> dict[str, Any]:
    """Return the estimate from a whole log."""
    fit = log.fit(subspace)
    return {"theta": plain(fit.theta), "projected": plain(fit.projected)}


def judged(log: Any, policy: Any, value: str, subspace: Any = None) -> dict[str, Any]:
    """Return a policy's value by a log of any origin."""
    return estimates(pb.replay(log, policy, value=value, subspace=subspace))


def difference(log: Any, policy: Any, other: Any, value: str) -> dict[str, Any]:
    """Return the difference of two policies' values."""
    one, two = (pb.replay(log, each, value=value) for each in (policy, other))
    return _estimates(one.versus(two))


def estimates(replay: Any) -> dict[str, Any]:
    """Return all estimates of a replay and whether the linear model fits."""
    fit = replay.lack_of_fit()
    return {
        "estimates": _estimates(replay.estimates()),
        "fits": fit.holds,
        "fit_statistic": plain(fit.statistic),
        "fit_p_value": plain(fit.p_value),
    }


def _estimates(table: Any) -> dict[str, Any]:
    rows = table.to_dict("index")
    return {
        name: {each: plain(rows[row][each]) for each in ("value", "low", "high", "effective")}
        for name, row in ESTIMATES.items()
        if row in rows
    }


# --- plain values ---------------------------------------------------------------------------------


def ramped(matrix: Any) -> Any:
    """Return a matrix times 1, 2, ..., d: as good as all its entries, and short."""
    return plain(np.asarray(matrix) @ np.arange(1.0, len(matrix) + 1))


def _decision(made: Any) -> dict[str, Any]:
    same = ("index", "label", "step", "propensity", "estimate", "standard_error", "arm")
    return {"request_id": made.id, **{name: plain(getattr(made, name)) for name in same}}


def _records(table: Any, **columns: Any) -> dict[str, Any]:
    """Return columns of a table by the names of its rows, those that it has."""
    return {
        str(name): {
            column: plain(kind(row[column])) for column, kind in columns.items() if column in row
        }
        for name, row in table.to_dict("index").items()
    }


def plain(value: Any) -> Any:
    """Return numbers and arrays as JSON has them: NaN is None, infinities are texts."""
    if value is None or isinstance(value, str | bool):
        return value
    if hasattr(value, "_asdict"):
        return {name: plain(each) for name, each in value._asdict().items()}
    if isinstance(value, Iterable):
        return [plain(each) for each in value]
    number = value.item() if isinstance(value, np.generic) else value
    if not isinstance(number, float) or math.isfinite(number):
        return number
    return None if math.isnan(number) else "inf" if number > 0 else "-inf"
