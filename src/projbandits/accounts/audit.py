"""Evidence from the log on whether the part that must not count played a role.

What can be shown is exact, given the belief at the time: scores and best guesses follow from
P_U x alone. What cannot be shown, because it is not so: D_k and the estimate's uncertainty depend
on whole arms, so *exploration* may go to arms for what they have in the protected part. The audit
measures by how much.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from projbandits._checks import Array
from projbandits.accounts import verdict
from projbandits.accounts.pool import Pool
from projbandits.accounts.protected import ROUNDING, Protected, along, groups
from projbandits.accounts.proxies import proxies, words
from projbandits.arms import FiniteArms
from projbandits.deciding.decision import Decision, Grounds
from projbandits.deciding.offers import Offer
from projbandits.deciding.probabilities import probabilities
from projbandits.deciding.readings import Account
from projbandits.ledger.fold import Known

if TYPE_CHECKING:
    import pandas as pd


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

    grounds: Grounds
    arms: FiniteArms
    aim: Array
    scores: Array
    chosen: int
    guess: int


class Seen(NamedTuple):
    """What is noted of a decision: what changed with the protected part, and what it cost.

    Parameters
    ----------
    score : float
        The largest change of a score.
    guess : bool
        Whether the best guess changed.
    shift : float
        How far the probabilities moved.
    lost : tuple of three float
        The return given up by the projection, by learning and by exploring.
    chosen, best : tuple of float
        The protected pieces of the choice and of the best guess.
    explored : bool
        Whether they are two.
    """

    score: float
    guess: bool
    shift: float
    lost: tuple[float, float, float]
    chosen: Array
    best: Array
    explored: bool


def audit(known: Known, pool: Pool, accounts: Iterable[list[Account]]) -> Audit:
    """Return the audit of the logged decisions among finitely many arms that were kept.

    Parameters
    ----------
    known : Known
        What is known now.
    pool : Pool
        All that was ever offered, and what came of it.
    accounts : iterable of list of Account
        The decisions with what they rested on.
    """
    import pandas as pd

    if not len(pool.vectors):
        raise _nothing([decision for some in accounts for decision, *_ in some])
    protected = Protected.of(known.subspace, known.columns, pool.vectors)
    pieces = np.array([*protected.pieces.values()]).reshape(-1, known.subspace.ambient)
    theta = pool.theta
    aim = theta if known.strategy.aims_at == "return" else known.subspace.project(theta)
    rng, seen, many, infinite, learnt = np.random.default_rng(0), list[Seen](), 0, 0, False
    for some in accounts:
        for decision, *_ in some:
            case = _case(decision)
            if case is not None:
                seen.append(_seen(case, pool, protected, pieces, theta, aim, rng))
                learnt |= case.grounds.state.ridge.n > 0
            elif decision.index is None:
                infinite += 1
            else:
                many += 1
    shifts = np.array([each.shift for each in seen])
    lost = np.mean([each.lost for each in seen], axis=0)
    found = verdict.Found(
        strategy=known.strategy,
        protected=protected,
        learnt=learnt,
        cases=len(seen),
        left_out=(many, infinite),
        score=max(each.score for each in seen),
        guesses=sum(each.guess for each in seen),
        shifts=shifts[~np.isnan(shifts)],
        lost=(float(lost[0]), float(lost[1]), float(lost[2])),
    )
    carried = proxies(pool.vectors, known.subspace, known.columns, protected)
    return Audit(
        found.role,
        found.verdict(),
        [*found.warnings(), *words(carried, protected)],
        pd.DataFrame(found.findings(), index=["value", "meaning"]).T,
        _groups(seen, pool, protected),
        carried,
        shifts,
    )


def _nothing(decisions: list[Decision]) -> ValueError:
    infinite = sum(decision.index is None for decision in decisions)
    return ValueError(
        "the log has no decision among finitely many arms that could be audited, got "
        f"{len(decisions) - infinite} among too many arms to keep and {infinite} on infinite sets; "
        "what workers decided before they were merged is in their own logs"
    )


def _case(decision: Decision) -> Case | None:
    grounds = decision.grounds
    if grounds is None or not isinstance(grounds.arms, FiniteArms) or decision.index is None:
        return None
    aim = grounds.strategy.aim(grounds.state)
    scores = grounds.arms.scores(aim) + grounds.own
    chosen = grounds.position(decision.index)
    return Case(grounds, grounds.arms, aim, scores, chosen, int(scores.argmax()))


def _seen(
    case: Case,
    pool: Pool,
    protected: Protected,
    pieces: Array,
    theta: Array,
    aim: Array,
    rng: np.random.Generator,
) -> Seen:
    """Return what changed with another protected part, and what the choice cost.

    Each arm keeps P_U x and gets the rest from an arm drawn among all that were ever offered.
    Changes that rounding can make are none.
    """
    arms, (strategy, state) = case.arms, case.grounds[:2]
    changed = Offer(protected.swapped(arms.vectors, pool.drawn(rng, arms.size)), arms.columns)
    own = case.grounds.own
    before, after = case.scores, changed.scores(case.aim) + own
    longest = max(_longest(arms.vectors), _longest(changed.vectors))
    rounding = ROUNDING * longest * float(np.linalg.norm(state.ridge.theta))
    size = max(float(np.abs([before, after]).max()), np.finfo(np.float64).tiny)
    moved = float(np.abs(after - before).max())
    p, q = (probabilities(strategy, state, a) for a in (arms, changed))
    shift = np.nan if p is None or q is None else float(np.abs(p - q).sum() / 2)
    guess = before[int(after.argmax())] < before.max() - rounding
    returns, wants = (arms.vectors @ np.column_stack([theta, aim])).T + own
    wanted = returns[int(wants.argmax())]
    best, chosen = returns[case.guess], returns[case.chosen]
    lost = float(returns.max() - wanted), float(wanted - best), float(best - chosen)
    values = np.einsum("ij,kj->ik", arms.vectors[[case.chosen, case.guess]], pieces)
    return Seen(
        moved / size if moved > rounding else 0.0,
        bool(guess),
        shift,
        lost,
        values[0],
        values[1],
        case.chosen != case.guess,
    )


def _longest(X: Array) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", X, X).max()))


def _groups(seen: list[Seen], pool: Pool, protected: Protected) -> pd.DataFrame:
    """Return how offers, best guesses, exploration and choices spread over each piece's groups."""
    import pandas as pd

    chosen = np.array([each.chosen for each in seen])
    explored = chosen[[each.explored for each in seen]]
    parts = {"best guess": np.array([each.best for each in seen]), "explored": explored}
    parts["chosen"] = chosen
    rows = []
    for j, (name, direction) in enumerate(protected.pieces.items()):
        offered = along(direction, pool.vectors)
        for label, inside in groups(offered, pool.counts):
            share = float(pool.counts[inside(offered)].sum() / pool.counts.sum())
            shares = {
                part: float(inside(some[:, j]).mean()) if len(some) else np.nan
                for part, some in parts.items()
            }
            rows.append({"column": name, "group": label, "offered": share, **shares})
    return pd.DataFrame(rows, columns=["column", "group", "offered", *parts])
