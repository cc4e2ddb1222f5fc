"""Open decisions: made, and their outcome neither told nor withdrawn.

A strategy that goes by what was told alone chooses the same arm again and again until its outcome
comes. So each open decision counts in the precision V as one observation, while theta-hat stays as
told: for Gaussian returns V is then what it will be once they are told, whatever they are.

They are kept by their positions in the ledger, in leaves of 64 positions under nodes of 16. Adding
or removing one copies a leaf and the nodes above it. Each has a triangular factor of its rows, made
when it is asked for, of what lies below it in order of position. So the factor of all is a function
of the positions and the rows alone, however the set came about, and with many thousands open only a
few small factorisations are new at each decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from projbandits._blas import while_small
from projbandits._validation import Array
from projbandits.ridge import OpenRows, triangle

LEAF, WIDTH = 6, 4
"""A leaf has 2^6 positions, and a node 2^4 children."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows [1, x] of open decisions, or a factor of them."""

    factor: Array


@dataclass(frozen=True, eq=False)
class Learnt:
    """Open decisions as a strategy learns on them; the factor is made when it is needed.

    Parameters
    ----------
    rows : OpenRows
        The decisions, with whole arms.
    learnt : callable
        Returns arms as the strategy learns on them, a linear function.
    """

    rows: OpenRows
    learnt: Callable[[Array], Array]

    @cached_property
    def factor(self) -> Array:
        """The factor of their rows [1, x]."""
        whole = self.rows.factor
        return np.column_stack([whole[:, :1], self.learnt(whole[:, 1:])])


@dataclass(frozen=True, eq=False)
class _Leaf:
    """Some open decisions, by position: the features, and what the arm is called."""

    held: dict[int, tuple[Array, str | None]]

    @cached_property
    def factor(self) -> Array:
        return _folded([_with_ones(np.array([x for x, _ in self.held.values()]))])

    def walk(self) -> Iterator[tuple[int, tuple[Array, str | None]]]:
        yield from self.held.items()


@dataclass(frozen=True, eq=False)
class _Node:
    """Leaves or nodes, by their number; none is empty."""

    children: dict[int, _Leaf | _Node]

    @cached_property
    def factor(self) -> Array:
        return _folded([child.factor for child in self.children.values()])

    def walk(self) -> Iterator[tuple[int, tuple[Array, str | None]]]:
        for child in self.children.values():
            yield from child.walk()


@dataclass(frozen=True, eq=False)
class OpenDecisions:
    """The decisions that are open at a position of a ledger.

    Parameters
    ----------
    d : int
        The number of features.
    count : int
        How many they are.

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.strategies.open import OpenDecisions
    >>> some = OpenDecisions(d=1).add(3, np.array([2.0])).add(7, np.array([1.0]))
    >>> some.count, some.without(3).count, some.without(4).count
    (2, 1, 2)
    >>> some.factor
    array([[1., 2.],
           [1., 1.]])
    """

    d: int
    count: int = 0
    _root: _Leaf | _Node | None = None
    _height: int = 0

    @property
    def factor(self) -> Array:
        """A factor of their rows [1, x]; the rows themselves while they are few."""
        return np.empty((0, self.d + 1)) if self._root is None else self._root.factor

    @property
    def rows(self) -> Iterator[tuple[int, tuple[Array, str | None]]]:
        """Position, and features and label of the arm, in order of position."""
        return iter(()) if self._root is None else self._root.walk()

    def add(self, position: int, x: Array, label: str | None = None) -> OpenDecisions:
        """Return the set with one more."""
        root, height = self._root, self._height
        while position >> (LEAF + WIDTH * height):
            root, height = None if root is None else _Node({0: root}), height + 1
        root = _put(root, height, position, (x, label))
        return OpenDecisions(self.d, self.count + 1, root, height)

    def without(self, position: int) -> OpenDecisions:
        """Return the set without one, if it is there."""
        if self._root is None or position >> (LEAF + WIDTH * self._height):
            return self
        root = _cut(self._root, self._height, position)
        if root is self._root:
            return self
        return OpenDecisions(self.d, self.count - 1, root, self._height if root else 0)

    def and_also(self, others: Sequence[tuple[Array, str | None]]) -> OpenDecisions | Joined:
        """Return them with others behind, those of the same batch."""
        return self if not others else Joined(self, tuple(others))

    @cached_property
    def listed(self) -> tuple[Array, list[str | None]]:
        """All features, a row each, and what the arms are called."""
        found = [held for _, held in self.rows]
        return np.array([x for x, _ in found]).reshape(-1, self.d), [label for _, label in found]


