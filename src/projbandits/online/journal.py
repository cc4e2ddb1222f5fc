"""The log of a decider: each decision with what was offered, believed, and observed."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from projbandits._checks import Array, real
from projbandits._files import write_whole
from projbandits.arms import FiniteArms
from projbandits.online.contents import check_estimate, named
from projbandits.online.decision import Decision, Grounds, check_sound
from projbandits.online.limits import check_reward
from projbandits.online.logfile import TIME, parquet, read
from projbandits.online.offers import LARGEST, Offer
from projbandits.online.probabilities import probabilities
from projbandits.ridge import Ridge
from projbandits.strategies import LinearStrategy, State

if TYPE_CHECKING:
    import pandas as pd

    from projbandits.online.decider import Decider


ABOUT: Final = "projbandits"
"""Where a log's `attrs` say what its decider knew all along; Parquet keeps them."""


@dataclass(slots=True)
class Entry:
    """A decision with its grounds, and its outcome once it was told."""

    decision: Decision
    reward: float = np.nan
    told: float = np.nan
    told_after: int = -1


class Journal:
    """The decisions in memory, and the files that others went to.

    Of those, none may take more than `largest` bytes of memory.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.files: list[str] = []
        self.largest = math.inf

    def decided(self, decision: Decision) -> None:
        """Add a decision."""
        self.entries[decision.id] = Entry(decision)

    def told(self, key: str, reward: float, now: float, after: int) -> None:
        """Add the outcome of a decision."""
        entry = self.entries[key]
        entry.reward, entry.told, entry.told_after = reward, now, after

    def reward(self, key: Any) -> float | None:
        """Return what was told of a decision in memory, or None."""
        entry = self.entries.get(key)
        return entry.reward if entry is not None and entry.told_after >= 0 else None

    def decision(self, key: str, decider: Decider) -> Decision:
        """Return a decision with its grounds, from memory or from a file."""
        if key in self.entries:
            return self.entries[key].decision
        for entry in self.all_entries(decider):
            if entry.decision.id == key:
                return entry.decision
        raise KeyError(f"decision must be in the log, got {key!r}")

    def all_entries(self, decider: Decider) -> list[Entry]:
        """Return every entry in the order of the decisions."""
        found = list[Entry]()
        for file, table in zip(self.files, self._spilled(decider), strict=True):
            with named(f"{file!r} must be a log that spill wrote"):
                found += entries(table, decider)
        return sorted(
            [*found, *self.entries.values()], key=lambda entry: (entry.decision.step, entry.told)
        )

    def copy(self) -> Journal:
        """Return the journal as it is now, whatever is told meanwhile."""
        other = Journal()
        other.entries = {key: dataclasses.replace(entry) for key, entry in self.entries.items()}
        other.files, other.largest = list(self.files), self.largest
        return other

    def _spilled(self, decider: Decider) -> Iterator[pd.DataFrame]:
        return (read(file, decider.subspace.ambient, self.largest) for file in self.files)

    def table(self, decider: Decider) -> pd.DataFrame:
        """Return the log, files included, ordered by step."""
        import pandas as pd

        tables = [*self._spilled(decider), frame([*self.entries.values()], decider)]
        tables = [_renamed(table, decider) for table in tables if len(table)] or tables[-1:]
        whole = pd.concat(tables, ignore_index=True).sort_values("step", ignore_index=True)
        whole.attrs = {ABOUT: about(decider)}
        return whole

    def spill(self, decider: Decider, path: str | os.PathLike[str]) -> None:
        """Write the entries that were told to a new Parquet file, and forget them."""
        target = Path(path).resolve()
        if target.exists():
            raise ValueError(f"path must be a new file, {str(path)!r} exists already")
        done = {key: entry for key, entry in self.entries.items() if entry.told_after >= 0}
        write_whole(target, parquet(frame([*done.values()], decider)))
        self.files.append(str(target))
        for key in done:
            del self.entries[key]


def about(decider: Decider) -> str:
    """Return what holds for the whole log, as JSON.

    One string, not a tree: pandas copies and compares attrs with every step.
    """
    return json.dumps(
        {
            "subspace": decider.subspace.basis.tolist(),
            "columns": decider.columns,
            "learns_on": decider.strategy.learns_on if learns_plainly(decider.strategy) else None,
        }
    )


def learns_plainly(strategy: LinearStrategy) -> bool:
    """Tell whether a strategy's belief follows from its observations as in `LinearStrategy`."""
    kind = type(strategy)
    return kind.update is LinearStrategy.update and kind.learnt is LinearStrategy.learnt


