"""How much of what is protected the kept features still tell.

Projection removes a direction, not a correlation. What is looked for here are linear relations and
those with the squares of the kept features; products and steps can stand in unseen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from projbandits._checks import Array
from projbandits.online.protected import Protected, along, feature_names
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    import pandas as pd

PROXY = 0.1
"""From this R^2 on, the kept features are said to carry information about a protected one."""

ARMS_EACH = 2
"""Distinct arms needed for each coefficient of a fit; with fewer nothing can be told."""


def proxies(
    offered: Array, subspace: Subspace, columns: tuple[str, ...] | None, protected: Protected
) -> pd.DataFrame:
    """Return, for each protected piece, how well the kept features predict it.

    Shares of variance over the distinct arms, each arm predicted by a fit to the others: `r2` from
    a linear fit, `r2_squares` from one with squares too, and `closest` is the kept feature that
    predicts best alone, with `r2_closest`. A share is nan where there are too few distinct arms.
    """
    import pandas as pd

    X = pd.DataFrame(offered).drop_duplicates().to_numpy()
    names = feature_names(columns, X.shape[1])
    kept = X @ subspace.matrix
    if protected.whole:
        places = [j for j, name in enumerate(names) if name not in protected.pieces]
        names, kept = [names[j] for j in places], kept[:, places]
    # Any scale will do, and one near 1 keeps squares from drowning what they are squares of.
    size = kept.std(axis=0)
    kept = (kept - kept.mean(axis=0)) / np.where(size > 0, size, 1.0)
    rows = {}
    for piece, direction in protected.pieces.items():
        y = along(direction, X)
        known = piece in protected.varied
        alone = [predicted(_with_squares(z[:, None]), y) if known else np.nan for z in kept.T]
        closest = None if np.isnan(alone).all() else int(np.nanargmax(alone))
        rows[piece] = {
            "r2": predicted(kept, y) if known else np.nan,
            "r2_squares": predicted(_with_squares(kept), y) if known else np.nan,
            "closest": None if closest is None else names[closest],
            "r2_closest": np.nan if closest is None else alone[closest],
            "arms": len(X),
        }
    shape = ["r2", "r2_squares", "closest", "r2_closest", "arms"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=shape)


def predicted(Z: Array, y: Array) -> float:
    """Return the share of the variance of y that is predicted from Z, leaving one out (R^2).

    Examples
    --------
    >>> import numpy as np
    >>> from projbandits.online.proxies import predicted
    >>> z = np.linspace(0.0, 1.0, 20)[:, None]
    >>> round(predicted(z, 3 * z[:, 0]), 6)
    1.0
    """
    n = len(y)
    design = np.column_stack([np.ones(n), Z])
    Q, sizes, _ = np.linalg.svd(design, full_matrices=False)
    Q = Q[:, sizes > 1e-9 * sizes[0]]
    if n < ARMS_EACH * Q.shape[1] or n < 2:
        return np.nan
    # Without row i the fit errs by its residual / (1 - leverage); an arm that alone decides a
    # coefficient (leverage 1) cannot be predicted, and counts as if the mean were said of it.
    mean_error = (y - y.mean()) / (1 - 1 / n)
    left = 1 - np.einsum("ij,ij->i", Q, Q)
    residual = y - Q @ (Q.T @ y)
    error = np.where(left > 1e-9, residual / np.maximum(left, 1e-9), mean_error)
    return max(0.0, 1 - float((error**2).sum() / (mean_error**2).sum()))


def words(found: pd.DataFrame, protected: Protected) -> list[str]:
    """Return what the user must be told of them."""
    said = []
    for name, row in found.loc[protected.varied].iterrows():
        if np.isnan(row.r2):
            said.append(
                f"{row.arms} distinct arms are too few to tell whether the kept features stand in "
                f"for {name!r}"
            )
        elif np.nanmax([row.r2, row.r2_squares]) >= PROXY:
            squares = "" if np.isnan(row.r2_squares) else f"{row.r2_squares:.0%} with squares, "
            said.append(
                f"the kept features predict {row.r2:.0%} of the variance of {name!r} over "
                f"{row.arms} distinct arms by a linear fit ({squares}{row.closest!r} alone "
                f"{row.r2_closest:.0%}): projection removes a direction, not a correlation, so "
                "decisions may still follow it"
            )
    return said


def _with_squares(Z: Array) -> Array:
    return np.column_stack([Z, Z**2])
