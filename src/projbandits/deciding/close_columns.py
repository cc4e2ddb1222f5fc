"""Whether what is offered can tell what counts, and tell it from what is protected."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from projbandits._validation import Array, outside
from projbandits.arms import DecisionSet
from projbandits.arms.base import independent_rows
from projbandits.arms.finite import ARMS_DEPENDENT
from projbandits.subspace import Subspace

CLOSE = 0.05
"""Columns whose difference varies less than this share of what they vary themselves are close."""
ALIKE = 1e-6
"""Below this share they are the same to rounding."""
ENOUGH = 3
"""How many distinct rows for each column it takes: among few, some are always close."""
SLIGHT = 0.05
"""A smaller part of a direction is not spoken of."""
BOTH = 0.1
"""How much of a direction must count, and how much be protected, for it to be of both."""


def warn_of_what_is_left_out(
    offered: DecisionSet, learnt: Array, subspace: Subspace, columns: tuple[str, ...] | None
) -> None:
    """Warn if U lies outside the span of what is offered and was learnt from (Assumption 1).

    What is offered later only widens the span, so the first offer decides whether to warn. The
    rows of `learnt` span what was learnt from.
    """
    if subspace.dim == 0:
        return
    # Where what was learnt from has not full rank, the last rows are round-off.
    rows = independent_rows(learnt, "pivoted-qr", ARMS_DEPENDENT) if learnt.any() else []
    seen = np.vstack([offered.basis(), learnt[rows]])
    # Each column at one scale, like the ranks: beside a time stamp a ratio would be round-off.
    scale = np.abs(seen).max(axis=0, initial=0.0)
    scale[scale == 0.0] = 1.0
    span = Subspace.span((seen / scale).T) if seen.any() else Subspace(seen[:0].T)
    direction = Subspace.span(subspace.basis / scale[:, None]).direction_outside(span)
    if direction is not None:
        direction *= scale
        direction /= np.linalg.norm(direction)
        warnings.warn(
            "the arms offered so far cannot identify all that counts: the direction "
            f"{Subspace(subspace.basis, columns).describe(direction)} lies outside their span, so "
            "what it is worth stays unknown until other arms are offered",
            UserWarning,
            stacklevel=outside(),
        )


def warn_of_close_columns(
    X: Array, subspace: Subspace, columns: Sequence[str] | None, *, designed: bool
) -> bool:
    """Warn if what counts nearly repeats what is protected in the rows of X; tell whether it did.

    Columns are compared by how they vary, as a level that all rows share is common to all of them.
    Those that depend on one another by design are not compared where they do so exactly.
    """
    d = X.shape[1]
    if not 0 < subspace.dim < d or len(X) < ENOUGH * d:
        return False
    # The same items again tell nothing new. (np.unique makes a TypeError of an interrupt.)
    X = X[[*{row.tobytes(): i for i, row in enumerate(X)}.values()]]
    if (n := len(X)) < ENOUGH * d:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        centred = X - X.mean(axis=0)
        scale = np.sqrt(np.square(centred).sum(axis=0))
        varies = scale > ALIKE * np.abs(X).max(axis=0) * np.sqrt(n)
    if not np.isfinite(scale).all():
        return False
    unit = centred[:, varies] / scale[varies]
    _, sizes, axes = np.linalg.svd(unit, full_matrices=False)
    for size, axis in zip(sizes[::-1], axes[::-1], strict=True):
        if size > CLOSE:
            return False
        if size <= ALIKE and designed:
            continue
        direction = np.zeros(d)
        direction[varies] = axis / scale[varies]
        kept = subspace.project(direction)
        parts = (np.linalg.norm(scale * part) for part in (kept, direction - kept))
        if min(parts) < BOTH:
            continue
        direction[np.abs(scale * direction) < SLIGHT] = 0.0
        direction /= direction[np.abs(direction).argmax()]
        what = Subspace(subspace.basis, None if columns is None else tuple(columns))
        little = (
            "none of which tells anything of it"
            if size <= ALIKE
            else f"which tell as little of it as {n * size**2:.2g} rows of unrelated columns would"
        )
        warnings.warn(
            "what counts nearly repeats what is protected: the direction "
            f"{what.describe(direction)} varies {size:.2g} times as much as its columns do in "
            f"{n} rows, {little}. Until more is known, estimates of what counts are uncertain by "
            "as much as their standard errors say: offer items that differ along it, or leave a "
            "column out",
            UserWarning,
            stacklevel=outside(),
        )
        return True
    return False