def frame(rows: list[Entry], decider: Decider) -> pd.DataFrame:
    """Return entries as a table."""
    import pandas as pd

    decisions = [entry.decision for entry in rows]
    d = decider.subspace.ambient
    arms = np.array([decision.arm for decision in decisions]).reshape(-1, d)
    finite = [_finite(decision.grounds) for decision in decisions]
    table = pd.DataFrame(
        {
            "id": pd.Series([decision.id for decision in decisions], dtype=object),
            "step": np.array([decision.step for decision in decisions], dtype=np.int64),
            "asked": _times([decision.asked for decision in decisions]),
            "told": _times([entry.told for entry in rows]),
            "told_after": np.array([entry.told_after for entry in rows], dtype=np.int64),
            "index": np.array(
                [-1 if x.index is None else x.index for x in decisions], dtype=np.int64
            ),
            "propensity": [decision.propensity for decision in decisions],
            "reward": [entry.reward for entry in rows],
            "estimate": [decision.estimate for decision in decisions],
            "standard_error": [decision.standard_error for decision in decisions],
            **{name: arms[:, j] for j, name in enumerate(_features(decider))},
            "position": np.array([_position(x) for x in decisions], dtype=np.int64),
            "taken": _lists([None if x.grounds is None else x.grounds.taken for x in decisions]),
            "offered": _lists([None if g is None else g[1].vectors for g in finite]),
            "probabilities": _lists(
                [None if g is None else probabilities(g[0].strategy, *_known(g)) for g in finite]
            ),
            "observations": np.array(
                [-1 if x.grounds is None else x.grounds.state.ridge.n for x in decisions],
                dtype=np.int64,
            ),
            "belief": _lists(
                [None if x.grounds is None else x.grounds.state.ridge.factor for x in decisions]
            ),
        }
    )
    table.attrs = {ABOUT: about(decider)}
    return table


def entries(table: pd.DataFrame, decider: Decider) -> list[Entry]:
    """Return the entries of a table that `frame` made, or raise if one cannot be used."""
    features = [name for name in table.columns if name.startswith("x[")]
    arms = table[features].to_numpy(dtype=np.float64)
    return [_entry(x, row, decider) for x, row in zip(arms, table.to_dict("records"), strict=True)]


def _entry(x: Array, row: dict[Any, Any], decider: Decider) -> Entry:
    d, penalty, offered = len(x), decider.ridge.penalty, row["offered"]
    factor = np.asarray(row["belief"], dtype=np.float64).reshape(d + 1, d + 1)
    ridge = Ridge(penalty, int(row["observations"]), factor)
    check_estimate(factor, ridge.n, penalty)
    # Sets that are infinite, and those too large to keep, are not in the log.
    vectors = None if offered is None else np.asarray(offered, dtype=np.float64)
    grounds = Grounds(
        decider.strategy,
        decider._state._replace(step=int(row["step"]), ridge=ridge),
        None if vectors is None else Offer(vectors.reshape(-1, d), decider.columns),
        tuple(int(taken) for taken in row["taken"]),
        decider.columns,
    )
    decision = Decision(
        row["id"],
        None if row["index"] < 0 else int(row["index"]),
        x,
        row["propensity"],
        row["estimate"],
        row["standard_error"],
        int(row["step"]),
        row["asked"].timestamp(),
        grounds,
    )
    check_sound(decision, LARGEST * math.sqrt(penalty), decider.steps)
    after, reward, told = int(row["told_after"]), row["reward"], np.nan
    if after > decider.steps:
        raise ValueError(f"decision {decision.id!r} has no sound told_after")
    if after >= 0:
        told = real(f"when {decision.id!r} was told", row["told"].timestamp())
        name = f"the reward of {decision.id!r}"
        check_reward(name, real(name, reward))
    return Entry(decision, reward, told, after)


def _features(decider: Decider) -> list[str]:
    """Return the names of the columns that hold the chosen arm's features."""
    return [f"x[{name}]" for name in decider.columns or range(decider.subspace.ambient)]


def _renamed(table: pd.DataFrame, decider: Decider) -> pd.DataFrame:
    """Return a table with the features' names of now: it may be from before they had any."""
    before = [name for name in table.columns if name.startswith("x[")]
    return table.rename(columns=dict(zip(before, _features(decider), strict=True)))


def _finite(grounds: Grounds | None) -> tuple[Grounds, FiniteArms] | None:
    if grounds is None or not isinstance(grounds.arms, FiniteArms):
        return None
    return grounds, grounds.arms


def _known(pair: tuple[Grounds, FiniteArms]) -> tuple[State, FiniteArms]:
    return pair[0].state, pair[1]


def _position(decision: Decision) -> int:
    """Return the row of the chosen arm among those left for this choice."""
    if decision.index is None:
        return -1
    grounds = decision.grounds
    return decision.index if grounds is None else grounds.position(decision.index)


def _lists(values: list[Any]) -> pd.Series[Any]:
    import pandas as pd

    flat = np.empty(len(values), dtype=object)  # else equal lengths would become a matrix
    for i, value in enumerate(values):
        flat[i] = None if value is None else np.asarray(value, dtype=np.float64).ravel()
    return pd.Series(flat, dtype=object)


def _times(seconds: list[float]) -> pd.Series[Any]:
    import pandas as pd

    micro = [pd.NaT if np.isnan(time) else round(1e6 * time) for time in seconds]
    return pd.to_datetime(pd.Series(micro, dtype=object), unit="us", utc=True).astype(TIME)
