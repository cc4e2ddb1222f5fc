"""Whether the effect of the protected part moved into what is believed of the kept part.

Least squares without a penalty, on whole arms and on the outcomes in the log alone, gives each
effect to the feature that has it. What is believed of a kept direction b may differ from it by

    leak_b = -lambda <b, V^-1 Q theta> + <b, theta_all - theta_log>,

where theta_all is least squares on all that the belief was learnt from (with history, and what
other workers sent), theta_log that on the log alone, and Q = I - P_U. The first term is the effect
of the protected part that the penalty moves: theta-hat = theta_all - lambda V^-1 theta_all, and the
rest of that, -lambda <b, V^-1 P_U theta>, is how the penalty shrinks the kept effects themselves,
which is no leak. The second term is what else the belief has that the outcomes do not show. A
strategy that learns on projections is compared as a whole: theta_all is then that of its projected
arms, and there is no first term.

Where outcomes lose weight with time there is only the first term: what is believed now and what all
outcomes say are then two things.

The leak is compared with the standard error of theta_log. The variance of the second term is that
of theta_log less that of theta_all (Hausman's comparison), so the test errs on the silent side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypedDict

import numpy as np
from scipy.special import stdtrit

from projbandits._validation import Array
from projbandits.audit.answers import (
    AUDIT_LEVEL,
    CONFIDENCE,
    MATERIAL,
    UNKNOWN_SIZE,
    ZERO,
    AuditAnswer,
    sized,
)
from projbandits.audit.protected import Protected
from projbandits.ledger.fold import Known, learns_plainly
from projbandits.ridge import Ridge
from projbandits.statistics import Estimate
from projbandits.subspace import DEPENDENT, Subspace, feature_names

if TYPE_CHECKING:
    import pandas as pd

UNTOLD = 0.01
"""If more than this share of what scores rest on cannot be told, nothing is said to be clear."""

LEAST_SPARE_OUTCOMES = 10
"""With fewer outcomes than this beyond the number of features, nothing can be told."""

POWER = 0.9


class LeakRow(TypedDict):
    """A kept direction in the table of leaks."""

    direction: str
    believed: float
    least_squares: float
    leak: float
    low: float
    high: float
    z: float
    found_from: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Leak(AuditAnswer):
    """Whether the effect of the protected part moved into the kept part.

    `size` is how far the leak spreads the scores of the arms on offer (a standard deviation, in
    units of the outcome), and `share` its share of the variance of the scores.

    Parameters
    ----------
    outcomes : int
        How many outcomes in the log it was judged by.
    critical : float
        The z-score beyond which a direction is said to leak: Student's quantile at a level of
        0.1 % for all directions together.
    table : DataFrame
        For each kept direction: what is `believed` and what `least_squares` says, the `leak` with
        its interval (`low`, `high`) and `z`, and `found_from`, the size from which a leak is
        found in nine of ten such logs. Directions that the log's outcomes cannot tell are nan.
    """

    outcomes: int
    critical: float
    table: Annotated[pd.DataFrame, LeakRow]


class LeastSquares(NamedTuple):
    """Least squares without a penalty.

    Parameters
    ----------
    theta : ndarray of shape (d,)
        The estimate, of least norm in units of the columns' sizes.
    root : ndarray of shape (d, rank)
        The covariance of the estimate is sigma^2 root root^T.
    span : ndarray of shape (d, rank)
        The span of what was observed, columns in units of their sizes.
    scale : ndarray of shape (d,)
        The columns' sizes.
    free : int
        How many observations there are beyond what was fitted.
    sigma : float
        The standard deviation of the noise.
    """

    theta: Array
    root: Array
    span: Array
    scale: Array
    free: int
    sigma: float

    @classmethod
    def of(cls, ridge: Ridge) -> LeastSquares:
        """Return the fit to what a ridge has observed, centred where it has an intercept."""
        d = ridge.d
        R, z = ridge.slopes[:d, :d], ridge.slopes[:d, d]
        size = np.sqrt(np.einsum("ij,ij->j", R, R))
        scale = np.where(size > 0, size, 1.0)
        left, sizes, right = np.linalg.svd(R / scale, full_matrices=False)
        kept = sizes > DEPENDENT * max(sizes[0], 1.0)
        root = right[kept].T / sizes[kept] / scale[:, None]
        free = ridge.n - ridge.intercept - root.shape[1]
        sigma = abs(float(ridge.factor[-1, -1])) / np.sqrt(max(free, 1))
        return cls(root @ (left[:, kept].T @ z), root, right[kept].T, scale, free, sigma)

    def _outside(self, turned: Array) -> Array:
        """Return the part of directions, in units of the sizes, that was not observed."""
        return turned - self.span @ (self.span.T @ turned)

    def told(self, basis: Array) -> Array:
        """Return a basis, row by row, of those combinations of directions that it tells."""
        turned = np.linalg.qr((basis / self.scale).T)[0]
        _, sizes, right = np.linalg.svd(self._outside(turned), full_matrices=True)
        unseen = np.zeros(len(right), dtype=bool)
        unseen[: len(sizes)] = sizes > 1e-6
        return np.asarray((turned @ right[~unseen].T).T * self.scale)

    def leaves_out(self, spread: Array) -> float:
        """Return the share of a variance, each column in units of its size, that it cannot tell."""
        turned = spread / np.outer(self.scale, self.scale)
        total = max(np.trace(turned), np.finfo(np.float64).tiny)
        return float(np.trace(self._outside(turned)) / total)

    def tells(self, direction: Array) -> bool:
        """Tell whether <direction, theta> follows from what was observed."""
        turned = direction / self.scale
        return bool(np.linalg.norm(self._outside(turned)) <= 1e-6 * np.linalg.norm(turned))


def leak(known: Known, log: Ridge, protected: Protected, spread: Array, total: float) -> Leak:
    """Return whether what is believed now leaks.

    Parameters
    ----------
    known : Known
        What is known now.
    log : Ridge
        The outcomes in the log, on whole arms.
    protected : Protected
        What must not count.
    spread, total : ndarray of shape (d, d) and float
        The covariance of the features among the arms on offer, and the variance of the scores.
    """
    import pandas as pd

    fit, names, basis = LeastSquares.of(log), protected.kept_names, protected.kept
    free, enough = max(fit.free, 1), fit.free >= LEAST_SPARE_OUTCOMES
    told = np.array([enough and fit.tells(b) for b in basis], dtype=bool)
    if enough and not told.all():
        # Of a constant beside all levels of a category, say, no column is told, but contrasts are.
        more = _contrasts(fit.told(basis), basis[told])
        named = Subspace(np.eye(log.d), tuple(feature_names(known.columns, log.d)))
        names = [*names, *map(named.describe, more)]
        basis, told = np.vstack([basis, more]), np.append(told, np.ones(len(more), dtype=bool))
    believed = basis @ known.subspace.project(known.state.ridge.theta)
    fitted, along = basis @ fit.theta, basis @ _moved(known, fit)
    errors = fit.sigma * np.linalg.norm(basis @ fit.root, axis=1)
    critical = float(stdtrit(free, 1 - AUDIT_LEVEL / (2 * max(int(told.sum()), 1))))
    half = float(stdtrit(free, 0.5 + CONFIDENCE / 2)) * errors
    # What rounding can make of the estimates is no leak, however little noise there is.
    rounded = np.abs(along) <= 1e-9 * np.maximum(np.abs(fitted), np.abs(believed))
    z = np.where(rounded, 0.0, np.inf)
    np.divide(along, errors, out=z, where=~rounded & (errors > 0))
    columns = {
        "believed": believed,
        "least_squares": fitted,
        "leak": along,
        "low": along - half,
        "high": along + half,
        "z": z,
        "found_from": (critical + float(stdtrit(free, POWER))) * errors,
    }
    table = pd.DataFrame(columns, index=pd.Index(names, name="direction"))
    table.loc[~told, [*columns][1:]] = np.nan

    def answer(found: bool | None, size: Estimate, share: Estimate) -> Leak:
        return Leak(
            found=found, size=size, share=share, outcomes=log.n,
            critical=critical if told.any() else np.nan, table=table,
        )  # fmt: skip

    learnt = known.state.ridge.n > 0
    if not protected.pieces or (learnt and not (protected.varied and told.any())):
        return answer(None, UNKNOWN_SIZE, UNKNOWN_SIZE)
    if not learnt:
        return answer(None, ZERO, ZERO)
    inside = basis[told].T
    covariance = inside @ (inside.T @ (fit.sigma**2 * fit.root @ fit.root.T) @ inside) @ inside.T
    beyond = told & (np.abs(z) > critical)
    size, share = sized(inside @ along[told], covariance, spread, total, beyond=bool(beyond.any()))
    alone = basis[beyond].T @ along[beyond]
    found: bool | None = bool(beyond.any() and alone @ spread @ alone >= MATERIAL * total)
    P = known.subspace.matrix
    if not found and fit.leaves_out(P @ spread @ P) > UNTOLD:
        found = None
    return answer(found, size, share)


def _contrasts(told: Array, columns: Array) -> Array:
    """Return an orthonormal basis of what is told beyond single columns, row by row."""
    alone = np.linalg.qr(columns.T)[0] if len(columns) else np.zeros((told.shape[1], 0))
    rest = told - (told @ alone) @ alone.T
    _, sizes, right = np.linalg.svd(rest, full_matrices=False)
    return np.asarray(right[sizes > 1e-9 * max(float(np.abs(told).max(initial=0.0)), 1e-300)])


def _moved(known: Known, fit: LeastSquares) -> Array:
    """Return what is believed less what is fitted, without how kept effects shrink themselves."""
    ridge, P = known.state.ridge, known.subspace.matrix
    if not learns_plainly(known.strategy):
        return np.asarray(ridge.theta - fit.theta)
    everything = LeastSquares.of(ridge).theta
    if known.strategy.learns_on == "projection":
        return np.asarray(everything - fit.theta)
    by_penalty = -ridge.penalty * ridge.inverse @ (everything - P @ everything)
    return np.asarray(by_penalty if ridge.forgotten else by_penalty + everything - fit.theta)
