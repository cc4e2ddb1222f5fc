"""How choices spread over the groups of a protected attribute, given what was on offer.

With w_i = how often item i was chosen, less how often it would have been if every arm on offer had
been as likely, and a_i whether it belongs to a group, the group's share among the choices exceeds
its share among the offers by sum w_i a_i / n. If the attribute has nothing to do with what choices
rest on, it might as well be dealt to the items anew. Then the sum has mean 0 and variance
sum w_i^2 var(a), exactly, however often the same items come back. Decisions among a few items that
never change are few observations, and are treated as such.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.audit.answers import AUDIT_LEVEL, CONFIDENCE, UNKNOWN_SIZE, AuditAnswer
from projbandits.audit.items import Group, ItemOf, cut
from projbandits.features.contexts import named
from projbandits.statistics import Estimate, normal_quantile

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"
"""The segment of all decisions together."""

OTHERS = "others"
"""The segment of all values but the most frequent ones."""

NOT_SAID = "not said"
"""The segment of a decision that does not say it."""

MOST_SEGMENTS = 20

KINDS = ("best guess", "explored")
"""The kinds of choices that were looked at."""

LEAST = 5
"""A group must have this many items in effect on either side, or nothing can be told of it."""

UNCLEAR = 0.05
"""What noise makes less often than this, but not less often than `AUDIT_LEVEL`, cannot be told."""

LARGE = 0.2
"""A difference of this size clears nothing, even if noise can make it."""

FOLLOWED = 0.1
"""From this R^2 within an offer on, scores are said to follow a protected attribute."""

LEAST_ITEMS = 100
LEAST_DECISIONS = 30

GroupRow = TypedDict(
    "GroupRow",
    {
        "attribute": str,
        "group": str,
        "segment": str,
        "offered": float,
        "best guess": float,
        "explored": float,
        "chosen": float,
        "difference": float,
        "low": float,
        "high": float,
        "z": float,
        "chosen_z": float,
        "decisions": int,
        "guesses": int,
    },
)
"""A group in a segment in the table of exposure."""


class FollowedRow(TypedDict):
    """A protected piece in the table of what scores follow."""

    piece: str
    r2: float
    low: float
    high: float
    r: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Exposure(AuditAnswer):
    """Whether choices follow a protected attribute beyond what was on offer.

    It is judged by best guesses: exploring looks at whole arms, and is counted beside them.
    `share` is the difference that stands out most: the share of a group among the best guesses,
    less its share among what was on offer to them. `size` is how much more the items of that group
    are worth than others, by today's scores (in units of the outcome). All differences together,
    those of best guesses and those of all choices, are tested at a level of 0.1 %.

    Parameters
    ----------
    table : DataFrame
        For each attribute, group and segment: the shares `offered`, `best guess`, `explored` and
        `chosen`, the `difference` of the best guesses from what was on offer with its interval
        (`low`, `high`) and `z`, and `chosen_z`, the same for all choices that were looked at; and
        of how many `decisions` and best `guesses`. Where `z` is nan, too few items were chosen.
    followed : DataFrame
        For each protected piece: within an offer, how much of the scores' variance goes with it
        (`r2`, what chance makes taken off; `low`, `high`), and the mean correlation (`r`). A large
        `r2` with an `r` near 0 means that scores follow it in opposite directions.
    critical : float
        The z-score beyond which a difference is said to be there, with so many of them.
    by : str or None
        The column that makes the segments.
    unmatched : float
        The share of offered items of which no attributes are known.
    untold : list of str
        The attributes of which no group could be compared, since too few items were chosen.
    tested : int
        How many differences were tested.
    """

    table: Annotated[pd.DataFrame, GroupRow]
    followed: Annotated[pd.DataFrame, FollowedRow]
    critical: float
    by: str | None
    unmatched: float
    untold: list[str]
    tested: int

    @property
    def tilted(self) -> pd.DataFrame:
        """The rows in which all choices differ beyond noise, though best guesses do not."""
        beyond = self.table[["z", "chosen_z"]].abs() > self.critical
        found: pd.DataFrame = self.table[beyond["chosen_z"] & ~beyond["z"]]
        return found

    @property
    def large(self) -> pd.DataFrame:
        """The rows of at least 30 best guesses whose difference is 20 points or more."""
        enough = self.table["guesses"] >= LEAST_DECISIONS
        found: pd.DataFrame = self.table[enough & (self.table["difference"].abs() >= LARGE)]
        return found


def segmented(by: str | None, values: list[Any]) -> tuple[list[str], list[str]]:
    """Return the segment of each decision, and the segments in order.

    Numbers of more than six values are cut at their terciles. Of other values the twenty most
    frequent have a segment each. A value that is called like a segment of the audit's own is
    written in quotes.

    Parameters
    ----------
    by : str or None
        The column of the context, or the key of a note, that tells the segments.
    values : list
        What it was at each decision; None where nothing was said.

    Examples
    --------
    >>> from projbandits.audit.exposure import segmented
    >>> segmented("page", ["a", "all", "a", None])
    (['a', "'all'", 'a', 'not said'], ["'all'", 'a', 'others', 'not said'])
    >>> segmented("age", [*range(30)])[1]
    ['up to 9.67', '9.67 to 19.3', 'above 19.3', 'others', 'not said']
    """
    said = [value for value in values if value is not None]
    if by is None:
        return [], []
    if not said:
        raise ValueError(
            "by must be a column of the context or a key of meta, which some decision has, got "
            f"{by!r}"
        )
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in said):
        kept, ends = cut(np.array(said, dtype=np.float64))
        texts = iter([kept[code] for code in np.searchsorted(ends, said)])
    else:
        names = [*map(named, said)]
        most = {name for name, _ in Counter(names).most_common(MOST_SEGMENTS)}
        quoted = {name: repr(name) if name in (ALL, OTHERS, NOT_SAID) else name for name in most}
        kept = sorted(quoted.values())
        texts = iter([quoted.get(name, OTHERS) for name in names])
    order = [*kept, OTHERS, NOT_SAID]
    return [NOT_SAID if value is None else next(texts) for value in values], order


class Counts:
    """How often each arm was on offer, in shares of a decision, and how often it was chosen.

    Parameters
    ----------
    size : int
        How many distinct arms there are.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._counts: dict[tuple[str | None, str | None], Array] = {}
        self.largest = 0

    def add(
        self, rows: NDArray[np.int64], chosen: int, segment: str | None, kind: str | None
    ) -> None:
        """Count a decision; its kind is among `KINDS`, or None if it was not looked at."""
        self.largest = max(self.largest, len(rows))
        key = segment, kind
        if key not in self._counts:
            self._counts[key] = np.zeros((2, self._size))
        offered, taken = self._counts[key]
        np.add.at(offered, rows, 1 / len(rows))  # an arm may be on offer twice
        taken[rows[chosen]] += 1

    def of(self, segment: str, *kinds: str | None) -> Array:
        """Return both counts in a segment, of the choices of some kinds."""
        found = [
            counts
            for (where, kind), counts in self._counts.items()
            if segment in (ALL, where) and kind in kinds
        ]
        return np.sum(found, axis=0) if found else np.zeros((2, self._size))

    def segments(self, order: list[str]) -> list[str]:
        """Return the segments that have decisions, all decisions first."""
        found = {segment for segment, _ in self._counts}
        return [ALL, *(segment for segment in order if segment in found)]


