"""What is kept of a trial while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projbandits._checks import Array
from projbandits.results import FOUND_BEST_SHARE, FOUND_BEST_WINDOW


@dataclass(frozen=True, eq=False)
class Record:
    """One strategy in one trial: its curves at the checkpoints and how it ended."""

    regret: Array
    return_regret: Array
    best_share: Array | None
    found_best: bool | None


def stacked(records: list[list[Record]], name: str) -> Any:
    """Return a field of all records as an array (trial, strategy, ...), or None if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.simulation.records import Record, stacked
    >>> stacked([[Record(np.zeros(3), np.zeros(3), None, None)] * 2], "regret").shape
    (1, 2, 3)
    """
    rows = [[getattr(record, name) for record in trial] for trial in records]
    return None if rows[0][0] is None else np.array(rows)


def best_shares(was_best: NDArray[np.bool_], checkpoints: NDArray[np.int64]) -> tuple[Array, bool]:
    """Return the share of best plays in the window before each checkpoint, and the verdict.

    Parameters
    ----------
    was_best : ndarray of shape (horizon,)
        Whether a best arm was played at each step.
    checkpoints : ndarray
        The steps, from 1, at which to report.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.simulation.records import best_shares
    >>> best_shares(np.array([False, True, True, True]), np.array([1, 2, 4]))
    (array([0.  , 0.5 , 0.75]), False)
    """
    plays = np.concatenate([[0], np.cumsum(was_best)])
    ends = np.append(checkpoints, len(was_best))
    starts = np.maximum(ends - FOUND_BEST_WINDOW, 0)
    shares = (plays[ends] - plays[starts]) / (ends - starts)
    return shares[:-1], bool(shares[-1] > FOUND_BEST_SHARE)
