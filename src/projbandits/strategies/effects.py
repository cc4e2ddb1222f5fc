"""Item effects: what an item has of its own, beyond its features.

The return of item i shown with features x is <x, theta> + b_i + noise with b_i ~ N(0, tau^2) and
theta ~ N(0, sigma^2 / lambda I): the ridge model with one more coordinate for each item. Items come
and go, and their features may change at each call; an arm of a simulation is an item whose features
never change. Of item i are kept n_i, the weight of its returns, their sum R_i and its mean features
xbar_i; of all items together W, the squares within items, as a triangular factor of the rows
sqrt(n / (n + 1)) (x - xbar). Given theta the b_i are independent, so nothing larger than d x d is
ever inverted. With rho = tau^2 / sigma^2:

    V        = lambda I + W + sum_i n_i / (1 + n_i rho) xbar_i xbar_i^T
    E b_i    = rho / (1 + n_i rho) (R_i - n_i <xbar_i, theta>)
    var(b_i | theta) = sigma^2 rho / (1 + n_i rho)

One more return of item i adds one row to a factor of V - lambda I,

    (x - shrink_i xbar_i) / sqrt(1 + rho / (1 + n_i rho)),   shrink_i = n_i rho / (1 + n_i rho),

which is what the return tells beyond the ones before. So an update costs no more than without
effects, however many items there are. At rho = 0 this is `Ridge`.

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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from projbandits._validation import Array
from projbandits.arms import Arm, DecisionSet, FiniteArms
from projbandits.ridge import LEAST_FREE, Ridge, cautious_variance, triangle
from projbandits.strategies.belief import Moments, wanted_rows, with_level
from projbandits.strategies.open import OpenRows

RATIOS = np.concatenate([[0.0], np.geomspace(0.05, 100.0, 25)])
"""The candidate values of tau / sigma."""

PRIOR = RATIOS / (1.0 + RATIOS**2)
PRIOR[0] = PRIOR[1]
"""The prior weight of each: half-Cauchy, given that RATIOS are evenly spaced on a log scale."""

TAU_FACTOR, TAU_QUANTILE = 0.75, 0.84
"""The estimate of tau is this factor times this quantile of its posterior distribution.

While few items have been tried it errs high, so as not to settle early; later it asks for a little
less exploration than the likelihood does.
"""

PENALTY_FACTOR = 0.1
"""Factor applied to the ridge penalty when effects are modelled.

