"""Find U from side information: at once, or from pieces that are read one after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from projbandits._blas import single_threaded_blas
from projbandits._validation import LARGEST_SEED, Array, integer, is_table
from projbandits.finding.attributes import Labelled
from projbandits.finding.estimate import ANGLE_LEVEL, SubspaceEstimate
from projbandits.finding.groups import Panel
from projbandits.finding.pairs import Twins
from projbandits.finding.sums import degrees
from projbandits.subspace import Subspace

SIDE_RESAMPLES = 100
"""How often the side information is resampled."""
SIDE_CLASSES: dict[str, Any] = {"attributes": Labelled, "pairs": Twins, "groups": Panel}
SIDE_PARTS = {"attributes": ("X", "z"), "pairs": ("X1", "X2"), "groups": ("X", "returns", "group")}


@dataclass(frozen=True, eq=False)
class SideInformation:
    """Side information as sums, so that it may be larger than memory, and more may be added.

    What it holds does not grow with the rows: sums of products, and at most 10,000 rows drawn at
    random. However rows are cut into pieces, the same is found up to round-off.

    Parameters
    ----------
    kind : {"attributes", "pairs", "groups"}, optional
        What is held; None before the first piece. Make one without arguments.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> side, rng = pb.SideInformation(), np.random.default_rng(0)
    >>> for _ in range(3):
    ...     X = rng.normal(size=(200, 4))
    ...     side = side.update(attributes=(X, X[:, 0] > 0))
    >>> found = side.find()
    >>> found.left_out.dim, found.rows
    (1, 600)
    >>> side, side.rows
    (SideInformation(kind='attributes'), 600)
    """

    kind: str | None = None
    _held: Labelled | Twins | Panel | None = field(default=None, repr=False)

    @property
    def rows(self) -> int:
        """How many items with attributes, pairs or returns there are."""
        return 0 if self._held is None else self._held.rows

    @single_threaded_blas()
    def update(
        self,
        *,
        attributes: tuple[Any, Any] | None = None,
        items: Any = None,
        pairs: tuple[Any, Any] | None = None,
        groups: tuple[Any, Any, Any] | None = None,
    ) -> SideInformation:
        """Return the side information with one more piece of it.

        The arguments are those of `find_subspace`, one piece each.
        """
        given = {"attributes": attributes, "pairs": pairs, "groups": groups}
        named = [name for name, value in given.items() if value is not None]
        if len(named) > 1 or (named and self.kind not in (None, named[0])):
            raise ValueError(
                "side information must be of one kind, attributes, pairs or groups, got "
                f"{' and '.join(dict.fromkeys([*([self.kind] if self.kind else []), *named]))}"
            )
        if not named and items is None:
            raise ValueError("attributes, pairs or groups must be given, got none of them")
        made = self
        for kind in named:
            add: Any = SIDE_CLASSES[kind].of if made._held is None else made._held.update
            made = replace(made, kind=kind, _held=add(*_parts(kind, given[kind])))
        if items is not None:
            if not isinstance(made._held, Labelled):
                raise ValueError(
                    "items must come with or after attributes=(X, z): they are items without labels"
                )
            made = replace(made, _held=made._held.with_items(items))
        return made

    @single_threaded_blas()
    def find(
        self, *, leave_out: int | None = None, shrink: bool = False, seed: int = 0
    ) -> SubspaceEstimate:
        """Return what `find_subspace` finds."""
        held = self._held
        if held is None or self.kind is None:
            raise ValueError("there is no side information yet: pass some to update(...)")
        if not isinstance(shrink, bool):
            raise TypeError(f"shrink must be True or False, got {shrink!r}")
        if isinstance(held, Labelled):
            held = replace(held, shrink=shrink)
        elif shrink:
            raise ValueError(f"shrink must come with attributes, got {self.kind}")
        rng = np.random.default_rng(integer("seed", seed, least=0, most=LARGEST_SEED))
        tested = held.tested(rng)
        most = min(held.d - 1, len(held.directions(held.d)[1]))
        if leave_out is None:
            r = min(tested.beyond, most)
        else:
            r = integer("leave_out", leave_out, least=1)
            if r > most:
                raise ValueError(
                    f"leave_out must be at most {most}, got {r}: "
                    + (
                        "U must keep a direction"
                        if most == held.d - 1
                        else "the attributes go with no more directions than that"
                    )
                )
        basis, _ = held.directions(r)
        others: Array = np.empty((0, *basis.shape))
        if r:
            others = np.array([held.directions(r, rng)[0] for _ in range(SIDE_RESAMPLES)])
        angles = [degrees(basis, other) for other in others]
        return SubspaceEstimate(
            kind=self.kind,
            subspace=Subspace(basis, held.names).complement(),
            left_out=Subspace(basis, held.names),
            angle=float(np.quantile(angles, ANGLE_LEVEL)) if angles else float("nan"),
            resampled=others,
            tested=tested,
            chosen=leave_out is None,
            rows=held.rows,
            _side=held,
        )


def find_subspace(
    *,
    attributes: tuple[Any, Any] | Iterable[tuple[Any, Any]] | None = None,
    items: Any = None,
    pairs: tuple[Any, Any] | Iterable[tuple[Any, Any]] | None = None,
    groups: tuple[Any, Any, Any] | Iterable[tuple[Any, Any, Any]] | None = None,
    leave_out: int | None = None,
    shrink: bool = False,
    seed: int = 0,
) -> SubspaceEstimate:
    """Find the part U that counts from side information of one kind; see docs/finding-u.md.

    Instead of a tuple, any iterable of such tuples may be passed, which are read one at a time: a
    generator that reads a large file piece by piece.

    Parameters
    ----------
    attributes : (X, z), optional
        Features of items, one row each, and their attributes that must not count: numbers or
        categories, in one column or several. They need not be features themselves. What is left
        out is the span of cov(x, z), so that no linear predictor of z from kept features beats a
        constant. Whole numbers are numbers; pass text for categories.
    items : array or DataFrame, optional
        With attributes: further items, whose attributes are not known; also an iterable of such.
    pairs : (X1, X2), optional
        Twins, row by row, that differ only in what must not count.
    groups : (X, returns, group), optional
        Arms, their returns, and who they came from. Where groups disagree is left out.
    leave_out : int, optional
        How many directions to leave out. By default as many as go further than chance.
    shrink : bool
        With attributes: whether the correlations of features are shrunk by the share that noise
        explains. If features are nearly independent, U is then nearer to that of all items there
        could be. Without it, and without items, cov(P_U x, z) = 0 holds exactly over those given.
    seed : int
        For shuffling and resampling.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> rng = np.random.default_rng(0)
    >>> group = rng.choice(["a", "b"], size=400)
    >>> X = rng.normal(size=(400, 3)) + np.outer(group == "a", [1.0, 1.0, 0.0])
    >>> found = pb.find_subspace(attributes=(X, group))
    >>> found.left_out.dim
    1
    >>> kept = X @ found.subspace.matrix
    >>> bool(np.allclose(kept[group == "a"].mean(axis=0), kept[group == "b"].mean(axis=0)))
    True
    """
    side = SideInformation()
    given: dict[str, Any] = {"attributes": attributes, "pairs": pairs, "groups": groups}
    for kind, value in given.items():
        if value is None:
            continue
        whole = isinstance(value, tuple | list) and len(value) == len(SIDE_PARTS[kind])
        whole = whole and not all(isinstance(part, tuple) for part in value)
        if not whole and (is_table(value) or not isinstance(value, Iterable)):
            _parts(kind, value)
        for piece in [value] if whole else value:
            side = side.update(**{kind: piece})
    if items is None and side.kind is None:
        side.update()
    for piece in () if items is None else _item_pieces(items):
        side = side.update(items=piece)
    return side.find(leave_out=leave_out, shrink=shrink, seed=seed)


def _item_pieces(items: Any) -> Iterable[Any]:
    """Return items without labels piece by piece; a list may be one piece, or a list of them."""
    if isinstance(items, Iterator):
        return items
    listed = isinstance(items, list | tuple) and len(items) > 0
    return items if listed and (is_table(items[0]) or np.ndim(items[0]) == 2) else [items]


def _parts(kind: str, value: Any) -> tuple[Any, ...]:
    parts = SIDE_PARTS[kind]
    if not isinstance(value, tuple | list) or len(value) != len(parts):
        raise TypeError(
            f"{kind} must be ({', '.join(parts)}), got a {type(value).__name__}"
            + (f" of length {len(value)}" if isinstance(value, tuple | list) else "")
        )
    return tuple(value)
