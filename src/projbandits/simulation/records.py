"""What is kept of trials: curves at the checkpoints, and how they ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projbandits._checks import Array
from projbandits.results import FOUND_BEST_SHARE, FOUND_BEST_WINDOW


@dataclass(frozen=True, eq=False)
class Records:
    """One strategy in some trials, one row each; what needs finitely many arms may be None."""

    regret: Array
    return_regret: Array
    best_share: Array | None
    found_best: NDArray[np.bool_] | None

    @classmethod
    def concat(cls, parts: Sequence[Records]) -> Records:
        """Return the trials of several parts, in their order."""
        if len(parts) == 1:
            return parts[0]
        shares = [part.best_share for part in parts if part.best_share is not None]
        found = [part.found_best for part in parts if part.found_best is not None]
        return cls(
            np.concatenate([part.regret for part in parts]),
            np.concatenate([part.return_regret for part in parts]),
            np.concatenate(shares) if shares else None,
            np.concatenate(found) if found else None,
        )


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
    >>> records = questions.records(np.stack([counts, counts, counts], axis=1), finite=True)
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

    def records(self, answers: Array, *, finite: bool) -> Records:
        """Return the records of trials.

        Parameters
        ----------
        answers : ndarray of shape (trial, 3, step)
            Regret, return regret and plays of a best arm, up to each of the steps.
        finite : bool
            Whether there are finitely many arms.
        """
        regret, return_regret = (np.ascontiguousarray(answers[:, i, self._at[:-1]]) for i in (0, 1))
        if not finite:
            return Records(regret, return_regret, None, None)
        plays = np.concatenate([np.zeros((len(answers), 1)), answers[:, 2]], axis=1)
        shares = (plays[:, self._at + 1] - plays[:, self._before]) / self._lengths
        found = shares[:, -1] > FOUND_BEST_SHARE
        return Records(regret, return_regret, np.ascontiguousarray(shares[:, :-1]), found)
