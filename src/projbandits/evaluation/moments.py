"""Sums over the rows of a log from which all estimates of a policy's value are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from projbandits._validation import Array
from projbandits.evaluation.cells import Cells
from projbandits.evaluation.estimators import turned
from projbandits.evaluation.policies import Chances
from projbandits.evaluation.schema import SUM, Chunk

MOMENT_PARTS = ("linear", "linear_doubly", "plain", "weight", "clipped", "doubly")
OUT_OF_REACH = 1e-6
"""m_t counts as out of reach if more than this share of its length is."""
MOMENT_ROOM = 4_000_000
"""About how many numbers are turned at a time."""


@dataclass(frozen=True, eq=False)
class Setting:
    """What all rows are judged by.

    Parameters
    ----------
    wanted : ndarray of shape (d, d)
        The projection onto what counts.
    thetas : ndarray of shape (FOLDS, d)
        For each fold, theta-hat from the others.
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
        return Moments(
            self.n + other.n,
            self.first + other.first,
            self.second + other.second,
            self.sides + other.sides,
            self.m + other.m,
            self.spread + other.spread,
            self.implied + other.implied,
            None if self.by_arm is None or other.by_arm is None else self.by_arm + other.by_arm,
        )


MOMENT_SIDES = ("h", "h2", "reached", "w", "w2", "covered", "cut")


def moments(cells: Cells, policies: Sequence[Chances], setting: Setting) -> Moments:
    """Return the sums over some rows, for policies side by side."""
    blocks = [_block(cells, each, setting) for each in policies]
    a = np.concatenate([block[0] for block in blocks], axis=1)
    b = np.concatenate([block[1] for block in blocks], axis=1)
    n, r = cells.size, cells.size * cells.chunk.outcome
    r2 = cells.squares + r * cells.chunk.outcome
    cross = (a * r[:, None]).T @ b
    X = cells.chunk.arms[cells.chunk.action]
    fitted = X @ setting.theta
    lost = r2 - 2 * fitted * r + n * fitted**2
    return Moments(
        float(n.sum()),
        n @ a + r @ b,
        (a * n[:, None]).T @ a + cross + cross.T + (b * r2[:, None]).T @ b,
        np.array([block[2] for block in blocks]),
        np.array([block[3] for block in blocks]),
        (X * np.maximum(lost, 0.0)[:, None]).T @ X,
        _implied(cells, policies, [block[5] for block in blocks], setting),
        None if setting.seen is None else np.array([block[4] for block in blocks]),
    )


def _block(
    cells: Cells, pi: Chances, setting: Setting
) -> tuple[Array, Array, Array, Array, Array | None, Array | None]:
    """Return a and b of each estimate, sums over weights and of m_t, sums by arm, and G_t^+ m_t."""
    chunk, n = cells.chunk, cells.size
    X = chunk.arms[chunk.action]
    a, b = np.zeros((len(n), len(MOMENT_PARTS))), np.zeros((len(n), len(MOMENT_PARTS)))
    sides = dict.fromkeys(MOMENT_SIDES, np.nan)
    total = np.full(X.shape[1], np.nan)
    thetas = setting.thetas[cells.fold]
    explained = np.einsum("ij,ij->i", X, thetas)
    raw = turn = None
    if pi.all is not None and chunk.complete:
        raw = _mean(chunk, pi.all)
        m = raw @ setting.wanted
        total = n @ np.broadcast_to(m, X.shape)
        p = setting.chances if chunk.chances is None else chunk.chances
        if p is not None:
            turn, outside = _turns(m, chunk, p)
            h = np.einsum("ij,ij->i", X, np.broadcast_to(turn, X.shape))
            b[:, 0] = b[:, 1] = h
            a[:, 1] = np.einsum("ij,ij->i", np.broadcast_to(m, X.shape), thetas) - h * explained
            far = np.linalg.norm(outside, axis=1) > OUT_OF_REACH * np.linalg.norm(m, axis=1)
            sides["reached"] = float(n @ np.broadcast_to(~far, n.shape))
            sides["h"], sides["h2"] = float(n @ np.abs(h)), float(n @ h**2)
        else:
            a[:, :2] = np.nan
    else:
        a[:, :2] = np.nan
    if chunk.propensity is None:
        a[:, 2:] = np.nan
    else:
        w = pi.chosen / chunk.propensity
        b[:, 2] = w
        a[:, 3] = w
        b[:, 4] = np.clip(w, -setting.clip, setting.clip)
        sides["w"], sides["w2"] = float(n @ np.abs(w)), float(n @ w**2)
        sides["cut"] = float(n @ (np.abs(w) > setting.clip))
        if raw is None:
            a[:, 5] = np.nan
        else:
            b[:, 5] = w
            of_all = np.einsum("ij,ij->i", np.broadcast_to(raw, X.shape), thetas)
            a[:, 5] = of_all - w * explained
            sides["covered"] = float(n @ np.broadcast_to(_covered(chunk, pi, setting), n.shape))
    arms = None if setting.seen is None else _by_arm(cells, pi, b[:, 0], len(setting.seen))
    return a, b, np.array([sides[name] for name in MOMENT_SIDES]), total, arms, turn


