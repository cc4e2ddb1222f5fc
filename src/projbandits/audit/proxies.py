"""How much of what is protected the kept features still tell.

Projection removes a direction, not a correlation. What is looked for here are linear relations,
those with the squares of the kept features, and whatever gradient boosting finds (scikit-learn's,
where it is installed): products and steps too.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from projbandits._blas import single_threaded
from projbandits._validation import Array
from projbandits.audit.protected import Protected, along
from projbandits.ledger.fold import Known
from projbandits.subspace import feature_names

if TYPE_CHECKING:
    import pandas as pd

PROXY = 0.1
"""From this R^2 on, the kept features are said to carry information about a protected one."""

MOST_PROXY_ARMS = 20_000
"""Of more distinct arms some are looked at; they give the shares to about a percent."""

ARMS_EACH = 2
"""Distinct arms needed for each coefficient of a fit; with fewer nothing can be told."""

LEAST_BOOSTED, MOST_BOOSTED = 60, 1000
"""Boosting needs the first number of distinct arms, and looks at no more than the second."""

BOOSTING_FOLDS, BOOSTING_ROUNDS = 2, 25


class ProxyRow(TypedDict):
    """A protected piece in the table of proxies."""

    piece: str
    r2: float
    r2_squares: float
    closest: str | None
    r2_closest: float
    r2_boosted: float
    arms: int


def proxies(offered: Array, known: Known, protected: Protected) -> pd.DataFrame:
    """Return, for each protected piece, how well the kept features predict it.

    Shares of variance over the distinct arms, each arm predicted by a fit to the others: `r2` from
    a linear fit, `r2_squares` from one with squares too, and `closest` is the kept feature that
    predicts best alone, with `r2_closest`. `r2_boosted` is by gradient boosting, from folds that it
    was not fitted to. A share is nan where there are too few distinct arms, and the last also where
    scikit-learn is not installed.
    """
    import pandas as pd

    X, pieces = _some(offered), protected.pieces
    names, kept = feature_names(known.columns, X.shape[1]), X @ known.subspace.matrix
    if protected.whole:
        names, kept = protected.kept_names, X @ protected.kept.T
    # Any scale will do, and one near 1 keeps squares from drowning what they are squares of.
    size = kept.std(axis=0)
    kept = (kept - kept.mean(axis=0)) / np.where(size > 0, size, 1.0)
    Y = np.array([along(v, X) for v in pieces.values()]).reshape(len(pieces), len(X)).T
    designs = [kept, _with_squares(kept), *(_with_squares(z[:, None]) for z in kept.T)]
    shares = np.array([_boosted(kept, Y), *(predicted(Z, Y) for Z in designs)])
    shares[:, [piece not in protected.varied for piece in pieces]] = np.nan
    boosted, linear, squares, *_ = shares
    # The first row stands for no feature.
    alone = np.vstack([np.full(len(pieces), -1.0), np.nan_to_num(shares[3:], nan=-1.0)])
    best, top = alone.argmax(axis=0), alone.max(axis=0)
    columns = {
        "r2": linear,
        "r2_squares": squares,
        "closest": [names[j - 1] if j else None for j in best],
        "r2_closest": np.where(best > 0, top, np.nan),
        "r2_boosted": boosted,
        "arms": len(X),
    }
    return pd.DataFrame(columns, index=pd.Index([*pieces], name="piece", dtype=object))


def predicted(Z: Array, Y: Array) -> Array:
    """Return the share of each column's variance that Z predicts, leaving one row out (R^2).

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.audit.proxies import predicted
    >>> z = np.linspace(0.0, 1.0, 20)[:, None]
    >>> predicted(z, 3 * z).round(6)
    array([1.])
    """
    n = len(Y)
    design = np.column_stack([np.ones(n), Z])
    Q, R = np.linalg.qr(design)
    turned, sizes, _ = np.linalg.svd(R, full_matrices=False)
    Q = Q @ turned[:, sizes > 1e-9 * sizes[0]]
    if n < ARMS_EACH * Q.shape[1] or n < 2:
        return np.full(Y.shape[1], np.nan)
    # Without row i the fit errs by its residual / (1 - leverage); an arm that alone decides a
    # coefficient (leverage 1) cannot be predicted, and counts as if the mean were said of it.
    mean_error = (Y - Y.mean(axis=0)) / (1 - 1 / n)
    left = (1 - np.einsum("ij,ij->i", Q, Q))[:, None]
    residual = Y - Q @ (Q.T @ Y)
    error = np.where(left > 1e-9, residual / np.maximum(left, 1e-9), mean_error)
    with np.errstate(invalid="ignore", divide="ignore"):  # nobody looks at constant columns
        shares: Array = 1 - (error**2).sum(axis=0) / (mean_error**2).sum(axis=0)
    return np.maximum(0.0, shares)


def _some(offered: Array) -> Array:
    """Return the distinct arms, and of very many `MOST_PROXY_ARMS` of them, evenly spread."""
    import pandas as pd

    if len(offered) > MOST_PROXY_ARMS:
        offered = offered[np.linspace(0, len(offered) - 1, MOST_PROXY_ARMS).astype(np.int64)]
    return pd.DataFrame(offered).drop_duplicates().to_numpy()


def has_boosting() -> bool:
    """Tell whether scikit-learn is installed."""
    return importlib.util.find_spec("sklearn") is not None


def _boosted(Z: Array, Y: Array) -> Array:
    """Return the share of each column's variance that boosting predicts, fold by fold (R^2)."""
    n = len(Z)
    if n < LEAST_BOOSTED or not Z.shape[1] or not has_boosting():
        return np.full(Y.shape[1], np.nan)
    ensemble: Any = importlib.import_module("sklearn.ensemble")
    order = np.random.default_rng(0).permutation(n)[:MOST_BOOSTED]
    fold = np.arange(len(order)) % BOOSTING_FOLDS
    shares = np.zeros(Y.shape[1])
    # Small fits take longest in several threads, above all where others want the cores too.
    with single_threaded():
        for j, y in enumerate(Y[order].T):
            error = spread = 0.0
            for k in range(BOOSTING_FOLDS):
                fit, held = fold != k, fold == k
                learner = ensemble.HistGradientBoostingRegressor(
                    max_iter=BOOSTING_ROUNDS, learning_rate=0.3, max_leaf_nodes=8, max_bins=64,
                    min_samples_leaf=10, early_stopping=False, random_state=0,
                )  # fmt: skip
                learner.fit(Z[order][fit], y[fit])
                error += float(np.square(y[held] - learner.predict(Z[order][held])).sum())
                spread += float(np.square(y[held] - y[fit].mean()).sum())
            shares[j] = max(0.0, 1 - error / spread) if spread > 0 else np.nan
    return shares


def _with_squares(Z: Array) -> Array:
    return np.column_stack([Z, Z**2])
