"""Evidence from the log on whether the part that must not count played a role.

What can be shown is exact, given the belief at the time: scores and best guesses follow from
P_U x alone. What cannot be shown, because it is not so: D_k and the estimate's uncertainty depend
on whole arms, so *exploration* may go to arms for what they have in the protected part. The audit
measures by how much.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from projbandits._checks import Array
from projbandits.arms import FiniteArms
from projbandits.online import verdict
from projbandits.online.decision import Decision, Grounds
from projbandits.online.journal import Entry
from projbandits.online.offers import Offer
from projbandits.online.probabilities import probabilities
from projbandits.online.protected import ROUNDING, Protected, along, groups
from projbandits.online.proxies import proxies, words
from projbandits.ridge import Ridge

if TYPE_CHECKING:
    import pandas as pd

    from projbandits.online.decider import Decider


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found.

    Parameters
    ----------
    role : bool or None
        Whether the protected part played a role in what was wanted: whether with another one a
        score or a best guess changed. None where nothing can be concluded.
    verdict : str
        The same in words, and then whether it played one in exploring.
    warnings : list of str
        What else the user must be told.
    table : DataFrame
        Each finding with its value and what it means.
    groups : DataFrame
        For each group of each protected column: its share among the arms offered, the best
        guesses, the explored arms and all choices.
    proxies : DataFrame
        For each protected column (or direction), how much of its variance over the distinct arms
        offered is predicted by the kept features: by a linear fit (`r2`), with squares
        (`r2_squares`), and by the one that predicts it best alone (`closest`, `r2_closest`).
    shifts : ndarray
        For each decision, how far its choice probabilities moved (total variation) when the
        protected part of the arms was changed; nan where they are unknown.
    """

    role: bool | None
    verdict: str
    warnings: list[str]
    table: pd.DataFrame
    groups: pd.DataFrame
    proxies: pd.DataFrame
    shifts: Array

    def plot(self) -> Any:
        """Draw the audit and return the matplotlib Figure."""
        # By name and only now: this module must not load matplotlib early.
        return importlib.import_module("projbandits.plots").audit(self)

    def __str__(self) -> str:
        lines = [self.verdict, ""]
        for name, row in self.table.iterrows():
            value = "unknown" if np.isnan(row["value"]) else f"{row['value']:.4g}"
            lines.append(f"{name}: {value} ({row['meaning']})")
        if len(self.groups):
            shown = self.groups.to_string(index=False, float_format="{:.1%}".format, na_rep="-")
            lines += ["", shown]
        return "\n".join([*lines, "", *self.warnings]).rstrip()


class Case(NamedTuple):
    """A decision that can be audited, with where choice and best guess stand among its arms."""

    decision: Decision
    grounds: Grounds
    arms: FiniteArms
    chosen: int
    guess: int


def audit(decider: Decider, entries: list[Entry]) -> Audit:
    """Return the audit of the logged decisions among finitely many arms that were kept."""
    import pandas as pd

    cases = [case for entry in entries if (case := _case(entry.decision)) is not None]
    infinite = sum(entry.decision.index is None for entry in entries)
    left_out = (len(entries) - len(cases) - infinite, infinite)
    if not cases:
        raise ValueError(
            "the log has no decision among finitely many arms that could be audited, got "
            f"{left_out[0]} among too many arms to keep and {infinite} on infinite sets; what "
            "workers decided before they were merged is in their own logs"
        )
    pool = np.vstack([case.arms.vectors for case in cases])
    protected = Protected.of(decider.subspace, decider.columns, pool)
    rng = np.random.default_rng(0)
    checks = [_changed(case, pool, protected, rng) for case in cases]
    scores, guesses, shifts = (np.array(part) for part in zip(*checks, strict=True))
    theta = _theta(decider, entries)
    aim = theta if decider.strategy.aims_at == "return" else decider.subspace.project(theta)
    lost = np.mean([_given_up(case, theta, aim) for case in cases], axis=0)
    found = verdict.Found(
        strategy=decider.strategy,
        protected=protected,
        learnt=any(case.grounds.state.ridge.n for case in cases),
        cases=len(cases),
        left_out=left_out,
        score=float(scores.max()),
        guesses=int(guesses.sum()),
        shifts=shifts[~np.isnan(shifts)],
        lost=(float(lost[0]), float(lost[1]), float(lost[2])),
    )
    carried = proxies(pool, decider.subspace, decider.columns, protected)
    return Audit(
        found.role,
        found.verdict(),
        [*found.warnings(), *words(carried, protected)],
        pd.DataFrame(found.findings(), index=["value", "meaning"]).T,
        _groups(cases, pool, protected),
        carried,
        shifts,
    )