What all items share (a rating of six) may be many times the noise, and a belief that rules this out
never tries new ones. So the penalty is at most this factor times the ridge, and times the penalty
at which features alone would explain returns as large as those seen.
"""

LEAST_PENALTY = 1e-8
"""The least penalty per squared length of the features: V^-1 must keep half its digits."""

ROUNDS = 9
"""How many times sigma is re-estimated when tau is known."""

TINY = 1e-12
"""Unexplained squares below this share of all squares are round-off."""

BLOCK = 256
"""How many items are kept in one array. An update copies one of them, and nothing else."""

FADED = 1e-100
"""Below this common factor, weights are multiplied out."""

Item = str | int
"""The label of an item, or the row of an arm that never changes."""


@dataclass(frozen=True, eq=False)
class Effects:
    """The belief about theta and each item's own effect.

    Parameters
    ----------
    ridge, penalty : float
        The ridge of the strategy, and lambda; see `PENALTY_FACTOR`.
    ratio, noise : float
        rho = tau^2 / sigma^2, and sigma.
    n : int
        The number of observations.
    within : ndarray of shape (d + 1, d + 1), or (d + 2, d + 2) with an intercept
        The factor of W, with the returns as one more column, and the ones as the first.
    joint : ndarray of the same shape, or None
        The factor of V - lambda I, the same way; None where outcomes have lost weight since, and it
        is made of the items when it is needed.
    numbers : dict of str or int to int
        The items' numbers. Later states share it, so it may hold more than `size` items.
    size : int
        The number of items.
    blocks : tuple of ndarray of shape (BLOCK, d + 2)
        For each item n_i and R_i, both divided by `fade`, and xbar_i.
    fade : float
        The factor by which all weights are to be multiplied.
    intercept, first, equal
        As in `Ridge`; returns are kept as differences from the first where there is an intercept.
    arms : ndarray of shape (K, d), optional
        The arms of a simulation, as they are learnt on: items 0 to K - 1, which never change.
    """

    ridge: float
    penalty: float
    ratio: float
    noise: float
    n: int
    within: Array
    joint: Array | None
    numbers: dict[Item, int]
    size: int
    blocks: tuple[Array, ...]
    fade: float = 1.0
    intercept: bool = False
    first: float = math.nan
    equal: bool = True
    arms: Array | None = None

    @classmethod
    def prior(
        cls,
        d: int,
        ridge: float,
        tau: float | None,
        noise: float | None,
        intercept: bool = False,
        arms: Array | None = None,
    ) -> Effects:
        """Return the belief before any observation, with tau and sigma if they are given."""
        sigma = 1.0 if noise is None else noise
        ratio = tau_estimate(np.ones(len(RATIOS))) if tau is None else tau / sigma
        empty = np.zeros((d + 1 + intercept, d + 1 + intercept))
        rows = range(0 if arms is None else len(arms))
        kept = {"ridge": ridge, "penalty": PENALTY_FACTOR * ridge, "ratio": ratio**2}
        return cls.of(
            rows, np.zeros((len(rows), d + 2)), empty,
            noise=sigma, n=0, within=empty, intercept=intercept, arms=arms, **kept,
        )  # fmt: skip

    @classmethod
    def of(
        cls, labels: Iterable[Item], table: Array, joint: Array | None, **fields: Any
    ) -> Effects:
        """Return the belief with these labels, this `table` and the other fields."""
        numbers = {label: i for i, label in enumerate(labels)}
        room = np.zeros((-(-len(table) // BLOCK) * BLOCK, table.shape[1]))
        room[: len(table)] = table
        blocks = tuple(room[i : i + BLOCK] for i in range(0, len(room), BLOCK))
        return cls(**fields, joint=joint, numbers=numbers, size=len(table), blocks=blocks)

    def __reduce__(self) -> tuple[Any, ...]:
        kept = (getattr(self, field.name) for field in fields(self))
        return Effects, tuple(kept)  # without what is cached

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.within) - 1 - self.intercept

    @property
    def labels(self) -> list[Item]:
        """The items' labels, in the order of their numbers."""
        return [label for label, number in self.numbers.items() if number < self.size]

    @property
    def table(self) -> Array:
        """For each item n_i and R_i, both divided by `fade`, and xbar_i."""
        rows = np.concatenate(self.blocks) if self.blocks else np.empty((0, self.d + 2))
        return rows[: self.size]

    @property
    def refit_due(self) -> bool:
        """Whether to re-estimate tau and sigma now."""
        return next_refit(self.n) == self.n

    def update(self, item: Item | None, x: Array, observed: float) -> Effects:
        """Return the belief after an item with features x returned `observed`.

        A return without an item is that of an item of its own.
        """
        if self.arms is not None:
            if item is None or not 0 <= int(item) < self.size:
                raise ValueError(
                    f"arm must have an index of the {self.size} arms that have effects, "
                    f"got {item!r}"
                )
            x = self.arms[int(item)]
        name = f"\0{self.n}" if item is None else item
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
        block[row, :2] = (n + 1) / self.fade, (total + observed) / self.fade
        block[row, 2:] = mean + (x - mean) / (n + 1)
        blocks = (*blocks[:at], block, *blocks[at + 1 :])
        return replace(
            self, n=self.n + 1, within=within, joint=joint, numbers=numbers, size=size,
            blocks=blocks, first=first, equal=equal,
        )  # fmt: skip

    def decayed(self, by: float) -> Effects:
        """Return the belief when every observation has `by` times its weight."""
        blocks, fade = self.blocks, self.fade * by
        if fade < FADED:
            scale = np.ones(self.d + 2)
            scale[:2] = fade
            blocks, fade = tuple(block * scale for block in blocks), 1.0
        within = math.sqrt(by) * self.within
        faded = replace(self, within=within, joint=None, blocks=blocks, fade=fade)
        return replace(faded, first=math.nan, equal=True) if by == 0.0 else faded

    @cached_property
    def _means(self) -> tuple[Array, Array]:
        """n_i, and xbar_i with the mean return as one more column, and ones as the first."""
        table = self.table
        table = table[table[:, 0] > 0]
        ones = np.ones((len(table), int(self.intercept)))
        means = np.column_stack([ones, table[:, 2:], table[:, 1] / table[:, 0]])
        return table[:, 0] * self.fade, means

    @cached_property
    def _squares(self) -> float:
        """The sum of the squares of all returns, about their mean where there is an intercept."""
        n, means = self._means
        returns = means[:, -1]
        if self.intercept and len(n):
            returns = returns - n @ returns / n.sum()
        return float((self.within[:, -1] ** 2).sum() + n @ returns**2)

    def rejoined(self) -> Effects:
        """Return the same with a factor of V - lambda I that updates can go on with."""
        return self if self.joint is not None else replace(self, joint=self._joined(self.ratio))

    def _joined(self, ratio: float) -> Array:
        """Return the factor of V - lambda I at a value of rho, from the items."""
        n, means = self._means
        scale = np.sqrt(n / (1.0 + n * ratio))
        return triangle(np.asfortranarray(np.vstack([self.within, scale[:, None] * means])))

    def _ridge(self, joint: Array) -> Ridge:
        kept = self.intercept, self.first, self.equal
        return Ridge(self.penalty, self.n, joint, 0.0, *kept)

    @cached_property
    def linear(self) -> Ridge:
        """theta-hat, V and all that follows from them."""
        return self._ridge(self._joined(self.ratio) if self.joint is None else self.joint)

    @property
    def theta(self) -> Array:
        """theta-hat."""
        return self.linear.theta

    def moments_at(self, features: Array, aims: Array) -> Moments:
        """Return the moments of <a_i, theta> + b_i for arms that never change."""
        if self.arms is None or not np.array_equal(features, self.arms):
            raise ValueError(
                f"arm_effects needs the same arms at every step, got {len(features)} after "
                f"{self.size}, or others: leave it out, or offer all in their order"
            )
        pulls, sums = self.fade * self.table[:, :2].T
        all_arms = OfferedEffects(self.linear, self.ratio, self.noise, pulls, sums, self.arms)
        return all_arms.moments_at(features, aims)

    def offered(self, labels: Sequence[Item], waiting: OpenItems | None = None) -> OfferedEffects:
        """Return the belief about the items on offer, in their order.

        Parameters
        ----------
        labels : sequence of str
            The items.
        waiting : OpenItems, optional
            The decisions that are open, whose number counts.
        """
        n, sums, means = self._of(labels)
        told = OfferedEffects(self.linear, self.ratio, self.noise, n, sums, means)
        if waiting is None:
            return told
        more, where = waiting.among(labels)
        both = np.where(n + more > 0, n + more, 1.0)[:, None]
        means = (n[:, None] * means + more[:, None] * where) / both
        linear = self._counting(waiting)
        return replace(told, counted=replace(told, linear=linear, pulls=n + more, means=means))

    def _of(self, labels: Sequence[Item | None]) -> tuple[Array, Array, Array]:
        """Return n_i, R_i and xbar_i of some items."""
        numbers, size, blocks = self.numbers, self.size, self.blocks
        empty = np.zeros(self.d + 2)
        found = [size if label is None else numbers.get(label, size) for label in labels]
        rows = [empty if i >= size else blocks[i // BLOCK][i % BLOCK] for i in found]
        table = np.array(rows).reshape(-1, self.d + 2)
        return table[:, 0] * self.fade, table[:, 1] * self.fade, table[:, 2:]

    def _counting(self, waiting: OpenItems) -> Ridge:
        """Return theta-hat and V, with open decisions counted in V."""
        n, _, means = self._of(waiting.items)
        own = self.ratio / (1.0 + n * self.ratio)
        shrink = n * own
        weight = np.sqrt(waiting.count / (1.0 + waiting.count * own))[:, None]
        between = weight * np.column_stack([1.0 - shrink, waiting.mean - shrink[:, None] * means])
        inside = np.column_stack([np.zeros(len(waiting.within)), waiting.within])
        return self.linear.counting(OpenRows(np.concatenate([inside, between])))

    def likelihood(self, ratios: Array, noise: float | None = None) -> Array:
        """Return sigma^2, on the high side, and the log-likelihood at each value of rho.

        The variance is that of `ridge.cautious_variance`. The likelihood is that of the returns
        with theta and the effects integrated out, up to a constant, at its best variance or the
        given noise.
        """
        n, _ = self._means
        weight = max(float(n.sum()) - self.intercept, LEAST_FREE)
        found = np.empty((2, len(ratios)))
        for k, ratio in enumerate(ratios.tolist()):
            fit = self._ridge(self._joined(ratio))
            rest = max(fit.residual, TINY * self._squares)
            free = max(weight - self.d + self.penalty * float((fit.root**2).sum()), LEAST_FREE)
            grown = np.log1p(n * ratio).sum() - 2.0 * np.log(fit.root.diagonal()).sum()
            if self.intercept:  # integrated out too
                grown += math.log(fit.mass)
            used = rest / weight if noise is None else noise**2
            fitness = -0.5 * (weight * math.log(used) + rest / used + grown)
            found[:, k] = cautious_variance(rest, free), fitness
        return found

    def fitted(self, tau: float | None, noise: float | None) -> Effects:
        """Return the belief with rho, sigma and lambda as given or as estimated.

        Parameters
        ----------
        tau, noise : float, optional
            tau and sigma, if they are known.
        """
        n, means = self._means
        if self._squares == 0.0 or (self.intercept and self.equal):
            return self
        ratio, sigma = fitted_scales(self.likelihood, tau, noise)
        features = means[:, :-1] if self.arms is None else self.arms
        if self.intercept:
            features = features - features.mean(axis=0)
        length = float((features**2).sum(axis=1).mean())
        penalty = fitted_penalty(self.ridge, sigma, length, float(n.sum()), self._squares)
        after = replace(self, ratio=ratio**2, noise=sigma, penalty=penalty)
        return after if self.joint is None else replace(after, joint=after._joined(ratio**2))


@dataclass(frozen=True, eq=False)
class OpenItems:
    """Open decisions, item by item.

    Parameters
    ----------
    items : list of str or None
        The items; None for one without a label.
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
        numbers = dict[Item, int]()
        keys = [row if label is None else label for row, label in enumerate(labels)]
        which = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
        count = np.bincount(which, minlength=len(numbers)).astype(np.float64)
        sums = np.zeros((len(numbers), X.shape[1]))
        np.add.at(sums, which, X)
        mean = sums / count[:, None]
        away = (X - mean[which])[count[which] > 1]
        within = triangle(np.asfortranarray(away)) if len(away) > X.shape[1] else away
        return cls([key if isinstance(key, str) else None for key in numbers], count, mean, within)

    def among(self, labels: Sequence[Item]) -> tuple[Array, Array]:
        """Return how many decisions are open of each of some items, and their mean features."""
        numbers = {label: i for i, label in enumerate(self.items)}
        found = [numbers.get(label, -1) if isinstance(label, str) else -1 for label in labels]
        mean = np.vstack([self.mean, np.zeros(self.mean.shape[1])])
        return np.append(self.count, 0.0)[found], mean[found]


@dataclass(frozen=True, eq=False)
class OfferedEffects:
    """The belief about the items on offer to one choice, a row each.

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
    counted : OfferedEffects, optional
        The same with open decisions in `linear`, `pulls` and `means`.
    """

    linear: Ridge
    ratio: float
    noise: float
    pulls: Array
    sums: Array
    means: Array
    counted: OfferedEffects | None = None

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

    def at(self, row: int) -> OfferedEffects:
        """Return the belief about one of them, without open decisions."""
        one = slice(row, row + 1)
        return OfferedEffects(
            self.linear, self.ratio, self.noise, self.pulls[one], self.sums[one], self.means[one]
        )

    def moments_at(self, features: Array, aims: Array) -> Moments:
        """Return the moments of <a_i, theta> + b_i where items are shown with these features."""
        if len(features) != len(self.pulls):
            raise ValueError(
                f"arm_effects needs all arms on offer, got {len(features)} of {len(self.pulls)}: "
                "offer fewer"
            )
        counted = self.counted or self
        weight = 1.0 / (1.0 + counted.pulls * self.ratio)
        shrink = counted.pulls * self.ratio * weight
        shrunk = shrink[:, None] * counted.means
        target, seen, covariance = with_level(
            counted.linear, self.noise, aims - shrunk, features - shrunk, shrink
        )
        return Moments(
            mean=np.einsum("ij,j->i", aims, self.theta) + self.own,
            target=target,
            seen=seen,
            covariance=covariance,
            own=self.noise**2 * self.ratio * weight,
            noise=self.noise,
        )


@dataclass(frozen=True, eq=False)
class EffectBelief:
    """A belief about arms with effects of their own.

    Parameters
    ----------
    effects : Effects or OfferedEffects
        The belief about arms that never change, or about the items on offer.
    learnt : callable
        Returns arms as they are learnt on.
    wanted : ndarray of shape (d, d) or None
        P_U, if the projection is aimed at.
    """

    effects: Effects | OfferedEffects
    learnt: Callable[[Array], Array]
    wanted: Array | None

    @property
    def noise(self) -> float:
        """The noise as given, or as estimated, on the high side."""
        return self.effects.noise

    def moments(self, X: Array) -> Moments:
        """Return the moments of all arms, the rows of X."""
        return self.effects.moments_at(self.learnt(X), wanted_rows(X, self.wanted))

    def directions(self, normals: Array) -> Array:
        """Raise: arms that are too many to weigh one by one have no effects."""
        raise ValueError("arm_effects weighs each arm on offer, got too many: offer fewer")

    def _all(self, arms: DecisionSet) -> tuple[FiniteArms, Moments]:
        assert isinstance(arms, FiniteArms)  # see `LinearStrategy.init`
        return arms, self.moments(arms.vectors)

    def best(self, arms: DecisionSet) -> Arm:
        """Return the arm with the largest mean, effects included."""
        finite, moments = self._all(arms)
        return finite.arm(int(moments.mean.argmax()))

    def optimistic(self, arms: DecisionSet, radius: float) -> Arm:
        """Return the arm that is best if the belief errs in its favour."""
        finite, moments = self._all(arms)
        scores = moments.mean + radius * np.sqrt(moments.mean_variance) / moments.noise
        return finite.arm(int(scores.argmax()))

    def sampled(self, arms: DecisionSet, rng: np.random.Generator, draws: int) -> list[Arm]:
        """Return the best arm under each draw of theta and of the arms' effects."""
        finite, moments = self._all(arms)
        root = np.linalg.cholesky(moments.covariance)
        theta = rng.standard_normal((draws, len(root))) @ root.T
        own = np.sqrt(moments.own) * rng.standard_normal((draws, finite.size))
        best = (moments.mean + theta @ moments.target.T + own).argmax(axis=1)
        return [finite.arm(int(row)) for row in best]


def tau_estimate(likelihoods: Array) -> float:
    """Return the estimate of tau / sigma from the likelihoods of RATIOS; see `TAU_FACTOR`."""
    chances = likelihoods * PRIOR / (likelihoods * PRIOR).sum()
    return TAU_FACTOR * float(np.interp(TAU_QUANTILE, chances.cumsum() - chances / 2, RATIOS))


def fitted_scales(
    likelihood: Callable[[Array, float | None], Array], tau: float | None, noise: float | None
) -> tuple[float, float]:
    """Return tau / sigma, and sigma, as given or as estimated by `Effects.likelihood`."""
    if tau is None:
        variances, fits = likelihood(RATIOS**2, noise)
        likelihoods = np.exp(fits - fits.max())
        chances = likelihoods * PRIOR
        sigma = noise or math.sqrt(float(chances @ variances) / float(chances.sum()))
        return tau_estimate(likelihoods), sigma
    ratio, sigma = 0.0, noise or 0.0
    for _ in range(ROUNDS if noise is None else 0):
        sigma = math.sqrt(likelihood(np.array([ratio**2]), None)[0, 0])
        sigma = max(sigma, tau / RATIOS[-1])
        ratio = tau / sigma
    return tau / sigma, sigma


def next_refit(n: int) -> int:
    """Return the first of 1, 2, 3, 4, 6, 8, 12, ... that is not less than n.

    After so many observations tau and sigma are estimated anew.
    """
    top = 1 << (n.bit_length() - 1)
    middle = top + top // 2
    return n if n == top else middle if n <= middle else 2 * top


def fitted_penalty(ridge: float, sigma: float, length: float, n: float, squares: float) -> float:
    """Return lambda; see `PENALTY_FACTOR`.

    Parameters
    ----------
    ridge, sigma : float
        The ridge of the strategy, and the noise.
    length : float
        The mean squared length of the features.
    n, squares : float
        The number of returns, and the sum of their squares.
    """
    alone = sigma**2 * length * n / squares
    penalty = PENALTY_FACTOR * (min(ridge, alone) if alone > 0.0 else ridge)
    return max(penalty, LEAST_PENALTY * length)


def _with(factor: Array, row: Array) -> Array:
    """Return the factor with one more row."""
    stacked = np.empty((len(factor) + 1, len(factor)), order="F")
    stacked[:-1], stacked[-1] = factor, row
    return triangle(stacked)
