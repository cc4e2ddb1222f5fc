"""Sums over the rows of a log from which all estimates of a policy's value are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import Array
from projbandits.evaluation.cells import Cells
from projbandits.evaluation.estimators import turned
from projbandits.evaluation.policies import Chances
from projbandits.evaluation.schema import SUM, Chunk

MOMENT_PARTS = ("linear", "linear_doubly", "plain", "weight", "clipped", "doubly")
OUT_OF_REACH = 1e-6
"""m_t counts as out of reach if more than this share of its length is."""
MOMENT_ROOM = 4_000_000
"""About how many numbers are worked on at a time."""


@dataclass(frozen=True, eq=False)
class Setting:
    """What all rows are judged by.

    Parameters
    ----------
    wanted : ndarray of shape (d, d)
        The projection onto what counts.
    thetas : ndarray of shape (FOLDS, d) or (n, d)
        For each fold, theta-hat from the others; or that of the rows before each row, which then
        is the fold's number.
    theta : ndarray of shape (d,)
        theta-hat by least squares from all rows.
    chances : ndarray of shape (1, K) or None
        How likely each arm was chosen throughout, if that is known.
    seen : ndarray of shape (K,) or None
        Whether each arm was ever chosen, where arms are numbered.
    clip : float
        The largest weight of the clipped estimate.
    noise : float
        The variance of what theta-hat leaves of the returns.
    """

    wanted: Array
    thetas: Array
    theta: Array
    chances: Array | None
    seen: Array | None
    clip: float
    noise: float


@dataclass(eq=False)
class Moments:
    """Sums over rows; k estimates for each policy.

    `implied` is the covariance of the estimates' terms over the choice of the arm and the noise, by
    theta-hat and noise of one size; zeros where the probabilities of all arms are unknown.
    Where arms are numbered, `by_arm` has for each policy and each arm the sums of the policy's
    probability of it, and of h_t where it was chosen.
    """

    n: float
    first: Array
    second: Array
    sides: Array
    m: Array
    spread: Array
    implied: Array
    by_arm: Array | None = None

    def plus(self, other: Moments) -> Moments:
        """Return the sums over the rows of both."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        sums: Any = [None if x is None or y is None else x + y for x, y in pairs]
        return Moments(*sums)


MOMENT_SIDES = ("h", "h2", "reached", "w", "w2", "covered", "cut")


class Terms(NamedTuple):
    """The term of each row in the estimates of a policy: a + b r, where r is the return.

    Parameters
    ----------
    a, b : ndarray of shape (n, 6)
        For each of `MOMENT_PARTS`; nan where that is unknown.
    sides : ndarray of shape (n, 7)
        `MOMENT_SIDES`.
    m : ndarray of shape (n, d) or (1, d)
        m_t; nan if it is unknown what was on offer.
    turn, outside : ndarray of the shape of m, or None
        G_t^+ m_t, and what of m_t lies outside the span of the arms that could be chosen.
    """

    a: Array
    b: Array
    sides: Array
    m: Array
    turn: Array | None
    outside: Array | None


def terms(cells: Cells, pi: Chances, setting: Setting) -> Terms:
    """Return what each cell adds to the estimates of a policy."""
    chunk, n = cells.chunk, len(cells.size)
    X, thetas, p = chunk.arms[chunk.action], setting.thetas[cells.fold], _known(chunk, setting)
    a, b = np.zeros((n, len(MOMENT_PARTS))), np.zeros((n, len(MOMENT_PARTS)))
    sides = np.full((n, len(MOMENT_SIDES)), np.nan)
    m, explained = np.full((1, X.shape[1]), np.nan), rowwise(X, thetas)
    raw = turn = outside = None
    if pi.all is not None and chunk.complete:
        arms = chunk.arms if chunk.offered is None else chunk.arms[chunk.offered]
        raw = np.einsum("nk,nkd->nd", pi.all, arms) if arms.ndim > 2 else pi.all @ arms
        m = raw @ setting.wanted
    if raw is None or p is None:
        a[:, :2] = np.nan
    else:
        turn, outside = turned(m, arms, p)
        h = rowwise(X, turn)
        b[:, 0] = b[:, 1] = h
        a[:, 1] = rowwise(thetas, m) - h * explained
        sides[:, 0], sides[:, 1], sides[:, 2] = np.abs(h), h**2, within_reach(outside, m)
    if chunk.propensity is None:
        a[:, 2:] = np.nan
    else:
        w = pi.chosen / chunk.propensity
        a[:, 3] = b[:, 2] = b[:, 5] = w
        b[:, 4] = np.clip(w, -setting.clip, setting.clip)
        sides[:, 3], sides[:, 4], sides[:, 6] = np.abs(w), w**2, np.abs(w) > setting.clip
        a[:, 5] = np.nan if raw is None else rowwise(thetas, raw) - w * explained
        if raw is not None:
            sides[:, 5] = _covered(chunk, pi, setting)
    return Terms(a, b, sides, m, turn, outside)


def rowwise(A: Array, B: Array) -> Array:
    """Return the product of each row of A with that of B, which may have one for all."""
    products: Array = np.einsum("ij,ij->i", A, np.broadcast_to(B, A.shape))
    return products


def within_reach(outside: Array, m: Array) -> NDArray[np.bool_]:
    """Tell whether each m_t lies in the span of the arms that could be chosen."""
    left, sizes = np.linalg.norm(outside, axis=1), np.linalg.norm(m, axis=1)
    return np.asarray(left <= OUT_OF_REACH * np.maximum(sizes, np.finfo(np.float64).tiny))


