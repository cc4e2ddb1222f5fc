"""Which strategies can decide where the arms on offer change."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from projbandits.deciding.limits import LARGEST_NUMBER
from projbandits.features.features import Features
from projbandits.strategies import LinearStrategy
from projbandits.subspace import Subspace


def check_suits(strategy: Any) -> LinearStrategy:
    """Return the strategy, or raise if it needs the same arms at every step, or would overflow."""
    if not isinstance(strategy, LinearStrategy):
        raise TypeError(f"strategy must be one like pb.GENTRY(), got {strategy!r}")
    if strategy.same_arms:
        raise ValueError(
            f"strategy must take arms that change, got {strategy!r}: it plans for the arms of the "
            "first step, and those on offer may change at every call"
        )
    for field in dataclasses.fields(strategy):
        value = getattr(strategy, field.name)
        if (
            isinstance(value, int | float)
            and value
            and not 1 / LARGEST_NUMBER <= abs(value) <= LARGEST_NUMBER
        ):
            raise ValueError(
                f"{field.name} must be between {1 / LARGEST_NUMBER:g} and {LARGEST_NUMBER:g}, got "
                f"{value!r}"
            )
    return strategy


def check_all_suit(strategy: Any) -> list[LinearStrategy]:
    """Return the strategies that a user gives: none, one, or a list of them."""
    if strategy is None:
        return []
    return [*map(check_suits, strategy if isinstance(strategy, list | tuple) else [strategy])]


def check_told_apart(strategy: LinearStrategy, others: Iterable[LinearStrategy]) -> None:
    """Raise if a ledger, which knows a user's own strategies by their repr, would mix them up."""
    for other in others:
        if repr(other) == repr(strategy) and other != strategy:
            raise ValueError(
                f"strategy must not look like another one of this decider, got a second "
                f"{strategy!r}: give its function or its class a name of its own"
            )


def check_subspace(subspace: Any) -> Subspace:
    """Return the subspace, or raise if it is none."""
    if not isinstance(subspace, Subspace):
        raise TypeError(
            f"subspace must be a Subspace, got {subspace!r}: see pb.Subspace, or pass features="
        )
    return subspace


def check_features(features: Any, subspace: Any) -> Subspace:
    """Return what counts: as given, or as the features say."""
    if features is None:
        return check_subspace(subspace)
    if not isinstance(features, Features):
        raise TypeError(f"features must be a pb.Features, got {features!r}")
    if subspace is None:
        return features.subspace
    wanted = check_subspace(subspace)
    names = wanted.names
    same = names is None or tuple(map(str, names)) == features.names
    if wanted.ambient != len(features.names) or not same:
        raise ValueError(
            f"subspace must be one of the {len(features.names)} features {features.names}, in this "
            f"order, got {subspace!r} of {names}: leave it out, and declare what is protected"
        )
    return wanted
