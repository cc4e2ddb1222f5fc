"""A decision, and what it rested on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.arms import DecisionSet
from projbandits.ledger.events import Decided
from projbandits.ledger.labels import Label, read_label
from projbandits.ledger.outcomes import Held
from projbandits.strategies import LinearStrategy, State

LATEST = 9e9
"""The last second at which something may have been asked, in 2255."""

LARGEST_COUNT = 2**53
"""The largest count; floats hold all whole numbers up to it."""


class Grounds(NamedTuple):
    """What a decision rested on: what was on offer, and what was believed.

    Parameters
    ----------
    strategy : LinearStrategy
        Who decided.
    state : State
        What it knew.
    arms : DecisionSet or None
        What was on offer to this choice; None where a set of the user's own was.
    taken : tuple of int
        The rows of the arms that were taken before, by the same call.
    columns : tuple of str or None
        The features' names.
    """

    strategy: LinearStrategy
    state: State
    arms: DecisionSet | None
    taken: tuple[int, ...]
    columns: tuple[str, ...] | None

    def position(self, index: int) -> int:
        """Return where a row of all that was offered stands among the arms of this choice."""
        return index - sum(row < index for row in self.taken)

    @property
    def own(self) -> Array | float:
        """What each arm of this choice is worth by its own effect; 0 if there are none."""
        effects = self.state.effects
        return 0.0 if effects is None else np.asarray(effects.own)

    def rows(self, size: int) -> NDArray[np.int64]:
        """Return the rows of that many arms among all that were offered."""
        return np.delete(np.arange(size + len(self.taken)), self.taken)


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What `Decider.ask` decided.

    Parameters
    ----------
    id : str
        What to name to `Decider.tell`.
    index : int or None
        The row of the chosen arm among those offered; None in an infinite set.
    arm : ndarray of shape (d,)
        Its features, in the order of `Decider.columns`.
    propensity : float
        The probability with which it was chosen.
    estimate : float
        Its projection reward by the estimate, <P_U x, P_U theta-hat>.
    standard_error : float
        That estimate's standard error; nan before any outcome is known.
    step : int
        t, the number of this decision, counted from 1.
    asked : float
        When, in seconds since 1970.
    label : str, int or None
        What the chosen arm is called: its entry in `labels`, or in the index of a DataFrame.
    note : str or None
        What the caller noted, as JSON; see `meta`.
    grounds : Grounds or None
        What the decision rested on, for `Decider.explain`; the log has it, too.
    around : str or None
        The columns that came with the call, as JSON; see `context`.

    Examples
    --------
    >>> import pandas as pd, projbandits as pb
    >>> films = pd.DataFrame({"length": [1.6, 2.1], "age": [0.3, 0.6]}, index=["Alba", "Brisa"])
    >>> U = pb.Subspace.without("age", columns=films.columns)
    >>> decision = pb.Decider(pb.GENTRY(), subspace=U, seed=0).ask(films, meta={"page": "home"})
    >>> decision.index, decision.label, decision.propensity, decision.step
    (1, 'Brisa', 0.5, 1)
    >>> decision.arm, decision.estimate, decision.meta
    (array([2.1, 0.6]), 0.0, {'page': 'home'})
    """

    id: str
    index: int | None
    arm: Array
    propensity: float
    estimate: float
    standard_error: float
    step: int
    asked: float
    label: Label | None = None
    note: str | None = field(default=None, repr=False)
    grounds: Grounds | None = field(default=None, repr=False)
    around: str | None = field(default=None, repr=False)

    @property
    def meta(self) -> Any:
        """What the caller noted with it."""
        return None if self.note is None else json.loads(self.note)

    @property
    def context(self) -> dict[str, Any] | None:
        """The columns that came with the call."""
        return None if self.around is None else json.loads(self.around)

    @classmethod
    def of(cls, held: Held, grounds: Grounds | None = None) -> Decision:
        """Return a decision that a ledger holds."""
        return cls.made(held.decision, grounds)

    @classmethod
    def made(cls, e: Decided, grounds: Grounds | None) -> Decision:
        """Return the decision that an event records."""
        label = None if e.label is None else read_label(e.label)
        return cls(
            e.id, e.index, e.arm, e.propensity, e.estimate, e.standard_error, e.step, e.time,
            label, e.meta, grounds, e.context,
        )  # fmt: skip
