"""Why an arm was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from projbandits._blas import single_threaded_blas
from projbandits._checks import Array
from projbandits.accounts.counterfactual import Counterfactual, counterfactual
from projbandits.arms import DecisionSet, FiniteArms
from projbandits.decisions import contexts, offers
from projbandits.decisions.decision import Decision, Grounds
from projbandits.decisions.probabilities import probabilities
from projbandits.ledger.fold import Known
from projbandits.ledger.labels import read_label
from projbandits.subspace import feature_names

if TYPE_CHECKING:
    import pandas as pd


OWN = ("counted", "ignored", "effect", "probability", "chosen")
"""What an explanation's table has beside the features."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """The scores behind a decision, and its reason in words.

    Parameters
    ----------
    reason : str
        Best guess or exploration, and with which probability.
    table : DataFrame
        A row for each arm on offer, by its name if it has one: its features, `counted` and
        `ignored`, the two parts of its estimated return, the `probability` with which it would be
        chosen, and whether it was `chosen`. Where the strategy has arm_effects, an arm's own
        `effect` is in `counted`. Where a feature has one of these names, features are called
        x[...]. Of an infinite set, only the chosen arm and the best guess have rows.
    counterfactual : Counterfactual or None
        The smallest change of the chosen arm's kept features after which another would have been
        the best guess, and whether a change of its protected ones could do the same. None for an
        infinite set, and where a single arm was on offer.
    """

    reason: str
    table: pd.DataFrame
    counterfactual: Counterfactual | None = None

    def __str__(self) -> str:
        otherwise = "" if self.counterfactual is None else f"\n{self.counterfactual.text}"
        return f"{self.reason}{otherwise}\n{self.table.to_string(float_format='{:.4g}'.format)}"


@single_threaded_blas()
def explain(known: Known, decision: Decision, arms: Any) -> Explanation:
    """Return the explanation of a decision; `arms` are what was offered, where not kept."""
    import pandas as pd

    grounds = decision.grounds
    if grounds is None:
        raise ValueError(
            f"what decision {decision.id!r} rested on was not kept: explain the Decision that ask "
            "returned, or keep a log"
        )
    if arms is not None:
        penalty = known.state.ridge.penalty
        if known.features is not None:
            arms = contexts.again(known.features, arms, decision.context)
        offered, _ = offers.read("arms", arms, known.subspace, known.columns, penalty)
        grounds = grounds._replace(arms=_left(decision, grounds, offered))
    if grounds.arms is None:
        what = "in an infinite set" if decision.index is None else "among too many arms to keep"
        raise ValueError(
            f"decision {decision.id!r} was made {what}, which is not in the log: pass what was on "
            "offer again, as explain(decision, arms=...)"
        )
    X, labels, chosen, best, stated = _rows(decision, grounds, grounds.arms)
    state = grounds.state
    aim = grounds.strategy.aim(state)
    linear = np.einsum("ij,j->i", X, aim)
    ignored = np.einsum("ij,j->i", X, state.believed.theta) - linear
    counted = linear + grounds.own
    names = feature_names(grounds.columns, X.shape[1])
    if set(names) & set(OWN):
        names = [f"x[{name}]" for name in names]
    table = pd.DataFrame(X, columns=list(names), index=pd.Index(labels, name="arm"))
    table["counted"], table["ignored"] = counted, ignored
    if state.effects is not None:
        table["effect"] = grounds.own
    table["probability"] = stated
    table["chosen"] = np.arange(len(X)) == chosen
    reason = _reason(decision, grounds, counted, labels, chosen, best)
    otherwise = None
    if decision.index is not None:
        otherwise = counterfactual(X, counted, aim, state.projection, chosen, labels, names)
    return Explanation(reason, table, otherwise)


def _left(decision: Decision, grounds: Grounds, offered: DecisionSet) -> DecisionSet:
    """Return the arms on offer to this choice, of all that were offered to its call."""
    wrong = ValueError(
        f"arms must be what was on offer to decision {decision.id!r}, in the same order, got others"
    )
    x, index = decision.arm, decision.index
    if not isinstance(offered, FiniteArms):
        if index is not None or not offered.contains(x, 1e-6):
            raise wrong
        return offered
    if index is None or index >= offered.size or (offered.vectors[index] != x).any():
        raise wrong
    if offered.size <= max(grounds.taken, default=-1):
        raise wrong
    kept = grounds.arms
    named = getattr(kept, "labels", None)
    left = offers.Offer(offered.vectors, grounds.columns).without(grounds.taken)[0]
    left.labels = named
    if isinstance(kept, FiniteArms) and not np.array_equal(left.vectors, kept.vectors):
        raise wrong
    return left


def _rows(
    decision: Decision, grounds: Grounds, arms: DecisionSet
) -> tuple[Array, list[Any], int, int, Any]:
    """Return the arms to show and their labels, choice and best guess, and probabilities."""
    best = grounds.strategy.greedy(grounds.state, arms)
    if not isinstance(arms, FiniteArms) or decision.index is None or best.index is None:
        X = np.array([decision.arm, best.x])
        same = bool((decision.arm == best.x).all())
        return X, ["chosen", "best guess"], 0, 1 - same, [decision.propensity, np.nan]
    rows = grounds.rows(arms.size)
    chosen = grounds.position(decision.index)
    stated = probabilities(grounds.strategy, grounds.state, arms)
    if stated is None:
        stated = np.full(arms.size, np.nan)
        stated[chosen] = decision.propensity
    named = getattr(arms, "labels", None)
    labels = rows.tolist() if named is None else [*map(read_label, named)]
    return arms.vectors, labels, chosen, best.index, stated


def _reason(
    decision: Decision, grounds: Grounds, counted: Array, labels: list[Any], chosen: int, best: int
) -> str:
    finite = decision.index is not None
    mine, other = ("arm {}", "arm {}") if finite else ("this point", "another point")
    mine, other = mine.format(labels[chosen]), other.format(labels[best])
    what = "the projection reward" if grounds.strategy.aims_at == "projection" else "the return"
    chance = (
        "its probability is unknown"
        if np.isnan(decision.propensity)
        else f"it had probability {decision.propensity:.4g}"
    )
    told = grounds.state.ridge.weight > 0.0
    known = grounds.strategy.aim(grounds.state).any() or (finite and told and bool(counted.any()))
    if not known or (finite and len(set(counted)) == 1):
        tie = f"all estimates of {what} tie at {counted[chosen]:.4g}"
        kind = (
            f"best guess: {tie}, and {mine} comes first"
            if chosen == best
            else f"exploration: {tie}, so {mine} was chosen to learn from"
        )
        return f"{kind}; {chance}"
    if chosen == best:
        ties = int((counted == counted[best]).sum()) if finite else 1
        first = f", first of {ties} that tie" if ties > 1 else ""
        return (
            f"best guess: {mine} has the highest estimate of {what}, {counted[chosen]:.4g}"
            f"{first}; {chance}"
        )
    return (
        f"exploration: {mine} was chosen to learn from, with an estimate of {what} of "
        f"{counted[chosen]:.4g}; {chance}. The best guess was {other}, with {counted[best]:.4g}"
    )
