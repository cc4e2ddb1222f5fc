"""The log as a table: a row for each decision, with what was offered, believed and observed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from projbandits._blas import single_threaded_blas
from projbandits.arms import FiniteArms
from projbandits.ledger.decision import Decision, Grounds
from projbandits.ledger.fold import Known, learns_plainly
from projbandits.ledger.history import History, Record
from projbandits.ledger.labels import Label, read_label
from projbandits.ledger.reading import EVENTS_AT_ONCE
from projbandits.strategies.open import OpenRows
from projbandits.strategies.probabilities import probabilities

if TYPE_CHECKING:
    import pandas as pd

ATTRIBUTE: Final = "projbandits"
"""Where a log's `attrs` say what its decider knew all along; Parquet keeps them."""

TIME: Final = "datetime64[us, UTC]"


@single_threaded_blas()
def frame(records: Sequence[Record], known: Known) -> pd.DataFrame:
    """Return decisions as a table, with the names that features have in `known`."""
    import pandas as pd

    decisions = [record.decision for record in records]
    d = known.subspace.ambient
    arms = np.array([decision.arm for decision in decisions]).reshape(-1, d)
    grounds = [decision.grounds for decision in decisions]
    return pd.DataFrame(
        {
            "id": pd.Series([decision.id for decision in decisions], dtype=object),
            "step": _counts(decision.step for decision in decisions),
            "asked": _times([decision.asked for decision in decisions]),
            "told": _times([record.told_at if record.told else np.nan for record in records]),
            "outcome_position": _counts(record.told_after for record in records),
            "index": _counts(-1 if x.index is None else x.index for x in decisions),
            "propensity": [decision.propensity for decision in decisions],
            "outcome": [record.outcome for record in records],
            "estimate": [decision.estimate for decision in decisions],
            "standard_error": [decision.standard_error for decision in decisions],
            **{name: arms[:, j] for j, name in enumerate(feature_columns(known))},
            "position": _counts(map(_position, decisions)),
            "taken": _lists(None if g is None else g.taken for g in grounds),
            "offered": _lists(map(_offered, grounds)),
            "probabilities": _lists(map(_chances, grounds)),
            "observations": _counts(-1 if g is None else g.state.ridge.n for g in grounds),
            "belief": _lists(None if g is None else g.state.ridge.logged for g in grounds),
            "known": _counts(record.known for record in records),
            "told_at": _counts(record.outcome_position for record in records),
            "meta": pd.Series([decision.note for decision in decisions], dtype=object),
            "forgotten": [0.0 if g is None else g.state.ridge.forgotten for g in grounds],
            "label": pd.Series([decision.label for decision in decisions], dtype=object),
            "context": pd.Series([decision.around for decision in decisions], dtype=object),
            "ledger": pd.Series([known.key] * len(decisions), dtype=object),
            "labels": pd.Series([*map(_labels, grounds)], dtype=object),
            "open": _lists(map(_open, grounds)),
        }
    )


def pieces(history: History, size: int = EVENTS_AT_ONCE) -> Iterator[pd.DataFrame]:
    """Yield the log piece by piece, those of some events at a time."""
    for records in history.chunks(size=size):
        yield frame(records, history.belief())


def whole_log(history: History) -> pd.DataFrame:
    """Return the whole log as one table, which says what its decider knew all along."""
    import pandas as pd

    some = [piece for piece in pieces(history) if len(piece)]
    table = pd.concat(some, ignore_index=True) if some else frame([], history.belief())
    table = table.sort_values("step", kind="stable", ignore_index=True)
    table.attrs = {ATTRIBUTE: about(history)}
    return table


def about(history: History) -> str:
    """Return what holds for a whole log, as JSON.

    One string, not a tree: pandas copies and compares attrs with every step.
    """
    known = history.belief()
    on = {
        s.learns_on if learns_plainly(s) else None for s in [*history.strategies(), known.strategy]
    }
    return json.dumps(
        {
            "subspace": known.subspace.basis.tolist(),
            "columns": known.columns,
            "learns_on": on.pop() if len(on) == 1 else None,
        }
    )


def feature_columns(known: Known) -> list[str]:
    """Return the names of the columns that hold the chosen arm's features."""
    return [f"x[{name}]" for name in known.columns or range(known.subspace.ambient)]


def _labels(grounds: Grounds | None) -> str | None:
    """Return the labels of the arms on offer as JSON, in which texts and numbers differ."""
    labels = getattr(_finite(grounds), "labels", None)
    return None if labels is None else json.dumps([read_label(label) for label in labels])


def label_kind(labels: Iterable[Label | None]) -> str:
    """Return the kind of the column that holds these labels in a file.

    Examples
    --------
    >>> from projbandits.deciding.log_table import label_kind
    >>> label_kind([3, None]), label_kind(["12 Angry Men", 3]), label_kind([2**70]), label_kind([])
    ('whole', 'text', 'text', 'text')
    """
    known = [label for label in labels if label is not None]
    whole = known and all(isinstance(n, int) and -(2**63) <= n < 2**63 for n in known)
    return "whole" if whole else "text"


def _finite(grounds: Grounds | None) -> FiniteArms | None:
    return grounds.arms if grounds and isinstance(grounds.arms, FiniteArms) else None


def _offered(grounds: Grounds | None) -> Any:
    arms = _finite(grounds)
    return None if arms is None else arms.vectors


def _open(grounds: Grounds | None) -> Any:
    """Return a factor of the rows [1, x] of the decisions that were open."""
    rows = None if grounds is None else grounds.state.ridge.open
    return rows.whole if isinstance(rows, OpenRows) else None


def _chances(grounds: Grounds | None) -> Any:
    arms = _finite(grounds)
    if grounds is None or arms is None:
        return None
    return probabilities(grounds.strategy, grounds.state, arms)


def _position(decision: Decision) -> int:
    """Return the row of the chosen arm among those left for this choice."""
    if decision.index is None:
        return -1
    grounds = decision.grounds
    return decision.index if grounds is None else grounds.position(decision.index)


def _counts(values: Iterable[int]) -> Any:
    return np.array([*values], dtype=np.int64)


def _lists(values: Iterable[Any]) -> pd.Series[Any]:
    import pandas as pd

    listed = [*values]
    flat = np.empty(len(listed), dtype=object)  # else equal lengths would become a matrix
    for i, value in enumerate(listed):
        flat[i] = None if value is None else np.asarray(value, dtype=np.float64).ravel()
    return pd.Series(flat, dtype=object)


def _times(seconds: list[float]) -> pd.Series[Any]:
    import pandas as pd

    micro = [pd.NaT if np.isnan(time) else round(1e6 * time) for time in seconds]
    return pd.to_datetime(pd.Series(micro, dtype=object), unit="us", utc=True).astype(TIME)
