"""Why an arm was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from projbandits._blas import single_threaded_blas
from projbandits._validation import Array
from projbandits.arms import DecisionSet, FiniteArms
from projbandits.deciding import offers
from projbandits.features import contexts
from projbandits.ledger.decision import Decision, Grounds
from projbandits.ledger.fold import Known
from projbandits.ledger.labels import read_label
from projbandits.ledger.offer import Offer
from projbandits.strategies.probabilities import probabilities
from projbandits.subspace import feature_names

if TYPE_CHECKING:
    import pandas as pd


ROUNDING = 1e-9
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
    otherwise : str
        The smallest change of a single kept feature of the chosen arm after which another arm would
        have been the best guess. Empty where no single feature can do that.
    """

    reason: str
    table: pd.DataFrame
    otherwise: str = ""

    def __str__(self) -> str:
        otherwise = f"\n{self.otherwise}" if self.otherwise else ""
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
    ignored = np.einsum("ij,j->i", X, state.theta) - linear
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
    otherwise = ""
    if decision.index is not None:
        otherwise = _otherwise(X, counted, aim, state.projection, chosen, labels, names)
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
    left = Offer(offered.vectors, grounds.columns).without(grounds.taken)[0]
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


def _otherwise(
    X: Array,
    scores: Array,
    aim: Array,
    projection: Array,
    chosen: int,
    labels: Sequence[Any],
    names: Sequence[str],
) -> str:
    """Return the smallest change of one kept feature that would make another the best guess.

    Sizes are in standard deviations of the features among the arms on offer.
    """
    if len(X) < 2:
        return ""
    others = scores.copy()
    others[chosen] = -np.inf
    rival = int(others.argmax())
    gap = float(scores[chosen] - scores[rival])
    columns = np.abs(projection - np.diag(np.diag(projection))).max() <= ROUNDING
    told = np.abs(aim) > ROUNDING * np.abs(aim).max()  # the rest is what rounding left
    free = np.flatnonzero(columns & (projection.diagonal() > 0.5) & told & (np.ptp(X, axis=0) > 0))
    if not len(free) or gap == 0:
        return ""
    changes = gap / aim[free]
    least = int(np.abs(changes / X[:, free].std(axis=0)).argmin())
    j = free[least]
    other = f"arm {labels[rival]} would have been the best guess"
    if gap < 0:
        other = f"it would have been the best guess instead of arm {labels[rival]}"
    before, after = X[chosen, j], X[chosen, j] - changes[least]
    return (
        f"the smallest change of one kept feature after which {other} is "
        f"{_from_to(names[j], before, after)}"
    )


def _from_to(name: str, before: float, after: float) -> str:
    """Return a change in as few digits as show it."""
    for digits in range(3, 17):
        texts = f"{before:.{digits}g}", f"{after:.{digits}g}"
        if len({*texts}) == 2:
            break
    return f"{name} {texts[0]} to {texts[1]}"
