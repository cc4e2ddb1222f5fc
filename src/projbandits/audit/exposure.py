"""How choices spread over the groups of a protected attribute, given what was on offer.

With w_i = how often item i was chosen, less how often it would have been if every arm on offer had
been as likely, and a_i whether it belongs to a group, the group's share among the choices exceeds
its share among the offers by sum w_i a_i / n. If the attribute has nothing to do with what choices
rest on, it might as well be dealt to the items anew. Then the sum has mean 0 and variance
sum w_i^2 var(a), exactly, however often the same items come back. Decisions among a few items that
never change are few observations, and are treated as such.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.audit.answers import AUDIT_LEVEL, CONFIDENCE, UNKNOWN_SIZE, Answer
from projbandits.audit.segments import ALL, Segments
from projbandits.statistics import Estimate, normal_quantile

if TYPE_CHECKING:
    import pandas as pd

CHOICE_KINDS = ("best guess", "explored", "chosen")
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Exposure(Answer):
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
        What the segments are.
    unmatched : float
        The share of offered items of which no attributes are known.
    untold : list of str
        The attributes of which no group could be compared, since too few items were chosen.
    tested : int
        How many differences were tested.
    """

    table: pd.DataFrame
    followed: pd.DataFrame
    critical: float
    by: str | None
    unmatched: float
    untold: list[str]
    tested: int

    @property
    def tilted(self) -> pd.DataFrame:
        """The rows in which all choices differ beyond noise, though best guesses do not."""
        beyond = (self.table[["z", "chosen_z"]].abs() > self.critical).to_numpy()
        found: pd.DataFrame = self.table[beyond[:, 1] & ~beyond[:, 0]]
        return found

    @property
    def large(self) -> pd.DataFrame:
        """The rows of at least 30 best guesses whose difference is 20 points or more."""
        enough = self.table["guesses"] >= LEAST_DECISIONS
        found: pd.DataFrame = self.table[enough & (self.table["difference"].abs() >= LARGE)]
        return found


class Exposed:
    """How often each arm was chosen, and how often it was on offer.

    Parameters
    ----------
    size : int
        How many distinct arms there are.
    told : Segments or None
        Which tell who asked.
    """

    def __init__(self, size: int, told: Segments | None = None) -> None:
        self._size, self._told = size, told
        self._counts: dict[tuple[str, str], tuple[Array, Array]] = {}
        self.largest = 0
        self.decisions: dict[tuple[str, str], int] = {}

    def add(self, rows: NDArray[np.int64], chosen: int, who: Any, kind: str | None) -> None:
        """Count a decision; `kind` is "best guess", "explored" or not known."""
        self.largest = max(self.largest, len(rows))
        for place in (ALL,) if self._told is None else (ALL, self._told(who)):
            for each in ("chosen",) if kind is None else ("chosen", "looked at", kind):
                key = place, each
                if key not in self._counts:
                    self._counts[key] = np.zeros(self._size), np.zeros(self._size)
                    self.decisions[key] = 0
                offered, taken = self._counts[key]
                # An arm may be on offer twice.
                np.add.at(offered, rows, 1 / len(rows))
                taken[rows[chosen]] += 1
                self.decisions[key] += 1

    @property
    def segments(self) -> list[str]:
        """The segments in order, all decisions first."""
        found = [segment for segment, kind in self._counts if kind == "chosen"]
        return found if self._told is None else sorted(found, key=self._told.order)

    def counts(self, segment: str, kind: str) -> tuple[Array, Array]:
        """Return how often arms were on offer, in shares of a decision, and chosen."""
        empty = np.zeros(self._size)
        return self._counts.get((segment, kind), (empty, empty))

    @property
    def offered(self) -> Array:
        """How often each arm was on offer, in shares of a decision."""
        return self.counts(ALL, "chosen")[0]


Who = NDArray[np.int64] | None
"""Which item each arm is; None where every arm is one of its own."""


class Tilt(NamedTuple):
    """By how much a group's share among the choices exceeds that among the offers."""

    offered: float
    chosen: float
    error: float
    enough: bool


def tilt(
    offered: Array,
    chosen: Array,
    inside: NDArray[np.bool_],
    known: NDArray[np.bool_],
    who: Who = None,
) -> Tilt:
    """Return the tilt towards a group.

    Parameters
    ----------
    offered, chosen : ndarray of shape (N,)
        How often each arm was.
    inside, known : ndarray of bool
        Whether it belongs to the group, and whether that is known.
    who : ndarray of int or None
        Which item it is, where the same item has several arms, one for each context. An item that
        belongs to the group in some contexts only counts as two.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.audit.exposure import tilt
    >>> half, first = np.full(4, 0.5), np.array([True, True, False, False])
    >>> found = tilt(half, np.array([1.0, 1.0, 0.0, 0.0]), first, np.full(4, True))
    >>> found.offered, found.chosen, round(found.error, 4)
    (0.5, 1.0, 0.2887)
    """
    seen = known & (offered > 0)
    o, c, a = offered[seen], chosen[seen], inside[seen].astype(np.float64)
    if who is not None:
        units, place = np.unique(2 * who[seen] + inside[seen], return_inverse=True)
        sums = [np.bincount(place, weights=x, minlength=len(units)) for x in (o, c)]
        o, c = (x.astype(np.float64) for x in sums)
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


Groups = Mapping[str, tuple[list[tuple[str, NDArray[np.bool_]]], NDArray[np.bool_]]]
"""For each attribute, its groups with who belongs to them, and of which items it is known."""


