"""What would have had to be different about the chosen arm for another to be the best guess.

A score is <x, a>, with a = P_U theta-hat for a strategy that aims at the projection. So the chosen
arm ties with another, g below it, after any change delta of its features with <delta, a> = -g. Of
these the smallest within a subspace is delta = -g M a / <a, M a>, where lengths are measured in
standard deviations s of the features among the arms on offer, |delta / s|, and M = S N N^T S for
S = diag(s) and an orthonormal basis N of all u for which S u lies in the subspace. A feature that
all arms share stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import null_space

from projbandits._checks import Array
from projbandits._words import number

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-9
NOTABLE, MOST_LISTED = 0.1, 4
"""In words, features that change by less than this share of the largest change are left out, and so
are those after the first few."""


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """The smallest changes of the chosen arm after which the best guess would be another.

    Parameters
    ----------
    other : label
        The arm that would be the best guess; of an arm that was explored, the one that is.
    gap : float
        By how much the score of the chosen arm is above the other's, below 0 if it was explored.
    distance : float
        How far its kept features must change together, in standard deviations of the features
        among the arms on offer: the least length there is. Infinite if no change would do.
    table : DataFrame
        For each feature: its `value`; `together`, its value after that change; and `alone`, its
        value if it were the only kept one to change (nan where none would do, or where U does not
        consist of columns).
    protected : float
        The same distance for its protected features: infinite if no change of them would do.
    text : str
        The same in words.
    """

    other: Any
    gap: float
    distance: float
    table: pd.DataFrame
    protected: float
    text: str


def smallest(aim: Array, sizes: Array, within: Array, change: float) -> tuple[Array, float]:
    """Return the smallest change of features that changes the score by this much, and its length.

    Parameters
    ----------
    aim : ndarray of shape (d,)
        What features are scored by.
    sizes : ndarray of shape (d,)
        The features' standard deviations, in which lengths are measured; 0 for one that stays.
    within : ndarray of shape (d, d)
        The projection onto the subspace in which features may change.
    change : float
        By how much the score must change.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.accounts.counterfactual import smallest
    >>> smallest(np.array([1.0, 2.0]), np.ones(2), np.eye(2), -5.0)
    (array([-1., -2.]), 2.23606797749979)
    """
    d = len(aim)
    # In units of the sizes: delta = S u, and the shortest u lies along the part of S a inside.
    if np.abs(within - np.diag(np.diag(within))).max() <= ROUNDING:
        N = np.eye(d)[:, (np.diag(within) > 0.5) & (sizes > 0)]
    else:
        stays = np.vstack([(np.eye(d) - within) * sizes, np.eye(d)[sizes <= 0]])
        lengths = np.linalg.norm(stays, axis=1)
        stays = stays[lengths > 0] / lengths[lengths > 0, None]
        N = null_space(stays, rcond=ROUNDING) if len(stays) else np.eye(d)
    wanted = sizes * aim
    direction = N @ (N.T @ wanted)
    slope = float(direction @ direction)
    if change == 0:
        return np.zeros(d), 0.0
    if slope <= ROUNDING**2 * float(wanted @ wanted):
        return np.full(d, np.nan), np.inf
    return sizes * direction * (change / slope), abs(change) / float(np.sqrt(slope))


def counterfactual(
    X: Array,
    scores: Array,
    aim: Array,
    projection: Array,
    chosen: int,
    labels: Sequence[Any],
    names: Sequence[str],
) -> Counterfactual | None:
    """Return the counterfactuals of a choice among finitely many arms; None if there is only one.

    Parameters
    ----------
    X, scores : ndarray of shapes (K, d) and (K,)
        The arms on offer and their scores.
    aim, projection : ndarray of shapes (d,) and (d, d)
        What arms were scored by, and P_U.
    chosen : int
        The place of the chosen arm.
    labels, names : sequence
        What arms and features are called.
    """
    import pandas as pd

    if len(X) < 2:
        return None
    others = scores.copy()
    others[chosen] = -np.inf
    rival = int(others.argmax())
    gap = float(scores[chosen] - scores[rival])
    sizes = X.std(axis=0)
    sizes[np.ptp(X, axis=0) == 0] = 0.0
    delta, distance = smallest(aim, sizes, projection, -gap)
    rest = np.eye(len(aim)) - projection
    # What rounding left of the protected part in the aim does not count.
    pure = np.where(np.abs(aim) > ROUNDING * np.abs(aim).max(), aim, 0.0)
    hidden = rest @ aim
    seen = hidden if np.abs(hidden).max() > ROUNDING * np.abs(aim).max() else np.zeros(len(aim))
    _, protected = smallest(seen, sizes, rest, -gap)
    x = X[chosen]
    columns = np.abs(projection - np.diag(np.diag(projection))).max() <= ROUNDING
    free = (projection.diagonal() > 0.5) & (pure != 0) & (sizes > 0) & columns
    alone = np.full(len(x), np.nan)
    alone[free] = x[free] - gap / aim[free]
    table = pd.DataFrame(
        {"value": x, "together": x + delta, "alone": alone}, index=pd.Index(names, name="feature")
    )
    text = _text(labels[rival], gap, distance, protected, table, sizes)
    return Counterfactual(labels[rival], gap, distance, table, protected, text)


def _text(
    other: Any, gap: float, distance: float, protected: float, table: pd.DataFrame, sizes: Array
) -> str:
    end = f"arm {other} would have been the best guess"
    if gap < 0:
        end = f"it would have been the best guess instead of arm {other}"
    if not np.isfinite(distance):
        said = f"no change of its kept features is known after which {end}"
    else:
        said = (
            f"the smallest change of its kept features after which {end} is {number(distance)} "
            f"standard deviations of what was on offer{_changes(table, sizes)}"
        )
    if not np.isfinite(protected):
        return f"{said}; no change of its protected features would do that"
    return f"{said}; of its protected features, {number(protected)} standard deviations"


def _changes(table: pd.DataFrame, sizes: Array) -> str:
    """Return the features that change most, and the one that needs to change least by itself."""
    names, (value, together, alone) = [*table.index], table.to_numpy(dtype=np.float64).T
    moved, by_itself = np.abs(np.stack([together, alone]) - value) / np.where(sizes > 0, sizes, 1.0)
    if not moved.max() > 0:
        return ""
    order = np.argsort(-moved, kind="stable")
    listed = [j for j in order[:MOST_LISTED] if moved[j] >= NOTABLE * moved.max()]
    more = int((moved > 0).sum()) - len(listed)
    said = ", ".join(_from_to(names[j], value[j], together[j]) for j in listed)
    text = f" ({said}{f' and {more} others' if more else ''})"
    if more + len(listed) > 1 and not np.isnan(by_itself).all():
        one = int(np.nanargmin(by_itself))
        text += f"; of one alone, {_from_to(names[one], value[one], alone[one])}"
    return text


def _from_to(name: Any, before: float, after: float) -> str:
    """Return a change in as few digits as show it."""
    for digits in range(3, 17):
        texts = f"{before:.{digits}g}", f"{after:.{digits}g}"
        if len({*texts}) == 2:
            break
    return f"{name} {texts[0]} to {texts[1]}"