def _case(decision: Decision) -> Case | None:
    grounds = decision.grounds
    if grounds is None or not isinstance(grounds.arms, FiniteArms) or decision.index is None:
        return None
    guess = grounds.arms.best(grounds.strategy.aim(grounds.state)).index
    assert guess is not None
    return Case(decision, grounds, grounds.arms, grounds.position(decision.index), guess)


def _changed(
    case: Case, pool: Array, protected: Protected, rng: np.random.Generator
) -> tuple[float, bool, float]:
    """Return how scores, best guess and probabilities move with another protected part.

    Each arm keeps P_U x and gets the rest from an arm drawn among all that were ever offered.
    Changes that rounding can make are none.
    """
    arms, (strategy, state) = case.arms, case.grounds[:2]
    drawn = pool[rng.integers(len(pool), size=arms.size)]
    changed = Offer(protected.swapped(arms.vectors, drawn), arms.columns)
    aim = strategy.aim(state)
    before, after = arms.scores(aim), changed.scores(aim)
    longest = max(float(np.linalg.norm(a.vectors, axis=1).max()) for a in (arms, changed))
    rounding = ROUNDING * longest * float(np.linalg.norm(state.ridge.theta))
    size = max(float(np.abs([before, after]).max()), np.finfo(np.float64).tiny)
    moved = float(np.abs(after - before).max())
    p, q = (probabilities(strategy, state, a) for a in (arms, changed))
    shift = np.nan if p is None or q is None else float(np.abs(p - q).sum() / 2)
    guess = before[int(after.argmax())] < before.max() - rounding
    return (moved / size if moved > rounding else 0.0), bool(guess), shift


def _theta(decider: Decider, entries: list[Entry]) -> Array:
    """Return what the returns are believed to follow, the protected part's effect included."""
    if decider.strategy.learns_on == "arm":
        return decider.ridge.theta
    told = [entry for entry in entries if entry.told_after >= 0]
    d = decider.subspace.ambient
    X = np.array([entry.decision.arm for entry in told]).reshape(-1, d)
    rewards = np.array([entry.reward for entry in told])
    return Ridge.prior(d, decider.ridge.penalty).update_many(X, rewards).theta


def _given_up(case: Case, theta: Array, aim: Array) -> tuple[float, float, float]:
    """Return what projection, learning and exploring cost in return; they add up to the whole."""
    returns = case.arms.scores(theta)
    wanted = returns[int(case.arms.scores(aim).argmax())]
    guess, chosen = returns[case.guess], returns[case.chosen]
    return float(returns.max() - wanted), float(wanted - guess), float(guess - chosen)


def _groups(cases: list[Case], offered: Array, protected: Protected) -> pd.DataFrame:
    """Return how offers, best guesses, exploration and choices spread over each piece's groups."""
    import pandas as pd

    chosen = np.array([case.arms.vectors[case.chosen] for case in cases])
    guesses = np.array([case.arms.vectors[case.guess] for case in cases])
    explored = chosen[[case.chosen != case.guess for case in cases]]
    parts = {"offered": offered, "best guess": guesses, "explored": explored, "chosen": chosen}
    rows = []
    for name, direction in protected.pieces.items():
        values = {part: along(direction, X) for part, X in parts.items()}
        for label, inside in groups(values["offered"]):
            shares = {
                part: float(inside(some).mean()) if len(some) else np.nan
                for part, some in values.items()
            }
            rows.append({"column": name, "group": label, **shares})
    return pd.DataFrame(rows, columns=["column", "group", *parts])