@dataclass(frozen=True, eq=False)
class Joined:
    """Open decisions, and those of the batch that were made before."""

    known: OpenDecisions
    others: tuple[tuple[Array, str | None], ...]

    @cached_property
    def factor(self) -> Array:
        """A factor of their rows [1, x]."""
        rows = _with_ones(np.array([x for x, _ in self.others]))
        found, step = self.known.factor, 1 << LEAF
        for start in range(0, len(rows), step):
            found = _folded([found, rows[start : start + step]])
        return found

    @property
    def count(self) -> int:
        """How many they are."""
        return self.known.count + len(self.others)

    @cached_property
    def listed(self) -> tuple[Array, list[str | None]]:
        """All features, a row each, and what the arms are called."""
        X, labels = self.known.listed
        more = np.array([x for x, _ in self.others])
        return np.concatenate([X, more]), [*labels, *(label for _, label in self.others)]


def groups(labels: Sequence[str | None]) -> tuple[NDArray[np.int64], list[str | None]]:
    """Return the number of the item of each row, and the items, in order of first appearance.

    Where nobody said which item it is, it is one of its own.
    """
    numbers: dict[str, int] = {}
    items, which = list[str | None](), np.empty(len(labels), dtype=np.int64)
    for i, label in enumerate(labels):
        number = len(items) if label is None else numbers.setdefault(label, len(items))
        if number == len(items):
            items.append(label)
        which[i] = number
    return which, items


def _put(
    tree: _Leaf | _Node | None, height: int, position: int, held: tuple[Array, str | None]
) -> _Leaf | _Node:
    if height == 0:
        before = tree.held if isinstance(tree, _Leaf) else {}
        late = bool(before) and next(reversed(before)) > position
        after = {**before, position: held}
        return _Leaf(dict(sorted(after.items())) if late else after)
    children = tree.children if isinstance(tree, _Node) else {}
    number = _number(position, height)
    late = bool(children) and next(reversed(children)) > number
    put = {**children, number: _put(children.get(number), height - 1, position, held)}
    return _Node(dict(sorted(put.items())) if late else put)


def _cut(tree: _Leaf | _Node, height: int, position: int) -> _Leaf | _Node | None:
    """Return a tree without a position, None if nothing is left, itself if it was not there."""
    if isinstance(tree, _Leaf):
        if position not in tree.held:
            return tree
        left = {key: value for key, value in tree.held.items() if key != position}
        return _Leaf(left) if left else None
    number = _number(position, height)
    child = tree.children.get(number)
    if child is None:
        return tree
    cut = _cut(child, height - 1, position)
    if cut is child:
        return tree
    if cut is not None:
        return _Node({**tree.children, number: cut})
    rest = {key: value for key, value in tree.children.items() if key != number}
    return _Node(rest) if rest else None


def _number(position: int, height: int) -> int:
    """Return which child of a node has a position."""
    return position >> (LEAF + WIDTH * (height - 1)) & ((1 << WIDTH) - 1)


def _folded(parts: Sequence[Array]) -> Array:
    """Return a factor of rows one after another: they themselves while they are few."""
    if len(parts) == 1 and len(parts[0]) <= parts[0].shape[1]:
        return parts[0]
    rows = np.asfortranarray(np.concatenate(parts))
    if len(rows) <= rows.shape[1]:
        return rows
    with while_small(*rows.shape):  # whoever asks gets the same bits
        return triangle(rows)


def _with_ones(X: Array) -> Array:
    return np.column_stack([np.ones(len(X)), X])
