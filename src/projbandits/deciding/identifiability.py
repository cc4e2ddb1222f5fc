"""Whether what is offered can tell what counts."""

from __future__ import annotations

import warnings

import numpy as np

from projbandits._checks import Array, outside
from projbandits.arms import DecisionSet
from projbandits.arms.base import independent_rows
from projbandits.arms.finite import ARMS_DEPENDENT
from projbandits.subspace import Subspace


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
