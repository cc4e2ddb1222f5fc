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

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from projbandits._blas import while_small
from projbandits._validation import Array
from projbandits.ridge import triangle

LEAF, WIDTH = 6, 4
"""A leaf has 2^6 positions, and a node 2^4 children."""

Held = tuple[Array, str | None]
"""The features of an arm, and its label."""


@dataclass(frozen=True, eq=False)
class _Node:
    """Open decisions by position, or nodes by the leading digits of theirs; in order."""

    height: int
    children: dict[int, Any]

    @cached_property
    def factor(self) -> Array:
        below = self.children.values()
        return _folded([child.factor for child in below] if self.height else [_rows(below)])

    def walk(self) -> Iterator[tuple[int, Held]]:
        if not self.height:
            yield from self.children.items()
            return
        for child in self.children.values():
            yield from child.walk()

    def key(self, position: int) -> int:
        """Return the child that a position belongs to."""
        return position >> (LEAF + WIDTH * (self.height - 1)) if self.height else position

    def has(self, position: int) -> bool:
        child = self.children.get(self.key(position))
        return child is not None and (not self.height or child.has(position))

    def at(self, position: int) -> Held | None:
        child = self.children.get(self.key(position))
        return child.at(position) if self.height and child is not None else child

    def put(self, position: int, held: Held | None) -> _Node:
        """Return the tree with a decision at a position, or without the one that is there."""
        key, before = self.key(position), self.children
        child: Any = held
        if self.height:
            child = before.get(key, _Node(self.height - 1, {})).put(position, held)
            child = child if child.children else None
        children = {**before, key: child}
        if child is None:
            del children[key]
        elif max(children) > key and key not in before:
            children = dict(sorted(children.items()))
        return _Node(self.height, children)


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
    _root: _Node = _Node(0, {})
    _others: tuple[Held, ...] = ()

    @cached_property
    def factor(self) -> Array:
        """A factor of their rows [1, x]; the rows themselves while they are few."""
        found = self._root.factor if self._root.children else np.empty((0, self.d + 1))
        for start in range(0, len(self._others), 1 << LEAF):
            found = _folded([found, _rows(self._others[start : start + (1 << LEAF)])])
        return found

    @property
    def rows(self) -> Iterator[tuple[int, Held]]:
        """Position, and features and label of the arm, in order of position."""
        return self._root.walk()

    def add(self, position: int, x: Array, label: str | None = None) -> OpenDecisions:
        """Return the set with one more."""
        root = self._root
        while position >> (LEAF + WIDTH * root.height):
            root = _Node(root.height + 1, {0: root} if root.children else {})
        return OpenDecisions(self.d, self.count + 1, root.put(position, (x, label)))

    def at(self, position: int) -> Held | None:
        """Return the features and the label of the arm of an open decision."""
        return self._root.at(position)

    def without(self, position: int) -> OpenDecisions:
        """Return the set without one, if it is there."""
        if not self._root.has(position):
            return self
        return OpenDecisions(self.d, self.count - 1, self._root.put(position, None))

    def and_also(self, others: Sequence[Held]) -> OpenDecisions:
        """Return them with others behind, those of the same batch."""
        return OpenDecisions(self.d, self.count + len(others), self._root, tuple(others))

    @cached_property
    def listed(self) -> tuple[Array, list[str | None]]:
        """All features, a row each, and the labels of the arms."""
        found = [*(held for _, held in self.rows), *self._others]
        return np.array([x for x, _ in found]).reshape(-1, self.d), [label for _, label in found]


@dataclass(frozen=True, eq=False)
class OpenRows:
    """Rows [1, x] of open decisions, or a factor of them, as a strategy learns on them.

    Parameters
    ----------
    decisions : OpenDecisions or ndarray of shape (m, 1 + d)
        The decisions, or a factor of their rows, with whole arms.
    learnt : callable, optional
        Returns arms as the strategy learns on them, a linear function.
    """

    decisions: OpenDecisions | Array
    learnt: Callable[[Array], Array] | None = None

    @property
    def whole(self) -> Array:
        """The factor with whole arms."""
        rows = self.decisions
        return rows if isinstance(rows, np.ndarray) else rows.factor

    @cached_property
    def factor(self) -> Array:
        """The factor, made when it is needed."""
        rows = self.whole
        if self.learnt is None:
            return rows
        return np.column_stack([rows[:, :1], self.learnt(rows[:, 1:])])


def _rows(decisions: Iterable[Held]) -> Array:
    X = np.array([x for x, _ in decisions])
    return np.column_stack([np.ones(len(X)), X])


def _folded(parts: Sequence[Array]) -> Array:
    """Return a factor of rows one after another: they themselves while they are few."""
    rows = np.concatenate(parts)
    if len(rows) <= rows.shape[1]:
        return rows
    with while_small(*rows.shape):  # whoever asks gets the same bits
        return triangle(np.asfortranarray(rows))
