"""The estimates of a policy's value, or of a difference, from sums over the rows of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import fdtri, stdtrit

from projbandits import statistics
from projbandits._validation import Array
from projbandits.evaluation import estimators as names
from projbandits.evaluation.estimators import PolicyEstimate, effective
from projbandits.evaluation.lack_of_fit import LackOfFit
from projbandits.evaluation.moments import MOMENT_PARTS, MOMENT_SIDES, OUT_OF_REACH, Moments

if TYPE_CHECKING:
    from projbandits.evaluation.judging import Judged

Spreads = tuple[Array, Array]
"""The covariance of the means by the squares of the log, and as its probabilities imply it."""
RARE = 1.5
"""The variance by the probabilities counts from this many times that by squares on."""


def found(
    judged: Judged, sums: Moments, blocks: list[int], level: float
) -> dict[str, PolicyEstimate]:
    """Return the estimates of one policy, or of a difference: of the blocks 0, 1 and 2 = 0 - 1."""
    k, last, z = len(MOMENT_PARTS), blocks[-1], statistics.normal_quantile(level)
    means = sums.first / sums.n
    squares = (sums.second - np.outer(sums.first, means)) / max(sums.n - 1, 1.0) / sums.n
    spreads = squares, sums.implied / sums.n**2
    sides = dict(zip(MOMENT_SIDES, sums.sides[last], strict=True))
    reached, covered = sides["reached"] / sums.n, sides["covered"] / sums.n

    def part(name: str) -> tuple[float, float]:
        at = last * k + MOMENT_PARTS.index(name)
        return float(means[at]), _quadratic(np.eye(len(means))[at], spreads, z)

    estimates: dict[str, PolicyEstimate] = {}
    size = effective(sides["h"], sides["h2"])
    short = bool(reached < 1)
    for name, column in ((names.LINEAR, "linear"), (names.LINEAR_DOUBLY, "linear_doubly")):
        value, half = part(column)
        note = "" if np.isfinite(value) else names.NO_CHANCES
        if short:
            note = f"out of reach at {1 - reached:.1%} of the decisions"
            half = np.nan
            value = np.nan if name == names.LINEAR else value
        estimates[name] = PolicyEstimate(value, half, size, reached, note)
    if sums.m.shape[0] and not np.isfinite(sums.m[last]).all():
        for name in (names.LINEAR, names.LINEAR_DOUBLY):
            estimates[name] = PolicyEstimate(note=names.NO_OFFERS)
    by_arm = [names.PLAIN, names.NORMALISED, names.CLIPPED, names.DOUBLY]
    if not judged.everything:
        estimates |= dict.fromkeys(by_arm, PolicyEstimate(note=names.NOT_IDENTIFIED))
    elif np.isnan(sides["w"]):
        estimates |= dict.fromkeys(by_arm, PolicyEstimate(note=names.NO_PROPENSITY))
    else:
        size = effective(sides["w"], sides["w2"])
        each = sums.sides[blocks[:2], MOMENT_SIDES.index("covered")] / sums.n
        less = bool(covered < 1 - 1e-9)
        note = f"{1 - covered:.1%} of the policy is on arms that the log does not have" * less
        # Weights average 1, and those of a difference 0, where no arm of the policy is missing.
        stated = judged.setting.chances is not None or judged.look.states
        total, weight = (1.0 if len(blocks) == 1 else 0.0), part("weight")[0]
        light = len(blocks) > 1 and abs(weight) > names.LIGHT * part("weight")[1] / z
        if len(blocks) == 1 or np.isnan(covered):
            at = [block * k + MOMENT_PARTS.index("weight") for block in blocks[:2]]
            errors = np.sqrt(np.maximum(squares[at, at], 0.0))
            light |= bool((1 - means[at] > names.LIGHT * errors + 1e-9).any())
        if light and not less and not stated:
            less, covered = True, covered if len(blocks) > 1 else weight
            note = (
                f"weights average {weight:.3g} and not {total:g}: the log lacks arms of the policy"
            )
        lost = np.nan if less else 0.0
        value, half = part("plain")
        estimates[names.PLAIN] = PolicyEstimate(value + lost, half, size, covered, note)
        if less and judged.bounds is not None:
            low, high = (_at_end(ends, means, spreads, blocks, z) for ends in
                         (judged.bounds, judged.bounds[::-1]))  # fmt: skip
            estimates[names.PLAIN] = names.within(
                estimates[names.PLAIN], low, high, judged.bounds, differs=len(blocks) > 1
            )
        value, gradient = 0.0, np.zeros(len(means))
        for sign, block in zip((1.0, -1.0), blocks[:2], strict=False):
            top, weight = (
                block * k + MOMENT_PARTS.index("plain"),
                block * k + MOMENT_PARTS.index("weight"),
            )
            if not means[weight] > 0:  # no choice of the log is one of the policy's
                value = np.nan
                continue
            share = means[top] / means[weight]
            value += sign * share
            gradient[top] += sign / means[weight]
            gradient[weight] -= sign * share / means[weight]
        half = _quadratic(gradient, spreads, z)
        # What is out of reach of both need not cancel here, since each is over its own weights.
        if bool((each < 1 - 1e-9).any()):
            value = np.nan
        estimates[names.NORMALISED] = PolicyEstimate(float(value) + lost, half, size, covered, note)
        gradient = np.zeros(len(means))
        for sign, block in zip((1.0, -1.0), blocks[:2], strict=False):
            gradient[block * k + MOMENT_PARTS.index("clipped")] = sign
        cut = sums.sides[blocks[:2], MOMENT_SIDES.index("cut")].sum() / sums.n
        clipped = note or names.cut(judged.setting.clip, float(cut))
        value = float(gradient[gradient != 0] @ means[gradient != 0])
        whole = np.eye(len(means))[last * k + MOMENT_PARTS.index("plain")]
        half = _quadratic(gradient, spreads, z, whole) + abs(part("plain")[0] - value)
        estimates[names.CLIPPED] = PolicyEstimate(value + lost, half, size, covered, clipped)
        value, half = part("doubly")
        doubly = PolicyEstimate(value, half + lost, size, covered, note)
        estimates[names.DOUBLY] = (
            doubly if np.isfinite(value) else PolicyEstimate(note=names.NO_OFFERS)
        )
    estimates[names.MODEL] = _by_model(judged, sums, last, level)
    names.unsupported(estimates)
    for name in names.ON_MODEL:
        missed = _missed(judged, sums, last, name, judged._quick)
        if missed is not None:
            estimates[name] = names.with_effects(estimates[name], judged._quick, missed, level)
    return {name: estimates[name] for name in names.ESTIMATE_NAMES}


def _at_end(
    ends: tuple[float, float], means: Array, spreads: Spreads, blocks: list[int], z: float
) -> tuple[float, float]:
    """Return the value if outcomes that the log lacks were at an end, and half of its interval.

    That is e + E[w (r - e)]. `ends` has the end for the policy, and that for one that is taken off.
    """
    k, value, gradient = len(MOMENT_PARTS), 0.0, np.zeros(len(means))
    for sign, block, end in zip((1.0, -1.0), blocks[:2], ends, strict=False):
        value += sign * end
        gradient[block * k + MOMENT_PARTS.index("plain")] = sign
        gradient[block * k + MOMENT_PARTS.index("weight")] = -sign * end
    at = gradient != 0  # other means may be unknown
    return float(value + gradient[at] @ means[at]), _quadratic(gradient, spreads, z)


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


def _quadratic(gradient: Array, spreads: Spreads, z: float, whole: Array | None = None) -> float:
    """Return half of the interval; of weights that were cut, `whole` has those that were not.

    Where exploring is rare, the squares of a log seldom hold the large weights that they should.
    """

    def variance(g: Array, spread: Array) -> float:
        at = g != 0  # other means may be unknown
        return max(float(g[at] @ spread[np.ix_(at, at)] @ g[at]), 0.0)

    whole = gradient if whole is None else whole
    squares, implied = (variance(whole, spread) for spread in spreads)
    least = implied if implied > RARE * squares else 0.0
    return float(z * np.sqrt(max(variance(gradient, spreads[0]), least)))


def _by_model(judged: Judged, sums: Moments, block: int, level: float) -> PolicyEstimate:
    """Return <mean m, theta-hat> with an interval that allows noise of any size at any arm.

    A policy that learnt from returns is drawn to what is overestimated: its interval is Scheffe's,
    which holds for all directions of what counts at once.
    """
    m = sums.m[block] / sums.n
    if not np.isfinite(m).all():
        return PolicyEstimate(note=names.NO_OFFERS)
    g, rank = _dual(judged, m)
    if g is None:
        return PolicyEstimate(reached=0.0, note="the arms chosen do not span what is asked for")
    free = sums.n - rank
    if free <= 0:
        return PolicyEstimate(float(m @ judged.setting.theta), reached=1.0)
    # Of arms chosen seldom the squares say too little: then noise of one size is assumed.
    R = judged.factor
    of_one_size = float(R[-1, -1] ** 2) / free * float(np.square(R[:-1, :-1] @ g).sum())
    error = np.sqrt(max(float(g @ sums.spread @ g) * sums.n / free, of_one_size))
    u = judged.log.d if judged.value == "return" else judged.subspace.dim
    if judged.policy.drawn:
        factor = np.sqrt(u * fdtri(u, free, level))
    else:
        factor = stdtrit(free, 0.5 + level / 2)
    return PolicyEstimate(float(m @ judged.setting.theta), float(factor * error), np.nan, 1.0)


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
