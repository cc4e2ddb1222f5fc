"""Evidence from the log on whether the part that must not count played a role.

What can be shown is exact, given the belief at the time: scores and best guesses follow from
P_U x alone. What cannot be shown, because it is not so: D_k and the estimate's uncertainty depend
on whole arms, so *exploration* may go to arms for what they have in the protected part. The audit
measures by how much.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from projbandits._checks import Array
from projbandits.arms import FiniteArms
from projbandits.online.decision import Decision, Grounds
from projbandits.online.journal import Entry
from projbandits.online.offers import Offer
from projbandits.online.probabilities import probabilities
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    import pandas as pd

    from projbandits.online.decider import Decider

PROXY = 0.1
"""From this R^2 on, the kept features are said to carry information about a protected one."""

FEW = 6
"""A column with at most so many values has a group for each; others are cut at their terciles."""


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found.

    Parameters
    ----------
    table : DataFrame
        Each finding with its value and what it means.
    groups : DataFrame
        For each group of each protected column: its share among the arms offered, the best
        guesses, the explored arms and all choices.
    proxies : DataFrame
        For each protected column (or direction), how much of its variance over the arms offered
        the kept features explain (R^2).
    shifts : ndarray
        For each decision, how far its choice probabilities moved (total variation) when the
        protected part of the arms was changed.
    """

    table: pd.DataFrame
    groups: pd.DataFrame
    proxies: pd.DataFrame
    shifts: Array

    @property
    def warnings(self) -> list[str]:
        """What the user must be told: which protected columns the kept ones stand in for."""
        return [
            f"the kept features explain {100 * r2:.0f} % of the variance of {name!r} over the arms "
            "offered: projection removes a direction, not a correlation, so decisions may still "
            "follow it"
            for name, r2 in self.proxies["r2"].items()
            if r2 >= PROXY
        ]

    def plot(self) -> Any:
        """Draw the audit and return the matplotlib Figure."""
        # By name and only now: this module must not load matplotlib early.
        return importlib.import_module("projbandits.plots").audit(self)

    def __str__(self) -> str:
        lines = [f"{name}: {x.value:.4g} ({x.meaning})" for name, x in self.table.iterrows()]
        if len(self.groups):
            lines += ["", self.groups.to_string(index=False, float_format="{:.1%}".format)]
        return "\n".join([*lines, "", *self.warnings]).rstrip()


def audit(decider: Decider, entries: list[Entry]) -> Audit:
    """Return the audit of all logged decisions among finitely many arms."""
    import pandas as pd

    cases = [
        (entry.decision, entry.decision.grounds, entry.decision.grounds.arms)
        for entry in entries
        if entry.decision.grounds is not None
        and isinstance(entry.decision.grounds.arms, FiniteArms)
    ]
    if not cases:
        raise ValueError("the log has no decision among finitely many arms that could be audited")
    pool = np.vstack([arms.vectors for _, _, arms in cases])
    theta = decider.ridge.theta
    rng = np.random.default_rng(0)
    checks = [_changed(grounds, arms, pool, decider.subspace, rng) for _, grounds, arms in cases]
    scores, guesses, shifts = (np.array(part) for part in zip(*checks, strict=True))
    lost = [_given_up(decision, grounds, arms, theta) for decision, grounds, arms in cases]
    by_projection, by_exploring = np.mean(lost, axis=0)
    known = shifts[~np.isnan(shifts)]
    moved = f"{known.max():.3g}" if len(known) else "unknown"
    findings = {
        "decisions audited": (len(cases), "all logged ones among finitely many arms"),
        "largest change of a score": (
            float(scores.max()),
            "when the protected part of every arm was changed; relative to the scores' size",
        ),
        "best guesses that changed": (int(guesses.sum()), "of the decisions audited"),
        "choice probabilities that changed": (
            int((known > 1e-12).sum()),
            f"of {len(known)} known; by at most {moved} (total variation): exploration looks at "
            "whole arms, so it may depend on the protected part",
        ),
        "mean change of the probabilities": (
            float(known.mean()) if len(known) else np.nan,
            "total variation",
        ),
        "return given up by the projection": (
            float(by_projection),
            "a decision, estimated: the best return on offer less that of the best guess",
        ),
        "return given up by exploring": (
            float(by_exploring),
            "a decision, estimated: the return of the best guess less that of the choice",
        ),
    }
    table = pd.DataFrame(findings, index=["value", "meaning"]).T
    protected = protected_columns(decider.subspace, decider.columns)
    return Audit(table, _groups(cases, protected), _proxies(pool, decider, protected), shifts)


