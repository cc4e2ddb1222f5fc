"""A log as it is replayed: what it must have, what its features are called, what was known when."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array, is_table
from projbandits.deciding.decider import Decider
from projbandits.deciding.log_table import ATTRIBUTE
from projbandits.deciding.offers import match
from projbandits.ledger.fold import learns_plainly
from projbandits.ridge import Ridge
from projbandits.strategies import LinearStrategy
from projbandits.subspace import Subspace

NEEDED = (
    "id", "step", "outcome_position", "outcome", "known", "told_at", "ledger", "forgotten", "open",
    "position", "offered", "probabilities", "observations", "belief",
)  # fmt: skip


class Offered(NamedTuple):
    """What was on offer at a decision, how likely, the belief's factor, and which was chosen.

    The belief rests on `observations`, of which `forgotten` are no longer in it; `open` is a factor
    of the decisions that were open, None if there were none.
    """

    arms: Array
    chances: Array
    belief: Array
    position: int
    observations: int
    forgotten: float
    open: Array | None = None


@dataclass(frozen=True, eq=False)
class Logged:
    """A log in the order of its decisions.

    Parameters
    ----------
    columns : dict
        The columns `NEEDED`.
    X : ndarray of shape (n, d)
        The arms that were chosen.
    subspace : Subspace
        The part that counts, in the order of the log's features.
    learnt : Subspace or None
        On what the logged beliefs rest: the whole space, or what their arms were projected onto;
        None if that is not known.
    """

    columns: dict[str, list[Any]]
    X: Array
    subspace: Subspace
    learnt: Subspace | None

    def offers(self) -> Iterator[Offered]:
        """Yield what was offered and believed at each row whose outcome was told, in order."""
        for t, arms in zip(self.known, self.arms(), strict=True):
            row = {name: values[t] for name, values in self.columns.items()}
            yield Offered(
                arms,
                np.asarray(row["probabilities"], dtype=np.float64),
                np.asarray(row["belief"], dtype=np.float64),
                int(row["position"]),
                int(row["observations"]),
                float(row["forgotten"]),
                None if np.ndim(row["open"]) == 0 else np.asarray(row["open"], dtype=np.float64),
            )

    def arms(self) -> Iterator[Array]:
        """Yield the arms on offer at each row whose outcome was told, in order."""
        for t in self.known:
            x, position = self.X[t], self.columns["position"][t]
            arms = np.asarray(self.columns["offered"][t], dtype=np.float64).reshape(-1, len(x))
            if np.abs(arms[position] - x).max() > 1e-6 * np.abs(x).max():
                raise ValueError(
                    "log must have the chosen arm in its columns x[...], decision "
                    f"{self.columns['id'][t]!r} has {x} there and was offered {arms[position]}: "
                    "leave the columns in their order"
                )
            yield arms

    @cached_property
    def known(self) -> list[int]:
        """The rows whose outcome was told."""
        return [t for t, after in enumerate(self.columns["outcome_position"]) if after >= 0]

    @cached_property
    def deciders(self) -> int:
        """How many deciders' decisions are in the log."""
        return len({*self.columns["ledger"]})

    @property
    def outcomes(self) -> Array:
        """The outcomes; nan where none was told."""
        return np.array(self.columns["outcome"], dtype=np.float64)

    @property
    def told(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows in the order in which they were told, and how many had been at each decision."""
        after, places, known = (
            np.array(self.columns[name], dtype=np.int64)
            for name in ("outcome_position", "told_at", "known")
        )
        # By their places in the ledger, which also tell what one process knew of another's.
        order = np.argsort(after if self.deciders > 1 else places, kind="stable")
        order = order[after[order] >= 0]
        if self.deciders > 1:
            return order, np.searchsorted(after[order], self.columns["step"])
        return order, np.searchsorted(places[order], known, "right")

    @property
    def _whole(self) -> bool:
        return self.learnt is not None and self.learnt.dim == self.learnt.ambient

    def serves(self, strategy: LinearStrategy) -> bool:
        """Tell whether what was believed is all that the strategy would have learnt."""
        if self.learnt is None or not learns_plainly(strategy):
            return False
        if self._whole:
            return True
        away = np.abs(self.learnt.matrix - self.subspace.matrix).max()
        return strategy.learns_on == "projection" and bool(away < 1e-9)

    def belief(self, offered: Offered, strategy: LinearStrategy) -> Ridge:
        """Return what the strategy would know at a row, where the log serves it."""
        n, forgotten, d = offered.observations, offered.forgotten, self.X.shape[1]
        ridge = Ridge.from_log(strategy.penalty, n, offered.belief, forgotten, d)
        if strategy.learns_on == "projection" and self._whole:
            rows = ridge.factor.copy()
            features = slice(int(ridge.intercept), -1)
            rows[:, features] = rows[:, features] @ self.subspace.matrix
            ridge = replace(ridge, factor=rows)
        return ridge

    @cached_property
    def intercept(self) -> bool:
        """Whether the log's decider learnt a level that all outcomes share."""
        belief = self.columns["belief"][self.known[0]]
        return bool(np.size(belief) == (self.X.shape[1] + 2) ** 2)


def open_log(log: Any, subspace: Subspace | None) -> Logged:
    """Return a log that can be replayed, or raise and say what it lacks.

    It may be the table of any library; only pandas' has attrs.
    """
    if isinstance(log, Decider):
        from projbandits.evaluation.from_ledger import from_ledger

        return from_ledger(log, subspace)
    if isinstance(log, str | os.PathLike):
        import pandas as pd

        log = pd.read_parquet(log)
    if not is_table(log):
        raise TypeError(
            "log must be what Decider.log returned, the path of a Parquet file of it, or a decider "
            f"that keeps a log, got a {type(log).__name__}"
        )
    features = [name for name in map(str, log.columns) if name.startswith("x[")]
    missing = [name for name in NEEDED if name not in log.columns] + ["x[...]"] * (not features)
    if missing:
        raise ValueError(
            f"log must have the columns {missing!r}, they are missing: pass what Decider.log "
            "returned, or a Parquet file of it"
        )
    order = np.argsort(log["step"].to_numpy(), kind="stable").tolist()
    given = {name: log[name].to_list() for name in NEEDED}
    columns = {name: [values[i] for i in order] for name, values in given.items()}
    _check_rows(columns)
    about = getattr(log, "attrs", {}).get(ATTRIBUTE)
    names = [name[2:-1] for name in features]
    wanted, learnt = subspaces(None if about is None else json.loads(about), subspace, names)
    return Logged(columns, log[features].to_numpy().astype(np.float64)[order], wanted, learnt)


def _check_rows(columns: dict[str, list[Any]]) -> None:
    ids, seen = columns["id"], set[str]()
    for key in ids:
        if key in seen:
            raise ValueError(f"log must have each decision once, got {key!r} more than once")
        seen.add(key)
    known = [t for t, after in enumerate(columns["outcome_position"]) if after >= 0]
    for name in ("offered", "probabilities", "belief"):
        for t in known:
            if np.ndim(columns[name][t]) == 0:
                raise lacking(name, ids[t])
    if not known:
        raise no_outcomes()


def no_outcomes() -> ValueError:
    """Return the error for a log in which no outcome was told."""
    return ValueError("log must have at least one decision whose outcome was told, got none")


def lacking(name: str, id: str) -> ValueError:
    """Return the error for a decision without something that a replay needs."""
    return ValueError(
        f"log must have {name!r} for every decision, decision {id!r} lacks it: infinite sets, very "
        "many arms and strategies without known probabilities cannot be replayed"
    )


def subspaces(
    about: dict[str, Any] | None, given: Subspace | None, names: list[str]
) -> tuple[Subspace, Subspace | None]:
    """Return what counts, and on what the beliefs rest, in the order of the log's features."""
    logged = None
    if about is not None:
        columns = about["columns"]
        basis = np.array(about["subspace"], dtype=np.float64)
        logged = Subspace(basis, None if columns is None else tuple(columns))
        logged.check_fits(len(names))
    if given is None and logged is None:
        raise ValueError(
            "subspace must be given, this log does not say what counted (its attrs are lost in "
            "other libraries' tables, and where logs that differ in it are put together): pass "
            "replay(log, strategy, subspace=...)"
        )
    wanted = logged if given is None else given
    if not isinstance(wanted, Subspace):
        raise TypeError(f"subspace must be a Subspace, got {wanted!r}: see pb.Subspace")
    nameless = names == [str(j) for j in range(len(names))]
    if about is not None:
        nameless = about["columns"] is None
    elif wanted.names is not None and set(map(str, wanted.names)) == set(names):
        nameless = False
    if wanted.names is not None and not nameless:
        order = match("subspace", wanted.names, names)
        wanted = wanted if order is None else Subspace(wanted.basis[order], tuple(names))
    wanted.check_fits(len(names))
    if about is None or logged is None or about["learns_on"] is None:
        return wanted, None
    if about["learns_on"] == "arm":
        return wanted, Subspace(np.eye(len(names)))
    return wanted, logged