def moments(cells: Cells, policies: Sequence[Chances], setting: Setting) -> Moments:
    """Return the sums over some rows, for policies side by side."""
    blocks = [terms(cells, each, setting) for each in policies]
    a = np.concatenate([block.a for block in blocks], axis=1)
    b = np.concatenate([block.b for block in blocks], axis=1)
    n, r = cells.size, cells.size * cells.chunk.outcome
    r2 = cells.squares + r * cells.chunk.outcome
    cross = (a * r[:, None]).T @ b
    X = cells.chunk.arms[cells.chunk.action]
    fitted = X @ setting.theta
    lost = r2 - 2 * fitted * r + n * fitted**2
    by_arm = None
    if setting.seen is not None:
        pairs = zip(policies, blocks, strict=True)
        by_arm = np.array([_by_arm(cells, pi, t.b[:, 0], len(setting.seen)) for pi, t in pairs])
    return Moments(
        float(n.sum()),
        n @ a + r @ b,
        (a * n[:, None]).T @ a + cross + cross.T + (b * r2[:, None]).T @ b,
        np.array([n @ block.sides for block in blocks]),
        np.array([n @ np.broadcast_to(block.m, X.shape) for block in blocks]),
        (X * np.maximum(lost, 0.0)[:, None]).T @ X,
        _implied(cells, policies, blocks, setting),
        by_arm,
    )


def _implied(
    cells: Cells, policies: Sequence[Chances], blocks: Sequence[Terms], setting: Setting
) -> Array:
    """Return the sum over rows of the covariance of all terms, whichever arm was chosen."""
    chunk, n, thetas = cells.chunk, cells.size, setting.thetas[cells.fold]
    p, size = _known(chunk, setting), len(MOMENT_PARTS) * len(policies)
    chances = [pi.all for pi in policies if pi.all is not None]
    if p is None or len(chances) < len(policies) or any(t.turn is None for t in blocks):
        return np.zeros((size, size))
    if chunk.offered is None and len(p) == max(map(len, chances)) == 1:
        thetas = setting.thetas  # the rows of a fold are alike
        n = np.bincount(cells.fold, n, len(thetas)).astype(np.float64)
    pairs = [
        possible(chunk, pi, p, thetas, each.turn, setting)
        for pi, each in zip(policies, blocks, strict=True)
    ]
    T, B = (np.concatenate(some, axis=-1) for some in zip(*pairs, strict=True))
    sizes = np.sqrt(n[:, None] * p)[..., None]
    T, B = ((sizes * some).reshape(-1, size) for some in (T, B))
    return np.asarray(T.T @ T + setting.noise * (B.T @ B))


def possible(
    chunk: Chunk, pi: Chances, p: Array, thetas: Array, turn: Array | None, setting: Setting
) -> tuple[Array, Array]:
    """Return what each arm would have added to the estimates, less the mean, and its weights.

    Both are arrays of shape (n, K, 6): rows by arms on offer by estimates.
    """
    assert pi.all is not None
    assert turn is not None
    arms = chunk.arms if chunk.offered is None else chunk.arms[chunk.offered]
    shape = len(thetas), arms.shape[-2]
    returns = arms @ setting.theta
    errors = returns - np.einsum("...kd,...d->...k", arms, thetas)
    h = np.einsum("...kd,...d->...k", arms, turn)
    w = np.divide(pi.all, p, out=np.zeros(np.broadcast_shapes(pi.all.shape, p.shape)), where=p > 0)
    none = np.zeros(1)  # what is the same for all arms of a row, and weights that are cut
    T, B = (
        np.stack([np.broadcast_to(one, shape) for one in some], axis=-1)
        for some in (
            (h * returns, h * errors, w * returns, w, none, w * errors),
            (h, h, w, none, none, w),
        )
    )
    T -= np.einsum("nk,nkj->nj", np.broadcast_to(p, shape), T)[:, None]
    return T, B


def _known(chunk: Chunk, setting: Setting) -> Array | None:
    """Return how likely each arm was chosen, None if that is unknown."""
    return setting.chances if chunk.chances is None else chunk.chances


def _by_arm(cells: Cells, pi: Chances, h: Array, size: int) -> Array:
    """Return the sums of the policy's probability of each arm, and of h where it was chosen."""
    chunk, n = cells.chunk, cells.size
    chosen = np.bincount(chunk.action, n * h, minlength=size)
    if pi.all is None:
        return np.array([np.full(size, np.nan), chosen])
    if chunk.offered is None:
        return np.array([np.broadcast_to(n @ pi.all if len(pi.all) > 1 else n.sum() * pi.all[0],
                                         size), chosen])  # fmt: skip
    # Where fewer were on offer the number is -1, and its probability 0.
    mass = np.bincount((chunk.offered + 1).ravel(), (n[:, None] * pi.all).ravel(), size + 1)
    return np.array([mass[1:], chosen])


def _covered(chunk: Chunk, pi: Chances, setting: Setting) -> Array:
    """Return how much of the policy lies on arms that the log can have."""
    assert pi.all is not None
    p, size = _known(chunk, setting), np.abs(pi.all)
    if p is not None:
        there = (size * (p > 0)).sum(axis=1)
    elif setting.seen is not None:
        seen = setting.seen if chunk.offered is None else setting.seen[chunk.offered]
        there = (size * seen).sum(axis=1)
    else:
        there = np.full(1, np.nan)
    if p is None and chunk.propensity is not None:
        # An arm that was certain leaves nothing to the others.
        there = np.where(chunk.propensity >= 1 - SUM, np.abs(pi.chosen), there)
    whole = size.sum(axis=1)
    return np.asarray(np.where(whole > 0, there / np.where(whole > 0, whole, 1.0), 1.0))