class Tilt(NamedTuple):
    """By how much a group's share among the choices exceeds that among the offers."""

    offered: float
    chosen: float
    error: float
    enough: bool

    @property
    def z(self) -> float:
        """The excess in standard errors; nan where too few items were chosen."""
        told = self.enough and self.error > 0
        return (self.chosen - self.offered) / self.error if told else np.nan


def tilt(
    counts: Array, inside: NDArray[np.bool_], known: NDArray[np.bool_], item_of: ItemOf = None
) -> Tilt:
    """Return the tilt towards a group.

    Parameters
    ----------
    counts : ndarray of shape (2, N)
        How often each arm was on offer, and how often it was chosen.
    inside, known : ndarray of bool
        Whether it belongs to the group, and whether that is known.
    item_of : ndarray of int or None
        Which item it is, where the same item has several arms, one for each context. An item that
        belongs to the group in some contexts only counts as two.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.audit.exposure import tilt
    >>> first = np.array([True, True, False, False])
    >>> found = tilt(np.array([[0.5] * 4, [1.0, 1.0, 0.0, 0.0]]), first, np.full(4, True))
    >>> found.offered, found.chosen, round(found.error, 4)
    (0.5, 1.0, 0.2887)
    """
    seen = known & (counts[0] > 0)
    (o, c), a = counts[:, seen], inside[seen].astype(np.float64)
    if item_of is not None:
        units, place = np.unique(2 * item_of[seen] + inside[seen], return_inverse=True)
        o, c = (np.bincount(place, x, len(units)).astype(np.float64) for x in (o, c))
        a = (units % 2).astype(np.float64)
    n = float(c.sum())
    if n == 0 or len(a) < 2:
        return Tilt(np.nan, np.nan, np.nan, False)
    o = o * (n / o.sum())
    w = c - o
    squares = float(w @ w)
    error = np.sqrt(squares * a.var(ddof=1)) / n
    effective = squares**2 / max(float((w**4).sum()), np.finfo(np.float64).tiny)
    p = float(a.mean())
    enough = effective * min(p, 1 - p) >= LEAST and n >= LEAST_DECISIONS
    return Tilt(float(o @ a) / n, float(c @ a) / n, float(error), enough)


