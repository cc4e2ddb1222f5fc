"""A policy judged on a log of any origin and any size, from sums over its rows.

The rows are taken to be independent of each other given what was on offer and their propensities.
theta-hat in a doubly robust estimate comes from other rows than those it is applied to (five folds,
row by row), so that it is not drawn to their noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import fdtri, stdtrit

from projbandits import statistics
from projbandits._blas import single_threaded_blas
from projbandits._cached import cached_property
from projbandits._checks import Array, one_of, positive
from projbandits.evaluation import estimates as names
from projbandits.evaluation.estimates import Found, effective, table, words
from projbandits.evaluation.grouping import Look, cross_fitted, fixed, look
from projbandits.evaluation.lackoffit import (
    MOST,
    LackOfFit,
    held_out,
    pure_error,
    repeated,
    unknown,
)
from projbandits.evaluation.log import Log, chunks_of
from projbandits.evaluation.log_schema import Schema
from projbandits.evaluation.moments import OUTSIDE, PARTS, SIDES, Cells, Moments, Setting, moments
from projbandits.evaluation.policies import Chances, Policy, as_policy
from projbandits.evaluation.spreading import Progress, spread
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    import pandas as pd

VALUES = ("projection", "return")


@dataclass(frozen=True, eq=False)
class Judged:
    """A policy beside a log.

    Parameters
    ----------
    log : Log
        The log.
    given : object
        The policy as it was given.
    value : str
        "projection" or "return".
    subspace : Subspace
        What counts, in the order of the log's features.
    look : Look
        Sums over the log.
    factor : ndarray of shape (d + 1, d + 1)
        The triangular factor of all rows.
    setting : Setting
        What rows were judged by.
    moments : Moments
        Sums over the rows from which the estimates are made.
    executor : Executor or None
        Where pieces are read.
    """

    log: Log
    given: Any
    value: str
    subspace: Subspace
    look: Look
    factor: Array
    setting: Setting
    moments: Moments
    executor: Executor | None = None

    @single_threaded_blas()
    def estimates(self, level: float = 0.95) -> pd.DataFrame:
        """Return the estimates of the policy's value with their intervals; see docs/logs.md."""
        return table(_found(self, self.moments, [0], level), self.look.rows, self._quick)

    def lack_of_fit(self) -> LackOfFit:
        """Tell whether the linear model holds in this log."""
        return self._fit

    @single_threaded_blas()
    def versus(self, other: Judged, level: float = 0.95) -> pd.DataFrame:
        """Return this policy's value minus another's, with intervals.

        The log is read once more, with both policies side by side. A difference can be in reach
        where neither value is: what both have in common need not be known.
        """
        if not isinstance(other, Judged):
            raise TypeError(f"other must be what replay returned for the same log, got {other!r}")
        same = other.log._rows is self.log._rows and other.value == self.value
        if not same or np.abs(other.subspace.matrix - self.subspace.matrix).max() > 1e-9:
            raise ValueError("other must be judged on the same log, value and subspace")
        policies = [self.policy, other.policy]
        log = self.log.with_columns([name for policy in policies for name in policy.columns])
        both = _sums(log, policies, self.look, self.setting, self.executor, None, True)
        return table(_found(self, both, [0, 1, 2], level), self.look.rows, self._quick)

    @property
    def policy(self) -> Policy:
        """The policy, which has seen no row yet."""
        return as_policy(self.given, self.log.names, self.subspace)

    @property
    def everything(self) -> bool:
        """Whether the whole return counts."""
        return self.value == "return" or self.subspace.dim == self.subspace.ambient

    @cached_property
    def _quick(self) -> LackOfFit | None:
        """The test that takes no further look at the log."""
        if self.look.sums is None or self.log.arms is None:
            return None
        n, means, squares = self.look.sums.total()
        seen = n > 0
        return pure_error(self.log.arms[: len(n)][seen], n[seen], means[seen], squares)

    @cached_property
    def _fit(self) -> LackOfFit:
        repeats = self.log.arms is not None and self.look.rows > len(self.log.arms)
        if self._quick is not None and (repeats or self._quick.method != "none"):
            return self._quick
        X, rewards = sample(self.log, self.look.rows)
        return repeated(X, rewards) or held_out(X, rewards) if len(X) else unknown("it is empty")

    def __str__(self) -> str:
        return words(self.value, self.estimates(), self._quick, self.everything)


