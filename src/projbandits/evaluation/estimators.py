"""The estimates of a policy's value by name: what each assumes, and the table of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from projbandits._validation import Array, real
from projbandits.evaluation.lack_of_fit import LackOfFit
from projbandits.statistics import normal_quantile

if TYPE_CHECKING:
    import pandas as pd

LINEAR = "linear weights"
LINEAR_DOUBLY = "linear weights, doubly robust"
PLAIN = "arm by arm"
NORMALISED = "arm by arm, self-normalised"
CLIPPED = "arm by arm, clipped"
DOUBLY = "arm by arm, doubly robust"
MODEL = "model"
ESTIMATE_NAMES = (LINEAR, LINEAR_DOUBLY, PLAIN, NORMALISED, CLIPPED, DOUBLY, MODEL)
ON_MODEL = (LINEAR, LINEAR_DOUBLY, MODEL)
"""Those that are wrong where returns are not linear in the features."""
LIGHT = 3.3
"""From how many standard errors on weights are said to add up to too little."""
CLIP = 10.0
"""The largest weight of the clipped estimate, unless another is asked for."""

ASSUMES = {
    LINEAR: "linear returns, propensities",
    LINEAR_DOUBLY: "linear returns; propensities or theta-hat",
    PLAIN: "propensities",
    NORMALISED: "propensities",
    CLIPPED: "propensities, little cut",
    DOUBLY: "propensities; or linear returns",
    MODEL: "linear returns",
}
SAME_SHARE = 1e-6
"""Weights that differ by less are the same."""
NOT_TESTED = "linear returns not tested: every mean fits"
NOT_IDENTIFIED = (
    "not identified arm by arm: the projection of a return was never observed, only the linear "
    "model tells it; ask for value='return'"
)
NO_CHANCES = "the log has the probability of the chosen arm only: give those of all arms"
NO_PROPENSITY = "the log has no propensities"
NO_OFFERS = "what was on offer, or the policy's probabilities of it, is unknown"


Bounds = tuple[float, float]


class PolicyEstimate(NamedTuple):
    """An estimate.

    Parameters
    ----------
    value, half : float
        The estimate and half of its interval.
    effective : float
        The effective number of decisions, (sum |h|)^2 / sum h^2 by the weights h.
    reached : float
        The share of decisions at which the log can tell.
    note : str
        What to know about it.
    bounds : (float, float) or None
        The ends where the value is unknown, and known to lie between them.
    """

    value: float = np.nan
    half: float = np.nan
    effective: float = np.nan
    reached: float = np.nan
    note: str = ""
    bounds: tuple[float, float] | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of its interval."""
        return (self.value - self.half, self.value + self.half) if not self.bounds else self.bounds


def table(found: Mapping[str, PolicyEstimate], n: float, fit: LackOfFit | None) -> pd.DataFrame:
    """Return estimates as a table, those marked that rest on a model that does not hold."""
    import pandas as pd

    doubtful = fit is not None and fit.holds is False
    rows = []
    for name, each in found.items():
        marks = ["NOT TO BE TRUSTED: lack of fit"] * (doubtful and name in ON_MODEL)
        rows.append(
            {
                "value": each.value,
                "low": each.ends[0],
                "high": each.ends[1],
                "decisions": n,
                "effective": each.effective,
                "reached": each.reached,
                "unsupported": 1.0 - each.reached,
                "assumes": ASSUMES[name],
                "note": "; ".join(marks + [each.note] * bool(each.note)),
            }
        )
    return pd.DataFrame(rows, index=[*found])


def words(value: str, estimates: pd.DataFrame, fit: LackOfFit | None, everything: bool) -> str:
    """Return a table of estimates with what must be said of it."""
    said = [
        f"The {value} value of the policy at the decisions of the log, with 95 % intervals.",
        "",
        estimates[["value", "low", "high", "effective", "unsupported"]].to_string(na_rep=""),
        "",
    ]
    said += [f"- {name}: {note}" for name, note in estimates["note"].items() if note]
    if fit is not None:
        said.append(fit.words)
        if fit.holds is False:
            said.append(
                f"So {', '.join(ON_MODEL[:-1])} and {MODEL} are not to be trusted"
                + (": look at the estimates arm by arm." if everything else ".")
            )
    if value == "projection" and not everything:
        said.append(
            "If arms have effects of their own beyond their features, this log identifies the "
            "return value arm by arm, but the projection value only as far as those effects are "
            "unrelated to the features."
        )
    return "\n".join(said)


def bounded(value: Any, everything: bool) -> Bounds | None:
    """Return bounds on the outcomes as two numbers, or raise."""
    if value is None:
        return None
    ends = [] if isinstance(value, str) or not isinstance(value, Sequence) else [*value]
    if len(ends) != 2:
        raise TypeError(
            f"bounds must be two numbers, the least and the largest outcome, got {value!r}"
        )
    low, high = (
        real(name, end) for name, end in zip(("bounds[0]", "bounds[1]"), ends, strict=True)
    )
    if not low < high:
        raise ValueError(f"bounds must have the least outcome first, got {value!r}")
    if not everything:
        raise ValueError(
            "bounds must be None for the projection value, whose part of an outcome was never "
            f"observed, got {value!r}: ask for value='return'"
        )
    return low, high


