"""Whether the linear model holds in a log.

Where arms repeat, what their returns vary by among themselves is noise whatever the model is (pure
error), and what the means of the arms miss the model by is compared with it: an F test. Where no
arm repeats, a log cannot tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, fdtrc

from projbandits._validation import Array

LACK_LEVEL = 0.01
"""How often a linear world is found to lack fit, where arms repeat."""
NO_REPEATS = "no arm was chosen twice"
SURE = 0.95
"""How surely effects are no larger than those that are said to be compatible with a log."""


@dataclass(frozen=True)
class LackOfFit:
    """Whether returns are linear in the features.

    Parameters
    ----------
    holds : bool or None
        Whether the linear model may be kept; None if the log cannot tell.
    method : str
        "pure error", or "none".
    statistic, p_value : float
        F and its p-value.
    words : str
        The same as a sentence.
    effects : float
        The standard deviation of what arms have beside their features, as estimated; 0 if the means
        of the arms differ from the linear model by no more than noise explains.
    between : int
        From how many differences it is estimated.
    apart, noise : float
        The mean square by which the means of the arms differ from the fit, and what noise alone
        would make of it; `effects` is the root of the difference.
    unseen : float
        Up to which standard deviation effects of arms are compatible with the log (the upper end of
        a one-sided 95 % interval); nan if that is unknown.
    """

    holds: bool | None
    method: str
    statistic: float
    p_value: float
    words: str
    effects: float = 0.0
    between: int = 0
    unseen: float = math.nan
    apart: float = 0.0
    noise: float = 0.0

    def __str__(self) -> str:
        return self.words


def unknown(why: str, unseen: float = math.nan) -> LackOfFit:
    """Return that the log cannot tell."""
    words = f"Whether the linear model holds cannot be told from this log: {why}."
    return LackOfFit(None, "none", math.nan, math.nan, words, unseen=unseen)


def pure_error(arms: Array, counts: Array, means: Array, squares: float) -> LackOfFit:
    """Test the means of repeated arms against the linear model.

    Parameters
    ----------
    arms : ndarray of shape (K, d)
        The distinct arms that were chosen.
    counts, means : ndarray of shape (K,)
        How often, and with which mean return.
    squares : float
        The sum of squared differences of returns from the means of their arms.
    """
    roots = np.sqrt(counts)
    scale = np.abs(arms).max(axis=0, initial=0.0)
    X = roots[:, None] * arms / np.where(scale > 0, scale, 1.0)
    left, sizes, _ = np.linalg.svd(X, full_matrices=False)
    left = left[:, sizes > 1e-10 * sizes.max(initial=0.0)]
    y = roots * means
    missed = float(((y - left @ (left.T @ y)) ** 2).sum())
    between, within = len(arms) - left.shape[1], float(counts.sum()) - len(arms)
    if between <= 0:
        return unknown("there are as many features as arms, so every mean fits", math.inf)
    if within <= 0:
        return unknown(NO_REPEATS)
    if squares <= 0:
        F = 0.0 if missed <= 1e-18 * float(y @ y) else math.inf
    else:
        F = (missed / between) / (squares / within)
    p = float(fdtrc(between, within, F)) if math.isfinite(F) else 0.0
    holds = p >= LACK_LEVEL
    said = (
        "No lack of fit was found: the arms' mean returns agree with the linear model"
        if holds
        else "The linear model does not hold: the arms' mean returns differ from it by more than "
        "noise explains"
    )
    words = f"{said} (pure-error F = {F:.3g} on {between} and {within:.0f}, p = {p:.2g})."
    # With effects of variance tau^2 the expectation of `missed` is larger by tau^2 times this.
    per_variance = float(counts @ (1.0 - (left**2).sum(axis=1)))
    apart, noise = missed / per_variance, between * squares / within / per_variance
    effects = math.sqrt(max(apart - noise, 0.0))
    unseen = math.sqrt(max(apart * between / float(chdtri(between, SURE)) - noise, 0.0))
    words += f" Effects of arms with a standard deviation of up to {unseen:.2g} would not show."
    return LackOfFit(holds, "pure error", F, p, words, effects, between, unseen, apart, noise)


def repeated(X: Array, outcomes: Array) -> LackOfFit | None:
    """Test rows of which some have the same arm; None if none have."""
    arms, at = np.unique(X, axis=0, return_inverse=True)
    if len(arms) == len(X):
        return None
    at = at.reshape(-1)
    counts = np.bincount(at).astype(np.float64)
    means = np.bincount(at, outcomes) / counts
    return pure_error(arms, counts, means, float(((outcomes - means[at]) ** 2).sum()))