Groups = Mapping[str, tuple[list[Group], NDArray[np.bool_]]]
"""For each attribute, its groups, and of which items it is known."""


def exposure(
    counts: Counts,
    attributes: Groups,
    worth: Array,
    followed: pd.DataFrame,
    *,
    by: str | None = None,
    segments: list[str] | None = None,
    unmatched: float = 0.0,
    item_of: ItemOf = None,
) -> Exposure:
    """Return how choices spread over the groups of attributes.

    Parameters
    ----------
    counts : Counts
        How often each arm was on offer and chosen.
    attributes : mapping
        The attributes, see `Groups`.
    worth : ndarray of shape (N,)
        Today's score of each arm.
    followed : DataFrame
        See `Exposure`.
    by, unmatched : str or None, and float
        See `Exposure`.
    segments : list of str
        The segments in order, where decisions have some.
    item_of : ndarray of int or None
        Which item each arm is, see `tilt`.
    """
    import pandas as pd

    seen = counts.of(ALL, None, *KINDS)[0] > 0
    found_in = {
        segment: {kind: counts.of(segment, *kinds) for kind, kinds in LOOKS.items()}
        for segment in counts.segments(segments or [])
    }
    rows = [
        {"attribute": name, "group": group, "segment": segment}
        | _row({kind: tilt(each, inside, known, item_of) for kind, each in found.items()})
        | {"decisions": int(found["chosen"][1].sum()), "guesses": int(found[KINDS[0]][1].sum())}
        for name, (groups, known) in attributes.items()
        for segment, found in found_in.items()
        for group, inside in groups
    ]
    table = pd.DataFrame(rows, columns=[*GroupRow.__annotations__])
    tested = int(table[["z", "chosen_z"]].notna().sum().sum())
    answer = Exposure(
        found=True if (followed["low"] > FOLLOWED).any() else None,
        size=UNKNOWN_SIZE,
        share=UNKNOWN_SIZE,
        table=table,
        followed=followed,
        critical=normal_quantile(1 - AUDIT_LEVEL / tested) if tested else np.nan,
        by=by,
        unmatched=unmatched,
        untold=_untold(table, attributes, seen),
        tested=tested,
    )
    if not table["z"].notna().any():
        return answer
    top: dict[Any, Any] = table.to_dict("records")[int(np.nanargmax(table["z"].abs()))]
    z = abs(top["z"])
    noisy = z > normal_quantile(1 - UNCLEAR / tested)
    unsure = noisy or len(answer.untold) or len(answer.tilted) or len(answer.large)
    groups, known = attributes[top["attribute"]]
    return replace(
        answer,
        found=True if answer.found or z > answer.critical else None if unsure else False,
        share=Estimate(top["difference"], top["low"], top["high"]),
        size=_worth(worth, dict(groups)[top["group"]], known & seen, item_of),
    )