def _implied(
    cells: Cells, policies: Sequence[Chances], turns: Sequence[Array | None], setting: Setting
) -> Array:
    """Return the sum over rows of the covariance of all terms, whichever arm was chosen."""
    chunk, n, thetas = cells.chunk, cells.size, setting.thetas[cells.fold]
    p = setting.chances if chunk.chances is None else chunk.chances
    each = [(pi.all, turn) for pi, turn in zip(policies, turns, strict=True)
            if pi.all is not None and turn is not None]  # fmt: skip
    if p is None or len(each) < len(policies):
        return np.zeros((len(MOMENT_PARTS) * len(policies),) * 2)
    arms = chunk.arms if chunk.offered is None else chunk.arms[chunk.offered]
    if chunk.offered is None and len(p) == max(len(pi) for pi, _ in each) == 1:
        thetas = setting.thetas  # the rows of a fold are alike
        n = np.bincount(cells.fold, n, len(thetas)).astype(np.float64)
    p = np.broadcast_to(p, (len(thetas), arms.shape[-2]))
    returns = arms @ setting.theta
    errors = returns - np.einsum("...kd,...d->...k", arms, thetas)
    terms, weights = list[Array](), list[Array]()
    for pi, turn in each:
        h = np.einsum("...kd,...d->...k", arms, turn)
        w = np.divide(pi, p, out=np.zeros(p.shape), where=p > 0)
        none = np.zeros(1)  # what is the same for all arms of a row, and weights that are cut
        terms += [h * returns, h * errors, w * returns, w, none, w * errors]
        weights += [h, h, w, none, none, w]
    T, B = (np.stack([np.broadcast_to(one, p.shape) for one in some], axis=-1)
            for some in (terms, weights))  # fmt: skip
    T -= np.einsum("nk,nkj->nj", p, T)[:, None]
    sizes = np.sqrt(n[:, None] * p)[..., None]
    T, B = ((sizes * some).reshape(-1, T.shape[-1]) for some in (T, B))
    return np.asarray(T.T @ T + setting.noise * (B.T @ B))


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


def _mean(chunk: Chunk, chances: Array) -> Array:
    """Return the mean of x under a policy, a row for each row or one for all."""
    if chunk.offered is None:
        return chances @ chunk.arms
    means: Array = np.einsum("nm,nmd->nd", chances, chunk.arms[chunk.offered])
    return means


def _turns(m: Array, chunk: Chunk, p: Array) -> tuple[Array, Array]:
    if len(p) == 1:
        return turned(m, chunk.arms, p)
    d, width = m.shape[1], p.shape[1]
    step = max(MOMENT_ROOM // (d * width), 1)
    m = np.broadcast_to(m, (len(p), d))
    parts = []
    for start in range(0, len(p), step):
        some = slice(start, start + step)
        arms = chunk.arms if chunk.offered is None else chunk.arms[chunk.offered[some]]
        parts.append(turned(m[some], arms, p[some]))
    turn, outside = zip(*parts, strict=True)
    return np.concatenate(turn), np.concatenate(outside)


def _covered(chunk: Chunk, pi: Chances, setting: Setting) -> Array:
    """Return how much of the policy lies on arms that the log can have."""
    assert pi.all is not None
    p = setting.chances if chunk.chances is None else chunk.chances
    size = np.abs(pi.all)
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