def protected_columns(subspace: Subspace, columns: tuple[str, ...] | None) -> dict[str, int]:
    """Return the coordinates that do not count, by name; none unless P_U is diagonal."""
    P = subspace.matrix
    if np.abs(P - np.diag(np.diag(P))).max() > 1e-9:
        return {}
    names = columns or [f"x[{j}]" for j in range(len(P))]
    return {names[j]: j for j in range(len(P)) if P[j, j] < 0.5}


def _changed(
    grounds: Grounds, arms: FiniteArms, pool: Array, subspace: Subspace, rng: np.random.Generator
) -> tuple[float, bool, float]:
    """Return how scores, best guess and probabilities move with another protected part.

    Each arm keeps P_U x and gets the rest from an arm drawn among all that were ever offered.
    """
    drawn = pool[rng.integers(len(pool), size=arms.size)]
    protected = protected_columns(subspace, grounds.columns)
    other = arms.vectors.copy()
    if protected:
        other[:, [*protected.values()]] = drawn[:, [*protected.values()]]
    else:
        other = subspace.project(other) + drawn - subspace.project(drawn)
    changed = Offer(other, arms.columns)
    aim = grounds.strategy.aim(grounds.state)
    before, after = arms.scores(aim), changed.scores(aim)
    size = max(float(np.abs(before).max()), np.finfo(np.float64).tiny)
    p, q = (probabilities(grounds.strategy, grounds.state, a) for a in (arms, changed))
    shift = np.nan if p is None or q is None else float(np.abs(p - q).sum() / 2)
    # Up to rounding: where several arms tie, rounding may pick another of them.
    guess = before[int(after.argmax())] < before.max() - 1e-9 * size
    return float(np.abs(after - before).max() / size), bool(guess), shift


def _given_up(
    decision: Decision, grounds: Grounds, arms: FiniteArms, theta: Array
) -> tuple[float, float]:
    returns = arms.scores(theta)
    guess = returns[int(arms.scores(grounds.strategy.aim(grounds.state)).argmax())]
    return float(returns.max() - guess), float(guess - decision.arm @ theta)


def _groups(
    cases: list[tuple[Decision, Grounds, FiniteArms]], protected: dict[str, int]
) -> pd.DataFrame:
    """Return how offers, best guesses, exploration and choices spread over each column's groups."""
    import pandas as pd

    offered = np.vstack([arms.vectors for _, _, arms in cases])
    chosen = np.array([decision.arm for decision, _, _ in cases])
    guesses = np.array(
        [arms.best(grounds.strategy.aim(grounds.state)).x for _, grounds, arms in cases]
    )
    explored = chosen[(chosen != guesses).any(axis=1)]
    rows = []
    for name, j in protected.items():
        for label, inside in _cut(offered[:, j]):
            shares = {
                part: float(inside(values[:, j]).mean()) if len(values) else np.nan
                for part, values in (
                    ("offered", offered),
                    ("best guess", guesses),
                    ("explored", explored),
                    ("chosen", chosen),
                )
            }
            rows.append({"column": name, "group": label, **shares})
    parts = ["column", "group", "offered", "best guess", "explored", "chosen"]
    return pd.DataFrame(rows, columns=parts)


def _cut(values: Array) -> list[tuple[str, Any]]:
    """Return the groups of a column: a label, and a test for membership."""
    levels = np.unique(values)
    if len(levels) <= FEW:
        return [(f"{v:g}", lambda x, v=v: x == v) for v in levels]
    low, high = np.quantile(values, [1 / 3, 2 / 3])
    return [
        (f"up to {low:.3g}", lambda x: x <= low),
        (f"{low:.3g} to {high:.3g}", lambda x: (x > low) & (x <= high)),
        (f"above {high:.3g}", lambda x: x > high),
    ]


def _proxies(pool: Array, decider: Decider, protected: dict[str, int]) -> pd.DataFrame:
    """Return R^2 of each protected column, or direction of the complement, on what is kept."""
    import pandas as pd

    kept = pool @ decider.subspace.basis
    targets = {name: pool[:, j] for name, j in protected.items()}
    if not targets:
        rest = decider.subspace.complement()
        targets = {rest.describe(direction): pool @ direction for direction in rest.basis.T}
    design = np.column_stack([np.ones(len(pool)), kept])
    found = {}
    for name, y in targets.items():
        total = ((y - y.mean()) ** 2).sum()
        left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        found[name] = 1 - float((left**2).sum() / total) if total > 0 else 0.0
    return pd.DataFrame({"r2": found}, columns=["r2"], dtype=np.float64)
