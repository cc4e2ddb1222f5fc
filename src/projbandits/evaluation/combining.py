"""The estimates of a policy's value, or of a difference, from sums over the rows of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import fdtri, stdtrit

from projbandits import statistics
from projbandits._checks import Array
from projbandits.evaluation import estimates as names
from projbandits.evaluation.estimates import Found, effective
from projbandits.evaluation.lackoffit import LackOfFit
from projbandits.evaluation.moments import MOMENT_PARTS, MOMENT_SIDES, OUT_OF_REACH, Moments

if TYPE_CHECKING:
    from projbandits.evaluation.judging import Judged


def found(judged: Judged, sums: Moments, blocks: list[int], level: float) -> dict[str, Found]:
    """Return the estimates of one policy, or of a difference: of the blocks 0, 1 and 2 = 0 - 1."""
    k, last, z = len(MOMENT_PARTS), blocks[-1], statistics.normal_quantile(level)
    means = sums.first / sums.n
    spread_ = (sums.second - np.outer(sums.first, means)) / max(sums.n - 1, 1.0) / sums.n
    sides = dict(zip(MOMENT_SIDES, sums.sides[last], strict=True))
    reached, covered = sides["reached"] / sums.n, sides["covered"] / sums.n

    def part(name: str) -> tuple[float, float]:
        at = last * k + MOMENT_PARTS.index(name)
        return float(means[at]), float(z * np.sqrt(np.maximum(spread_[at, at], 0.0)))

    estimates: dict[str, Found] = {}
    size = effective(sides["h"], sides["h2"])
    short = bool(reached < 1)
    for name, column in ((names.LINEAR, "linear"), (names.LINEAR_DOUBLY, "linear_doubly")):
        value, half = part(column)
        note = "" if np.isfinite(value) else names.NO_CHANCES
        if short:
            note = f"out of reach at {1 - reached:.1%} of the decisions"
            half = np.nan
            value = np.nan if name == names.LINEAR else value
        estimates[name] = Found(value, half, size, reached, note)
    if sums.m.shape[0] and not np.isfinite(sums.m[last]).all():
        for name in (names.LINEAR, names.LINEAR_DOUBLY):
            estimates[name] = Found(note=names.NO_OFFERS)
    by_arm = [names.PLAIN, names.NORMALISED, names.CLIPPED, names.DOUBLY]
    if not judged.everything:
        estimates |= dict.fromkeys(by_arm, Found(note=names.NOT_IDENTIFIED))
    elif np.isnan(sides["w"]):
        estimates |= dict.fromkeys(by_arm, Found(note=names.NO_PROPENSITY))
    else:
        size = effective(sides["w"], sides["w2"])
        less = bool(covered < 1 - 1e-9)
        # Of an arm that the log does not have, it may say how likely it was: then that is never.
        stated = judged.setting.chances is not None or judged.look.states
        lost = np.nan if less and stated else 0.0
        note = f"{1 - covered:.1%} of the policy is on arms that the log does not have" * less
        value, half = part("plain")
        estimates[names.PLAIN] = Found(value + lost, half, size, covered, note)
        value, gradient = 0.0, np.zeros(len(means))
        for sign, block in zip((1.0, -1.0), blocks[:2], strict=False):
            top, weight = (
                block * k + MOMENT_PARTS.index("plain"),
                block * k + MOMENT_PARTS.index("weight"),
            )
            share = means[top] / means[weight] if means[weight] > 0 else np.nan
            value += sign * share
            gradient[top] += sign / means[weight]
            gradient[weight] -= sign * share / means[weight]
        half = _quadratic(gradient, spread_, z)
        # What is out of reach of both need not cancel here, since each is over its own weights.
        each = sums.sides[blocks[:2], MOMENT_SIDES.index("covered")] / sums.n
        if stated and bool((each < 1 - 1e-9).any()):
            value = np.nan
        estimates[names.NORMALISED] = Found(float(value) + lost, half, size, covered, note)
        gradient = np.zeros(len(means))
        for sign, block in zip((1.0, -1.0), blocks[:2], strict=False):
            gradient[block * k + MOMENT_PARTS.index("clipped")] = sign
        cut = sums.sides[blocks[:2], MOMENT_SIDES.index("cut")].sum() / sums.n
        clipped = names.cut(judged.setting.clip, float(cut))
        value = float(gradient[gradient != 0] @ means[gradient != 0])
        half = _quadratic(gradient, spread_, z) + abs(part("plain")[0] - value)
        estimates[names.CLIPPED] = Found(value + lost, half, size, covered, clipped)
        value, half = part("doubly")
        doubly = Found(value, half + lost, size, covered, note)
        estimates[names.DOUBLY] = doubly if np.isfinite(value) else Found(note=names.NO_OFFERS)
    estimates[names.MODEL] = _by_model(judged, sums, last, level)
    for name in names.ON_MODEL:
        missed = _missed(judged, sums, last, name, judged._quick)
        if missed is not None:
            estimates[name] = names.with_effects(estimates[name], judged._quick, missed, level)
    return {name: estimates[name] for name in names.ESTIMATE_NAMES}


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
    length = np.linalg.norm(m / scale)
    if not np.linalg.norm(m / scale - along @ rows[kept]) <= OUT_OF_REACH * length:
        return None, int(kept.sum())
    return (along / values[kept] ** 2) @ rows[kept] / scale, int(kept.sum())
