"""Items with effects of their own: they come and go, and their features may change at each call.

The return of item i shown with features x is <x, theta> + b_i + noise, as in `effects`. Of item i
are kept n_i, the weight of its returns, their sum R_i and its mean features xbar_i; of all items
together W, the squares within items, as a triangular factor of the rows
sqrt(n / (n + 1)) (x - xbar). With rho = tau^2 / sigma^2:

    V     = lambda I + W + sum_i n_i / (1 + n_i rho) xbar_i xbar_i^T
    E b_i = rho / (1 + n_i rho) (R_i - n_i <xbar_i, theta>)
    var(b_i | theta) = sigma^2 rho / (1 + n_i rho)

One more return of item i adds one row to a factor of V - lambda I,

    (x - shrink_i xbar_i) / sqrt(1 + rho / (1 + n_i rho)),   shrink_i = n_i rho / (1 + n_i rho),

which is what the return tells beyond the ones before. So an update costs no more than without
effects, however many items there are. With features that do not change this is `Effects`.

A level that all returns share is one more feature, 1 for every item, without a penalty; see
`Ridge`. So of the column of ones a return adds (1 - shrink_i), on the same scale.

An open decision of item i is one more return as far as V, shrink_i and the variances go, none of
which depends on what it will be. With S the squares of open decisions within items, o_i how many
are open of item i and xopen_i their mean features, V grows by

    S + sum_i o_i / (1 + o_i rho_i) u_i u_i^T,
    u_i = xopen_i - shrink_i xbar_i,   rho_i = rho / (1 + n_i rho).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from projbandits._validation import Array
from projbandits.ridge import LEAST_FREE, Ridge, triangle
from projbandits.strategies.belief import Moments, with_level
from projbandits.strategies.effects import (
    PENALTY_FACTOR,
    TINY,
    cautious,
    fitted_penalty,
    fitted_scales,
    is_refit_due,
    prior_scales,
)
from projbandits.strategies.open import Rows, groups

BLOCK = 256
"""How many items are kept in one array. An update copies one of them, and nothing else."""

FADED = 1e-100
"""Below this common factor, weights are multiplied out."""


@dataclass(frozen=True, eq=False)
class Items:
    """What is known of theta and of each item's own effect.

    Parameters
    ----------
    ridge, penalty : float
        The ridge of the strategy, and lambda; see `effects.PENALTY_FACTOR`.
    ratio, noise : float
        rho = tau^2 / sigma^2, and sigma.
    n : int
        The number of observations.
    within : ndarray of shape (d + 1, d + 1), or (d + 2, d + 2) with an intercept
        The factor of W, with the returns as one more column, and the ones as the first.
    joint : ndarray of the same shape, or None
        The factor of V - lambda I, the same way; None where outcomes have lost weight since, and it
        is made of the items when it is needed.
    numbers : dict of str to int
        The items' numbers. Later states share it, so it may hold more than `size` items.
    size : int
        How many items there are.
    blocks : tuple of ndarray of shape (BLOCK, d + 2)
        For each item n_i and R_i, both divided by `fade`, and xbar_i.
    fade : float
        What all weights are to be multiplied by.
    intercept, first, equal
        As in `Ridge`; returns are kept as differences from the first where there is an intercept.
    """

    ridge: float
    penalty: float
    ratio: float
    noise: float
    n: int
    within: Array
    joint: Array | None
    numbers: dict[str, int]
    size: int
    blocks: tuple[Array, ...]
    fade: float = 1.0
    intercept: bool = False
    first: float = math.nan
    equal: bool = True

    @classmethod
    def prior(
        cls,
        d: int,
        ridge: float,
        effect: float | None,
        noise: float | None,
        intercept: bool = False,
    ) -> Items:
        """Return what is known before any observation, with tau and sigma if they are given."""
        ratio, sigma = prior_scales(effect, noise)
        empty = np.zeros((d + 1 + intercept, d + 1 + intercept))
        penalty = PENALTY_FACTOR * ridge
        return cls(ridge, penalty, ratio**2, sigma, 0, empty, empty, {}, 0, (), intercept=intercept)

    @classmethod
    def of(
        cls, labels: Iterable[str], table: Array, joint: Array | None, **fields: float | int | Array
    ) -> Items:
        """Return what `labels`, `table` and the other fields say of items."""
        numbers = {label: i for i, label in enumerate(labels)}
        room = np.zeros((-(-len(table) // BLOCK) * BLOCK, table.shape[1]))
        room[: len(table)] = table
        blocks = tuple(room[i : i + BLOCK] for i in range(0, len(room), BLOCK))
        made: dict[str, object] = dict(fields)
        return cls(**made, joint=joint, numbers=numbers, size=len(table), blocks=blocks)  # type: ignore[arg-type]

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.within) - 1 - self.intercept

    @property
    def labels(self) -> list[str]:
        """The items' names, in the order of their numbers."""
        return [label for label, number in self.numbers.items() if number < self.size]

    @property
    def table(self) -> Array:
        """For each item n_i and R_i, both divided by `fade`, and xbar_i."""
        rows = np.concatenate(self.blocks) if self.blocks else np.empty((0, self.d + 2))
        return rows[: self.size]

    @property
    def refit_due(self) -> bool:
        """Whether to re-estimate tau and sigma: after 1, 2, 3, 4, 6, 8, 12, ... observations."""
        return is_refit_due(self.n)

    def update(self, label: str | None, x: Array, observed: float) -> Items:
        """Return what is known after an item with features x returned `observed`.

        Where nobody said whose return it is, it is that of an item of its own.
        """
        name = f"\0{self.n}" if label is None else label
        numbers, i = self.numbers, self.numbers.get(name, self.size)
        blocks, size = self.blocks, self.size
        if i >= size:
            if len(numbers) > size:  # another state that began from this one went on differently
                numbers = dict(zip(self.labels, range(size), strict=True))
            i, size = size, size + 1
            numbers[name] = i
            if i == len(blocks) * BLOCK:
                blocks = (*blocks, np.zeros((BLOCK, self.d + 2)))
        at, row = divmod(i, BLOCK)
        block = blocks[at].copy()
        n, total, mean = block[row, 0] * self.fade, block[row, 1] * self.fade, block[row, 2:]
        first = self.first if self.first == self.first else observed
        equal = self.equal and observed == first
        if self.intercept:
            observed -= first
        ones = [1.0] * self.intercept
        before = np.array([*ones, *mean, total / n if n > 0 else 0.0])
        seen = np.array([*ones, *x, observed])
        within, joint = self.within, self.joint
        if n > 0:
            within = _with(within, math.sqrt(n / (n + 1)) * (seen - before))
        if joint is not None:
            weight = 1.0 / (1.0 + n * self.ratio)
            new = seen - n * self.ratio * weight * before
            joint = _with(joint, new / math.sqrt(1.0 + self.ratio * weight))
        block[row, 0] = (n + 1) / self.fade
        block[row, 1] = (total + observed) / self.fade
        block[row, 2:] = mean + (x - mean) / (n + 1)
        blocks = (*blocks[:at], block, *blocks[at + 1 :])
        return replace(
            self, n=self.n + 1, within=within, joint=joint, numbers=numbers, size=size,
            blocks=blocks, first=first, equal=equal,
        )  # fmt: skip

    def decayed(self, by: float) -> Items:
        """Return what is known when every observation has `by` times its weight."""
        blocks, fade = self.blocks, self.fade * by
        if fade < FADED:
            scale = np.ones(self.d + 2)
            scale[:2] = fade
            blocks, fade = tuple(block * scale for block in blocks), 1.0
        within = math.sqrt(by) * self.within
        faded = replace(self, within=within, joint=None, blocks=blocks, fade=fade)
        return replace(faded, first=math.nan, equal=True) if by == 0.0 else faded

    @cached_property
    def _squares(self) -> float:
        """The sum of the squares of all returns, about their mean where there is an intercept."""
        n, means = self._means
        returns = means[:, -1]
        if self.intercept and len(n):
            returns = returns - n @ returns / n.sum()
        return float((self.within[:, -1] ** 2).sum() + n @ returns**2)

    def rejoined(self) -> Items:
        """Return the same with a factor of V - lambda I that updates can go on with."""
        return self if self.joint is not None else replace(self, joint=self._joined(self.ratio))

    def _joined(self, ratio: float) -> Array:
        """Return the factor of V - lambda I at a value of rho, from the items."""
        n, means = self._means
        scale = np.sqrt(n / (1.0 + n * ratio))
        return triangle(np.asfortranarray(np.vstack([self.within, scale[:, None] * means])))

    @cached_property
    def _means(self) -> tuple[Array, Array]:
        """n_i, and xbar_i with the mean return as one more column, and ones as the first."""
        table = self.table
        table = table[table[:, 0] > 0]
        ones = np.ones((len(table), int(self.intercept)))
        means = np.column_stack([ones, table[:, 2:], table[:, 1] / table[:, 0]])
        return table[:, 0] * self.fade, means

    def _fit(self, ratio: float) -> Ridge:
        return self._ridge(self._joined(ratio))

    def _ridge(self, joint: Array) -> Ridge:
        kept = self.intercept, self.first, self.equal
        return Ridge(self.penalty, self.n, joint, 0.0, *kept)

    @cached_property
    def linear(self) -> Ridge:
        """theta-hat, V and all that follows from them."""
        joint = self._joined(self.ratio) if self.joint is None else self.joint
        return self._ridge(joint)

    @property
    def theta(self) -> Array:
        """theta-hat."""
        return self.linear.theta

    def among(self, labels: Sequence[str], waiting: OpenItems | None = None) -> Among:
        """Return what is known of the items on offer, in their order.

        Parameters
        ----------
        labels : sequence of str
            The items.
        waiting : OpenItems, optional
            The decisions that are open, whose number counts.
        """
        n, sums, means = self._of(labels)
        told = Among(self.linear, self.ratio, self.noise, n, sums, means)
        if waiting is None:
            return told
        more, where = waiting.counts(labels), waiting.means(labels)
        both = np.where(n + more > 0, n + more, 1.0)[:, None]
        means = (n[:, None] * means + more[:, None] * where) / both
        return replace(told, counted=Counted(self._counting(waiting), n + more, means))

    def _of(self, labels: Sequence[str | None]) -> tuple[Array, Array, Array]:
        """Return n_i, R_i and xbar_i of some items."""
        numbers, size, blocks = self.numbers, self.size, self.blocks
        empty = np.zeros(self.d + 2)
        found = [size if label is None else numbers.get(label, size) for label in labels]
        rows = [empty if i >= size else blocks[i // BLOCK][i % BLOCK] for i in found]
        table = np.array(rows).reshape(-1, self.d + 2)
        return table[:, 0] * self.fade, table[:, 1] * self.fade, table[:, 2:]

    def _counting(self, waiting: OpenItems) -> Ridge:
        """Return what is known of theta, with open decisions counted in V."""
        n, _, means = self._of(waiting.items)
        own = self.ratio / (1.0 + n * self.ratio)
        shrink = n * own
        weight = np.sqrt(waiting.count / (1.0 + waiting.count * own))[:, None]
        between = weight * np.column_stack([1.0 - shrink, waiting.mean - shrink[:, None] * means])
        inside = np.column_stack([np.zeros(len(waiting.within)), waiting.within])
        return self.linear.counting(Rows(np.concatenate([inside, between])))

    def likelihood(self, ratios: Array, noise: float | None = None) -> tuple[Array, Array]:
        """Return sigma^2, on the high side, and the log-likelihood at each value of rho.

        As in `Effects.likelihood`.
        """
        n, _ = self._means
        weight = max(float(n.sum()) - self.intercept, LEAST_FREE)
        squares = self._squares
        rest, trace, grown = (np.empty(len(ratios)) for _ in range(3))
        for k, ratio in enumerate(ratios.tolist()):
            fit = self._fit(ratio)
            rest[k] = fit.residual
            trace[k] = (fit.root**2).sum()
            grown[k] = np.log1p(n * ratio).sum() - 2.0 * np.log(fit.root.diagonal()).sum()
            if self.intercept:  # integrated out too
                grown[k] += np.log(fit.mass)
        rest = np.maximum(rest, TINY * squares)
        free = np.maximum(weight - self.d + self.penalty * trace, LEAST_FREE)
        used = rest / weight if noise is None else noise**2
        return cautious(rest, free), -0.5 * (weight * np.log(used) + rest / used + grown)

    def fitted(self, effect: float | None, noise: float | None) -> Items:
        """Return the same observations with rho, sigma and lambda as given or as estimated."""
        n, means = self._means
        squares = self._squares
        if squares == 0.0 or (self.intercept and self.equal):
            return self
        ratio, sigma = fitted_scales(self.likelihood, effect, noise)
        features = means[:, :-1]
        if self.intercept:
            features = features - features.mean(axis=0)
        length = float((features**2).sum(axis=1).mean())
        penalty = fitted_penalty(self.ridge, sigma, length, float(n.sum()), squares)
        after = replace(self, ratio=ratio**2, noise=sigma, penalty=penalty)
        return after if self.joint is None else replace(after, joint=after._joined(ratio**2))


@dataclass(frozen=True, eq=False)
class OpenItems:
    """Open decisions, item by item.

    Parameters
    ----------
    items : list of str or None
        The items; None for one that nobody named.
    count : ndarray of shape (m,)
        How many decisions are open of each.
    mean : ndarray of shape (m, d)
        Their mean features.
    within : ndarray of shape (k, d)
        A factor of the squares within items.
    """

    items: list[str | None]
    count: Array
    mean: Array
    within: Array

    @classmethod
    def of(cls, X: Array, labels: Sequence[str | None]) -> OpenItems:
        """Return open decisions with these features, a row each, of these items."""
        which, items = groups(labels)
        count = np.bincount(which, minlength=len(items)).astype(np.float64)
        sums = np.zeros((len(items), X.shape[1]))
        np.add.at(sums, which, X)
        mean = sums / count[:, None]
        away = (X - mean[which])[count[which] > 1]
        within = triangle(np.asfortranarray(away)) if len(away) > X.shape[1] else away
        return cls(items, count, mean, within)

    @cached_property
    def _numbers(self) -> dict[str | None, int]:
        return {label: i for i, label in enumerate(self.items) if label is not None}

    def counts(self, labels: Sequence[str]) -> Array:
        """Return how many decisions are open of each of some items."""
        found = [self._numbers.get(label, -1) for label in labels]
        return np.append(self.count, 0.0)[found]

    def means(self, labels: Sequence[str]) -> Array:
        """Return their mean features, zeros where there are none."""
        found = [self._numbers.get(label, -1) for label in labels]
        return np.vstack([self.mean, np.zeros(self.mean.shape[1])])[found]


class Counted(NamedTuple):
    """What V and the variances are made of, with open decisions: as in `Among`."""

    linear: Ridge
    pulls: Array
    means: Array


@dataclass(frozen=True, eq=False)
class Among:
    """What is known of the items on offer to one choice, a row each.

    Parameters
    ----------
    linear : Ridge
        theta-hat and V.
    ratio, noise : float
        rho and sigma.
    pulls, sums : ndarray of shape (K,)
        n_i and R_i.
    means : ndarray of shape (K, d)
        xbar_i.
    counted : Counted, optional
        What else counts, without its outcome.
    """

    linear: Ridge
    ratio: float
    noise: float
    pulls: Array
    sums: Array
    means: Array
    counted: Counted | None = None

    @property
    def told(self) -> Among:
        """What is known by what was told alone."""
        return self if self.counted is None else replace(self, counted=None)

    @property
    def theta(self) -> Array:
        """theta-hat."""
        return self.linear.theta

    @cached_property
    def own(self) -> Array:
        """E b_i."""
        level = self.linear.level - self.linear.first if self.linear.intercept else 0.0
        level = level if level == level else 0.0  # nothing was told
        explained = self.pulls * (level + np.einsum("ij,j->i", self.means, self.theta))
        found: Array = self.ratio / (1.0 + self.pulls * self.ratio) * (self.sums - explained)
        return found

    def at(self, row: int) -> Among:
        """Return what is known of one of them."""
        one = slice(row, row + 1)
        return Among(
            self.linear, self.ratio, self.noise, self.pulls[one], self.sums[one], self.means[one]
        )

    def moments_at(self, features: Array, aims: Array) -> Moments:
        """Return the moments of <a_i, theta> + b_i where items are shown with these features."""
        if len(features) != len(self.pulls):
            raise ValueError(
                f"arm_effects needs all arms on offer, got {len(features)} of {len(self.pulls)}: "
                "offer fewer"
            )
        linear, pulls, means = self.counted or (self.linear, self.pulls, self.means)
        weight = 1.0 / (1.0 + pulls * self.ratio)
        shrink = pulls * self.ratio * weight
        shrunk = shrink[:, None] * means
        target, seen, covariance = with_level(
            linear, self.noise, aims - shrunk, features - shrunk, shrink
        )
        return Moments(
            mean=np.einsum("ij,j->i", aims, self.theta) + self.own,
            target=target,
            seen=seen,
            covariance=covariance,
            own=self.noise**2 * self.ratio * weight,
            noise=self.noise,
        )


def _with(factor: Array, row: Array) -> Array:
    """Return the factor with one more row."""
    stacked = np.empty((len(factor) + 1, len(factor)), order="F")
    stacked[:-1], stacked[-1] = factor, row
    return triangle(stacked)