LOOKS: dict[str, tuple[str | None, ...]] = {
    **{kind: (kind,) for kind in KINDS},
    "chosen": (None, *KINDS),
    "looked at": KINDS,
}
"""The kinds of choices that are counted together."""


def _row(tilts: dict[str, Tilt]) -> dict[str, float]:
    best = tilts[KINDS[0]]
    difference, half = best.chosen - best.offered, normal_quantile(CONFIDENCE) * best.error
    return {
        "offered": tilts["chosen"].offered,
        **{kind: tilts[kind].chosen for kind in (*KINDS, "chosen")},
        "difference": difference,
        "low": difference - half,
        "high": difference + half,
        "z": best.z,
        "chosen_z": tilts["looked at"].z,
    }


def _untold(table: pd.DataFrame, attributes: Groups, seen: NDArray[np.bool_]) -> list[str]:
    """Return the attributes that vary over what was on offer, and of which nothing can be told."""
    told = {*table.loc[(table["segment"] == ALL) & table["z"].notna(), "attribute"]}
    varied = [
        name
        for name, (groups, known) in attributes.items()
        if sum(bool((inside & known & seen).any()) for _, inside in groups) > 1
    ]
    return [name for name in varied if name not in told]


def _worth(
    worth: Array, inside: NDArray[np.bool_], known: NDArray[np.bool_], item_of: ItemOf
) -> Estimate:
    """Return how much more the items of a group are worth than the others."""
    one, other = (_by_item(worth, rows, item_of) for rows in (known & inside, known & ~inside))
    if len(one) < 2 or len(other) < 2:
        return UNKNOWN_SIZE
    difference = float(one.mean() - other.mean())
    variance = one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other)
    half = normal_quantile(CONFIDENCE) * float(np.sqrt(variance))
    return Estimate(difference, difference - half, difference + half)


def _by_item(worth: Array, rows: NDArray[np.bool_], item_of: ItemOf) -> Array:
    """Return the worth of each item, averaged over its arms."""
    if item_of is None:
        return worth[rows]
    _, place = np.unique(item_of[rows], return_inverse=True)
    return np.asarray(np.bincount(place, weights=worth[rows]) / np.bincount(place))


def followed(sums: Array, names: list[str], items: int) -> pd.DataFrame:
    """Return how scores follow each protected piece within an offer.

    Parameters
    ----------
    sums : ndarray of shape (4, pieces)
        The sums over decisions of r, of its adjusted square and of the square of that, and how many
        there are.
    names : list of str
        The pieces.
    items : int
        How many distinct items there are; with few nothing can be told.
    """
    import pandas as pd

    n = np.where((sums[3] < LEAST_DECISIONS) | (items < LEAST_ITEMS), np.nan, sums[3])
    r, mean, squares = sums[:3] / n
    half = normal_quantile(1 - AUDIT_LEVEL) * np.sqrt(np.maximum(squares - mean**2, 0.0) / n)
    columns = {"r2": mean, "low": mean - half, "high": mean + half, "r": r}
    return pd.DataFrame(columns, index=pd.Index(names, name="piece"))