def check_bounds(bounds: Bounds | None, least: float, largest: float) -> None:
    """Raise if outcomes lie outside bounds."""
    if bounds is not None and not bounds[0] <= least <= largest <= bounds[1]:
        raise ValueError(
            f"bounds must hold every outcome, got {bounds!r} and outcomes from {least:g} to "
            f"{largest:g}"
        )


def within(
    found: PolicyEstimate,
    low: tuple[float, float],
    high: tuple[float, float],
    bounds: Bounds,
    *,
    differs: bool,
) -> PolicyEstimate:
    """Return an estimate whose support is missing, with bounds instead.

    Parameters
    ----------
    found : PolicyEstimate
        The estimate.
    low, high : (float, float)
        The estimate if outcomes that the log lacks were the least, or the largest, there are; each
        with half of its interval.
    bounds : (float, float)
        The least and the largest outcome.
    differs : bool
        Whether it is a difference of two values, which may be as large as the bounds are apart.
    """
    least, largest = (bounds[0] - bounds[1], bounds[1] - bounds[0]) if differs else bounds
    said = f"bounds: outcomes that the log lacks lie in [{bounds[0]:g}, {bounds[1]:g}]"
    note = "; ".join(filter(None, [found.note, said]))
    ends = max(low[0] - low[1], least), min(high[0] + high[1], largest)
    return found._replace(value=np.nan, note=note, bounds=ends)


def unsupported(found: dict[str, PolicyEstimate]) -> None:
    """Take the values that rest on theta-hat alone where it cannot tell them either."""
    for name in (LINEAR_DOUBLY, DOUBLY):
        if math.isnan(found[name].half) and math.isnan(found[MODEL].value):
            found[name] = found[name]._replace(value=np.nan)


def cut(clip: float, share: float) -> str:
    """Return the note of the clipped estimate."""
    if share == 0:
        return f"weights cut at {clip:g}: none were"
    return f"weights cut at {clip:g}: {share:.1%} of them; the interval allows for what was cut"


def with_effects(
    found: PolicyEstimate, fit: LackOfFit | None, missed: Array, level: float
) -> PolicyEstimate:
    """Return an estimate that rests on the linear model, with room for what arms have beside it.

    An estimate that weights the effect of arm a by c_a misses the return value of the policy by
    sum_a (c_a - pi_a) b_a, and the projection value, in which effects do not count, by
    sum_a c_a b_a. The effects b_a are taken to be unrelated to the features and to have the
    variance that the test for lack of fit finds. Where it finds no lack of fit, small effects may
    be there that did not show: then the quantile of Student's distribution is that of all by which
    means differ, effects and noise, and only the normal one of noise is taken off. Where every mean
    fits, none would show, and the note says so.

    Parameters
    ----------
    found : PolicyEstimate
        The estimate.
    fit : LackOfFit or None
        What was found of the linear model.
    missed : ndarray of shape (K,)
        c_a - pi_a, or c_a. Where every mean fits, that of the model.
    level : float
        That of the interval.
    """
    if fit is None or math.isnan(fit.unseen):
        return found
    weight = float(np.linalg.norm(missed))
    z = normal_quantile(level)
    t = float(stdtrit(fit.between, 0.5 + level / 2)) if fit.between else z
    size = t * fit.effects
    if math.isinf(fit.unseen) and weight > SAME_SHARE:
        found = found._replace(note="; ".join(filter(None, [found.note, NOT_TESTED])))
    if fit.holds is not False:
        size = max(t**2 * fit.apart - z**2 * fit.noise, 0.0) ** 0.5
    return found._replace(half=float(np.hypot(found.half, size * weight)))


def effective(absolute: float, squares: float) -> float:
    """Return the effective number of decisions of some weights."""
    return absolute**2 / squares if squares > 0 else 0.0


def turned(m: Array, arms: Array, p: Array) -> tuple[Array, Array]:
    """Return G^+ m of each row, and what of m lies outside the span of the arms with p > 0.

    With the rows A = sqrt(p_a) x_a, G^+ = (A^T A)^+: by singular values of A, not of its square.

    Parameters
    ----------
    m : ndarray of shape (n, d)
        Means of arms.
    arms : ndarray of shape (K, d) or (n, K, d)
        The arms on offer.
    p : ndarray of shape (n, K) or (1, K)
        How likely they were chosen.
    """
    A = np.sqrt(p)[..., None] * arms
    _, sizes, rows = np.linalg.svd(A, full_matrices=False)
    kept = sizes > 1e-11 * sizes.max(axis=-1, keepdims=True, initial=0.0)
    along = np.where(kept, np.einsum("...kd,...d->...k", rows, m), 0.0)
    inverse = np.where(kept, 1.0, 0.0) / np.where(kept, sizes, 1.0) ** 2
    turn = np.einsum("...k,...kd->...d", along * inverse, rows)
    return turn, m - np.einsum("...k,...kd->...d", along, rows)
