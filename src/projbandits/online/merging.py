"""What several deciders learnt, added up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from projbandits.online.decider import Decider


def check_mergeable(one: Decider, other: Decider, columns: tuple[str, ...] | None) -> None:
    """Raise unless the observations of both are about the same features, `columns` if named."""
    if type(other) is not type(one):
        raise TypeError(f"merging needs deciders, got {other!r}")
    P, Q = one.subspace.matrix, other.subspace.matrix
    if P.shape != Q.shape or np.abs(P - Q).max() > 1e-9:
        raise ValueError(
            f"merging needs deciders with the same subspace, got {one.subspace!r} and "
            f"{other.subspace!r}"
        )
    if other.strategy.learns_on != one.strategy.learns_on:
        raise ValueError(
            f"merging needs strategies that learn on the same, got {one.strategy!r} and "
            f"{other.strategy!r}"
        )
    if columns and other.columns and columns != other.columns:
        raise ValueError(
            "merging needs the same columns in the same order, got "
            f"{list(other.columns)!r} for {list(columns)!r}: give every decider a subspace with "
            "named columns, which sets their order"
        )


def common_origin(shared: set[str]) -> ValueError:
    """Return the error for deciders that have learnt something in common."""
    return ValueError(
        "merging needs deciders that learnt apart, got some with a common origin, "
        f"{', '.join(sorted(shared))}: what they share would count twice"
    )