def exposure(
    exposed: Exposed,
    attributes: Groups,
    worth: Array,
    followed: pd.DataFrame,
    *,
    by: str | None,
    unmatched: float,
    who: Who = None,
) -> Exposure:
    """Return how choices spread over the groups of attributes.

    Parameters
    ----------
    exposed : Exposed
        How often each arm was on offer and chosen.
    attributes : mapping
        The attributes, see `Groups`.
    worth : ndarray of shape (N,)
        Today's score of each arm.
    followed : DataFrame
        See `Exposure`.
    by, unmatched : str or None, and float
        See `Exposure`.
    who : ndarray of int or None
        Which item each arm is, see `tilt`.
    """
    import pandas as pd

    rows = []
    for name, (groups, known) in attributes.items():
        for segment in exposed.segments:
            for group, inside in groups:
                rows.append(_row(exposed, segment, inside, known, who))
                rows[-1] |= {"attribute": name, "group": group, "segment": segment}
    shares = ["offered", *CHOICE_KINDS, "difference", "low", "high", "z", "chosen_z"]
    names = ["attribute", "group", "segment", *shares, "decisions", "guesses"]
    table = pd.DataFrame(rows, columns=names)
    tested = int(table[["z", "chosen_z"]].notna().sum().sum())
    critical = normal_quantile(1 - AUDIT_LEVEL / max(tested, 1)) if tested else np.nan
    untold = _untold(table, attributes, exposed.offered > 0)
    share, size = UNKNOWN_SIZE, UNKNOWN_SIZE
    found: bool | None = None
    answer = Exposure(
        found=None, size=UNKNOWN_SIZE, share=UNKNOWN_SIZE, table=table, followed=followed,
        critical=critical, by=by, unmatched=unmatched, untold=untold, tested=tested,
    )  # fmt: skip
    if table["z"].notna().any():
        top: dict[Any, Any] = table.to_dict("records")[int(np.nanargmax(table["z"].abs()))]
        found = bool(abs(top["z"]) > critical)
        noisy = abs(top["z"]) > normal_quantile(1 - UNCLEAR / tested)
        unsure = noisy or len(untold) or len(answer.tilted) or len(answer.large)
        if not found and unsure:
            found = None
        share = Estimate(top["difference"], top["low"], top["high"])
        groups, known = attributes[top["attribute"]]
        size = _worth(worth, dict(groups)[top["group"]], known & (exposed.offered > 0), who)
    if (followed["low"] > FOLLOWED).any():
        found = True
    return replace(answer, found=found, size=size, share=share)


def _untold(table: pd.DataFrame, attributes: Groups, seen: NDArray[np.bool_]) -> list[str]:
    """Return the attributes that vary over what was on offer, and of which nothing can be told."""
    told = {*table.loc[(table["segment"] == ALL) & table["z"].notna(), "attribute"]}
    varied = [
        name
        for name, (groups, known) in attributes.items()
        if sum(bool((inside & known & seen).any()) for _, inside in groups) > 1
    ]
    return [name for name in varied if name not in told]


def _row(
    exposed: Exposed, segment: str, inside: NDArray[np.bool_], known: NDArray[np.bool_], who: Who
) -> dict[str, Any]:
    tilts = {
        kind: tilt(*exposed.counts(segment, kind), inside, known, who)
        for kind in (*CHOICE_KINDS, "looked at")
    }
    best, every = tilts["best guess"], tilts["chosen"]
    difference, half = best.chosen - best.offered, normal_quantile(CONFIDENCE) * best.error

    def z(one: Tilt) -> float:
        return (one.chosen - one.offered) / one.error if one.enough and one.error > 0 else np.nan

    return {
        "offered": every.offered,
        **{kind: tilts[kind].chosen for kind in CHOICE_KINDS},
        "difference": difference,
        "low": difference - half,
        "high": difference + half,
        "z": z(best),
        "chosen_z": z(tilts["looked at"]),
        "decisions": exposed.decisions.get((segment, "chosen"), 0),
        "guesses": exposed.decisions.get((segment, "best guess"), 0),
    }


def _worth(worth: Array, inside: NDArray[np.bool_], known: NDArray[np.bool_], who: Who) -> Estimate:
    """Return how much more the items of a group are worth than the others."""
    one, other = (_by_item(worth, rows, who) for rows in (known & inside, known & ~inside))
    if len(one) < 2 or len(other) < 2:
        return UNKNOWN_SIZE
    difference = float(one.mean() - other.mean())
    variance = one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other)
    half = normal_quantile(CONFIDENCE) * np.sqrt(variance)
    return Estimate(difference, difference - float(half), difference + float(half))


def _by_item(worth: Array, rows: NDArray[np.bool_], who: Who) -> Array:
    """Return what each item is worth, averaged over its arms."""
    if who is None:
        return worth[rows]
    _, place = np.unique(who[rows], return_inverse=True)
    means: Array = np.bincount(place, weights=worth[rows]) / np.bincount(place)
    return means


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

    r, extra, squares, n = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = extra / n
        half = normal_quantile(1 - AUDIT_LEVEL) * np.sqrt(
            np.maximum(squares / n - mean**2, 0.0) / n
        )
        columns = {"r2": mean, "low": mean - half, "high": mean + half, "r": r / n}
    table = pd.DataFrame(columns, index=pd.Index(names, name="piece"))
    table.loc[(n < LEAST_DECISIONS) | (items < LEAST_ITEMS)] = np.nan
    return table
