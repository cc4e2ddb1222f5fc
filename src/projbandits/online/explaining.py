"""Why an arm was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from projbandits._checks import Array
from projbandits.arms import DecisionSet, FiniteArms
from projbandits.online import offers
from projbandits.online.decision import Decision, Grounds
from projbandits.online.probabilities import probabilities

if TYPE_CHECKING:
    import pandas as pd

    from projbandits.online.decider import Decider


@dataclass(frozen=True, eq=False)
class Explanation:
    """The scores behind a decision, and its reason in words.

    Parameters
    ----------
    reason : str
        Best guess or exploration, and with which probability.
    table : DataFrame
        A row for each arm on offer: its features, `counted` and `ignored`, the two parts of its
        estimated return, the probability with which it would be chosen, and whether it was. Of an
        infinite set, only the chosen arm and the best guess have rows.
    """

    reason: str
    table: pd.DataFrame

    def __str__(self) -> str:
        return f"{self.reason}\n{self.table.to_string(float_format='{:.4g}'.format)}"


def explain(decider: Decider, decision: Decision, arms: Any) -> Explanation:
    """Return the explanation of a decision; `arms` are what was offered, where not kept."""
    import pandas as pd

    grounds = decision.grounds
    if grounds is None:
        raise ValueError(
            f"what decision {decision.id!r} rested on was not kept: explain the Decision that ask "
            "returned, or keep a log"
        )
    if arms is not None:
        read, _ = offers.read("arms", arms, decider.subspace, decider.columns)
        grounds = grounds._replace(arms=read, rows=None)
    if grounds.arms is None:
        raise ValueError(
            f"decision {decision.id!r} was made among too many arms to keep: pass them again as "
            "explain(decision, arms=...)"
        )
    aim = grounds.strategy.aim(grounds.state)
    X, rows, chosen, stated = _rows(decision, grounds, grounds.arms)
    counted = np.einsum("ij,j->i", X, aim)
    total = np.einsum("ij,j->i", X, grounds.state.ridge.theta)
    names = grounds.columns or [f"x[{j}]" for j in range(X.shape[1])]
    table = pd.DataFrame(X, columns=list(names), index=pd.Index(rows, name="arm"))
    table["counted"], table["ignored"] = counted, total - counted
    table["probability"] = stated
    table["chosen"] = np.arange(len(X)) == chosen
    best = int(counted.argmax())
    what = "the projection reward" if grounds.strategy.aims_at == "projection" else "the return"
    chance = f"it had probability {decision.propensity:.4g}"
    if counted[chosen] == counted[best]:
        reason = (
            f"best guess: arm {rows[chosen]} has the highest estimate of {what}, "
            f"{counted[chosen]:.4g}; {chance}"
        )
    else:
        reason = (
            f"exploration: arm {rows[chosen]} was chosen to learn from, with an estimate of {what} "
            f"of {counted[chosen]:.4g}; {chance}. The best guess was arm {rows[best]}, with "
            f"{counted[best]:.4g}"
        )
    return Explanation(reason, table)


def _rows(
    decision: Decision, grounds: Grounds, arms: DecisionSet
) -> tuple[Array, list[Any], int, Any]:
    """Return the arms to show, what to call them, which was chosen, and their probabilities."""
    if not isinstance(arms, FiniteArms):
        best = arms.best(grounds.strategy.aim(grounds.state)).x
        X = np.array([decision.arm, best])
        return X, ["chosen", "best guess"], 0, [decision.propensity, np.nan]
    rows = np.arange(arms.size) if grounds.rows is None else grounds.rows
    chosen = int(np.flatnonzero((arms.vectors == decision.arm).all(axis=1))[0])
    if decision.index is not None and decision.index in rows:
        chosen = int(np.flatnonzero(rows == decision.index)[0])
    stated = probabilities(grounds.strategy, grounds.state, arms)
    if stated is None:
        stated = np.full(arms.size, np.nan)
        stated[chosen] = decision.propensity
    return arms.vectors, rows.tolist(), chosen, stated
