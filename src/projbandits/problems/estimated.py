"""Worlds in which U is not known: strategies see what side information tells of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from projbandits._validation import Array, integer, not_negative, one_of
from projbandits.finding.attributes import Labelled
from projbandits.finding.pairs import Twins
from projbandits.problems.base import Problem, World
from projbandits.subspace import Subspace

SIDES = ("attributes", "pairs")


@dataclass(frozen=True)
class EstimatedSubspace:
    """Worlds of another problem, with side information drawn anew in each trial.

    Parameters
    ----------
    problem, side, size, noise, items, shrink
        Those of `estimated_subspace`, which checks them.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.problems.estimated_subspace(pb.problems.random_arms(), size=50).size
    50
    """

    problem: Problem
    side: str
    size: int
    noise: float
    items: int
    shrink: bool

    def world(self, rng: np.random.Generator) -> World:
        """Return a world of the problem, with the U that side information finds."""
        world = self.problem.world(rng)
        rest = world.subspace.complement()
        if rest.dim == 0:
            raise ValueError(
                "problem must leave at least one direction out, got worlds where U is everything"
            )
        held = self._attributes(rest, rng) if self.side == "attributes" else self._pairs(rest, rng)
        basis, _ = held.directions(rest.dim)
        return replace(world, estimate=Subspace(basis, world.subspace.names).complement())

    def _attributes(self, rest: Subspace, rng: np.random.Generator) -> Labelled:
        X = _items(self.size, rest, rng)
        z = X @ rest.basis + self.noise * rng.standard_normal((self.size, rest.dim))
        held = replace(Labelled.of(X, z), shrink=self.shrink)
        return held.with_items(_items(self.items, rest, rng)) if self.items else held

    def _pairs(self, rest: Subspace, rng: np.random.Generator) -> Twins:
        X = _items(self.size, rest, rng)
        apart = rng.standard_normal((self.size, rest.dim)) @ rest.basis.T
        return Twins.of(X, X + apart + self.noise * rng.standard_normal(X.shape))


def estimated_subspace(
    problem: Problem,
    side: str = "attributes",
    size: int = 200,
    noise: float = 0.5,
    items: int = 0,
    shrink: bool = False,
) -> EstimatedSubspace:
    """Return worlds whose strategies see an estimate of U and are judged by U itself.

    Parameters
    ----------
    problem : Problem
        Where the worlds come from.
    side : {"attributes", "pairs"}
        The side information. Items have features from U(-1, 1). An attribute is where an item
        stands along a direction outside of U, with noise. Twins differ by a normal step outside of
        U, and by noise in all directions.
    size : int
        How many items with attributes, or pairs, there are.
    noise : float
        The standard deviation of that noise.
    items : int
        How many items without attributes there are beside them.
    shrink : bool
        With attributes: whether U is found as by ``find_subspace(..., shrink=True)``. Features of
        items are independent here, which is where that helps most.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> problem = pb.problems.estimated_subspace(pb.problems.random_arms(u=8), size=1000)
    >>> world = problem.world(np.random.default_rng(0))
    >>> world.subspace, world.seen
    (Subspace(dim=8, ambient=10), Subspace(dim=8, ambient=10))
    >>> bool(np.abs(world.subspace.matrix - world.seen.matrix).max() < 0.2)
    True
    """
    if not isinstance(problem, Problem):
        raise TypeError(
            f"problem must be a problem, such as pb.problems.random_arms(), got {problem!r}"
        )
    one_of("side", side, SIDES)
    items = integer("items", items, least=0)
    if items and side == "pairs":
        raise ValueError(f"items must be 0 with side='pairs', got {items}: they add to attributes")
    return EstimatedSubspace(
        problem,
        side,
        integer("size", size, least=2),
        not_negative("noise", noise),
        items,
        bool(shrink),
    )


def _items(count: int, rest: Subspace, rng: np.random.Generator) -> Array:
    return rng.uniform(-1, 1, size=(count, rest.ambient))