@single_threaded_blas()
def judge(
    log: Log,
    policy: Any,
    *,
    value: str = "projection",
    subspace: Subspace | None = None,
    clip: float = names.CLIP,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Judged:
    """Return a policy judged on a log; the parameters are those of `replay`."""
    one_of("value", value, VALUES)
    clip = positive("clip", clip)
    if subspace is None and log.subspace is None:
        subspace = getattr(policy, "subspace", None)
        if value == "projection" and subspace is None:
            raise ValueError(
                "subspace must be given, this log does not say what counts: pass "
                "replay(log, policy, subspace=...), on the command line --protected, or ask for "
                "value='return'"
            )
    wanted = log.matched(subspace)
    checked = as_policy(policy, log.names, wanted)
    log = log.with_columns(checked.columns)
    seen = _look(log, executor, progress)
    if seen.rows == 0:
        raise ValueError("log must have at least one row, got none")
    factor, thetas = cross_fitted(seen.by_fold(log.arms), seen.rows)
    chances = fixed(seen) if log.arms is not None else None
    setting = Setting(
        wanted.matrix if value == "projection" else np.eye(log.d),
        thetas,
        least_squares(factor),
        None if chances is None else chances[None],
        None if seen.sums is None else (seen.sums.n.sum(axis=0) > 0).astype(np.float64),
        clip,
    )
    found = _sums(log, [checked], seen, setting, executor, progress)
    return Judged(log, policy, value, wanted, seen, factor, setting, found, executor)


def least_squares(factor: Array) -> Array:
    """Return theta-hat by least squares; of many, the shortest in the features' units."""
    d = len(factor) - 1
    sizes = np.linalg.norm(factor[:, :d], axis=0)
    scale = np.where(sizes > 0, sizes, 1.0)
    found: Array = np.linalg.lstsq(factor[:, :d] / scale, factor[:, d], rcond=1e-9)[0] / scale
    return found


def _look(log: Log, executor: Executor | None, progress: Progress | None) -> Look:
    work = partial(_look_at, log._schema, log.arms is not None)
    total: Look | None = None
    for seen in spread(work, log._rows.pieces(), executor):
        if seen is not None:
            total = seen if total is None else total.plus(seen)
            if progress is not None:
                progress(seen.rows)
    return total or Look(0, None, None, None)


def _look_at(schema: Schema | None, numbered: bool, piece: Any) -> Look | None:
    total: Look | None = None
    for chunk in chunks_of(schema, piece):
        seen = look(chunk, numbered)
        total = seen if total is None else total.plus(seen)
    return total


def _sums(
    log: Log,
    policies: Sequence[Policy],
    seen: Look,
    setting: Setting,
    executor: Executor | None,
    progress: Progress | None,
    differ: bool = False,
) -> Moments:
    """Return the sums over all rows for some policies; with `differ` also for their difference."""
    schema, learns = log._schema, any(policy.learns for policy in policies)
    whole = schema is not None and not schema.context and not schema.extra and not learns
    # Cells have one propensity each, so the probabilities of all arms must be those of every row.
    whole = whole and (seen.stated is not None or not seen.states)
    if whole and seen.sums is not None and seen.chances is not None and log.arms is not None:
        cells = Cells.grouped(log.arms, seen.sums, seen.chances)
        return _of(cells, policies, setting, differ)
    total: Moments | None = None
    work = partial(_moments, schema, policies, setting, differ)
    # A policy that learns must see the rows in order.
    pieces = log._rows.pieces()
    parts = map(work, pieces) if learns else spread(work, pieces, executor)
    for part in parts:
        if part is not None:
            total = part if total is None else total.plus(part)
            if progress is not None:
                progress(int(part.n))
    assert total is not None
    return total


def _moments(
    schema: Schema | None, policies: Sequence[Policy], setting: Setting, differ: bool, piece: Any
) -> Moments | None:
    total: Moments | None = None
    for chunk in chunks_of(schema, piece):
        # A policy that learns needs every row, in order.
        learns = any(policy.learns for policy in policies)
        cells = Cells.of(chunk) if learns else Cells.together(chunk)
        part = _of(cells, policies, setting, differ)
        total = part if total is None else total.plus(part)
    return total


def _of(cells: Cells, policies: Sequence[Policy], setting: Setting, differ: bool) -> Moments:
    chances: list[Chances] = [policy.chances(cells.chunk) for policy in policies]
    if differ:
        chances.append(chances[0].minus(chances[1]))
    return moments(cells, chances, setting)


def sample(log: Log, rows: int) -> tuple[Array, Array]:
    """Return arms and returns of evenly spread rows."""
    step = -(-rows // MOST)
    parts: list[tuple[Array, Array]] = []
    for chunk in log.chunks():
        at = np.arange(-chunk.first % step, len(chunk.reward), step)
        parts.append((chunk.arms[chunk.action[at]], chunk.reward[at]))
    X, rewards = zip(*parts, strict=True)
    return np.concatenate(X), np.concatenate(rewards)


def _found(judged: Judged, sums: Moments, blocks: list[int], level: float) -> dict[str, Found]:
    """Return the estimates of one policy, or of a difference: of the blocks 0, 1 and 2 = 0 - 1."""
    k, last, z = len(PARTS), blocks[-1], statistics.normal_quantile(level)
    means = sums.first / sums.n
    spread_ = (sums.second - np.outer(sums.first, means)) / max(sums.n - 1, 1.0) / sums.n
    sides = dict(zip(SIDES, sums.sides[last], strict=True))
    reached, covered = sides["reached"] / sums.n, sides["covered"] / sums.n

    def part(name: str) -> tuple[float, float]:
        at = last * k + PARTS.index(name)
        return float(means[at]), float(z * np.sqrt(np.maximum(spread_[at, at], 0.0)))

    found: dict[str, Found] = {}
    size = effective(sides["h"], sides["h2"])
    short = bool(reached < 1)
    for name, column in ((names.LINEAR, "linear"), (names.LINEAR_DOUBLY, "linear_doubly")):
        value, half = part(column)
        note = "" if np.isfinite(value) else names.NO_CHANCES
        if short:
            note = f"out of reach at {1 - reached:.1%} of the decisions"
            half = np.nan
            value = np.nan if name == names.LINEAR else value
        found[name] = Found(value, half, size, reached, note)
    if sums.m.shape[0] and not np.isfinite(sums.m[last]).all():
        for name in (names.LINEAR, names.LINEAR_DOUBLY):
            found[name] = Found(note=names.NO_OFFERS)
    by_arm = [names.PLAIN, names.NORMALISED, names.CLIPPED, names.DOUBLY]
    if not judged.everything:
        found |= dict.fromkeys(by_arm, Found(note=names.NOT_IDENTIFIED))
    elif np.isnan(sides["w"]):
        found |= dict.fromkeys(by_arm, Found(note=names.NO_PROPENSITY))
    else:
        size = effective(sides["w"], sides["w2"])
        less = bool(covered < 1 - 1e-9)
        # Of an arm that the log does not have, it may say how likely it was: then that is never.
        stated = judged.setting.chances is not None or judged.look.states
        lost = np.nan if less and stated else 0.0
        note = f"{1 - covered:.1%} of the policy is on arms that the log does not have" * less
        value, half = part("plain")
        found[names.PLAIN] = Found(value + lost, half, size, covered, note)
        value, gradient = 0.0, np.zeros(len(means))
        for sign, block in zip((1.0, -1.0), blocks[:2], strict=False):
            top, weight = block * k + PARTS.index("plain"), block * k + PARTS.index("weight")
            share = means[top] / means[weight] if means[weight] > 0 else np.nan
            value += sign * share
            gradient[top] += sign / means[weight]
            gradient[weight] -= sign * share / means[weight]
        half = _quadratic(gradient, spread_, z)
        # What is out of reach of both need not cancel here, since each is over its own weights.
        each = sums.sides[blocks[:2], SIDES.index("covered")] / sums.n
        if stated and bool((each < 1 - 1e-9).any()):
            value = np.nan
        found[names.NORMALISED] = Found(float(value) + lost, half, size, covered, note)
        gradient = np.zeros(len(means))
        for sign, block in zip((1.0, -1.0), blocks[:2], strict=False):
            gradient[block * k + PARTS.index("clipped")] = sign
        cut = sums.sides[blocks[:2], SIDES.index("cut")].sum() / sums.n
        clipped = names.cut(judged.setting.clip, float(cut))
        value = float(gradient[gradient != 0] @ means[gradient != 0])
        half = _quadratic(gradient, spread_, z) + abs(part("plain")[0] - value)
        found[names.CLIPPED] = Found(value + lost, half, size, covered, clipped)
        value, half = part("doubly")
        doubly = Found(value, half + lost, size, covered, note)
        found[names.DOUBLY] = doubly if np.isfinite(value) else Found(note=names.NO_OFFERS)
    found[names.MODEL] = _by_model(judged, sums, last, level)
    for name in names.ON_MODEL:
        missed = _missed(judged, sums, last, name, judged._quick)
        if missed is not None:
            found[name] = names.with_effects(found[name], judged._quick, missed, level)
    return {name: found[name] for name in names.NAMES}


def _missed(
    judged: Judged, sums: Moments, block: int, name: str, fit: LackOfFit | None
) -> Array | None:
    """Return with which weight an estimate misses the effect of each arm; None if that is unknown.

    See `with_effects`.
    """
    if sums.by_arm is None or judged.look.sums is None or judged.log.arms is None:
        return None
    wanted, c = sums.by_arm[block] / sums.n
    if name == names.MODEL or fit is None or not fit.between:
        g = _dual(judged, sums.m[block] / sums.n)[0]
        if g is None:
            return None
        counts = judged.look.sums.total()[0]
        c = counts * (judged.log.arms[: len(counts)] @ g)
    return np.asarray(c - wanted if judged.everything else c)


def _quadratic(gradient: Array, spread_: Array, z: float) -> float:
    at = gradient != 0
    small = gradient[at]
    return float(z * np.sqrt(max(small @ spread_[np.ix_(at, at)] @ small, 0.0)))


def _by_model(judged: Judged, sums: Moments, block: int, level: float) -> Found:
    """Return <mean m, theta-hat> with an interval that allows noise of any size at any arm.

    A policy that learnt from returns is drawn to what is overestimated: its interval is Scheffe's,
    which holds for all directions of what counts at once.
    """
    m = sums.m[block] / sums.n
    if not np.isfinite(m).all():
        return Found(note=names.NO_OFFERS)
    g, rank = _dual(judged, m)
    if g is None:
        return Found(reached=0.0, note="the arms chosen do not span what is asked for")
    free = sums.n - rank
    if free <= 0:
        return Found(float(m @ judged.setting.theta), reached=1.0)
    error = np.sqrt(max(float(g @ sums.spread @ g), 0.0) * sums.n / free)
    u = judged.log.d if judged.value == "return" else judged.subspace.dim
    if judged.policy.drawn:
        factor = np.sqrt(u * fdtri(u, free, level))
    else:
        factor = stdtrit(free, 0.5 + level / 2)
    return Found(float(m @ judged.setting.theta), float(factor * error), np.nan, 1.0)


def _dual(judged: Judged, m: Array) -> tuple[Array | None, int]:
    """Return (X^T X)^+ m, None if X does not span m, and the rank of X, the arms chosen."""
    d = judged.log.d
    sizes = np.linalg.norm(judged.factor[:, :d], axis=0)
    scale = np.where(sizes > 0, sizes, 1.0)
    _, values, rows = np.linalg.svd(judged.factor[:, :d] / scale, full_matrices=False)
    kept = values > 1e-9 * values.max(initial=0.0)
    along = rows[kept] @ (m / scale)
    if not np.linalg.norm(m / scale - along @ rows[kept]) <= OUTSIDE * np.linalg.norm(m / scale):
        return None, int(kept.sum())
    return (along / values[kept] ** 2) @ rows[kept] / scale, int(kept.sum())
