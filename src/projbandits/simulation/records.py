"""What is kept of trials: curves at the checkpoints, and how they ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projbandits._joined import Pulls, join_pulls
from projbandits._validation import Array
from projbandits.results import FOUND_BEST_SHARE, FOUND_BEST_WINDOW

MOST_PULLED_ARMS = 10_000
"""With more arms than this, how often each was played is not kept: most were never played."""
ABSENT = -1
"""The pulls of an arm that a trial does not have, or of which they are not kept.

Whether they are kept is thus known trial by trial, whichever trials are run or kept together.
"""


@dataclass(frozen=True, eq=False)
class Records:
    """One strategy in some trials, one row each; what needs finitely many arms may be None."""

    regret: Array
    return_regret: Array
    best_share: Array | None
    found_best: NDArray[np.bool_] | None
    pulls: Pulls | None

    @classmethod
    def concat(cls, parts: Sequence[Records]) -> Records:
        """Return the trials of several parts, in their order."""
        if len(parts) == 1:
            return parts[0]
        joined: dict[str, Any] = {}
        for field in fields(cls):
            arrays = [getattr(part, field.name) for part in parts]
            if any(array is None for array in arrays):
                joined[field.name] = None
            elif field.name == "pulls":
                joined[field.name] = join_pulls(arrays, absent=ABSENT)
            else:
                joined[field.name] = np.concatenate(arrays)
        return cls(**joined)

    def rows(self, chosen: slice) -> Records:
        """Return some of the trials."""
        arrays: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        arrays = {name: None if a is None else a[chosen] for name, a in arrays.items()}
        return Records(**arrays)


def kept_pulls(records: Sequence[Records]) -> Pulls | None:
    """Return the pulls of several strategies in the same trials, unless they are not kept."""
    pulls = [of_one.pulls for of_one in records if of_one.pulls is not None]
    if not pulls:
        return None
    widest = int((pulls[0] != ABSENT).sum(axis=1).max())
    joined = np.array(pulls)[:, :, :widest]
    if widest == 0 or (joined[:, :, 0] == ABSENT).any():
        return None
    return np.where(joined == ABSENT, 0, joined)


class Questions:
    """The steps that every engine is asked about, and what follows from the answers.

    They are the checkpoints, the horizon, and the start of the window before each: the share of
    best plays in a window comes from the difference of two counts.

    Parameters
    ----------
    checkpoints : ndarray
        The steps, from 1, at which to report.
    horizon : int
        The last step.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.simulation.records import Questions
    >>> questions = Questions(np.array([1, 2]), horizon=4)
    >>> questions.steps
    array([1, 2, 4])
    >>> counts = np.array([[0.0, 1.0, 3.0]])  # plays of a best arm up to these steps
    >>> answers, pulls = np.stack([counts, counts, counts], axis=1), np.array([[1, 3]])
    >>> records = questions.records(answers, pulls)
    >>> records.best_share, records.found_best
    (array([[0. , 0.5]]), array([False]))
    """

    def __init__(self, checkpoints: NDArray[np.int64], horizon: int) -> None:
        last = np.append(checkpoints, horizon)
        first = np.maximum(last - FOUND_BEST_WINDOW, 0)
        self.steps: NDArray[np.int64] = np.unique(np.concatenate([last, first[first > 0]]))
        self._at = np.searchsorted(self.steps, last)
        self._before = np.searchsorted(self.steps, first, "right")  # among counts that begin at 0
        self._lengths = last - first

    def records(self, answers: Array, pulls: Pulls | None, *, steady: bool = True) -> Records:
        """Return the records of trials.

        Parameters
        ----------
        answers : ndarray of shape (trial, 3, step)
            Regret, return regret and plays of a best arm, up to each of the steps.
        pulls : ndarray of shape (trial, arm), or None
            How often each arm was played, if there are finitely many.
        steady : bool
            Whether every step is the same; otherwise there is no best arm to be found.
        """
        regret, return_regret = (np.ascontiguousarray(answers[:, i, self._at[:-1]]) for i in (0, 1))
        if pulls is None:
            return Records(regret, return_regret, None, None, None)
        kept = pulls if pulls.shape[1] <= MOST_PULLED_ARMS else pulls[:, :0]
        if not steady:
            return Records(regret, return_regret, None, None, kept)
        plays = np.concatenate([np.zeros((len(answers), 1)), answers[:, 2]], axis=1)
        shares = (plays[:, self._at + 1] - plays[:, self._before]) / self._lengths
        found = shares[:, -1] > FOUND_BEST_SHARE
        shares = np.ascontiguousarray(shares[:, :-1])
        return Records(regret, return_regret, shares, found, kept)
